//! `sim` in this process: the simulated API server on virtual time, reached without a socket.
//!
//! Each case has one of its own. It has no files, no processes and no credentials, so there is
//! nothing to prove and nothing to end.

mod connect;
mod end;
mod prove;
mod start;

use kube_apiserver_sim::ApiServer;

use super::facts::Facts;

/// A simulated server in this process, on virtual time.
#[derive(Debug, Clone)]
pub struct Simulated {
    facts: Facts,
    server: ApiServer,
}
