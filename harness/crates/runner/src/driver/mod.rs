//! Performs steps: what a user does with kubectl and what kubelets do with pods.
//!
//! The driver knows the case and the API server, not the subject, and judges nothing: an operation
//! that fails returns an error that says why and who is to blame. The driver remembers the
//! resourceVersion of each of its writes, so that settling can wait until the watches deliver it,
//! and the judge can distinguish the driver's writes from the subject's.
//!
//! Each operation defines how it is performed (`case::operations`), with the interface [`Drive`].
//! `kubectl` is the user's part, with the case's namespace inserted, and `kubelet` the kubelets',
//! with what they do unasked between steps: bind new pods and, where terminations are automatic,
//! finish deletions. `pod_names` is for pods that the case knows by name, `nodes` has the nodes for
//! held pods, and `real_pods` is for pods that a kubelet runs.

mod apply;
mod error;
mod kubectl;
pub(crate) mod kubelet;
pub mod nodes;
mod pod_names;
mod real_pods;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) use error::drive_error;
use futures::future::BoxFuture;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
pub(crate) use kubelet::next_pods;
use lockstep_case::model::{Cascade, Drive, Operation, PatchKind, PerformFuture, PodNaming, PodSelection, Target};
pub(crate) use lockstep_case::model::{DriveError, PodOperation, label};
use lockstep_cluster::Cluster;
use lockstep_support::clock;
pub use real_pods::PodBackend;
use serde_json::Value;

use crate::observe::{WatchCache, WatchedKind};

/// Performs the steps of one case in one namespace.
pub struct Driver {
    client: kube::Client,
    cache: Arc<WatchCache>,
    namespace: String,
    pod_backend: PodBackend,
    nodes: Arc<nodes::HarnessNodes>,
    /// How many pods were bound to a node because the case made them ready.
    bound: AtomicU32,
    writes: Mutex<Vec<(WatchedKind, u64)>>,
    pod_names: Mutex<PodNames>,
    /// When each step with a label began.
    labels: Mutex<BTreeMap<String, clock::Instant>>,
    cluster: Cluster,
    /// The time to which the server's clock was set last.
    last_server_time: Mutex<Option<jiff::Timestamp>>,
}

/// The real names of pods by the case's names: all, and those added since the last call of
/// `take_new_pod_names`.
#[derive(Debug, Default)]
struct PodNames {
    all: BTreeMap<String, String>,
    new_names: BTreeMap<String, String>,
}

impl Driver {
    /// A driver for a namespace that exists.
    pub fn new(
        cluster: Cluster,
        cache: Arc<WatchCache>,
        nodes: Arc<nodes::HarnessNodes>,
        namespace: &str,
        pod_backend: PodBackend,
    ) -> Self {
        Self {
            client: nodes.client.clone(),
            cache,
            namespace: namespace.to_owned(),
            pod_backend,
            nodes,
            bound: AtomicU32::default(),
            writes: Mutex::default(),
            pod_names: Mutex::default(),
            labels: Mutex::default(),
            cluster,
            last_server_time: Mutex::default(),
        }
    }

