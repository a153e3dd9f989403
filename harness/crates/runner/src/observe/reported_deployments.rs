//! What the controller beside the subject (`--beside`) does about the probe: it writes the status
//! of each new Deployment, which its own log of requests shows.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use lockstep_intercept::{InterceptorLog, LogReader};
use lockstep_support::clock;

/// How often to check whether the subject has ended.
const LOOK: Duration = Duration::from_millis(50);

/// The Deployments of a namespace of which the controller has written the status.
pub(crate) struct ReportedDeployments {
    reader: LogReader,
    names: Mutex<BTreeSet<String>>,
}

impl ReportedDeployments {
    /// Those of this namespace, from now on.
    pub(crate) fn of(log: &InterceptorLog, namespace: &str) -> Self {
        Self { reader: log.reader(namespace), names: Mutex::default() }
    }

    /// Wait until it has written the status of this Deployment; false if it did not within the
    /// budget.
    pub(crate) async fn wait_for(&self, name: &str, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> bool {
        let since = clock::instant();
        loop {
            // Listen first, so that no write is missed.
            let mut progress = self.reader.log().listen();
            if self.has(name) {
                return true;
            }
            let left = budget.saturating_sub(since.elapsed());
            if left.is_zero() || exited() {
                return false;
            }
            tokio::time::timeout(left.min(LOOK), progress.changed()).await.ok();
        }
    }

    /// Whether it has written the status of this Deployment.
    pub(crate) fn has(&self, name: &str) -> bool {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.reader.drain().into_iter().filter(|request| {
            request.is_successful_write() && request.resource == "deployments" && request.subresource == "status"
        });
        names.extend(written.map(|request| request.name));
        names.contains(name)
    }
}
