//! Verdicts: what a recording says about its subject.
//!
//! **Architecture Invariant:** it judges by a case, a recording and golden timelines alone: no
//! cluster, no clock. So a stored recording is judged again, offline, with the same result.
//!
//! There are three. *Conformant*: the subject did what the golden timeline says and broke no
//! invariant. *Non-conformant*: it did something else, wrote what an invariant forbids, did not
//! settle, or made the next step impossible. *Inconclusive*: the test environment failed first,
//! which says nothing about the subject. Steps that settled before the test environment failed are
//! still evidence; later ones are not. Doing nothing is never a pass.
//!
//! * `compare` finds the differences between two timelines.
//! * `evidence` finds trouble in a recording, and whose fault it is.
//! * `version_change` compares runs of two versions of upstream.
//! * `outcomes` makes one timeline of equivalent recordings, or several if upstream itself has
//!   several outcomes.
//! * `overrun` finds timers that expired because the test environment was slow; `late_decision`
//!   finds decisions that may have come after their step had settled.
//! * `judge` reads a recording once and combines all of these; `fault_outcome` compares a run with
//!   a fault or a handover with runs without, by the `run_end` of each.
//!
//! `score` counts judgements by what a controller claims.
//!
//! [`golden`] finds the timelines beside a case, [`faults`] the points of a recording at which a
//! fault can be injected, and [`series`] sizes and bounds over time.

mod compare;
mod evidence;
mod fault_outcome;
pub mod faults;
pub mod golden;
mod judge;
mod judgement;
mod late_decision;
mod outcomes;
mod overrun;
mod run_end;
mod score;
pub mod series;
mod version_change;

pub use compare::{Difference, TimelineLocation, compare, compare_live};
pub use fault_outcome::{FaultOutcome, ReferenceRun, fault_outcome, handover_outcome};
pub use judge::{judge, judge_live, judge_replay};
pub use judgement::{ComparisonBasis, FindingKind, Judgement, NearestOutcome, VerdictFinding};
pub use late_decision::{LONG_SILENCE, late_step, with_lateness};
pub use lockstep_support::outcome::Verdict;
pub use outcomes::{agree, first_differing_step, outcomes};
pub use score::{AreaScore, Score, scored_areas, scored_verdict};
pub use version_change::{
    Behavior, DifferenceKind, FirstDifference, OutcomeSpread, PlayResult, StopPoint, VersionChange, compare_versions,
};

pub mod testing;
#[cfg(test)]
mod tests;
