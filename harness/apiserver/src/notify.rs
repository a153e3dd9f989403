//! Telling whoever waits that something is new, in the order in which they began to wait.
//!
//! `tokio::sync::watch` would do the same and wakes in an order of its own chance, so that a simulation would not replay.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// A count of what was new, for many to wait on. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct News(Arc<Told>);

#[derive(Debug, Default)]
struct Told {
    count: AtomicU64,
    notify: Notify,
}

/// One who listens. It has heard of everything that was told before it was made.
#[derive(Debug)]
pub struct Listener {
    told: Arc<Told>,
    heard: u64,
}

impl News {
    /// Something is new.
    pub fn tell(&self) {
        self.0.count.fetch_add(1, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// How often something was.
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::SeqCst)
    }

    /// Listen from now on.
    pub fn listen(&self) -> Listener {
        Listener { told: Arc::clone(&self.0), heard: self.count() }
    }
}

impl Listener {
    /// Wait for what was not heard of yet; returns at once if there is any.
    pub async fn changed(&mut self) {
        let told = Arc::clone(&self.told);
        loop {
            let mut notified = std::pin::pin!(told.notify.notified());
            // In line before the look, so that nothing comes in between.
            notified.as_mut().enable();
            let count = told.count.load(Ordering::SeqCst);
            if count != self.heard {
                self.heard = count;
                return;
            }
            notified.await;
        }
    }

    /// Whatever was told so far counts as heard.
    pub fn mark_heard(&mut self) {
        self.heard = self.told.count.load(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn wakes_in_the_order_of_waiting() {
        let (news, order) = (News::default(), Arc::new(Mutex::new(Vec::new())));
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..20 {
            let (mut listener, order) = (news.listen(), Arc::clone(&order));
            tasks.spawn(async move {
                listener.changed().await;
                order.lock().unwrap().push(number);
            });
        }
        tokio::task::yield_now().await;
        news.tell();
        while tasks.join_next().await.is_some() {}
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_came_before_the_wait_is_not_lost_and_what_was_heard_is_not_told_again() {
        let news = News::default();
        let mut listener = news.listen();
        news.tell();
        news.tell();
        listener.changed().await;
        let soon = Duration::from_millis(1);
        assert!(tokio::time::timeout(soon, listener.changed()).await.is_err());
        news.tell();
        listener.mark_heard();
        assert!(tokio::time::timeout(soon, listener.changed()).await.is_err());
        assert_eq!(news.count(), 3);
    }
}
