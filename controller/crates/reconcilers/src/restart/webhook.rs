//! Sends messages to the webhook without delaying restarts: messages wait in a bounded queue, which
//! drops what does not fit, and a refused message is retried a few times and then dropped. Both are
//! counted and logged.
//!
//! The address is not logged, because anyone who knows a chat's address can post there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use controller_client::clock;
use controller_client::connect::WebhookClient;
use tokio::sync::{Mutex, mpsc};

use crate::decisions::restarts::WebhookPayload;

/// Most messages that may wait.
const QUEUE_CAPACITY: usize = 1000;
/// Attempts for one message, and the pause after the first, which doubles each time.
const MAX_ATTEMPTS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Timeout of one attempt.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a shutdown waits for pending messages.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Messages for the webhook, and how many were sent and lost.
pub(super) struct WebhookQueue {
    queue: std::sync::Mutex<Option<mpsc::Sender<WebhookPayload>>>,
    waiting: Mutex<mpsc::Receiver<WebhookPayload>>,
    client: WebhookClient,
    sent: AtomicU64,
    lost: AtomicU64,
}

impl WebhookQueue {
    pub(super) fn new(client: WebhookClient) -> Arc<Self> {
        let (queue, waiting) = mpsc::channel(QUEUE_CAPACITY);
        let queue = std::sync::Mutex::new(Some(queue));
        Arc::new(Self { queue, waiting: Mutex::new(waiting), client, sent: AtomicU64::new(0), lost: AtomicU64::new(0) })
    }

    /// Queues a message; does not wait.
    pub(super) fn put(&self, payload: WebhookPayload) {
        let queue = self.queue().clone();
        if queue.is_none_or(|queue| queue.try_send(payload).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("The webhook queue is full: dropped the message about a restart.");
        }
    }

    fn queue(&self) -> MutexGuard<'_, Option<mpsc::Sender<WebhookPayload>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of sent and of lost messages.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.lost.load(Ordering::Relaxed))
    }

    /// Sends messages until `work` ends, and pending ones for a short time after that. The sender
    /// is not a separate task, so it ends with its caller even if that is aborted.
    pub(super) async fn send_during(&self, work: impl Future<Output = ()>) {
        let end = async {
            work.await;
            self.queue().take();
            clock::sleep(DRAIN_TIMEOUT).await;
        };
        tokio::select! {
            () = self.send_all() => {}
            () = end => {}
        }
    }

    /// Sends until the queue is closed and empty.
    async fn send_all(&self) {
        let mut waiting = self.waiting.lock().await;
        while let Some(payload) = waiting.recv().await {
            self.send(&payload).await;
        }
    }

    async fn send(&self, payload: &WebhookPayload) {
        let mut problem = String::new();
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                clock::sleep(FIRST_PAUSE * 2_u32.pow(attempt - 1)).await;
            }
            match clock::within(ATTEMPT_TIMEOUT, self.client.post(payload.content_type, payload.body.clone())).await {
                Some(Ok(status)) if status.is_success() => {
                    self.sent.fetch_add(1, Ordering::Relaxed);
                    return;
                }
                Some(Ok(status)) => {
                    problem = format!("it answered {status}");
                    // It would refuse the same message again.
                    if status.is_client_error() && !matches!(status.as_u16(), 408 | 429) || status.is_redirection() {
                        break;
                    }
                }
                Some(Err(error)) => problem = error,
                None => problem = format!("no answer within {} s", ATTEMPT_TIMEOUT.as_secs()),
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(problem, "The webhook did not take a message; it is given up.");
    }
}
