//! `containers`: etcd, kube-apiserver and kube-controller-manager from upstream's official images.
//!
//! ```text
//! Wish, version ──► images ──► crew ──► launch (testcontainers) ──► three containers on a network of their own ──► Cluster
//!                               └ supervisor: the container engine's command removes all of it, however the harness ends
//! ```
//!
//! * The programs get the flags that `control-plane` gives them; only where they listen and how
//!   they call each other differs.
//! * The API server's port is published on 127.0.0.1 and nowhere else. etcd is published nowhere.
//! * Certificates, keys and tokens are copied in, readable by root alone; nothing of this machine
//!   is mounted.
//! * testcontainers creates and starts, and ends nothing. What is to go is handed to the supervisor
//!   before it is made, so it goes after SIGKILL too, and the cluster of a test run outlives the
//!   trial that booted it.
//! * How it is reached and how it ends once it runs stands in `supervised`.
//! * Each container has a process on this machine that follows its log into the cluster's folder
//!   and ends when the container does. So it costs no request to see whether the cluster is alive.
//!
//! Built with the feature `containers`, which is on by default. Without it, errors say so; a
//! cluster that another build has booted can be used and ended.

#[cfg(feature = "containers")]
mod connect;
#[cfg(feature = "containers")]
mod crew;
mod error;
#[cfg(feature = "containers")]
mod images;
#[cfg(feature = "containers")]
mod launch;
#[cfg(feature = "containers")]
mod names;
#[cfg(feature = "containers")]
mod prove;
mod start;
mod wish;

pub use error::ContainersError;
pub use start::available;
pub(super) use start::start;
pub use wish::Wish;
