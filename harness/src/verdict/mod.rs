//! Verdicts: what a recording says about its subject.
//!
//! Three are possible. *Conformant*: the subject did what the golden timeline says and broke no
//! invariant. *Non-conformant*: it did something else, wrote what an invariant forbids, never came
//! to rest, or left the next step impossible. *Inconclusive*: the test environment broke first, so
//! nothing is said about the subject. What was recorded and settled before the test environment
//! failed is still evidence; what came after it is not. Doing nothing is never a pass.
//!
//! * `compare` finds where two timelines differ; `agree` makes one timeline of recordings that are
//!   the same.
//! * `account` reads a recording, once; `evidence` says who got into trouble, and where.
//! * `between` compares the plays of two versions of upstream.
//! * `outcomes` is for cases in which upstream itself does several things.
//! * `judge` weighs both; `withstood` holds a run with a fault against one without.
//!
//! Pure: a stored recording is judged again, offline, with the same result.

mod account;
mod agree;
mod between;
mod compare;
mod evidence;
mod judge;
mod judgement;
mod outcomes;
mod withstood;

pub use agree::{Disagreement, agree};
pub use between::{Change, Conduct, Otherwise, Parting, Play, Spread, Stop, between};
pub use compare::{BothIdle, Comparison, Difference, Place, Relabelled, compare, compare_live};
pub use judge::{judge, judge_live, judge_replay};
pub use judgement::{Blessing, Finding, Judgement, Nearest, What};
pub use outcomes::{outcomes, parting};
pub use withstood::{Withstood, withstood};

pub use crate::outcome::Verdict;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
