//! A Deployment controller and a ReplicaSet controller that equal kube-controller-manager's, decision for decision, and one that
//! restarts workloads whose ConfigMaps and Secrets have changed.
//!
//! ```text
//!              watches                 keys                  Observed              Plan
//!  API server ────────► cache ─triggers────► queue ─workers─► observe ─► plan ─► apply ────► API server
//!              (runtime)                                       (deployment, replicaset) │      writes
//!                                                                                       └► events
//! ```
//!
//! The middle is the point: [`plan`] is a pure function from what the caches hold, the time, and the settings, to a list of
//! actions as plain data. Every rule of a roll-out is in there (`deployment/`), over views of the API's JSON that lose no field
//! (`model/`); every rule about pods, the order in which they die above all, is in `replicaset/` in the same way. Left and right
//! of them is a shell (`runtime/`) that knows no rule. [`Settings::controllers`] says which of them run. These two share the
//! watches and the cache; each has a queue, a limit to its requests, and events of its own, and neither knows of the other. The third
//! ([`restart`]) is of the same shape, with watches and a view of its own: of configs it keeps checksums, never a value.
//!
//! Like upstream's, the Deployment controller does not wait to read its own writes. A cache may lag; every write carries the
//! resourceVersion that the decision was made on, the server refuses it if that is the past, and the Deployment is looked at
//! again. Pods have no such guard: the ReplicaSet controller waits until it has seen what it wrote and made.
//!
//! Arrows: `model ◄ deployment, replicaset, restart ◄ runtime ◄ process ◄ main`; `metrics` counts for all of them, time enters only
//! through `clock`, and `connect` makes the client that `main` hands in.
//!
//! Run it with [`run`], or with [`run_with`] to put another planner in the middle for Deployments: `examples/mutant.rs` makes
//! controllers that are wrong on purpose that way, and `mutants/` makes many more, by one changed rule each. [`serve`] is for a process of its own in a cluster: one leader among replicas, metrics and probes
//! (`process/`).

mod clock;
pub mod connect;
pub mod deployment;
mod hash;
mod metrics;
pub mod model;
mod process;
pub mod replicaset;
pub mod restart;
mod runtime;
mod settings;

use std::future::Future;
use std::sync::Arc;

pub use clock::Clock;
pub use deployment::{Observed, Plan, plan};
pub use hash::{Minor, MinorError, pod_template_hash};
use jiff::Timestamp;
use kube::Client;
pub use metrics::{CountRequests, CountedRequests, Metrics};
pub use process::{
    Address, BindError, Election, ElectionError, Endpoint, Pages, Process, ProcessError, Tls, TlsError, serve,
};
pub use restart::{Budget, ChecksumKeyError, ChecksumKeys, Profile, RestartSettings, SecretChecksums, Window};
pub use runtime::RunError;
use runtime::{ApiServer, Controller, run_controller};
pub use settings::{Compatibility, ControllerName, MIN_RESYNC_PERIOD, RateLimit, Settings, UnknownController};

/// What decides; [`plan`], unless a test wants a wrong one.
pub type Planner = Arc<dyn Fn(&Observed, Timestamp, &Settings) -> Plan + Send + Sync>;

/// Runs the controller until `shutdown` completes.
///
/// Installs neither signal handlers nor a subscriber, so it can run as one task among others. Every task that it spawns has ended
/// when it returns, and is ended when its future is dropped. Use a client whose configuration has `default_retry = false`: what
/// is to be tried again, and when, is decided here.
///
/// # Errors
/// [`RunError::Task`] if one of its tasks panicked. An API server that cannot be reached is waited for; see [`check`].
pub async fn run(client: Client, settings: Settings, shutdown: impl Future<Output = ()>) -> Result<(), RunError> {
    run_with(client, settings, Arc::new(plan), shutdown).await
}

/// Runs the controller with another planner; else as [`run`].
///
/// # Errors
/// As [`run`].
pub async fn run_with(
    client: Client,
    settings: Settings,
    planner: Planner,
    shutdown: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let (controller, reports) = Controller::new(&client, settings, planner, Metrics::default());
    run_controller(controller, reports, std::future::ready(()), shutdown).await
}

/// Takes a first look at an API server: whether it answers, and serves what this controller needs.
///
/// # Errors
/// [`RunError::Unreachable`], [`RunError::Refused`] or [`RunError::NotServed`].
pub async fn check(client: &Client) -> Result<(), RunError> {
    runtime::check(&ApiServer::new(client.clone())).await
}
