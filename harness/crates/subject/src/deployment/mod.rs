//! Runs a controller inside a kind cluster, as pods, from the manifest by which it is deployed.
//!
//! ```text
//! path ──► manifest (Deployment, other objects) ──► rewrite ──► install ──► pods (ready, watched)
//!                                                      ^
//!                                  the interceptor on the node's network, its CA, images
//! ```
//!
//! The image, flags, roles, probes and leader election are judged as they would run in a cluster.
//! `rewrite` makes only three changes: who creates the pods, where they run, and that they reach
//! the API server through the interceptor, with their own token.
//!
//! Boundaries: `manifest` and `rewrite` do no I/O. Nothing here depends on which controller it is.

mod install;
mod manifest;
mod pods;
mod rewrite;

use std::collections::BTreeSet;
use std::path::Path;

use install::Installation;
use lockstep_cluster::kind::MasqueradeRule;
use lockstep_intercept::InterceptorLog;
use manifest::Manifest;
pub(crate) use manifest::ManifestError;
pub(super) use pods::SubjectPods;
use pods::{PodProblem, PodWatcher};
use rewrite::Placement;

use crate::{InCluster, LogSource, StartContext, SubjectError};

/// The controller's pods, and everything that was created for them.
pub(super) struct RunningPods {
    pods: SubjectPods,
    watch: PodWatcher,
    installed: Installation,
    masquerade: MasqueradeRule,
}

impl std::fmt::Debug for RunningPods {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningPods").field("replicaSet", &self.pods.name).finish_non_exhaustive()
    }
}

/// Whether the manifest can be read and is valid.
pub(super) fn check(path: &Path) -> Result<(), SubjectError> {
    read(path).map(drop)
}

/// Installs the manifest, and waits until its pods are ready. Also returns a description of the
/// version.
pub(super) async fn start(path: &Path, context: &StartContext<'_>) -> Result<(RunningPods, String), SubjectError> {
    let manifest = read(path)?;
    let in_cluster = context.in_cluster.as_ref().ok_or_else(|| SubjectError::Elsewhere(path.to_owned()))?;
    let mut images = BTreeSet::new();
    for image in manifest.images() {
        if in_cluster.node.load_image(&image).await? {
            images.insert(image);
        }
    }
    let masquerade = in_cluster.node.add_masquerade_rule(in_cluster.interceptor.address()).await;
    let mut installed = match Installation::begin(in_cluster.client).await {
        Ok(installed) => installed,
        Err(error) => {
            masquerade.remove().await;
            return Err(error);
        }
    };
    match install_and_wait(path, &manifest, in_cluster, &images, &mut installed).await {
        Ok(pods) => {
            let version = format!("{} ×{}", manifest.images().join(", "), manifest.replicas());
            let watch = pods.watch();
            Ok((RunningPods { pods, watch, installed, masquerade }, version))
        }
        Err(error) => {
            installed.remove().await;
            masquerade.remove().await;
            Err(error)
        }
    }
}

impl RunningPods {
    /// Why it has failed, if it has.
    pub(super) fn failure(&self) -> Option<String> {
        self.watch.failure()
    }

    /// The output of its pods from now on.
    pub(super) fn log_source(&self) -> LogSource {
        LogSource::of_pods(&self.pods)
    }

    /// Ends it: the pods first, so that it acts no longer when this returns.
    pub(super) async fn stop(self) {
        drop(self.watch);
        self.pods.end().await;
        self.installed.remove().await;
        self.masquerade.remove().await;
    }
}

fn read(path: &Path) -> Result<Manifest, SubjectError> {
    Manifest::read(path).map_err(|source| SubjectError::Manifest { path: path.to_owned(), source })
}

async fn install_and_wait(
    path: &Path,
    manifest: &Manifest,
    in_cluster: &InCluster<'_>,
    images: &BTreeSet<String>,
    installed: &mut Installation,
) -> Result<SubjectPods, SubjectError> {
    let placement = Placement {
        node: &in_cluster.node.name,
        interceptor: in_cluster.interceptor.address(),
        ca_pem: in_cluster.interceptor.ca_pem(),
        images,
        owner: &installed.owner(),
    };
    let objects = rewrite::objects(manifest, &placement);
    let objects = objects.map_err(|source| SubjectError::Manifest { path: path.to_owned(), source })?;
    let mut uid = String::new();
    for object in &objects {
        // The last object is the ReplicaSet.
        uid = installed.create(object).await?.metadata.uid.unwrap_or_default();
    }
    let client = installed.client.clone();
    let pods = SubjectPods { client, namespace: manifest.namespace(), name: manifest.name(), uid };
    let Err(PodProblem { pod, why, image }) = pods.wait_until_ready(manifest.replicas()).await else { return Ok(pods) };
    let requests = describe_requests(in_cluster.interceptor.log());
    pods.end().await;
    Err(match image {
        true => SubjectError::NoImage { pod, why },
        false => SubjectError::NotReady { pod, seconds: pods::READY_TIMEOUT.as_secs(), why: why + &requests },
    })
}

/// What the interceptor has seen of pods that do not become ready, to follow their own messages.
fn describe_requests(log: &InterceptorLog) -> String {
    if log.counts().is_empty() {
        return "\n  none of its requests has reached the interceptor".to_owned();
    }
    let refused: Vec<_> = log.refused().into_iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
    if refused.is_empty() {
        return String::new();
    }
    format!("\n  the API server refused its requests: {}", refused.join(", "))
}
