//! The shell around the rules: what watches, queues, and talks to the API server.
//!
//! Watches feed the [`Cache`], whose changes say which Deployments to look at; the [`Queue`] hands those to the workers, never one
//! to two of them; a worker observes, plans and applies. Events go through a task of their own, in order, and hold nothing up.
//!
//! Borders: nothing in here knows a rule of a roll-out. What could be pure is: the cache with its triggers, and the correlation
//! of events.

mod api;
mod cache;
mod correlate;
mod error;
mod events;
mod queue;
mod reflector;
mod throttle;
mod triggers;
mod wire;
mod worker;

pub(crate) use api::{ApiServer, Resource};
pub(crate) use cache::{Cache, Key};
pub(crate) use error::RequestError;
pub use error::RunError;
pub(crate) use events::Recorder;
pub(crate) use worker::{Controller, check, run_controller};
