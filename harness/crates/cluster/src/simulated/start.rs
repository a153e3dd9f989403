//! Start: a new server in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kube_apiserver_sim::{ApiServer, Latency};
use lockstep_recording::Identity;
use lockstep_recording::controllers::ControllerSet;
use lockstep_support::clock;

use super::{SimulatedCluster, connect};
use crate::facts::ClusterFacts;
use crate::{DEFAULT_VERSION, SiteName};

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
            access: connect::connect(),
            dir: PathBuf::new(),
            programs: BTreeMap::new(),
            without,
        };
        Self { facts, server }
    }
}
