//! A controller that runs inside of a kind cluster, as pods of its own, from the manifest that it
//! is deployed by.
//!
//! ```text
//! path ──► manifest (one Deployment, and what it needs) ──► rewrite ──► install ──► pods (ready, watched)
//!                                                              ^
//!                                        the interceptor on the node's network, its CA, images
//! ```
//!
//! What is judged is what would run in a cluster: the image, its flags, its roles, its probes, its
//! leader election. Only three things are not the manifest's own, and `rewrite` says which: who
//! makes the pods, where they run, and that their way to the API server leads through the
//! interceptor, with their own token.
//!
//! Borders: `manifest` and `rewrite` are pure. Nothing here knows which controller it is.

mod install;
mod manifest;
mod pods;
mod rewrite;

use std::collections::BTreeSet;
use std::path::Path;

pub use manifest::ManifestError;

use super::{Inside, LogSource, Stage, SubjectError};
use crate::cluster::kind::Way;
use crate::intercept::InterceptorLog;
use install::Installed;
use manifest::Manifest;
pub(super) use pods::Pods;
use pods::{Plight, Watch};
use rewrite::Place;

/// Where a pod's containers stand.
const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

/// The controller's pods, and everything that was made for them.
pub(super) struct Running {
    pods: Pods,
    watch: Watch,
    installed: Installed,
    way: Way,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("replicaSet", &self.pods.name).finish_non_exhaustive()
    }
}

/// Whether it can be read and made sense of.
pub(super) fn check(path: &Path) -> Result<(), SubjectError> {
    read(path).map(drop)
}

/// Install it, and wait until its pods are ready. Says what it is called.
pub(super) async fn start(path: &Path, stage: &Stage<'_>) -> Result<(Running, String), SubjectError> {
    let manifest = read(path)?;
    let inside = stage.inside.as_ref().ok_or_else(|| SubjectError::Elsewhere(path.to_owned()))?;
    let mut images = BTreeSet::new();
    for image in manifest.images() {
        if inside.node.load(&image).await? {
            images.insert(image);
        }
    }
    let way = inside.node.open_way(inside.interceptor.address()).await;
    let mut installed = match Installed::begin(inside.client).await {
        Ok(installed) => installed,
        Err(error) => {
            way.close().await;
            return Err(error);
        }
    };
    match in_session(path, &manifest, inside, &images, &mut installed).await {
        Ok(pods) => {
            let version = format!("{} ×{}", manifest.images().join(", "), manifest.replicas());
            let watch = pods.watch();
            Ok((Running { pods, watch, installed, way }, version))
        }
        Err(error) => {
            installed.remove().await;
            way.close().await;
            Err(error)
        }
    }
}

impl Running {
    /// Why it no longer works, if it does not.
    pub(super) fn ended(&self) -> Option<String> {
        self.watch.down()
    }

    /// What its pods print from now on.
    pub(super) fn log_source(&self) -> LogSource {
        LogSource::of_pods(&self.pods)
    }

    /// End it: the pods first, so that nobody acts any more when this returns.
    pub(super) async fn stop(self) {
        drop(self.watch);
        self.pods.end().await;
        self.installed.remove().await;
        self.way.close().await;
    }
}

fn read(path: &Path) -> Result<Manifest, SubjectError> {
    Manifest::read(path).map_err(|source| SubjectError::Manifest { path: path.to_owned(), source })
}

async fn in_session(
    path: &Path,
    manifest: &Manifest,
    inside: &Inside<'_>,
    images: &BTreeSet<String>,
    installed: &mut Installed,
) -> Result<Pods, SubjectError> {
    let place = Place {
        node: &inside.node.name,
        interceptor: inside.interceptor.address(),
        ca_pem: inside.interceptor.ca_pem(),
        images,
        owner: &installed.owner(),
    };
    let objects = rewrite::objects(manifest, &place);
    let objects = objects.map_err(|source| SubjectError::Manifest { path: path.to_owned(), source })?;
    let mut uid = String::new();
    for object in &objects {
        // The last one is the ReplicaSet.
        uid = installed.make(object).await?.metadata.uid.unwrap_or_default();
    }
    let client = installed.client.clone();
    let pods = Pods { client, namespace: manifest.namespace(), name: manifest.name(), uid };
    let Err(Plight { who, why, image }) = pods.ready(manifest.replicas()).await else { return Ok(pods) };
    let heard = heard(inside.interceptor.log());
    pods.end().await;
    Err(match image {
        true => SubjectError::NoImage { who, why },
        false => SubjectError::NotReady { who, seconds: pods::PATIENCE.as_secs(), why: why + &heard },
    })
}

/// What the interceptor knows about pods that do not become ready, to be read after what they say
/// themselves.
fn heard(log: &InterceptorLog) -> String {
    if log.counts().is_empty() {
        return "\n  none of its requests has reached the interceptor".to_owned();
    }
    let refused: Vec<_> = log.refused().into_iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
    if refused.is_empty() {
        return String::new();
    }
    format!("\n  the API server refused its requests: {}", refused.join(", "))
}
