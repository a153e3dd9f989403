//! The part of a write's response that is parsed: the rest arrives by the watch.

use rollout_model::null_as_default;
use serde::Deserialize;

/// The written object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WriteResponse {
    /// The metadata.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: WriteResponseMeta,
}

/// Metadata of the written object.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WriteResponseMeta {
    /// The name, which the server may have generated.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// The version that the write made.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_version: String,
}
