//! One request as both servers get it, with words in it that each server's own answers fill in:
//!
//! | word | is |
//! | --- | --- |
//! | `$NS` | the sequence's namespace |
//! | `${uid:pods/a}` `${rv:pods/a}` `${rv0:pods/a}` | an object's uid, its latest resourceVersion, its first |
//! | `${gen:1}` | the name that was generated first |
//! | `${continue}` | where the last list that was cut goes on |
//! | `$here` | the version of all, just before the request |
//! | `$made` | the same, of a watch that is opened last, after what ends it was made: else it is up to chance whether it is shown |

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::refused::REFUSED;

/// How the message of an unsupported request begins.
const UNSUPPORTED: &str = "kube-apiserver-sim does not support ";

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Step {
    /// The verb of the table: what is done, and to which part.
    pub(crate) verb: String,
    /// The kind, or `-` for paths that name none.
    pub(crate) kind: String,
    pub(crate) method: String,
    /// With the query.
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) form: String,
    /// JSON, where it says nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) accept: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) body: String,
}

/// What came back, normalised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

/// A sequence, and what the real server answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The server whose answers these are.
    pub(crate) server: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) answers: Vec<Answer>,
    /// Whether the answers have managedFields.
    #[serde(default)]
    pub(crate) managers: bool,
}

impl Step {
    /// Whether it is to be held open until all is done.
    pub(crate) fn is_watch(&self) -> bool {
        self.verb.starts_with("watch")
    }

    /// Whether the simulated server is known not to know it.
    pub(crate) fn is_refused(&self) -> bool {
        REFUSED.contains(&self.verb.as_str())
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
