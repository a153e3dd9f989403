//! Prove: the program reports its address. Which controllers run beside the server is decided where
//! it is started.

use std::path::Path;
use std::time::Duration;

use lockstep_support::{clock, output};

use super::{PROGRAM, connect};
use crate::supervise::Child;
use crate::{ClusterAccess, ClusterError, ClusterPlan, DEFAULT_VERSION, programs};

/// The time limit, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Only one version is simulated.
pub(super) fn check_version(plan: &ClusterPlan) -> Result<(), ClusterError> {
    if plan.version == DEFAULT_VERSION { Ok(()) } else { Err(ClusterError::UnsupportedVersion(plan.version.clone())) }
}

/// Waits until the program has written its address.
pub(super) async fn prove(child: &Child, dir: &Path) -> Result<ClusterAccess, ClusterError> {
    let (log, since) = (programs::log(dir, PROGRAM), clock::instant());
    loop {
        if let Some(access) = connect::connect(dir) {
            return Ok(access);
        }
        let excerpt = || output::excerpt(&std::fs::read_to_string(&log).unwrap_or_default()).join("\n");
        if let Some(exit) = child.exited() {
            return Err(ClusterError::Exited { program: PROGRAM.to_owned(), exit, excerpt: excerpt(), log });
        }
        if since.elapsed() > TIMEOUT {
            return Err(ClusterError::NotReady { seconds: TIMEOUT.as_secs(), excerpt: excerpt(), log });
        }
        clock::pause(POLL_INTERVAL).await;
    }
}
