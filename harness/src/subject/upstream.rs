//! Upstream: the real kube-controller-manager with only the controllers under test.

use std::path::{Path, PathBuf};

use super::{Stage, SubjectError};
use crate::cluster;
use crate::versions::Minor;

/// Upstream's version where none is named.
pub(super) const VERSION: &str = cluster::DEFAULT_VERSION;

/// Whether `upstream:…` names a file rather than a version.
pub(super) fn is_path(which: &str) -> bool {
    which.contains('/')
}

/// Whether the file is there.
pub(super) fn check(path: &Path) -> Result<(), SubjectError> {
    if path.is_file() {
        return Ok(());
    }
    Err(SubjectError::Missing {
        what: "kube-controller-manager",
        path: path.display().to_string(),
        remedy: "give a version such as upstream:v1.36.3, or the path of a binary",
    })
}

/// The binary and what it calls itself.
pub(super) async fn program(which: Option<&str>) -> Result<(PathBuf, String), SubjectError> {
    let path = match which {
        Some(path) if is_path(path) => {
            check(Path::new(path))?;
            std::path::absolute(path)?
        }
        Some(version) if version != VERSION => cluster::controller_manager(version)?,
        _ => cluster::binaries(VERSION)?.program("kube-controller-manager"),
    };
    let version = super::command::version(&path).await.replace("Kubernetes ", "");
    Ok((path, format!("kube-controller-manager {version}")))
}

/// Only the controllers under test; no leader election, no serving port, and client limits that do
/// not throttle: at upstream's 20 requests a second with a burst of 30 a rollout of ten pods is
/// paced by the client, not by its decisions. JSON, so that the interceptor can tell events and
/// decisions apart when a case asks it to. The version is what it calls itself.
pub(super) fn arguments(kubeconfig: &Path, stage: &Stage<'_>, version: &str) -> Vec<String> {
    let mut arguments = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={}", stage.controllers),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--kube-api-content-type=application/json".into(),
        "--kube-api-qps=2000".into(),
        "--kube-api-burst=4000".into(),
    ];
    // It also served plain HTTP, on a port that another may have; from 1.24 on there is no such
    // flag.
    if Minor::of(version).is_some_and(|minor| minor < Minor::new(24)) {
        arguments.push("--port=0".into());
    }
    arguments
}
