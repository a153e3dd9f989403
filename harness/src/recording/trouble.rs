//! What goes wrong in a run, and whose fault it is.

use serde::{Deserialize, Serialize};

/// Whose fault something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Blame {
    /// The cluster or the harness: the verdict is inconclusive.
    Environment,
    /// The controller under test: the verdict is non-conformant.
    Subject,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// Whose fault it is.
    pub blame: Blame,
    /// What happened, as a lower-case fragment.
    pub why: String,
    /// Whether it is that the subject's process ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// Whether the subject has not served the probe either, which no case makes impossible.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe_unserved: bool,
}

impl Trouble {
    /// What is said of a subject that left something wrong when its time was up, and had written
    /// nothing.
    pub const DID_NOTHING: &'static str = "did nothing";
    /// The same of one that had written.
    pub const WRONG_STATE: &'static str = "stayed in the wrong state";

    /// Trouble that is this one's fault.
    pub fn new(blame: Blame, why: impl Into<String>) -> Self {
        Self { blame, why: why.into(), ended: false, probe_unserved: false }
    }

    /// The subject has ended; how.
    pub fn ended(why: impl Into<String>) -> Self {
        Self { ended: true, ..Self::new(Blame::Subject, why) }
    }
}
