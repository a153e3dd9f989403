//! Sends what a webhook is told. It never holds restarts up: what is to be told waits in a queue of
//! bounded length, which loses what it has no room for, and a message that is refused is tried
//! again a few times and then given up. Both are counted and logged.
//!
//! The address is not logged: whoever knows that of a chat may write there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use crate::clock;
use crate::connect::Poster;
use crate::restart::Notice;

/// Messages that wait at most.
const QUEUE: usize = 1000;
/// How often one is tried, and the first pause between two tries; twice as long each time.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);
/// How long one try may take.
const TRY: Duration = Duration::from_secs(10);
/// How long is waited at the end for what is still to be sent.
const END: Duration = Duration::from_secs(5);

/// The webhook.
pub(super) struct Outbox {
    queue: std::sync::Mutex<Option<mpsc::Sender<Notice>>>,
    waiting: Mutex<mpsc::Receiver<Notice>>,
    poster: Poster,
    sent: AtomicU64,
    lost: AtomicU64,
}

impl Outbox {
    /// One that sends by this client.
    pub(super) fn new(poster: Poster) -> Arc<Self> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let queue = std::sync::Mutex::new(Some(queue));
        Arc::new(Self { queue, waiting: Mutex::new(waiting), poster, sent: AtomicU64::new(0), lost: AtomicU64::new(0) })
    }

    /// Takes one in. Does not wait.
    pub(super) fn put(&self, notice: Notice) {
        let queue = self.queue().clone();
        if queue.is_none_or(|queue| queue.try_send(notice).is_err()) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("The webhook is told nothing of one restart: too many messages wait.");
        }
    }

    /// No more come.
    pub(super) fn close(&self) {
        self.queue().take();
    }

    fn queue(&self) -> MutexGuard<'_, Option<mpsc::Sender<Notice>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sent so far, and given up.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.lost.load(Ordering::Relaxed))
    }

    /// Sends until it is closed.
    pub(super) async fn work(self: Arc<Self>) {
        let mut waiting = self.waiting.lock().await;
        while let Some(notice) = waiting.recv().await {
            self.send(&notice).await;
        }
    }

    /// The same at the end, for a short time.
    pub(super) async fn finish(mut work: JoinHandle<()>) {
        if clock::within(END, &mut work).await.is_none() {
            work.abort();
            drop(work.await);
        }
    }

    async fn send(&self, notice: &Notice) {
        let mut problem = String::new();
        for attempt in 0..TRIES {
            if attempt > 0 {
                clock::sleep(PAUSE * 2_u32.pow(attempt - 1)).await;
            }
            match clock::within(TRY, self.poster.post(notice.content_type, notice.body.clone())).await {
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
                None => problem = format!("no answer within {} s", TRY.as_secs()),
            }
        }
        self.lost.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(problem, "The webhook did not take a message; it is given up.");
    }
}
