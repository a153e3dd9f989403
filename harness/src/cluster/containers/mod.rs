//! `containers`: etcd, kube-apiserver and kube-controller-manager from upstream's official images.
//!
//! ```text
//! Wish, version ──► images ──► boot (testcontainers) ──► three containers on a network of their own ──► Cluster
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

#[cfg(feature = "containers")]
mod boot;
mod error;
#[cfg(feature = "containers")]
mod images;
#[cfg(feature = "containers")]
mod names;
#[cfg(feature = "containers")]
mod socket;

#[cfg(not(feature = "containers"))]
use std::path::Path;

#[cfg(feature = "containers")]
pub(super) use boot::boot_in;
pub use error::ContainersError;

#[cfg(not(feature = "containers"))]
use super::{ClusterError, Plan, boot::Booted};

use super::environment::variable;

/// What the user wishes of the images.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wish {
    /// The registry, with a folder if there is one, that has kube-apiserver, kube-controller-manager and etcd; upstream's own
    /// where none is given.
    pub registry: Option<String>,
    /// The whole name of etcd's image; that of the version's kubeadm where none is given.
    pub etcd: Option<String>,
}

impl Wish {
    /// What the environment says: `LOCKSTEP_IMAGE_REGISTRY` and `LOCKSTEP_ETCD_IMAGE`.
    pub fn of_environment() -> Self {
        Self { registry: variable("LOCKSTEP_IMAGE_REGISTRY"), etcd: variable("LOCKSTEP_ETCD_IMAGE") }
    }
}

/// Whether such a cluster can boot here at once: the engine answers and the images are there. If not, what is missing.
///
/// # Errors
/// The reason, as a fragment of a sentence.
#[cfg(feature = "containers")]
pub fn available(version: &str, wish: &Wish) -> Result<(), String> {
    use super::engine::{last_line, remedy};
    let mut ask = std::process::Command::new("docker");
    ask.args(["image", "inspect", "--format", "{{.Id}}"]).args(images::Images::new(version, wish).all());
    let answer = ask.output().map_err(|error| format!("no container engine: docker: {error}"))?;
    if answer.status.success() {
        return Ok(());
    }
    let why = last_line(&answer.stderr);
    if why.contains("No such image") {
        return Err(format!("{why}; pull it first"));
    }
    Err(format!("{why}; {}", remedy(&why)))
}

/// Whether such a cluster can boot here: it cannot, as this was built without.
///
/// # Errors
/// Always.
#[cfg(not(feature = "containers"))]
pub fn available(_version: &str, _wish: &Wish) -> Result<(), String> {
    Err(ContainersError::NotBuilt.to_string())
}

/// Say that this was built without.
#[cfg(not(feature = "containers"))]
pub(super) async fn boot_in(_parent: &Path, _plan: &Plan, _wish: &Wish) -> Result<Booted, ClusterError> {
    Err(ContainersError::NotBuilt.into())
}
