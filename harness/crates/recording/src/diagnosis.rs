//! Details that a recording keeps for readers; no verdict depends on them.

use serde::{Deserialize, Serialize};

/// Details that help to explain a subject's trouble. They are shown, but not judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    /// The requests that the subject has made since it was first started, whatever they are about.
    pub requests: u64,
    /// The connections that it has opened.
    pub connections: u64,
    /// How many of them failed in the TLS handshake, before any request.
    pub unsecured: u64,
    /// Why the last of these failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshake: Option<String>,
    /// The most informative lines of its output since it was started; `None` if the output is not
    /// available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
}
