//! One run: starts the tasks of all controllers, lets them act, and shuts them down in order.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::task::JoinSet;

use super::controllers::Controllers;
use super::error::RunError;
use crate::api::{ApiServer, EventQueue, write_events};
use crate::clock;

/// The event queues of all controllers, each with the client that writes its events.
pub type EventQueues = Vec<(ApiServer, EventQueue)>;

/// How long a shutdown waits for running syncs, and then for events.
const GRACE: Duration = Duration::from_secs(5);

/// Runs until `shutdown`, and acts after `permission` completes. Every task has ended when this
/// returns, and is aborted when it is dropped.
///
/// The futures are boxed so that this is compiled once, here, and not in each crate that calls it.
pub fn run_controllers<'a>(
    controllers: Arc<Controllers>,
    event_queues: EventQueues,
    permission: impl Future<Output = ()> + Send + 'a,
    shutdown: impl Future<Output = ()> + Send + 'a,
) -> BoxFuture<'a, Result<(), RunError>> {
    Box::pin(run_until(controllers, event_queues, Box::pin(permission), Box::pin(shutdown)))
}

async fn run_until(
    controllers: Arc<Controllers>,
    event_queues: EventQueues,
    permission: BoxFuture<'_, ()>,
    shutdown: BoxFuture<'_, ()>,
) -> Result<(), RunError> {
    let (mut events, mut tasks, mut workers) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
    for (api, queue) in event_queues {
        events.spawn(write_events(api, queue));
    }
    for task in controllers.background_tasks() {
        tasks.spawn(task);
    }
    for task in controllers.iter().flat_map(|controller| controller.clone().worker_tasks()) {
        workers.spawn(task);
    }
    let begin = async {
        // Nothing is decided before all first lists are complete.
        controllers.wait_synced().await;
        permission.await;
        controllers.start();
        std::future::pending::<Infallible>().await
    };
    let broken = tokio::select! {
        () = shutdown => None,
        never = begin => match never {},
        Some(ended) = tasks.join_next() => Some(ended),
        Some(ended) = workers.join_next() => Some(ended),
        Some(ended) = events.join_next() => Some(ended),
    };
    controllers.iter().for_each(|controller| controller.stop());
    let finished = async { while workers.join_next().await.is_some() {} };
    clock::within(GRACE, finished).await;
    workers.shutdown().await;
    tasks.shutdown().await;
    let fatal: Vec<String> = controllers.iter().filter_map(|controller| controller.close()).collect();
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
