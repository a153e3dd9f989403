//! Limits the open connections of an endpoint by closing the oldest idle one.
//!
//! If new connections had to wait for idle ones, a client that opens enough of them would starve
//! the kubelet's probes, and the pod would be killed. So every connection is accepted. Above the
//! limit, the oldest connection that has not sent a request is closed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::AbortHandle;

/// The open connections, oldest first.
#[derive(Debug)]
pub(super) struct OpenConnections {
    most: usize,
    open: VecDeque<OpenConnection>,
}

#[derive(Debug)]
struct OpenConnection {
    task: AbortHandle,
    has_request: RequestFlag,
}

/// Whether a connection has sent a request; clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestFlag(Arc<AtomicBool>);

impl RequestFlag {
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl OpenConnections {
    /// No connections yet; at most `most`.
    pub(super) fn new(most: usize) -> Self {
        Self { most, open: VecDeque::new() }
    }

    /// Adds a connection, and closes another one if there are too many.
    pub(super) fn add(&mut self, task: AbortHandle, has_request: RequestFlag) {
        self.open.retain(|connection| !connection.task.is_finished());
        if self.open.len() >= self.most {
            let silent = self.open.iter().position(|connection| !connection.has_request.is_set());
            if let Some(surplus) = self.open.remove(silent.unwrap_or(0)) {
                surplus.task.abort();
                tracing::debug!(most = self.most, "Too many connections; closed the oldest.");
            }
        }
        self.open.push_back(OpenConnection { task, has_request });
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Connections by age; `a` has sent a request, `s` has not; three may be open. Expected are
    /// those that are left.
    #[rstest]
    #[case::room("ss", "ss")]
    #[case::the_oldest("ssss", "-sss")]
    #[case::those_who_asked_stay("aass", "aa-s")]
    #[case::the_newest_is_never_the_one("aaas", "-aas")]
    #[case::one_after_the_other("sssss", "--sss")]
    #[tokio::test]
    async fn oldest_idle_connection_is_closed(#[case] connections: &str, #[case] expected: &str) {
        let mut open = OpenConnections::new(3);
        let mut tasks = Vec::new();
        for kind in connections.chars() {
            let (task, has_request) = (tokio::spawn(std::future::pending::<()>()), RequestFlag::default());
            if kind == 'a' {
                has_request.set();
            }
            open.add(task.abort_handle(), has_request);
            tasks.push((kind, task));
            tokio::task::yield_now().await;
        }
        let left = tasks.iter().map(|(kind, task)| if task.is_finished() { '-' } else { *kind });
        assert_eq!(left.collect::<String>(), expected);
        assert!(open.open.len() <= 3);
    }

    #[tokio::test]
    async fn closed_connection_does_not_count() {
        let mut open = OpenConnections::new(1);
        let ended = tokio::spawn(std::future::ready(()));
        open.add(ended.abort_handle(), RequestFlag::default());
        ended.await.unwrap();
        let next = tokio::spawn(std::future::pending::<()>());
        open.add(next.abort_handle(), RequestFlag::default());
        assert_eq!(open.open.len(), 1);
        assert!(!next.is_finished());
    }
}
