//! Timelines: what a subject decided, step by step, without anything that differs from run to run.
//!
//! **Architecture Invariant:** it knows recordings only. It does not know what was expected, and
//! has no I/O and no clock.
//!
//! A [`Recording`](lockstep_recording::Recording) holds every version of every object. For each
//! step of the case, a [`Timeline`] keeps the *decisions* about ReplicaSets and Deployments in
//! their order, the *checkpoint* once the namespace had settled, and the *breaches* of the built-in
//! invariants. Two timelines are equal if two controllers did the same.
//!
//! * `replay` replays a recording once, frame by frame, for all readers; `recorded_objects` is the
//!   state at a frame; `object` reads the few fields that matter.
//! * `names` gives ReplicaSets stable names; `decide`, `checkpoint` and `events` are the
//!   normalisations, each a small function; `bounds` and `invariants` are the judge's own rollout
//!   arithmetic, for a recording and for one write on a live cluster.
//! * `pods` records what happened to pods in cases that judge the ReplicaSet controller, and
//!   compares a case's expectation of its named pods with the pods.
//! * `order` puts decisions into the order that upstream repeats, and joins them where it does not;
//!   it also keeps the recording's order.
//! * `attribution` finds decisions that cannot be the subject's, and those of the controller beside
//!   it.
//! * `model` is a timeline as data, and the golden outcomes of a case: one timeline, or several.
//! * [`fold`] collapses runs of similar sub-steps for display.
//! * `text` has the lines that are compared and printed, writes a timeline and parses it, with the
//!   digest that identifies a version of a case; `build` builds it from frames.
//! * [`versions`] translates a timeline to the wording of other versions of upstream.

mod attribution;
mod bounds;
mod build;
mod checkpoint;
mod comparable;
mod decide;
mod events;
pub mod fold;
mod invariants;
mod legend;
mod metrics;
mod model;
mod names;
pub mod object;
mod order;
mod pods;
mod recorded_objects;
mod replay;
mod spec;
mod text;
pub mod versions;

pub use attribution::{Attribution, WritesBeside, subject_wrote};
pub use bounds::Bounds;
pub use build::TimelineBuilder;
pub use checkpoint::is_complete;
pub use invariants::{LiveWrite, broken_bounds};
pub use legend::{annotation_key, legend};
pub use metrics::{FailedRequest, RunMetrics};
pub(crate) use model::EventLine;
pub use model::{
    Decision, DecisionAction, GoldenOutcomes, Invariant, InvariantBreach, KeyValue, Provenance, State, StepId,
    Timeline, TimelineEvents, TimelineStep,
};
pub use names::{NormalizedNames, replica_set_number};
pub use order::RecordedOrder;
pub use pods::ExpectationCheck;
pub use replay::{Frame, FrameReader, replay};
pub use text::{TimelineError, TimelineLine, digest_of_case};

#[cfg(test)]
mod tests;
