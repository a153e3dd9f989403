//! `sim` where another process is to reach it: the simulated server over HTTP, in real time.
//!
//! For a subject that is a process of its own it listens in this process ([`Served::start_here`]),
//! and ends with its last clone. As a program of its own it stands until `lockstep cluster down`:
//! [`Served::start`] starts this executable again, that calls [`SimulatedServer::start`] and writes
//! into a file where it listens.

mod connect;
mod end;
mod prove;
mod server;
mod start;

use std::sync::Arc;

use tempfile::TempDir;

use super::facts::Facts;
use super::keeper::Keeper;
pub use server::SimulatedServer;

/// What the program is called in lists and logs.
const PROGRAM: &str = "kube-apiserver";

/// A simulated server that listens.
#[derive(Debug, Clone)]
pub struct Served {
    facts: Facts,
    at: At,
}

/// Which process listens.
#[derive(Debug, Clone)]
enum At {
    /// This one, with the folder for its files.
    Here(Arc<(SimulatedServer, TempDir)>),
    /// A program.
    Program(Keeper),
}