    /// The name of a node without another pod of the case.
    fn unused_node(&self) -> String {
        format!("lockstep-own-{}", self.bound.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Perform an operation that does not select single pods.
    ///
    /// # Errors
    /// See [`DriveError`].
    pub async fn perform(&self, operation: &Operation) -> Result<(), DriveError> {
        operation.perform(self).await
    }

    /// Note that a step begins, which may have a label.
    pub(crate) fn label(&self, label: Option<&str>) {
        let mut labels = self.labels.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        labels.extend(label.map(|label| (label.to_owned(), clock::instant())));
    }

    /// The time left until this long after a labelled step began, regardless of how long settling
    /// has taken.
    fn until(&self, to: Duration, since: &str) -> Result<Duration, DriveError> {
        let began = self.labels.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(since).copied();
        let began =
            began.ok_or_else(|| DriveError::Environment(format!("no step with the label {since} was made yet")))?;
        to.checked_sub(began.elapsed()).ok_or_else(|| {
            DriveError::Environment(format!(
                "{:?} have passed since {since} already; this cluster is too slow for it",
                began.elapsed()
            ))
        })
    }

    /// The current state of a Deployment or ReplicaSet on the server, if it exists.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) async fn read_object(&self, kind: &str, name: &str) -> Result<Option<Value>, DriveError> {
        let found = self.api("apps/v1", kind).get_opt(name).await.map_err(drive_error)?;
        found.map(|found| serde_json::to_value(found).map_err(|error| DriveError::Server(error.into()))).transpose()
    }

    /// The writes since the last call, as kinds and resourceVersions.
    pub(crate) fn take_writes(&self) -> Vec<(WatchedKind, u64)> {
        std::mem::take(&mut *self.writes.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Before a step that may create a ReplicaSet: wait until the server's clock has passed the
    /// second in which the last one was created. Creation times have a resolution of one second,
    /// and the hash in the name would break a tie. A simulated server in real time gets its clock
    /// set instead, as waiting took a third of the time of most cases.
    pub(crate) async fn new_second(&self) {
        let newest = self.cache.last_created(&self.namespace).and_then(|time| time.parse().ok());
        let Some(newest): Option<jiff::Timestamp> = newest else {
            return;
        };
        let Ok(next) = jiff::Timestamp::from_second(newest.as_second() + 1) else { return };
        // If the server does not answer, the step will show it.
        if self.cluster.create_not_before(&self.client, &self.namespace, next).await.unwrap_or(false) {
            *self.last_server_time.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(next);
            return;
        }
        let wait = next.as_millisecond() - clock::now().as_millisecond();
        if let Ok(wait @ 1..) = u64::try_from(wait) {
            // Also a server whose clock is ahead reaches its next second within one.
            clock::pause(Duration::from_millis(wait.min(1000) + 2)).await;
        }
    }

    /// The server's time of day.
    fn time_of_day(&self) -> String {
        let last = *self.last_server_time.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        clock::to_rfc3339(last.map_or_else(clock::now, |last| last.max(clock::now())))
    }

    /// Before pods become ready in simulated time, from which minReadySeconds counts: wait for the
    /// next second. Pods that became ready in the same second become available at the same time, so
    /// otherwise the milliseconds that the subject took would decide.
    pub(crate) async fn next_second(&self) {
        let within = clock::now().as_millisecond().rem_euclid(1000).unsigned_abs();
        clock::pause(Duration::from_millis(1000 - within)).await;
    }

    /// Remember the version that a write returned.
    fn record_write(&self, kind: WatchedKind, object: &DynamicObject) {
        let rv = object.metadata.resource_version.as_deref().and_then(|rv| rv.parse().ok());
        if let Some(rv) = rv {
            self.cache.record_own_write(rv);
            self.writes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((kind, rv));
        }
    }

    /// The API of a kind, in the case's namespace.
    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    fn deployments(&self) -> Api<DynamicObject> {
        self.api("apps/v1", "Deployment")
    }
}

/// The driver's interface for operations.
impl Drive for Driver {
    fn apply<'a>(&'a self, manifest: &'a Value, server_side: bool) -> PerformFuture<'a> {
        Box::pin(self.apply(manifest, server_side))
    }

    fn patch<'a>(
        &'a self,
        target: &'a Target,
        kind: PatchKind,
        patch: &'a Value,
        manager: &'static str,
    ) -> PerformFuture<'a> {
        Box::pin(self.patch(target, kind, patch, manager))
    }

    fn delete<'a>(&'a self, target: &'a Target, cascade: Cascade) -> PerformFuture<'a> {
        Box::pin(self.delete(target, cascade))
    }

    fn scale<'a>(&'a self, target: &'a Target, replicas: i32) -> PerformFuture<'a> {
        Box::pin(self.scale(target, replicas))
    }

    fn deployment<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Value, DriveError>> {
        Box::pin(async move {
            let found = self.deployments().get(name).await.map_err(drive_error)?;
            serde_json::to_value(found).map_err(|error| DriveError::Server(error.into()))
        })
    }

    fn replica_sets<'a>(&'a self, deployment: &'a Value) -> BoxFuture<'a, Result<Vec<Value>, DriveError>> {
        Box::pin(self.replica_sets(deployment))
    }

    fn move_pods<'a>(&'a self, operation: PodOperation, pods: &'a PodSelection) -> PerformFuture<'a> {
        Box::pin(self.move_pods_together(operation, pods))
    }

    fn name_pods<'a>(&'a self, naming: &'a PodNaming) -> PerformFuture<'a> {
        Box::pin(self.name(naming))
    }

    fn wait<'a>(&'a self, time: Duration) -> PerformFuture<'a> {
        Box::pin(async move {
            clock::pause(time).await;
            Ok(())
        })
    }

    fn time_until(&self, to: Duration, since: &str) -> Result<Duration, DriveError> {
        self.until(to, since)
    }

    fn now(&self) -> String {
        self.time_of_day()
    }
}
