//! A Deployment controller and a ReplicaSet controller that equal kube-controller-manager's,
//! decision for decision, and a controller that restarts workloads whose ConfigMaps and Secrets
//! have changed.
//!
//! ```text
//!              watches                 keys                  Observed              Plan
//!  API server ────────► cache ─triggers────► queue ─workers─► observe ─► plan ─► apply ────► API server
//!              (runtime) (api)          (runtime)           (deployment, replicaset) │      writes
//!                                                                                    └► events
//! ```
//!
//! [`plan`] is a pure function from the content of the caches, the time and the settings to a list
//! of actions as plain data. The rest is infrastructure that knows no rules.
//! [`Settings::controllers`] selects the controllers to run. The first two share the watches and
//! the cache; each has its own queue, rate limit and events, and neither knows the other. The third
//! ([`restart`]) has the same structure, with its own watches and state: of configs it keeps
//! checksums, never a value.
//!
//! Like upstream's, the Deployment controller does not wait to read its own writes. A cache may
//! lag; every write carries the resourceVersion that the decision was based on, the server refuses
//! it if that is outdated, and the Deployment is reconciled again. Pods have no such guard: the
//! ReplicaSet controller waits until its caches have its own writes.
//!
//! The modules, the lowest layer first. A module imports only from lower layers, and files do not
//! import each other in circles, which `scripts/house-rules` checks.
//!
//! ```text
//!  clock | model ◄ hash ◄ metrics | settings ◄ api | connect ◄ deployment | replicaset | restart ◄ runtime ◄ process
//! ```
//!
//! - `clock`: reads the time and sleeps for all others.
//! - [`model`]: lossless views of the API's JSON; knows no client and no time.
//! - `hash`: computes a pod template's pod-template-hash; knows no ReplicaSet.
//! - `metrics`: counts and exports in Prometheus' format; knows no controller, and decides nothing.
//! - `settings`: an operator's settings as plain data; does not interpret them.
//! - `api`: requests, caches and event recording; knows no controller and no rule.
//! - [`connect`]: makes a client from a kubeconfig and the environment; does not know what is
//!   requested through it.
//! - [`deployment`], [`replicaset`], [`restart`]: observe, make a plan as plain data, and apply it
//!   through `api`; none knows the other two, a queue or a watch.
//! - `runtime`: watches, queues, starts and stops a list of controllers; knows no rule.
//! - `process`: runs one leader among replicas, with metrics and probes; does not know what the
//!   controllers do.
//!
//! [`run`] runs the controllers, and [`run_with`] with another planner for Deployments:
//! `examples/mutant.rs` makes wrong controllers that way, and `mutants/` makes many more, by one
//! changed rule each. [`serve`] runs a process of its own in a cluster. The program (`main.rs`) has
//! its flags in files beside this one: `flags` and `restart_flags` for its two commands, above
//! `launch`, which both use, `checksum_key`, `reloader_flags` and `serving_flags`.

mod api;
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

use api::ApiServer;
pub use clock::Clock;
pub use deployment::{DeploymentPlan, ObservedDeployment, Planner, plan};
pub use hash::{KubernetesMinor, KubernetesMinorError, pod_template_hash};
use kube::Client;
pub use metrics::{CountRequests, CountedRequests, Metrics};
pub use process::{
    Address, BindError, Election, ElectionError, Endpoint, Pages, ProcessError, ProcessOptions, Tls, TlsError, serve,
};
pub use runtime::RunError;
use runtime::{Controllers, run_controllers};
pub use settings::{
    Budget, ChecksumKeyError, ChecksumKeys, Compatibility, ControllerName, GroupSettings, Limit, MIN_RESYNC_PERIOD,
    Profile, RateLimit, ReloadStrategy, ReloaderAnnotations, ReloaderFlagError, ReloaderSettings, RestartSettings,
    SecretChecksums, Settings, UnknownController, Webhook, WebhookFormat, WebhookUrl, Window,
};

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
    let (controllers, event_queues) = Controllers::new(&client, settings, &planner, Metrics::default());
    run_controllers(controllers, event_queues, std::future::ready(()), shutdown).await
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
    runtime::migrate(client, &settings, from).await
}

/// Checks that an API server answers and serves what this controller needs.
///
/// # Errors
/// [`RunError::Unreachable`], [`RunError::Refused`] or [`RunError::NotServed`].
pub async fn check(client: &Client) -> Result<(), RunError> {
    runtime::check(&ApiServer::new(client.clone())).await
}
