//! `sim` where another process is to reach it: the simulated server over HTTP, in real time.
//!
//! It is a program of its own under a supervisor, so that whatever a subject makes of it, its end
//! is not the harness's. The program is this executable, started again in the role [`ROLE`]: that
//! calls
//! [`SimulatedServer::start`] and writes into a file where it listens. It ends with this process, or
//! stands until `lockstep cluster down`.

mod connect;
mod prove;
mod server;
mod start;

pub(super) use connect::{create_not_before, unsupported};
pub use server::SimulatedServer;
pub(super) use start::start;

/// The role of the program; see `supervise::role`.
pub const ROLE: &str = "simulated-server";
/// What the program is called in lists and logs.
const PROGRAM: &str = "kube-apiserver";
