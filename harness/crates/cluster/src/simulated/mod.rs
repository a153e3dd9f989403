//! `sim` in this process: the simulated API server in virtual time, without a socket.
//!
//! Each case has its own. It has no files, processes or credentials, so there is nothing to prove
//! and nothing to tear down.

mod connect;
mod prove;
mod start;
mod teardown;

use kube_apiserver_sim::ApiServer;

use super::facts::ClusterFacts;

/// A simulated server in this process, in virtual time.
#[derive(Debug, Clone)]
pub struct SimulatedCluster {
    facts: ClusterFacts,
    server: ApiServer,
}
