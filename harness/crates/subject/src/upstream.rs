//! Upstream: kube-controller-manager as a process, with only the controllers under test.

use std::path::{Path, PathBuf};

use lockstep_cluster as cluster;
use lockstep_cluster::ClusterError;
use lockstep_recording::controllers::ControllerSet;
use lockstep_timeline::versions::Minor;

use crate::{SubjectError, command};

/// The default version of upstream.
pub(super) const VERSION: &str = cluster::DEFAULT_VERSION;

/// Whether `upstream:…` names a file rather than a version.
pub(super) fn is_path(version_or_path: &str) -> bool {
    version_or_path.contains('/')
}

/// Checks that the file exists.
pub(super) fn check(path: &Path) -> Result<(), SubjectError> {
    if path.is_file() {
        return Ok(());
    }
    Err(SubjectError::Missing {
        item: "kube-controller-manager",
        path: path.display().to_string(),
        remedy: "give a version such as upstream:v1.36.3, or the path of a binary",
    })
}

/// The binary, with its name and version.
pub(super) async fn program(version_or_path: Option<&str>) -> Result<(PathBuf, String), SubjectError> {
    let path = match version_or_path {
        Some(path) if is_path(path) => {
            check(Path::new(path))?;
            std::path::absolute(path)?
        }
        version => {
            let version = version.unwrap_or(VERSION).to_owned();
            let obtain = move || match version == VERSION {
                true => Ok(cluster::obtain_binaries(VERSION)?.program("kube-controller-manager")),
                false => cluster::obtain_controller_manager(&version),
            };
            // It may be built first.
            tokio::task::spawn_blocking(obtain).await.map_err(ClusterError::from)??
        }
    };
    let version = command::version(&path).await.replace("Kubernetes ", "");
    Ok((path, format!("kube-controller-manager {version}")))
}

/// The arguments: only the controllers under test, no leader election, no serving port, and client
/// limits that do not throttle: with upstream's 20 requests a second with a burst of 30, the client
/// rather than the decisions would pace a rollout of ten pods. JSON, so that the interceptor can
/// distinguish events and decisions if a case requires it. `version` is the program's own.
pub(super) fn arguments(kubeconfig: &Path, controllers: &ControllerSet, version: &str) -> Vec<String> {
    let mut arguments = vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--controllers={}", controllers),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--kube-api-content-type=application/json".into(),
        "--kube-api-qps=2000".into(),
        "--kube-api-burst=4000".into(),
    ];
    // Before 1.24 it also served plain HTTP, on a port that may be in use; later versions do not
    // have the flag.
    if Minor::of(version).is_some_and(|minor| minor < Minor::new(24)) {
        arguments.push("--port=0".into());
    }
    arguments
}
