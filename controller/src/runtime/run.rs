//! One run: starts the tasks of all controllers, lets them act, and ends them in order.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::task::JoinSet;

use super::chosen::AllReports;
use super::controllers::Controllers;
use super::error::RunError;
use crate::api::write_events;
use crate::clock;

/// How long a shutdown waits for syncs that are under way, and then for events.
const GRACE: Duration = Duration::from_secs(5);

/// Runs until `shutdown`, and acts once it has `leave` to; every task has ended when this returns,
/// and is ended when it is dropped.
///
/// The futures are boxed so that it is compiled once, and here, not again in each crate that runs
/// it.
pub(crate) fn run_controllers<'a>(
    controllers: Arc<Controllers>,
    reports: AllReports,
    leave: impl Future<Output = ()> + Send + 'a,
    shutdown: impl Future<Output = ()> + Send + 'a,
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(run_until(controllers, reports, Box::pin(leave), Box::pin(shutdown)))
}

async fn run_until(
    controllers: Arc<Controllers>,
    reports: AllReports,
    leave: BoxFuture<'_, ()>,
    shutdown: BoxFuture<'_, ()>,
) -> Result<(), RunError> {
    let (mut events, mut tasks, mut workers) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
    for (api, reports) in reports {
        events.spawn(write_events(api, reports));
    }
    for task in controllers.background() {
        tasks.spawn(task);
    }
    for task in controllers.all().flat_map(|one| one.clone().workers()) {
        workers.spawn(task);
    }
    let begin = async {
        // Nothing is decided before everything has been seen once.
        controllers.synced().await;
        leave.await;
        controllers.begin();
        std::future::pending::<Infallible>().await
    };
    let broken = tokio::select! {
        () = shutdown => None,
        never = begin => match never {},
        Some(ended) = tasks.join_next() => Some(ended),
        Some(ended) = workers.join_next() => Some(ended),
        Some(ended) = events.join_next() => Some(ended),
    };
    controllers.all().for_each(|one| one.end());
    let finished = async { while workers.join_next().await.is_some() {} };
    clock::within(GRACE, finished).await;
    workers.shutdown().await;
    tasks.shutdown().await;
    let fatal: Vec<String> = controllers.all().filter_map(|one| one.close()).collect();
    let written = async { while events.join_next().await.is_some() {} };
    clock::within(GRACE, written).await;
    events.shutdown().await;
    if let Some(fatal) = fatal.into_iter().next() {
        return Err(RunError::Restart(fatal));
    }
    match broken {
        None => Ok(()),
        Some(Ok(())) => Err(RunError::Task("one that runs for ever returned".to_owned())),
        Some(Err(error)) => Err(RunError::Task(error.to_string())),
    }
}
