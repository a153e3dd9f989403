//! A Deployment controller and a ReplicaSet controller that equal kube-controller-manager's,
//! decision for decision, and a controller that restarts workloads whose ConfigMaps and Secrets
//! have changed.
//!
//! **Architecture Invariant:** this crate decides nothing about a workload, and sends no request.
//! It has what an operator sets, and starts the controllers.
//!
//! ```text
//!              watches                 keys                  Observed              Plan
//!  API server ───────► cache ─triggers───► queue ─workers─► observe ─► plan ─► apply ───► API server
//!                  (controller-client)                  (reconcilers) (rules)    └► events
//! ```
//!
//! [`plan`] is a pure function from the content of the caches, the time and the settings to a list
//! of actions as plain data. The rest is infrastructure that knows no rules.
//! [`Settings::controllers`] selects the controllers to run. The first two share the watches and
//! the cache; each has its own queue, rate limit and events, and neither knows the other. The third
//! ([`restart`]) has the same structure, with its own watches and state: of configs it keeps
//! checksums, never a value.
//!
//! A cache may lag. Every write carries the resourceVersion that the decision was based on, the
//! server refuses it if that is outdated, and the Deployment is reconciled again. So the Deployment
//! controller waits at most 300 ms until its caches have its own writes, where upstream's does not
//! wait. Pods have no such guard: the ReplicaSet controller waits until its caches have its own
//! writes, however long that takes.
//!
//! The crates, the lowest first. `scripts/house-rules` checks that files do not import each other
//! in circles.
//!
//! ```text
//!  rollout-model ◄ rollout-rules | config-restart | controller-client ◄ controller-reconcilers
//!                ◄ rollout-controller
//! ```
//!
//! - `rollout-model`: lossless views of the API's JSON, and the pod-template-hash; knows no client
//!   and no time.
//! - `rollout-rules`: what is observed of Deployments and ReplicaSets in, a plan out.
//! - `config-restart`: which workloads restart for which configs; sends nothing.
//! - `controller-client`: requests, caches, watches, queues, election, metrics; knows no rule.
//! - `controller-reconcilers`: [`deployment`], [`replicaset`] and [`restart`] observe, and apply a
//!   plan; none knows the other two.
//! - this one. `registry` names all controllers for the runtime. `settings` is what an operator
//!   sets, as plain data.
//!
//! [`run`] runs the controllers, and [`run_with`] with another planner for Deployments:
//! `examples/mutant.rs` makes wrong controllers that way, and `mutants/` makes many more, by one
//! changed rule each. [`serve`] runs a process of its own in a cluster. The program is
//! `main.rs`, with its flags in `flags`.

mod registry;
mod settings;

use std::future::Future;
use std::sync::Arc;

use controller_client::api::ApiServer;
pub use controller_client::metrics::{CountedRequests, Metrics, RequestCountLayer};
pub use controller_client::process::{
    Address, BindError, Election, ElectionError, Endpoint, Pages, ProcessError, ProcessOptions, Tls, TlsError,
};
pub use controller_client::runtime::RunError;
use controller_client::runtime::run_controllers;
pub use controller_client::{Clock, MIN_RESYNC_PERIOD, RateLimit, connect};
use controller_client::{process, runtime};
pub use controller_reconcilers::decisions::restarts::{
    Budget, ChecksumKeyError, ChecksumKeys, GroupSettings, Limit, Profile, ReloadStrategy, ReloaderAnnotations,
    ReloaderFlagError, ReloaderSettings, RestartSettings, SecretChecksums, Webhook, WebhookFormat, WebhookUrl, Window,
};
pub use controller_reconcilers::decisions::rollouts::{Compatibility, OwnershipChange, RuleSettings};
pub use controller_reconcilers::deployment::{DeploymentPlan, ObservedDeployment, Planner, plan};
#[cfg(feature = "mutants")]
pub use controller_reconcilers::mutants;
pub use controller_reconcilers::{SyncError, deployment, replicaset, restart};
use kube::Client;
use registry::build_controllers;
pub use rollout_model as model;
pub use rollout_model::hash::{KubernetesMinor, KubernetesMinorError, pod_template_hash};
pub use settings::{ControllerName, Settings, UnknownController};

/// The targets of its logs: the crates that it consists of and that log.
pub const LOG_TARGETS: [&str; 4] =
    ["rollout_controller", "controller_client", "controller_reconcilers", "config_restart"];

/// Runs the controller until `shutdown` completes.
///
/// Installs neither signal handlers nor a subscriber, so it can run as one task among others. Every
/// task that it spawns has ended when it returns, and is aborted when its future is dropped. Use a
/// client whose configuration has `default_retry = false`, since this controller decides about
/// retries.
///
/// # Errors
/// [`RunError::Task`] if one of its tasks panicked. An API server that cannot be reached is waited
/// for; see [`check`].
pub async fn run(
    client: Client,
    settings: Settings,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    run_with(client, settings, Arc::new(plan), shutdown).await
}

/// Runs the controller with another planner; otherwise as [`run`].
///
/// # Errors
/// As [`run`].
pub async fn run_with(
    client: Client,
    settings: Settings,
    planner: Planner,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    let (controllers, event_queues) = build_controllers(&client, &settings, &planner, Metrics::default());
    run_controllers(controllers, event_queues, std::future::ready(()), shutdown).await
}

/// Runs the controller as a process of its own until `shutdown` completes: running work is finished
/// within a time limit, and then the lease is released. Waits for an API server that is unavailable
/// or rejects the first request, and answers probes meanwhile. Otherwise as [`run`].
///
/// # Errors
/// [`ProcessError::Lost`] if the lease was lost: another process may act now, so this one stopped
/// at once, and must exit. [`ProcessError::Election`] if the election's settings are inconsistent.
/// [`ProcessError::Run`] as [`run`].
pub async fn serve(
    client: Client,
    settings: Settings,
    process: ProcessOptions,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), ProcessError> {
    let clock = settings.clock;
    let build = move |client: &Client, metrics: Metrics| {
        build_controllers(client, &settings, &(Arc::new(plan) as Planner), metrics)
    };
    process::serve(client, clock, process, build, shutdown).await
}

/// Reports what taking over from another config-restart controller would change: which workloads
/// are restarted for which configs, what has no equivalent, and whether taking over restarts
/// anything. Nothing is written.
///
/// # Errors
/// [`RunError::Migration`] if an object could not be read.
pub async fn migrate(
    client: Client,
    settings: Settings,
    from: restart::MigrationSource,
) -> Result<restart::Migration, RunError> {
    restart::migrate(client, &settings.client(), &settings.restart, from).await
}

/// Checks that an API server answers and serves what this controller needs.
///
/// # Errors
/// [`RunError::Unreachable`], [`RunError::Refused`] or [`RunError::NotServed`].
pub async fn check(client: &Client) -> Result<(), RunError> {
    runtime::check(&ApiServer::new(client.clone())).await
}
