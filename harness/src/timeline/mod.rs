//! Timelines: what a subject decided, step by step, freed of everything that differs from run to
//! run.
//!
//! A [`Recording`](crate::recording::Recording) holds every version of every object. A [`Timeline`]
//! keeps of it, for each step of the case, the *decisions* that were made about ReplicaSets and
//! Deployments in their order, the *checkpoint* once the namespace had settled, and the *breaches*
//! of the built-in invariants. Two timelines are equal when two controllers did the same.
//!
//! * `replay` goes through a recording once, frame by frame, for all who read it; `world` is the
//!   state at a frame; `object` reads the few fields that count.
//! * `names` gives ReplicaSets their names; `shape`, `decide`, `checkpoint` and `events` are the
//!   normalisations, each a small function; `bounds` and `invariants` hold the judge's own rollout
//!   arithmetic.
//! * `pods` is for cases that judge the ReplicaSet controller: what it did to pods; `expected`
//!   holds a case's own word on the pods that it named against what is there.
//! * `order` puts decisions into the order that upstream repeats, and joins them where it does not;
//!   `recorded_order` keeps the recording's.
//! * `credit` tells where the decisions cannot have been the subject's.
//! * `golden` holds what upstream did: one timeline, or several.
//! * `digest` tells one version of a case from another.
//! * [`fold`] joins runs of like sub-steps where they are shown.
//! * `live` asks the invariants of one write on a cluster that is in use.
//! * `line` is what is compared and printed; `text` writes a timeline, `parse` reads it back,
//!   `build` makes it of frames.
//!
//! Nothing here knows what was expected: that is `verdict`'s. No I/O, no clock.

mod bounds;
mod build;
mod checkpoint;
mod credit;
mod decide;
mod digest;
mod events;
mod expected;
#[cfg(test)]
pub(crate) mod fixture;
pub mod fold;
mod golden;
mod invariants;
mod legend;
mod line;
mod live;
mod metrics;
mod model;
mod names;
pub(crate) mod object;
mod order;
mod parse;
mod pods;
mod recorded_order;
mod replay;
mod shape;
mod shared;
mod silence;
mod text;
mod times;
mod token;
mod world;

pub use bounds::Bounds;
pub(crate) use build::Build;
pub(crate) use checkpoint::is_complete;
pub(crate) use credit::{Credit, wrote};
pub(crate) use digest::digest as digest_of_case;
pub(crate) use expected::Expected;
pub use golden::Golden;
pub use legend::{annotation, legend};
pub use line::Line;
pub(crate) use live::{Moment, broken_bounds};
pub use metrics::{Metrics, Refusal};
pub use model::{
    Action, Breach, Decision, EventLine, Events, Field, Invariant, Provenance, State, Step, StepId, Timeline,
};
pub(crate) use names::Names;
pub use order::joined;
pub use parse::TimelineError;
pub use recorded_order::RecordedOrder;
pub(crate) use replay::{Frame, Reader, replay};

#[cfg(test)]
mod tests;
