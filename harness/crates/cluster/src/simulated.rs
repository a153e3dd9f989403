//! `sim` in this process: the simulated API server in virtual time, without a socket.
//!
//! Each case has its own. It has no files, processes or credentials, and only the subject and the
//! test environment's controllers have a client for it, so there is nothing to prove. It ends with
//! its last clone.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kube_apiserver_sim::{ApiServer, Latency};
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use lockstep_support::clock;

use crate::backend::{Connect, Prove, Teardown};
use crate::facts::ClusterFacts;
use crate::{ClusterAccess, ClusterError, Credential, DEFAULT_VERSION, SiteName};

/// A simulated server in this process, in virtual time.
#[derive(Debug, Clone)]
pub struct SimulatedCluster {
    facts: ClusterFacts,
    server: ApiServer,
}

impl SimulatedCluster {
    /// With seed 0 its latency is fixed, with any other seed it is random. Without the server's
    /// garbage collector the caller must bring one.
    pub(crate) fn start(seed: u64, without: ControllerSet, collects_garbage: bool) -> Self {
        use kube_apiserver_sim::ControllerMode::{Immediate, WithoutGarbageCollector};
        let controllers = if collects_garbage { Immediate } else { WithoutGarbageCollector };
        let latency = if seed == 0 { Latency::Fixed } else { Latency::Random };
        let server =
            ApiServer::builder().seed(seed).latency(latency).controllers(controllers).clock(clock::now).build();
        let facts = ClusterFacts {
            identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
            access: memory_access(),
            dir: PathBuf::new(),
            programs: BTreeMap::new(),
            without,
        };
        Self { facts, server }
    }
}

/// The server has no address and requires no credentials.
fn memory_access() -> ClusterAccess {
    ClusterAccess {
        server: String::new(),
        server_name: None,
        ca_pem: String::new(),
        proxy: None,
        admin: Credential::Token(String::new()),
        subject_token: String::new(),
    }
}

impl Connect for SimulatedCluster {
    fn facts(&self) -> &ClusterFacts {
        &self.facts
    }

    async fn client(&self) -> Result<kube::Client, ClusterError> {
        Ok(self.server.without_managed_fields().client())
    }

    fn virtual_time_server(&self) -> Option<&ApiServer> {
        Some(&self.server)
    }
}

impl Prove for SimulatedCluster {}

impl Teardown for SimulatedCluster {
    fn is_owned(&self) -> bool {
        true
    }

    async fn end(self) {}
}
