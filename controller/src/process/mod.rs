//! What makes the controller a process that a cluster can run: one leader among replicas, metrics,
//! probes, and an orderly end.
//!
//! ```text
//!         API server there      caches synced          lease won
//!  start ─────────────────► list ─────────────► stand by ─────────► act ──SIGTERM──► finish ──► release the lease
//!                                                                    │
//!                                                                    └──lease lost──► drop everything at once, fail
//! ```
//!
//! A replica that stands by watches, too: it is ready as soon as its caches are filled, and takes
//! over without a list. Who acts is told by a Lease, with client-go's semantics, so that the two
//! kinds of controllers can be run side by side and be read with the same eyes. [`Election`] and
//! `record.rs` are the rules, without a clock or a client; `elector.rs` carries them out.
//!
//! Metrics, probes and the lease have a runtime of their own ([`Process::aside`]), on one thread. A
//! thread rather than decisions that are cut up or moved to blocking threads: it holds whatever a
//! decision, a parser or a dependency does, and decisions stay plain code that a simulation
//! replays. What they share with the controllers are locks that are held for moments only.
//!
//! A client, settings and endpoints come in; a run of the controllers that ends in order goes out.
//! Borders: nothing in here knows what the controllers do, and they do not know that this process
//! is one of many.

mod access;
mod address;
mod boot;
mod election;
mod elector;
mod error;
mod health;
mod http;
mod record;
mod shed;
mod tls;

use std::sync::Arc;

use access::Access;
pub use address::Address;
pub use election::Election;
use elector::Elector;
pub use error::{BindError, ElectionError, ProcessError, TlsError};
use futures::future::BoxFuture;
use health::Health;
use http::Sources;
pub use http::{Endpoint, Pages};
use kube::Client;
pub use tls::Tls;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};

use crate::api::ApiServer;
use crate::deployment::{Planner, plan};
use crate::metrics::Metrics;
use crate::runtime::{Controllers, RunError, run_controllers};
use crate::settings::Settings;

/// What a process has besides the controller's settings.
#[derive(Default)]
pub struct Process {
    /// How one replica among several is chosen; `None`: this one acts, whoever else does.
    pub election: Option<Election>,
    /// What the lease is renewed through, so that nothing else is in its way; `None`: what all else
    /// goes through. See
    /// [`crate::connect`].
    pub lease: Option<Client>,
    /// What is counted.
    pub metrics: Metrics,
    /// Where metrics and probes are answered.
    pub endpoints: Vec<Endpoint>,
    /// The runtime of metrics, probes and the lease, on a thread that nothing else uses: a decision
    /// that takes long delays none of them. `None`: the caller's own, as in a simulation.
    pub aside: Option<Handle>,
}

impl std::fmt::Debug for Process {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = to.debug_struct("Process");
        shown.field("election", &self.election).field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}

/// Runs the controller as a process of its own until `shutdown` completes: work under way is
/// finished, within bounds, and then the lease is given back. Waits for an API server that is away
/// or rejects the first request, and answers probes meanwhile. Else as [`crate::run`].
///
/// # Errors
/// [`ProcessError::Lost`] if the lease was lost: another process may act now, so this one stopped at once, and must end.
/// [`ProcessError::Election`] if the election makes no sense. [`ProcessError::Run`] as [`crate::run`].
pub fn serve<'a>(
    client: Client,
    settings: Settings,
    process: Process,
    shutdown: impl Future<Output = ()> + Send + 'a,
) -> BoxFuture<'a, Result<(), ProcessError>> {
    // Boxed, so that it is compiled here and not once more in each program.
    Box::pin(serve_until(client, settings, process, Box::pin(shutdown)))
}

async fn serve_until(
    client: Client,
    settings: Settings,
    process: Process,
    shutdown: BoxFuture<'_, ()>,
) -> Result<(), ProcessError> {
    let Process { election, lease, metrics, endpoints, aside } = process;
    let (clock, aside) = (settings.clock, aside.unwrap_or_else(Handle::current));
    let lease = lease.unwrap_or_else(|| client.clone());
    let elector = match election {
        // Renewals must not wait for their turn behind the work that they are needed for: no limit
        // for these.
        Some(election) => {
            let api = ApiServer::new(lease.clone());
            Some(Elector::new(api, election, clock, metrics.clone())?)
        }
        None => None,
    };
    let planner: Planner = Arc::new(plan);
    let (controllers, reports) = Controllers::new(&client, settings, &planner, metrics.clone());
    let health = Health::new(controllers.clone(), elector.as_ref().map(Elector::seat));
    let mut servers = JoinSet::new();
    let sources = Sources { metrics, health, access: Access::new(lease) };
    for endpoint in endpoints {
        servers.spawn_on(endpoint.serve(sources.clone()), &aside);
    }
    let (mut shutdown, api) = (std::pin::pin!(shutdown), ApiServer::new(client));
    tokio::select! {
        biased;
        () = &mut shutdown => return Ok(()),
        reached = boot::reach(&api) => reached?,
    }
    let Some(elector) = elector else {
        return Ok(run_controllers(controllers, reports, std::future::ready(()), shutdown).await?);
    };
    let ((won, leave), (stop, stopped)) = (oneshot::channel(), oneshot::channel());
    let leave = async {
        if leave.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    // A set, so that the task ends when this future is dropped.
    let mut campaign = JoinSet::new();
    campaign.spawn_on(stand(elector, controllers.clone(), won, stopped), &aside);
    let ended = tokio::select! {
        biased;
        Some(lost) = campaign.join_next() => return Err(failure(lost)),
        ended = run_controllers(controllers, reports, leave, shutdown) => ended,
    };
    drop(stop);
    campaign.join_next().await;
    Ok(ended?)
}

/// Wins the lease and renews it until it is lost, which is returned, or until it is to be released.
async fn stand(
    mut elector: Elector,
    controllers: Arc<Controllers>,
    won: oneshot::Sender<()>,
    stopped: oneshot::Receiver<()>,
) -> Option<ProcessError> {
    let lead = async {
        // One that cannot see must not stand in the way of one that can.
        controllers.synced().await;
        elector.win().await;
        let _ = won.send(());
        elector.keep().await
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

/// Why a campaign ended that was not to.
fn failure(ended: Result<Option<ProcessError>, JoinError>) -> ProcessError {
    match ended {
        Ok(Some(lost)) => lost,
        Ok(None) => RunError::Task("the election ended before its time".to_owned()).into(),
        Err(error) => RunError::Task(error.to_string()).into(),
    }
}
