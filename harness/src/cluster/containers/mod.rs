//! `containers`: etcd, kube-apiserver and kube-controller-manager from upstream's official images.
//!
//! ```text
//! Wish, version ──► images ──► crew ──► three containers on a network of their own ──► Cluster
//!                                └ supervisor: the container engine's command removes all of it, however the harness ends
//! ```
//!
//! * What the programs are told is what `control-plane` tells them; only where they listen and what they call each other differs.
//! * The API server's port is published on 127.0.0.1 and nowhere else. etcd is published nowhere.
//! * Certificates, keys and tokens are copied in, readable by root alone; nothing of this machine is mounted.
//! * Everything is done by the engine's command, as kind does: the supervisor needs it anyway to remove containers after SIGKILL,
//!   and a library for the engine's socket would be a second way to the same engine (which may be another engine), and 74 crates.
//! * What is to go is handed to the supervisor before it is made, so that the cluster of a test run outlives the trial that
//!   booted it and nothing outlives the run.
//! * How it is reached and how it ends once it runs stands in `supervised`.
//! * Each container has a process on this machine that follows its log into the cluster's folder and ends when the container
//!   does. So whoever asks whether the cluster is alive need not ask the engine.

mod connect;
mod crew;
mod error;
mod images;
mod local;
mod names;
mod prove;
mod start;
mod wish;

pub use error::ContainersError;
pub use start::available;
pub(super) use start::start;
pub use wish::Wish;
