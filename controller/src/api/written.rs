//! What is read of the answer to a write: the rest of it comes with the watch.

use serde::Deserialize;

use crate::model::null_as_default;

/// An object, as it was written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Written {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) metadata: WrittenMeta,
}

/// Its metadata.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WrittenMeta {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) resource_version: String,
}
