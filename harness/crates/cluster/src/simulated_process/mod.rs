//! `sim` for subjects in other processes: the simulated server over HTTP, in real time.

mod connect;
mod prove;
mod server;
mod start;

pub(super) use connect::{create_not_before, unsupported_requests};
pub use server::SimulatedServer;
pub(super) use start::start;

/// The role of the program; see `supervise::role`.
pub const ROLE: &str = "simulated-server";
/// The name of the program in process lists and logs.
const PROGRAM: &str = "kube-apiserver";
