//! Runs the controller as a process in a cluster: one leader among replicas, metrics, probes, and
//! an orderly shutdown.
//!
//! ```text
//!         API server there      caches synced          lease won
//!  start ─────────────────► list ─────────────► stand by ─────────► act ──SIGTERM──► finish ──► release the lease
//!                                                                    │
//!                                                                    └──lease lost──► drop everything at once, fail
//! ```
//!
//! A standby replica watches, too: it is ready as soon as its caches are filled, and takes over
//! without a list. A Lease with client-go's semantics decides which replica acts, so that operators
//! can read it as they read other controllers' leases. [`Election`] and `lease_record.rs` are the
//! rules, without a clock or a client; `elector.rs` carries them out.
//!
//! Metrics, probes and the lease have a runtime of their own ([`ProcessOptions::runtime`]), on one
//! thread. A separate thread, rather than decisions that are split or moved to blocking threads,
//! protects against long computations in decisions, parsers and dependencies alike, and decisions
//! stay plain code that a simulation replays. Locks shared with the controllers are held for
//! moments only.
//!
//! A client, settings and endpoints come in; an orderly run of the controllers goes out. Nothing
//! here knows what the controllers do, and they do not know that this process is one of many.

mod access;
mod address;
mod connection_limit;
mod election;
mod elector;
mod error;
mod health;
mod http;
mod lease_record;
mod tls;
mod wait_for_apiserver;

use std::sync::Arc;

use access::AccessReviewer;
pub use address::Address;
pub use election::Election;
use elector::Elector;
pub use error::{BindError, ElectionError, ProcessError, TlsError};
use futures::future::BoxFuture;
use health::Health;
use http::PageSources;
pub use http::{Endpoint, Pages};
use kube::Client;
pub use tls::Tls;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

use crate::api::ApiServer;
use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::runtime::{Controllers, EventQueues, RunError, run_controllers};

/// Options of a process besides the controller's settings.
#[derive(Default)]
pub struct ProcessOptions {
    /// The leader election; `None` if this process always acts.
    pub election: Option<Election>,
    /// The client that renews the lease, so that other requests cannot delay it; `None` for the
    /// controllers' client. See [`crate::connect`].
    pub lease: Option<Client>,
    /// The metrics.
    pub metrics: Metrics,
    /// Where metrics and probes are served.
    pub endpoints: Vec<Endpoint>,
    /// The runtime of metrics, probes and the lease, on a thread that nothing else uses, so that a
    /// long decision delays none of them. `None` for the caller's own, as in a simulation.
    pub runtime: Option<Handle>,
}

impl std::fmt::Debug for ProcessOptions {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = to.debug_struct("ProcessOptions");
        debug.field("election", &self.election).field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}

/// Builds the controllers of a process, whose metrics they use.
type ControllerFactory<'a> = Box<dyn FnOnce(&Client, Metrics) -> (Arc<Controllers>, EventQueues) + Send + 'a>;

/// Runs controllers as a process of its own until `shutdown` completes: running work is finished
/// within a time limit, and then the lease is released. Waits for an API server that is unavailable
/// or rejects the first request, and answers probes meanwhile. Otherwise as [`run_controllers`].
///
/// # Errors
/// [`ProcessError::Lost`] if the lease was lost: another process may act now, so this one stopped
/// at once, and must exit. [`ProcessError::Election`] if the election's settings are inconsistent.
/// [`ProcessError::Run`] as [`run_controllers`].
pub fn serve<'a>(
    client: Client,
    clock: Clock,
    process: ProcessOptions,
    build: impl FnOnce(&Client, Metrics) -> (Arc<Controllers>, EventQueues) + Send + 'a,
    shutdown: impl Future<Output = ()> + Send + 'a,
) -> BoxFuture<'a, Result<(), ProcessError>> {
    // Boxed, so that it is compiled here and not again in each program.
    Box::pin(serve_until(client, clock, process, Box::new(build), Box::pin(shutdown)))
}

async fn serve_until(
    client: Client,
    clock: Clock,
    process: ProcessOptions,
    build: ControllerFactory<'_>,
    shutdown: BoxFuture<'_, ()>,
) -> Result<(), ProcessError> {
    let ProcessOptions { election, lease, metrics, endpoints, runtime } = process;
    let runtime = runtime.unwrap_or_else(Handle::current);
    let lease = lease.unwrap_or_else(|| client.clone());
    let elector = match election {
        // No rate limit: renewals must not wait behind the work that depends on them.
        Some(election) => {
            let api = ApiServer::new(lease.clone());
            Some(Elector::new(api, election, clock, metrics.clone())?)
        }
        None => None,
    };
    let (controllers, event_queues) = build(&client, metrics.clone());
    let health = Health::new(controllers.clone(), elector.as_ref().map(Elector::leadership));
    let mut servers = JoinSet::new();
    let sources = PageSources { metrics, health, access: AccessReviewer::new(lease) };
    for endpoint in endpoints {
        servers.spawn_on(endpoint.serve(sources.clone()), &runtime);
    }
    let (mut shutdown, api) = (std::pin::pin!(shutdown), ApiServer::new(client));
    tokio::select! {
        biased;
        () = &mut shutdown => return Ok(()),
        reached = wait_for_apiserver::wait_for_apiserver(&api) => reached?,
    }
    let Some(elector) = elector else {
        return Ok(run_controllers(controllers, event_queues, std::future::ready(()), shutdown).await?);
    };
    let ((acquired, permission), (stop, stopped)) = (oneshot::channel(), oneshot::channel());
    let permission = async {
        if permission.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    // A set, so that the task is aborted when this future is dropped.
    let mut election_task = JoinSet::new();
    election_task.spawn_on(run_election(elector, controllers.clone(), acquired, stopped), &runtime);
    let ended = tokio::select! {
        biased;
        Some(lost) = election_task.join_next() => return Err(election_failure(lost)),
        ended = run_controllers(controllers, event_queues, permission, shutdown) => ended,
    };
    drop(stop);
    election_task.join_next().await;
    Ok(ended?)
}

/// Acquires the lease and renews it until it is lost, which is returned, or until it is to be
/// released.
async fn run_election(
    mut elector: Elector,
    controllers: Arc<Controllers>,
    acquired: oneshot::Sender<()>,
    stopped: oneshot::Receiver<()>,
) -> Option<ProcessError> {
    let lead = async {
        // A replica without caches must not take the lease from one that has them.
        controllers.wait_synced().await;
        elector.acquire().await;
        let _ = acquired.send(());
        elector.renew_until_lost().await
    };
    let lost = tokio::select! {
        biased;
        lost = lead => Some(lost),
        _ = stopped => None,
    };
    if lost.is_none() {
        elector.release().await;
    }
    lost
}

/// Why the election task ended unexpectedly.
fn election_failure(ended: Result<Option<ProcessError>, JoinError>) -> ProcessError {
    match ended {
        Ok(Some(lost)) => lost,
        Ok(None) => RunError::Task("the election ended before its time".to_owned()).into(),
        Err(error) => RunError::Task(error.to_string()).into(),
    }
}
