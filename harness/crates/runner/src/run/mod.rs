//! Plays cases, for every command that does so and for every trial of a test runner.
//!
//! * `setup` starts what a run needs, for each subject in turn: a test environment with sessions,
//!   or simulated clusters.
//! * `plays` plays the cases of a plan, as many in parallel as there are lanes, and returns each
//!   recording as soon as it is complete.
//! * `event` defines the [`RunEvent`]s to which reporters subscribe: text, JSON, JUnit, HTML,
//!   GitHub and progress. Nothing here prints.
//!
//! The input is plain data ([`Setup`], [`PlayPlan`]), the output recordings and events. The caller
//! judges the recordings.

mod event;
mod plays;
mod setup;

pub use event::{EnvironmentOrigin, FileError, JudgedPlay, RunEvent, Subscriber, Subscribers};
pub use plays::{CompletedPlay, PlayPlan, PlayRound};
pub use setup::{ClusterSource, PlayError, Setup};
