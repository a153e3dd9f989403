//! Start: a new server in memory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kube_apiserver_sim::{ApiServer, Latency};

use super::{Simulated, connect};
use crate::clock;
use crate::cluster::facts::Facts;
use crate::cluster::{DEFAULT_VERSION, SiteName};
use crate::controllers::Controllers;
use crate::recording::Identity;

impl Simulated {
    /// With seed 0 its latency is fixed, with any other it is random. Without the server's garbage
    /// collector somebody else's is to be there.
    pub(in crate::cluster) fn start(seed: u64, without: Controllers, collects_garbage: bool) -> Self {
        use kube_apiserver_sim::Controllers::{Immediate, WithoutGarbageCollector};
        let own = if collects_garbage { Immediate } else { WithoutGarbageCollector };
        let latency = if seed == 0 { Latency::Fixed } else { Latency::Random };
        let server = ApiServer::builder().seed(seed).latency(latency).controllers(own).clock(clock::now).build();
        let facts = Facts {
            identity: Identity::new(SiteName::Sim, "simulated", DEFAULT_VERSION),
            access: connect::connect(),
            dir: PathBuf::new(),
            programs: BTreeMap::new(),
            without,
        };
        Self { facts, server }
    }
}
