//! What goes wrong in a run, and whose fault it is.

use serde::{Deserialize, Serialize};

/// Whose fault something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Blame {
    /// The cluster or the harness is at fault: the verdict is inconclusive.
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
    /// Whether the subject's process ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// Whether the subject did not serve the probe either, which no case can prevent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub probe_unserved: bool,
}

impl Trouble {
    /// Reported if the subject left the wrong state when its time was up, without a single write.
    pub const DID_NOTHING: &'static str = "did nothing";
    /// The same for a subject that had written.
    pub const WRONG_STATE: &'static str = "stayed in the wrong state";

    /// Trouble of this party.
    pub fn new(blame: Blame, why: impl Into<String>) -> Self {
        Self { blame, why: why.into(), ended: false, probe_unserved: false }
    }

    /// The subject's process ended, for this reason.
    pub fn ended(why: impl Into<String>) -> Self {
        Self { ended: true, ..Self::new(Blame::Subject, why) }
    }
}
