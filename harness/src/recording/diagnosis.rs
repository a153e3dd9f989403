//! What a recording keeps for a reader, beside what is judged.

use serde::{Deserialize, Serialize};

/// What helps to find out why a subject got into trouble. It is shown, and nothing is judged by it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The requests that it has made since it was first started, whatever about.
    pub requests: u64,
    /// The connections that it has opened.
    pub connections: u64,
    /// Those of them that broke off in the TLS handshake, before any request.
    pub unsecured: u64,
    /// Why the last of these did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<String>,
    /// The lines that say most of what it has printed since it was started; `None` where they
    /// cannot be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
}
