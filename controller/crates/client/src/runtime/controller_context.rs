//! The context of one queue-based controller: its work queue, its rate-limited client and its event
//! recorder.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use super::queue::{MAX_WAIT, Queue, RetryPolicy};
use super::shared_state::SharedState;
use crate::api::{ApiServer, EventQueue, EventSource, NamespacedName, Recorder};
use crate::metrics::SyncResult;

/// A controller's own resources and the shared ones.
pub struct ControllerContext {
    name: &'static str,
    /// Its client, with a rate limit of its own.
    pub api: ApiServer,
    pub(super) queue: Arc<Queue>,
    /// Records its events.
    pub recorder: Recorder,
    /// What the controllers share.
    pub shared: Arc<SharedState>,
}

/// The outcome of reconciling one object.
pub enum ReconcileOutcome<E> {
    /// Done; reconcile again after the delay, if one is given.
    Done(Option<Duration>),
    /// The decision was based on outdated objects, which is normal while a cache lags.
    Conflict(E),
    /// An error; the object is reconciled again after a backoff.
    Failed(E),
}

impl ControllerContext {
    /// Creates the context; a namespace gets at most `share` of the controller's workers.
    pub(super) fn new(
        name: &'static str,
        policy: RetryPolicy,
        share: usize,
        source: EventSource,
        client: &Client,
        shared: &Arc<SharedState>,
    ) -> (Self, EventQueue) {
        let SharedState { metrics, settings, .. } = shared.as_ref();
        let (recorder, events) = Recorder::new(source, settings.clock);
        let queue = Arc::new(Queue::new(metrics.queue(name), policy, share));
        metrics.register_queue(name, &queue);
        let api = ApiServer::with_settings(client.clone(), settings, metrics);
        (Self { name, api, queue, recorder, shared: shared.clone() }, events)
    }

    /// Handles the outcome, and hands the key back to the queue.
    pub(super) fn finish<E: Display>(&self, key: &NamespacedName, outcome: ReconcileOutcome<E>) {
        let result = match outcome {
            ReconcileOutcome::Done(requeue) => {
                self.queue.forget(key);
                if let Some(wait) = requeue {
                    self.queue.add_after(key.clone(), wait);
                }
                SyncResult::Success
            }
            ReconcileOutcome::Conflict(error) => {
                tracing::debug!(controller = self.name, object = %key, %error, "Trying again.");
                self.try_again(key, &error, SyncResult::Conflict)
            }
            ReconcileOutcome::Failed(error) => {
                tracing::info!(controller = self.name, object = %key, %error, "A sync failed; trying again.");
                self.try_again(key, &error, SyncResult::Error)
            }
        };
        self.shared.metrics.count_sync(self.name, result);
        self.queue.done(key);
    }

    fn try_again<E: Display>(&self, key: &NamespacedName, error: &E, result: SyncResult) -> SyncResult {
        if self.queue.retry(key.clone()) {
            return result;
        }
        let seconds = MAX_WAIT.as_secs();
        tracing::error!(
            controller = self.name, object = %key, %error, seconds,
            "Failed too often in a row; trying again when something changes, or after so many seconds."
        );
        SyncResult::Dropped
    }
}
