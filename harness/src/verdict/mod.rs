//! Verdicts: what a recording says about its subject.
//!
//! There are three. *Conformant*: the subject did what the golden timeline says and broke no
//! invariant. *Non-conformant*: it did something else, wrote what an invariant forbids, did not
//! settle, or made the next step impossible. *Inconclusive*: the test environment failed first,
//! which says nothing about the subject. Steps that settled before the test environment failed are
//! still evidence; later ones are not. Doing nothing is never a pass.
//!
//! * `compare` finds the differences between two timelines; `agree` makes one timeline of
//!   equivalent recordings.
//! * `analysis` reads a recording, once; `evidence` finds trouble, and whose fault it is.
//! * `version_change` compares runs of two versions of upstream.
//! * `outcomes` is for cases in which upstream itself has several outcomes.
//! * `overrun` finds timers that expired because the test environment was slow.
//! * `judge` combines all of these; `fault_outcome` compares a run with a fault with one without.
//!
//! Pure: a stored recording can be judged again, offline, with the same result.

mod agree;
mod analysis;
mod compare;
mod evidence;
mod fault_outcome;
mod judge;
mod judgement;
mod outcomes;
mod overrun;
mod version_change;

pub use agree::{Disagreement, agree};
pub use compare::{BothIdle, Difference, LabelMismatch, TimelineComparison, TimelineLocation, compare, compare_live};
pub use fault_outcome::{FaultOutcome, fault_outcome};
pub use judge::{judge, judge_live, judge_replay};
pub use judgement::{ComparisonBasis, FindingKind, Judgement, NearestOutcome, VerdictFinding};
pub use outcomes::{first_differing_step, outcomes};
pub use version_change::{
    Behavior, DifferenceKind, FirstDifference, OutcomeSpread, PlayResult, StopPoint, VersionChange, compare_versions,
};

pub use crate::outcome::Verdict;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
