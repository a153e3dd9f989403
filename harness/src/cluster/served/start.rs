//! Start: listen in this process, or as a program of its own; attach to such a program.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::server::SimulatedServer;
use super::{At, PROGRAM, Served, connect, prove};
use crate::cluster::facts::Facts;
use crate::cluster::keeper::{self, Keeper};
use crate::cluster::{ClusterError, Plan, programs};
use crate::supervise::{ProcessId, Spec, interrupt};

impl Served {
    /// One in this process, with its files in a new folder inside of `parent`.
    pub(in crate::cluster) fn start_here(parent: &Path, plan: &Plan) -> Result<Self, ClusterError> {
        prove::version(plan)?;
        let server = SimulatedServer::start()?;
        let folder =
            tempfile::Builder::new().prefix("served-").tempdir_in(parent).map_err(ClusterError::file(parent))?;
        interrupt::removes(folder.path());
        let facts = connect::facts(server.access().clone(), folder.path(), &plan.without);
        Ok(Self { facts, at: At::Here(Arc::new((server, folder))) })
    }

    /// One that outlives this process if it is detached.
    pub(in crate::cluster) async fn start(parent: &Path, plan: &Plan) -> Result<Self, ClusterError> {
        prove::version(plan)?;
        let (dir, supervisor) = keeper::supervised(parent)?;
        let me = std::env::current_exe().map_err(ClusterError::file(&dir))?;
        let words = ["cluster".to_owned(), "serve".to_owned(), dir.display().to_string(), plan.without.to_string()];
        let (args, log, env) = (words.to_vec(), programs::log(&dir, PROGRAM), BTreeMap::new());
        let child = supervisor.spawn(Spec { name: PROGRAM.to_owned(), program: me, args, env, log })?;
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
        Ok(Self { facts, at: At::Program(Keeper::own(supervisor)) })
    }

    /// A program that another process started.
    pub(in crate::cluster) fn attach(facts: Facts, supervisor: ProcessId) -> Self {
        Self { facts, at: At::Program(Keeper::elsewhere(supervisor)) }
    }
}
