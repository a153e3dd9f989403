//! What one controller with a queue has for itself: the queue, its requests under a limit of its
//! own, its events.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use super::queue::{LONGEST_WAIT, Queue, Retries};
use super::shared::Shared;
use crate::api::{ApiServer, Key, Recorder, Reports, Source};
use crate::metrics::Synced;
use crate::settings::ControllerName;

/// One controller's own, and what it shares.
pub(super) struct Lane {
    name: ControllerName,
    pub(super) api: ApiServer,
    pub(super) queue: Arc<Queue>,
    pub(super) recorder: Recorder,
    pub(super) shared: Arc<Shared>,
}

/// What became of one look at one object.
pub(super) enum Looked<E> {
    /// Done; look again after a while, if one is given.
    Done(Option<Duration>),
    /// What the decision was made on was out of date: the ordinary consequence of a cache that
    /// lags.
    Conflict(E),
    /// Failed.
    Failed(E),
}

impl Lane {
    /// One for the controller of this name, which retries and reports as these say; a namespace has
    /// a `share` of its workers.
    pub(super) fn new(
        name: ControllerName,
        retries: Retries,
        share: usize,
        source: Source,
        client: &Client,
        shared: &Arc<Shared>,
    ) -> (Self, Reports) {
        let Shared { metrics, settings, .. } = shared.as_ref();
        let (recorder, reports) = Recorder::new(source, settings.clock);
        let queue = Arc::new(Queue::new(metrics.queue(name.as_str()), retries, share));
        metrics.show_load(name.as_str(), &queue);
        let api = ApiServer::chosen(client.clone(), settings, metrics);
        (Self { name, api, queue, recorder, shared: shared.clone() }, reports)
    }

    /// Takes note of what became of a look, and hands the key back.
    pub(super) fn finish<E: Display>(&self, key: &Key, looked: Looked<E>) {
        let result = match looked {
            Looked::Done(requeue) => {
                self.queue.forget(key);
                if let Some(wait) = requeue {
                    self.queue.add_after(key.clone(), wait);
                }
                Synced::Success
            }
            Looked::Conflict(error) => {
                tracing::debug!(controller = self.name.as_str(), object = %key, %error, "Trying again.");
                self.try_again(key, &error, Synced::Conflict)
            }
            Looked::Failed(error) => {
                tracing::info!(controller = self.name.as_str(), object = %key, %error, "A sync failed; trying again.");
                self.try_again(key, &error, Synced::Error)
            }
        };
        self.shared.metrics.synced(self.name.as_str(), result);
        self.queue.done(key);
    }

    fn try_again<E: Display>(&self, key: &Key, error: &E, result: Synced) -> Synced {
        if self.queue.retry(key.clone()) {
            return result;
        }
        let seconds = LONGEST_WAIT.as_secs();
        tracing::error!(
            controller = self.name.as_str(), object = %key, %error, seconds,
            "Failed too often in a row; trying again when something changes, or after so many seconds."
        );
        Synced::Dropped
    }
}
