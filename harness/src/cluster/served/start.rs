//! Start: a program of its own; attach to such a program.

use std::collections::BTreeMap;
use std::path::Path;

use super::{PROGRAM, ROLE, Served, connect, prove};
use crate::cluster::facts::Facts;
use crate::cluster::keeper::{self, Keeper};
use crate::cluster::{ClusterError, Plan, programs};
use crate::supervise::{self, ProcessId, Spec};

impl Served {
    /// One that ends with this process, or outlives it if it is detached.
    pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan) -> Result<Self, ClusterError> {
        prove::version(plan)?;
        let (dir, supervisor) = keeper::supervised(parent)?;
        let program = supervise::own_executable().map_err(ClusterError::file(&dir))?;
        // The first word is for whoever reads a list of processes.
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
        Ok(Self { facts, keeper: Keeper::own(supervisor) })
    }

    /// A program that another process started.
    pub(in crate::cluster) fn attach(facts: Facts, supervisor: ProcessId) -> Self {
        Self { facts, keeper: Keeper::elsewhere(supervisor) }
    }
}
