//! Runs controllers: everything between the API server and a pure decision.
//!
//! **Architecture Invariant:** this crate knows objects (`rollout-model`), but no rule and no
//! controller. It runs whatever implements [`runtime::Reconcile`] or [`runtime::Controller`].
//!
//! The modules, the lowest layer first:
//!
//! - [`clock`]: reads the time and sleeps for all others.
//! - [`metrics`]: counts and exports in Prometheus' format; decides nothing.
//! - `settings`: an operator's settings of requests and watches, as plain data.
//! - [`api`]: requests, caches and event recording.
//! - [`connect`]: makes a client from a kubeconfig and the environment; does not know what is
//!   requested through it.
//! - [`runtime`]: watches and queues; starts and stops a list of controllers.
//! - [`process`]: runs one leader among replicas, with metrics and probes.

pub mod api;
pub mod clock;
pub mod connect;
pub mod metrics;
pub mod process;
pub mod runtime;
mod settings;

pub use clock::Clock;
pub use settings::{ClientSettings, MIN_RESYNC_PERIOD, RateLimit};
