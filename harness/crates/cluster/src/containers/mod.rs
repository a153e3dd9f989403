//! `containers`: etcd, kube-apiserver and kube-controller-manager from upstream's official images.
//!
//! ```text
//! ImageOptions, version ──► names ──► launcher ──► container ──► three containers ──► Cluster
//!                                     └ supervisor: removes everything with the engine's command
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
mod container;
mod error;
#[cfg(feature = "containers")]
mod launcher;
#[cfg(feature = "containers")]
mod names;

use std::path::Path;

pub(crate) use error::ContainersError;
#[cfg(feature = "containers")]
use names::ControlPlaneImages;

#[cfg(feature = "containers")]
use crate::engine::{Engine, EngineError};
pub use crate::plan::ImageOptions;
use crate::supervised_cluster::SupervisedCluster;
use crate::{ClusterError, ClusterPlan};

/// A control plane with its folder in `parent`.
#[cfg(feature = "containers")]
pub(crate) async fn start(
    parent: &Path,
    plan: &ClusterPlan,
    options: &ImageOptions,
) -> Result<SupervisedCluster, ClusterError> {
    let (facts, supervisor) = launcher::start(parent, plan, options).await?;
    Ok(SupervisedCluster::owned(facts, supervisor))
}

/// Fails: this build does not support containers.
#[cfg(not(feature = "containers"))]
pub(crate) async fn start(_: &Path, _: &ClusterPlan, _: &ImageOptions) -> Result<SupervisedCluster, ClusterError> {
    Err(ContainersError::NotBuilt.into())
}

/// Whether such a cluster can boot without downloads: the engine answers and has the images.
///
/// # Errors
/// What is missing, as a fragment of a sentence.
#[cfg(feature = "containers")]
pub fn available(version: &str, options: &ImageOptions) -> Result<(), String> {
    let engine = Engine::locate(Path::new("docker")).map_err(|error| error.to_string())?;
    ContainersError::check_local(&engine).map_err(|error| error.to_string())?;
    let images = ControlPlaneImages::new(version, options);
    let words = [&["image", "inspect", "--format", "{{.Id}}"], images.all().as_slice()].concat();
    match engine.query_blocking(&words) {
        Ok(_) => Ok(()),
        Err(EngineError::Failed { why, .. }) if why.contains("No such image") => Err(format!("{why}; pull it first")),
        Err(error) => Err(error.to_string()),
    }
}

/// Fails: this build does not support containers.
///
/// # Errors
/// Always.
#[cfg(not(feature = "containers"))]
pub fn available(_: &str, _: &ImageOptions) -> Result<(), String> {
    Err(ContainersError::NotBuilt.to_string())
}

#[cfg(all(test, not(feature = "containers")))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn build_without_containers_reports_how_to_enable_them() {
        let options = ImageOptions::default();
        let plan = ClusterPlan::new("v1.36.3");
        let error = start(Path::new("/nowhere"), &plan, &options).await.unwrap_err().to_string();
        assert!(
            error.contains("built without the feature `containers`; build it with cargo's default features"),
            "{error}"
        );
        assert_eq!(available("v1.36.3", &options), Err(error));
    }
}
