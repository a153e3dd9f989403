//! `containers`: etcd, kube-apiserver and kube-controller-manager from upstream's official images.
//!
//! ```text
//! Wish, version ──► images ──► crew (testcontainers) ──► three containers on a network of their own ──► Cluster
//!                                └ supervisor: the container engine's command removes all of it, however the harness ends
//! ```
//!
//! * What the programs are told is what `control-plane` tells them; only where they listen and what they call each other differs.
//! * The API server's port is published on 127.0.0.1 and nowhere else. etcd is published nowhere.
//! * Certificates, keys and tokens are copied in, readable by root alone; nothing of this machine is mounted.
//! * testcontainers creates and starts, and ends nothing: what is to go is told to the supervisor before it is made, so that it
//!   goes after SIGKILL as well, and so that the cluster of a test run outlives the trial that booted it.
//! * Each container has a process on this machine that follows its log into the cluster's folder and ends when the container
//!   does. So whoever asks whether the cluster is alive need not ask the engine.
//!
//! Built only with the feature `containers`, which is on by default; without it the site says so.

mod connect;
#[cfg(feature = "containers")]
mod crew;
mod end;
mod error;
#[cfg(feature = "containers")]
mod images;
#[cfg(feature = "containers")]
mod names;
mod prove;
#[cfg(feature = "containers")]
mod socket;
mod start;
mod wish;

use super::facts::Facts;
use super::keeper::Keeper;
pub use error::ContainersError;
pub use start::available;
pub use wish::Wish;

/// A control plane of containers.
#[derive(Debug, Clone)]
pub struct Containers {
    facts: Facts,
    keeper: Keeper,
}
