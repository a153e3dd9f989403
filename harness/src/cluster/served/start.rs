//! Start: a program of its own.

use std::collections::BTreeMap;
use std::path::Path;

use super::{PROGRAM, ROLE, connect, prove};
use crate::cluster::keeper;
use crate::cluster::supervised::Supervised;
use crate::cluster::{ClusterError, Plan, programs};
use crate::supervise::{self, ProcessId, Spec};

/// One that ends with this process, or outlives it if it is detached.
pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan) -> Result<Supervised, ClusterError> {
    prove::version(plan)?;
    let (dir, supervisor) = keeper::supervised(parent)?;
    let program = supervise::own_executable().map_err(ClusterError::file(&dir))?;
    // The first word is for people who read a list of processes.
    let args = vec!["--simulated-server".to_owned(), dir.display().to_string(), plan.without.to_string()];
    let (env, log) = (supervise::in_role(ROLE), programs::log(&dir, PROGRAM));
    let child = supervisor.spawn(Spec { name: PROGRAM.to_owned(), program, args, env, log })?;
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
    Ok(Supervised::own(facts, supervisor))
}
