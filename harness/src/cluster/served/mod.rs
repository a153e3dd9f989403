//! `sim` where another process is to reach it: the simulated server over HTTP, in real time.
//!
//! It is a program of its own under a supervisor, so that whatever a subject makes of it, its end is
//! not the harness's. The program is this executable, started again in the role [`ROLE`]: that calls
//! [`SimulatedServer::start`] and writes into a file where it listens. It ends with this process, or
//! stands until `lockstep cluster down`.

mod connect;
mod end;
mod prove;
mod server;
mod start;

use super::facts::Facts;
use super::keeper::Keeper;
pub use server::SimulatedServer;

/// The role of the program; see `supervise::role`.
pub const ROLE: &str = "simulated-server";
/// What the program is called in lists and logs.
const PROGRAM: &str = "kube-apiserver";

/// A simulated server that listens.
#[derive(Debug, Clone)]
pub struct Served {
    facts: Facts,
    keeper: Keeper,
}
