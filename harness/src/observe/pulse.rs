//! The test environment's pulse: an object that the test environment's controllers alone looks
//! after, so that its answer says that the test environment is alive, whatever the subject does.
//!
//! Which object that is depends on what the subject brings, as the test environment has all the
//! rest. Where it has a ReplicaSet controller, that counts the ready pods of a ReplicaSet without
//! an owner. Where the subject brings that one, the test environment's Deployment controller takes
//! note of each new generation of a Deployment that is paused, which no ReplicaSet controller has
//! anything to do with. Where the subject brings both, the garbage collector removes a pod whose
//! owner never was.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::watch::resource;
use super::{Kind, Object, ObserveError, World};
use crate::clock;
use crate::controllers::{Controller, Controllers};

/// The object's name.
const ENVIRONMENT: &str = "environment";
/// What the far end of a flip is read from.
pub(super) const READY: &str = "/status/readyReplicas";

/// Who answers for the test environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heart {
    ReplicaSets,
    Deployments,
    Garbage,
}

impl Heart {
    fn of(under_test: &Controllers) -> Self {
        match (under_test.has(Controller::ReplicaSet), under_test.has(Controller::Deployment)) {
            (false, _) => Self::ReplicaSets,
            (true, false) => Self::Deployments,
            (true, true) => Self::Garbage,
        }
    }
}

/// See the module.
pub(super) struct Pulse {
    client: kube::Client,
    world: Arc<World>,
    namespace: String,
    heart: Heart,
    beats: AtomicU32,
}

impl Pulse {
    /// For a test environment that has everything but what is brought.
    pub(super) fn new(client: &kube::Client, world: &Arc<World>, namespace: &str, under_test: &Controllers) -> Self {
        let (client, world, namespace) = (client.clone(), Arc::clone(world), namespace.to_owned());
        Self { client, world, namespace, heart: Heart::of(under_test), beats: AtomicU32::default() }
    }

    /// Who answers, in a sentence's words.
    pub(super) fn whose(&self) -> &'static str {
        match self.heart {
            Heart::ReplicaSets => "ReplicaSet controller",
            Heart::Deployments => "Deployment controller",
            Heart::Garbage => "garbage collector",
        }
    }

    /// Make the object, if it is one that stays.
    pub(super) async fn start(&self) -> Result<(), ObserveError> {
        let spec = |more: Value| {
            let mut spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": ENVIRONMENT}}, "template": template(ENVIRONMENT)});
            if let (Some(spec), Value::Object(more)) = (spec.as_object_mut(), more) {
                spec.extend(more);
            }
            spec
        };
        let (kind, spec) = match self.heart {
            Heart::ReplicaSets => (Kind::ReplicaSet, spec(json!({}))),
            Heart::Deployments => (Kind::Deployment, spec(json!({"paused": true}))),
            Heart::Garbage => return Ok(()),
        };
        let object =
            json!({"apiVersion": "apps/v1", "kind": kind.to_string(), "metadata": {"name": ENVIRONMENT}, "spec": spec});
        create(&self.client, &self.namespace, kind, object).await.map(drop)
    }

    /// Whether the test environment answers within the budget.
    pub(super) async fn beat(&self, budget: Duration) -> bool {
        let number = self.beats.fetch_add(1, Ordering::Relaxed);
        match self.heart {
            Heart::ReplicaSets => self.count(budget).await,
            Heart::Deployments => self.note(number, budget).await,
            Heart::Garbage => self.collect(number, budget).await,
        }
    }

    /// The pod's readiness flips, and the ReplicaSet's status says so.
    async fn count(&self, budget: Duration) -> bool {
        let set = || self.world.get(Kind::ReplicaSet, &self.namespace, ENVIRONMENT);
        let pod = || pod_of(&self.world, &self.namespace, set()?.text("/metadata/uid"));
        if !self.world.until(budget, || pod().is_some()).await {
            return false;
        }
        let Some(pod) = pod() else { return false };
        let ready = set().is_some_and(|set| set.int(READY) == 0);
        if set_ready(&self.client, &self.namespace, &pod.name, ready).await.is_err() {
            return false;
        }
        self.world.until(budget, || set().is_some_and(|set| set.int(READY) == i64::from(ready))).await
    }

    /// The Deployment gets another generation, and its status says so.
    async fn note(&self, number: u32, budget: Duration) -> bool {
        // An annotation makes a generation, and means nothing.
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"lockstep/beat": number.to_string()}}}));
        let patched = api(&self.client, &self.namespace, Kind::Deployment);
        let Ok(answer) = patched.patch(ENVIRONMENT, &PatchParams::default(), &patch).await else { return false };
        let generation = answer.metadata.generation.unwrap_or(i64::MAX);
        let environment = || self.world.get(Kind::Deployment, &self.namespace, ENVIRONMENT);
        self.world
            .until(budget, || environment().is_some_and(|it| it.int("/status/observedGeneration") >= generation))
            .await
    }

    /// A pod that belongs to nothing comes, and goes.
    async fn collect(&self, number: u32, budget: Duration) -> bool {
        let name = format!("{ENVIRONMENT}-{number}-{:x}", clock::now().as_nanosecond());
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name});
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "ownerReferences": [owner]}, "spec": template(ENVIRONMENT)["spec"]});
        let Ok(made) = create(&self.client, &self.namespace, Kind::Pod, pod).await else { return false };
        let rv = made.metadata.resource_version.and_then(|rv| rv.parse().ok()).unwrap_or(u64::MAX);
        let gone = || self.world.get(Kind::Pod, &self.namespace, &name).is_none();
        self.world.until(budget, || self.world.has_seen(Kind::Pod, rv) && gone()).await
    }
}

/// The first pod alive that this one owns.
pub(super) fn pod_of(world: &World, namespace: &str, uid: &str) -> Option<Object> {
    world.list(Kind::Pod, namespace).into_iter().find(|pod| pod.owner() == Some(uid) && pod.alive())
}

/// Say, as a kubelet would, that a pod runs and whether it is ready.
pub(super) async fn set_ready(
    client: &kube::Client,
    namespace: &str,
    pod: &str,
    ready: bool,
) -> Result<(), kube::Error> {
    let status = json!({"status": {"phase": "Running", "conditions": [
        {"type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": clock::rfc3339()},
    ]}});
    let api = api(client, namespace, Kind::Pod);
    api.patch_status(pod, &PatchParams::default(), &Patch::Merge(status)).await.map(drop)
}

/// Make an object of the harness's own.
pub(super) async fn create(
    client: &kube::Client,
    namespace: &str,
    kind: Kind,
    object: Value,
) -> Result<DynamicObject, ObserveError> {
    let object = serde_json::from_value(object).expect("a literal of the right shape");
    let made = api(client, namespace, kind).create(&PostParams::default(), &object).await;
    made.map_err(|error| ObserveError::Probe(Box::new(error)))
}

/// The API of a kind in the probe's namespace.
pub(super) fn api(client: &kube::Client, namespace: &str, kind: Kind) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &resource(kind))
}

/// A pod template that no scheduler looks at.
pub(super) fn template(app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"schedulerName": "lockstep",
        "containers": [{"name": "app", "image": "probe"}]}})
}
