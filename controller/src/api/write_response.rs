//! The part of a write's response that is parsed: the rest arrives by the watch.

use serde::Deserialize;

use crate::model::null_as_default;

/// The written object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WriteResponse {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) metadata: WriteResponseMeta,
}

/// Metadata of the written object.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WriteResponseMeta {
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) name: String,
    #[serde(deserialize_with = "null_as_default")]
    pub(crate) resource_version: String,
}
