//! `containers`: etcd, kube-apiserver and kube-controller-manager from upstream's official images.
//!
//! ```text
//! ImageOptions, version ──► images ──► launcher ──► container ──► three containers ──► Cluster
//!                                      └ supervisor: removes everything with the engine's command
//! ```
//!
//! * The programs get the same flags as on `control-plane`, except for addresses.
//! * The API server's port is published on 127.0.0.1 only. etcd is not published.
//! * Certificates, keys and tokens are copied into the containers, readable by root only; nothing
//!   of this machine is mounted.
//! * testcontainers creates and starts containers, but does not remove them. Removal is registered
//!   with the supervisor before anything is created, so it happens after SIGKILL too, and the
//!   cluster of a test run outlives the trial that booted it.
//! * `supervised_cluster` implements the running cluster.
//! * Each container has a process on this machine that follows its log into the cluster's folder
//!   and exits with the container. So checking whether the cluster is alive needs no request.
//!
//! Built with the feature `containers`, which is on by default. A build without it reports so, but
//! can attach to and end a cluster that another build has booted.

#[cfg(feature = "containers")]
mod connect;
#[cfg(feature = "containers")]
mod container;
mod error;
#[cfg(feature = "containers")]
mod images;
#[cfg(feature = "containers")]
mod launcher;
#[cfg(feature = "containers")]
mod names;
mod options;
#[cfg(feature = "containers")]
mod prove;
mod start;

pub(crate) use error::ContainersError;
pub use options::ImageOptions;
pub use start::available;
pub(super) use start::start;
