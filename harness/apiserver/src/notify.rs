//! A notifier that wakes waiting tasks in the order in which they began to wait.
//!
//! `tokio::sync::watch` wakes in a random order, so a simulation could not be repeated. The server
//! uses this for its watches; it is public for test harnesses that must be deterministic too.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Counts notifications; many tasks can wait for the next one. Clones share one count.
#[derive(Debug, Clone, Default)]
pub struct Notifier(Arc<State>);

#[derive(Debug, Default)]
struct State {
    count: AtomicU64,
    notify: Notify,
}

/// Waits for notifications. Earlier ones count as handled.
#[derive(Debug)]
pub struct Subscription {
    state: Arc<State>,
    last_count: u64,
}

impl Notifier {
    /// Wakes all waiting tasks.
    pub fn notify(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// The number of notifications so far.
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Subscribes to notifications from now on.
    pub fn listen(&self) -> Subscription {
        Subscription { state: Arc::clone(&self.0), last_count: self.count() }
    }
}

impl Subscription {
    /// Waits for a new notification, and marks all as handled; returns at once if there is one.
    pub async fn changed(&mut self) {
        let state = Arc::clone(&self.state);
        loop {
            let mut notified = std::pin::pin!(state.notify.notified());
            // Queued before the count is read, so that none is missed in between.
            notified.as_mut().enable();
            let count = state.count.load(Ordering::SeqCst);
            if count != self.last_count {
                self.last_count = count;
                return;
            }
            notified.await;
        }
    }

    /// Marks all notifications so far as handled.
    pub fn mark_seen(&mut self) {
        self.last_count = self.state.count.load(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn wakes_waiters_in_fifo_order() {
        let (notifier, order) = (Notifier::default(), Arc::new(Mutex::new(Vec::new())));
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..20 {
            let (mut listener, order) = (notifier.listen(), Arc::clone(&order));
            tasks.spawn(async move {
                listener.changed().await;
                order.lock().unwrap().push(number);
            });
        }
        tokio::task::yield_now().await;
        notifier.notify();
        while tasks.join_next().await.is_some() {}
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn earlier_notification_wakes_once_and_a_marked_one_does_not_wake() {
        let notifier = Notifier::default();
        let mut listener = notifier.listen();
        notifier.notify();
        notifier.notify();
        listener.changed().await;
        let soon = Duration::from_millis(1);
        assert!(tokio::time::timeout(soon, listener.changed()).await.is_err());
        notifier.notify();
        listener.mark_seen();
        assert!(tokio::time::timeout(soon, listener.changed()).await.is_err());
        assert_eq!(notifier.count(), 3);
    }
}
