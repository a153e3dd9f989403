//! The shell around the rules: what watches, queues, and talks to the API server.
//!
//! Watches feed the [`Cache`], whose changes say which objects to look at; each controller's [`queue`] hands those to its workers,
//! never one to two of them; a worker observes, plans and applies. Events go through tasks of their own, in order, and hold
//! nothing up. The controllers share the watches and the cache, and nothing else.
//!
//! Borders: nothing in here knows a rule of a roll-out. What could be pure is: the cache with its triggers, and the correlation
//! of events.

mod api;
mod cache;
#[cfg(test)]
mod cache_test;
mod consistency;
#[cfg(test)]
mod consistency_test;
mod correlate;
mod deployments;
mod error;
mod events;
mod informer;
mod lane;
mod queue;
mod reflector;
mod replica_sets;
mod restart_wire;
mod restarts;
mod templates;
mod throttle;
mod triggers;
mod wire;
mod worker;

pub(crate) use api::{ApiServer, Resource};
pub(crate) use cache::{Cache, Key};
pub(crate) use consistency::Writes;
pub(crate) use error::RequestError;
pub use error::RunError;
pub(crate) use events::Recorder;
pub(crate) use worker::{Controller, check, run_controller};
