//! Prove: the program says that it listens. Which controllers run beside the server is decided
//! where it is started.

use std::path::Path;
use std::time::Duration;

use super::{PROGRAM, connect};
use crate::clock;
use crate::cluster::{Access, ClusterError, DEFAULT_VERSION, Plan, programs};
use crate::output;
use crate::supervise::Child;

/// A machine that is busy with something else may take this long.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// There is one version to simulate.
pub(super) fn version(plan: &Plan) -> Result<(), ClusterError> {
    if plan.version == DEFAULT_VERSION { Ok(()) } else { Err(ClusterError::Unlike(plan.version.clone())) }
}

/// Wait until the program has written how it is reached.
pub(super) async fn prove(child: &Child, dir: &Path) -> Result<Access, ClusterError> {
    let (log, since) = (programs::log(dir, PROGRAM), clock::instant());
    loop {
        if let Some(access) = connect::connect(dir) {
            return Ok(access);
        }
        let excerpt = || output::excerpt(&std::fs::read_to_string(&log).unwrap_or_default()).join("\n");
        if let Some(exit) = child.exited() {
            return Err(ClusterError::Exited { program: PROGRAM.to_owned(), exit, excerpt: excerpt(), log });
        }
        if since.elapsed() > PATIENCE {
            return Err(ClusterError::NotReady { seconds: PATIENCE.as_secs(), excerpt: excerpt(), log });
        }
        clock::pause(LOOK).await;
    }
}
