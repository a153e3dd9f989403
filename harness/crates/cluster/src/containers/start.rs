//! Start: runs the launcher under a supervisor, if the feature `containers` is on.

use std::path::Path;

#[cfg(feature = "containers")]
use super::images::ControlPlaneImages;
use super::{ContainersError, ImageOptions};
#[cfg(feature = "containers")]
use crate::engine::{Engine, EngineError};
use crate::supervised_cluster::SupervisedCluster;
use crate::{ClusterError, ClusterPlan};

/// A control plane with its folder in `parent`.
#[cfg(feature = "containers")]
pub(crate) async fn start(
    parent: &Path,
    plan: &ClusterPlan,
    options: &ImageOptions,
) -> Result<SupervisedCluster, ClusterError> {
    let (facts, supervisor) = super::launcher::start(parent, plan, options).await?;
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
