//! The test environment's pulse: an object that only the test environment's controllers act on, so
//! that a response shows that the test environment works, whatever the subject does.
//!
//! Which object that is depends on what the subject brings, as the test environment has all other
//! controllers. If it has a ReplicaSet controller, that counts the ready pods of a ReplicaSet
//! without an owner. If the subject brings that one, the test environment's Deployment controller
//! observes each new generation of a paused Deployment, on which no ReplicaSet controller acts. If
//! the subject brings both, the garbage collector deletes a pod whose owner never existed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_support::clock;
use serde_json::{Value, json};

use super::watch::resource;
use super::{CachedObject, ObserveError, WatchCache, WatchedKind};

/// The name of the object.
const ENVIRONMENT: &str = "environment";
/// The field in which a flip arrives.
pub(super) const READY: &str = "/status/readyReplicas";

/// The controller of the test environment that responds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PulseTarget {
    ReplicaSets,
    Deployments,
    Garbage,
}

impl PulseTarget {
    fn of(under_test: &ControllerSet) -> Self {
        match (under_test.has(Controller::ReplicaSet), under_test.has(Controller::Deployment)) {
            (false, _) => Self::ReplicaSets,
            (true, false) => Self::Deployments,
            (true, true) => Self::Garbage,
        }
    }
}

pub(super) struct Pulse {
    client: kube::Client,
    cache: Arc<WatchCache>,
    namespace: String,
    target: PulseTarget,
    beats: AtomicU32,
}

impl Pulse {
    /// The pulse of a test environment with all controllers except these.
    pub(super) fn new(
        client: &kube::Client,
        cache: &Arc<WatchCache>,
        namespace: &str,
        under_test: &ControllerSet,
    ) -> Self {
        let (client, cache, namespace) = (client.clone(), Arc::clone(cache), namespace.to_owned());
        Self { client, cache, namespace, target: PulseTarget::of(under_test), beats: AtomicU32::default() }
    }

    /// The responder, for use in a sentence.
    pub(super) fn responder(&self) -> &'static str {
        match self.target {
            PulseTarget::ReplicaSets => "ReplicaSet controller",
            PulseTarget::Deployments => "Deployment controller",
            PulseTarget::Garbage => "garbage collector",
        }
    }

    /// Create the object, if it is a permanent one.
    pub(super) async fn start(&self) -> Result<(), ObserveError> {
        let spec = |more: Value| {
            let mut spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": ENVIRONMENT}}, "template": template(ENVIRONMENT)});
            if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
                spec.extend(more);
            }
            spec
        };
        let (kind, spec) = match self.target {
            PulseTarget::ReplicaSets => (WatchedKind::ReplicaSet, spec(json!({}))),
            PulseTarget::Deployments => (WatchedKind::Deployment, spec(json!({"paused": true}))),
            PulseTarget::Garbage => return Ok(()),
        };
        let object =
            json!({"apiVersion": "apps/v1", "kind": kind.to_string(), "metadata": {"name": ENVIRONMENT}, "spec": spec});
        create(&self.client, &self.namespace, kind, object).await.map(drop)
    }

    /// Whether the test environment responds within the budget.
    pub(super) async fn beat(&self, budget: Duration) -> bool {
        let number = self.beats.fetch_add(1, Ordering::Relaxed);
        match self.target {
            PulseTarget::ReplicaSets => self.beat_replica_set(budget).await,
            PulseTarget::Deployments => self.beat_deployment(number, budget).await,
            PulseTarget::Garbage => self.beat_garbage_collector(number, budget).await,
        }
    }

    /// Flip the pod's readiness and wait for the ReplicaSet's status.
    async fn beat_replica_set(&self, budget: Duration) -> bool {
        let set = || self.cache.get(WatchedKind::ReplicaSet, &self.namespace, ENVIRONMENT);
        let pod = || pod_of(&self.cache, &self.namespace, set()?.text("/metadata/uid"));
        if !self.cache.until(budget, || pod().is_some()).await {
            return false;
        }
        let Some(pod) = pod() else { return false };
        let ready = set().is_some_and(|set| set.int(READY) == 0);
        if set_ready(&self.client, &self.namespace, &pod.name, ready).await.is_err() {
            return false;
        }
        self.cache.until(budget, || set().is_some_and(|set| set.int(READY) == i64::from(ready))).await
    }

    /// Change the Deployment's generation and wait for its status.
    async fn beat_deployment(&self, number: u32, budget: Duration) -> bool {
        // An annotation creates a new generation and has no other effect.
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"lockstep/beat": number.to_string()}}}));
        let patched = api(&self.client, &self.namespace, WatchedKind::Deployment);
        let Ok(answer) = patched.patch(ENVIRONMENT, &PatchParams::default(), &patch).await else { return false };
        let generation = answer.metadata.generation.unwrap_or(i64::MAX);
        let environment = || self.cache.get(WatchedKind::Deployment, &self.namespace, ENVIRONMENT);
        self.cache
            .until(budget, || environment().is_some_and(|it| it.int("/status/observedGeneration") >= generation))
            .await
    }

    /// Create a pod whose owner does not exist and wait for its deletion.
    async fn beat_garbage_collector(&self, number: u32, budget: Duration) -> bool {
        let name = format!("{ENVIRONMENT}-{number}-{:x}", clock::now().as_nanosecond());
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name});
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "ownerReferences": [owner]}, "spec": template(ENVIRONMENT)["spec"]});
        let Ok(made) = create(&self.client, &self.namespace, WatchedKind::Pod, pod).await else { return false };
        let rv = made.metadata.resource_version.and_then(|rv| rv.parse().ok()).unwrap_or(u64::MAX);
        let gone = || self.cache.get(WatchedKind::Pod, &self.namespace, &name).is_none();
        self.cache.until(budget, || self.cache.has_seen(WatchedKind::Pod, rv) && gone()).await
    }
}

/// The first pod alive that this object owns.
pub(super) fn pod_of(cache: &WatchCache, namespace: &str, uid: &str) -> Option<CachedObject> {
    cache.list(WatchedKind::Pod, namespace).into_iter().find(|pod| pod.owner() == Some(uid) && pod.alive())
}

/// Write the status of a running pod, ready or not, as a kubelet would.
pub(super) async fn set_ready(
    client: &kube::Client,
    namespace: &str,
    pod: &str,
    ready: bool,
) -> Result<(), kube::Error> {
    let status = json!({"status": {"phase": "Running", "conditions": [
        {"type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": clock::rfc3339()},
    ]}});
    let api = api(client, namespace, WatchedKind::Pod);
    api.patch_status(pod, &PatchParams::default(), &Patch::Merge(status)).await.map(drop)
}

/// Create an object of the harness's own.
pub(super) async fn create(
    client: &kube::Client,
    namespace: &str,
    kind: WatchedKind,
    object: Value,
) -> Result<DynamicObject, ObserveError> {
    let object = serde_json::from_value(object).expect("a literal of the right shape");
    let made = api(client, namespace, kind).create(&PostParams::default(), &object).await;
    made.map_err(|error| ObserveError::Probe(Box::new(error)))
}

/// The API of a kind in the probe's namespace.
pub(super) fn api(client: &kube::Client, namespace: &str, kind: WatchedKind) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource(kind))
}

/// A pod template that schedulers ignore.
pub(super) fn template(app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"schedulerName": "lockstep",
        "containers": [{"name": "app", "image": "probe"}]}})
}
