//! A Deployment controller and a ReplicaSet controller that equal kube-controller-manager's,
//! decision for decision, and one that restarts workloads whose ConfigMaps and Secrets have
//! changed.
//!
//! ```text
//!              watches                 keys                  Observed              Plan
//!  API server ────────► cache ─triggers────► queue ─workers─► observe ─► plan ─► apply ────► API server
//!              (runtime) (api)          (runtime)           (deployment, replicaset) │      writes
//!                                                                                    └► events
//! ```
//!
//! The middle is the point: [`plan`] is a pure function from what the caches hold, the time, and
//! the settings, to a list of actions as plain data. Left and right of the rules is a shell that
//! knows none. [`Settings::controllers`] says which controllers run. The first two share the
//! watches and the cache; each has a queue, a limit to its requests and events of its own, and
//! neither knows of the other. The third ([`restart`]) is of the same shape, with watches and a
//! view of its own: of configs it keeps checksums, never a value.
//!
//! Like upstream's, the Deployment controller does not wait to read its own writes. A cache may
//! lag; every write carries the resourceVersion that the decision was made on, the server refuses
//! it if that is the past, and the Deployment is looked at again. Pods have no such guard: the
//! ReplicaSet controller waits until it has seen what it wrote and made.
//!
//! The rooms, the lowest layer first. A room imports from layers below its own, and the files of a
//! room do not import each other in circles; `harness/tests/layers.rs` reads the imports and says
//! so.
//!
//! ```text
//!  clock | model ◄ hash ◄ metrics | settings ◄ api | connect ◄ deployment | replicaset | restart ◄ runtime ◄ process
//! ```
//!
//! - `clock`: gives the time and sleeps, for all others; knows nothing of what is waited for.
//! - [`model`]: the API's JSON comes in, views that lose no field go out; knows no client, no time.
//! - `hash`: a pod template comes in, its pod-template-hash goes out; knows no ReplicaSet.
//! - `metrics`: counts come in, Prometheus' text goes out; knows no controller, and decides
//!   nothing.
//! - `settings`: an operator's choices, as plain data; does not know what they lead to.
//! - `api`: requests, objects that watches have shown, and events come in; answers, look-ups and
//!   writes go out; knows no controller and no rule.
//! - [`connect`]: a kubeconfig and the environment come in, a client goes out; does not know what
//!   is requested through it.
//! - [`deployment`], [`replicaset`], [`restart`]: what was seen comes in, a plan as plain data goes
//!   out and is carried out through `api`; no room knows the other two, a queue or a watch.
//! - `runtime`: a list of controllers comes in; it watches, queues, starts and ends for them; knows
//!   no rule.
//! - `process`: a client and settings come in, one leader among replicas with metrics and probes
//!   goes out; does not know what the controllers do.
//!
//! Run it with [`run`], or with [`run_with`] to put another planner in the middle for Deployments:
//! `examples/mutant.rs` makes controllers that are wrong on purpose that way, and `mutants/` makes
//! many more, by one changed rule each. [`serve`] is for a process of its own in a cluster. The
//! program (`main.rs`) has its flags in files beside this one: `flags` and `restart_flags` for its
//! two commands, above `launch`, which both lead to, `checksum_key`, `reloader_flags` and
//! `serving_flags`.

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
    Address, BindError, Election, ElectionError, Endpoint, Pages, Process, ProcessError, Tls, TlsError, serve,
};
pub use runtime::RunError;
use runtime::{Controllers, run_controllers};
pub use settings::{
    Budget, ChecksumKeyError, ChecksumKeys, Compatibility, ControllerName, Limit, MIN_RESYNC_PERIOD, Profile,
    RateLimit, ReloadStrategy, ReloaderAnnotations, ReloaderFlagError, ReloaderSettings, RestartSettings,
    SecretChecksums, Settings, Turns, UnknownController, Webhook, WebhookForm, WebhookUrl, Window,
};

/// Runs the controller until `shutdown` completes.
///
/// Installs neither signal handlers nor a subscriber, so it can run as one task among others. Every
/// task that it spawns has ended when it returns, and is ended when its future is dropped. Use a
/// client whose configuration has `default_retry = false`: what is to be tried again, and when, is
/// decided here.
///
/// # Errors
/// [`RunError::Task`] if one of its tasks panicked. An API server that cannot be reached is waited for; see [`check`].
pub async fn run(
    client: Client,
    settings: Settings,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
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
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), RunError> {
    let (controllers, reports) = Controllers::new(&client, settings, &planner, Metrics::default());
    run_controllers(controllers, reports, std::future::ready(()), shutdown).await
}

/// Says what it means to take over from another config-restart controller: who is restarted from
/// now on and for what, what has no equivalent, and whether anything restarts for it. Nothing is
/// written.
///
/// # Errors
/// [`RunError::Migration`] if something could not be read.
pub async fn migrate(
    client: Client,
    settings: Settings,
    from: restart::Source,
) -> Result<restart::Migration, RunError> {
    runtime::migrate(client, &settings, from).await
}

/// Takes a first look at an API server: whether it answers, and serves what this controller needs.
///
/// # Errors
/// [`RunError::Unreachable`], [`RunError::Refused`] or [`RunError::NotServed`].
pub async fn check(client: &Client) -> Result<(), RunError> {
    runtime::check(&ApiServer::new(client.clone())).await
}
