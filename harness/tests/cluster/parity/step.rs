//! One request for both servers, with placeholders that are filled from each server's responses:
//!
//! | placeholder | value |
//! | --- | --- |
//! | `$NS` | the sequence's namespace |
//! | `${uid:pods/a}` `${rv:pods/a}` `${rv0:pods/a}` | an object's uid, latest and first resourceVersion |
//! | `${gen:1}` | the first generated name |
//! | `${continue}` | the continue token of the last limited list |
//! | `$here` | the resourceVersion just before the request |
//! | `$made` | the same for a watch that opens after the object that ends it was created |

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::unsupported::UNSUPPORTED_VERBS;

/// Content types of bodies.
pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const PATCH: &str = "application/json-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// How the message of an unsupported request begins.
const UNSUPPORTED: &str = "kube-apiserver-sim does not support ";

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The verb in the table: operation and subresource.
    pub(crate) verb: String,
    /// The kind, or `-` for paths without one.
    pub(crate) kind: String,
    pub(crate) method: String,
    /// The path with its query.
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) form: String,
    /// The `Accept` header; JSON if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) accept: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) body: String,
}

/// A request that accepts JSON.
pub(crate) fn step(verb: &str, kind: &str, method: &str, path: String, form: &str, body: &str) -> Step {
    let text = str::to_owned;
    let accept = String::new();
    Step { verb: text(verb), kind: text(kind), method: text(method), path, form: text(form), accept, body: text(body) }
}

/// A normalised response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

/// A sequence with the real server's responses.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredSequence {
    /// The server that gave the responses.
    pub(crate) server: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) answers: Vec<Answer>,
    /// Whether the responses have managedFields.
    #[serde(default)]
    pub(crate) managers: bool,
}

impl Step {
    /// Whether it is a watch, which stays open until the end.
    pub(crate) fn is_watch(&self) -> bool {
        self.verb.starts_with("watch")
    }

    /// Whether the simulated server is known not to support it.
    pub(crate) fn is_unsupported(&self) -> bool {
        UNSUPPORTED_VERBS.contains(&self.verb.as_str())
    }
}

impl Answer {
    /// The column of the table.
    pub(crate) fn outcome(&self) -> String {
        let reason = self.body["reason"].as_str().unwrap_or_default();
        match self.code {
            200..=299 => "ok".to_owned(),
            406 | 415 | 501 if self.body["message"].as_str().is_some_and(|why| why.starts_with(UNSUPPORTED)) => {
                "unsupported".to_owned()
            }
            code if reason.is_empty() => code.to_string(),
            _ => reason.to_owned(),
        }
    }
}
