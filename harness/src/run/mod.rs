//! The one way to play cases: every command that plays, and every trial of a test runner, goes
//! through here.
//!
//! * `setup` brings up what a run needs, for each subject in turn: a test environment and sessions
//!   on it, or simulated clusters.
//! * `plays` plays the cases of a plan on it, as many side by side as there are lanes, and hands
//!   each recording out as it is complete.
//! * `event` is what is said meanwhile: a stream of [`Event`]s, to which whatever reports
//!   subscribes (people, JSON, JUnit, HTML, GitHub, progress). Nothing here prints.
//!
//! What comes in is plain data ([`Setup`], [`Plan`]); what goes out are recordings and events. Who
//! judges a recording, and by what, is the caller's.

mod event;
mod plays;
mod setup;

pub use event::{Event, Events, FileError, HowReady, Judged, Subscriber};
pub use plays::{Plan, Played, Round};
pub use setup::{RunError, Setup, Source, on_environment};
