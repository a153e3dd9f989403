//! Start: a separate program.

use std::collections::BTreeMap;
use std::path::Path;

use super::{PROGRAM, ROLE, connect, prove};
use crate::supervise::{self, ProcessId, ProcessSpec};
use crate::supervised_cluster::SupervisedCluster;
use crate::{ClusterError, ClusterPlan, programs, supervisor_handle};

/// Starts a server that ends with this process, or outlives it if it is detached.
pub(crate) async fn start(parent: &Path, plan: &ClusterPlan) -> Result<SupervisedCluster, ClusterError> {
    prove::check_version(plan)?;
    let (dir, supervisor) = supervisor_handle::start_supervisor(parent)?;
    let program = supervise::own_executable().map_err(ClusterError::file(&dir))?;
    // The first argument describes the process in a process list.
    let args = vec!["--simulated-server".to_owned(), dir.display().to_string(), plan.without.to_string()];
    let (env, log) = (supervise::in_role(ROLE), programs::log(&dir, PROGRAM));
    let child = supervisor.spawn(ProcessSpec { name: PROGRAM.to_owned(), program, args, env, log })?;
    let access = match prove::prove(&child, &dir).await {
        Ok(access) => access,
        Err(error) => {
            supervisor.shutdown().await;
            return Err(error);
        }
    };
    connect::write_kubeconfig(&access, &dir)?;
    let mut facts = connect::facts(access, &dir, &plan.without);
    facts.programs = BTreeMap::from([(child.name.clone(), ProcessId::of(child.pid))]);
    Ok(SupervisedCluster::owned(facts, supervisor))
}
