//! The canary: a logical clock that stretches with load.
//!
//! In a namespace of the lab's own stand a Deployment, which the subject looks after like any other, and a
//! ReplicaSet without an owner, which only the lab's own half looks after. A flip makes the pod of the Deployment
//! ready or unready and waits until that has travelled pod → ReplicaSet status (the lab's half) → Deployment status (the
//! subject's half). Watches are ordered per kind, so whatever the subject was sent before the flip it has been sent by
//! then. Two such rounds in silence proved enough in every one of some four hundred measured runs; one was not.
//!
//! Before a subject runs, the same Deployment is the proof that nobody else's Deployment controller does.

use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::namespace::make_namespace;
use super::watch::resource;
use super::{Kind, Object, ObserveError, World};
use crate::clock;
use crate::recording::{Blame, Trouble};

const DEPLOYMENT: &str = "canary";
const REPLICA_SET: &str = "lab";
const READY: &str = "/status/readyReplicas";

/// See the module.
pub struct Canary {
    client: kube::Client,
    world: Arc<World>,
    /// The namespace that the canary lives in.
    pub namespace: String,
}

/// How far a flip got before its time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Not through the lab's half.
    Nowhere,
    /// Through the lab's half, not the subject's.
    Lab,
    /// Through both.
    Subject,
}

impl Canary {
    /// Make the canary and prove the lab: its ReplicaSet controller answers, and while no subject runs the
    /// Deployment stays without ReplicaSets, for as long as there is reason to doubt that.
    ///
    /// # Errors
    /// When the lab does not answer within the budget, or somebody's Deployment controller is on.
    pub async fn prove(
        client: &kube::Client,
        world: &Arc<World>,
        namespace: &str,
        budget: Duration,
        doubt: Duration,
    ) -> Result<Self, ObserveError> {
        world.follow(namespace);
        let canary = Self { client: client.clone(), world: Arc::clone(world), namespace: namespace.to_owned() };
        make_namespace(client, namespace).await.map_err(|e| ObserveError::Canary(Box::new(e)))?;
        let template = template("canary");
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": DEPLOYMENT},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "canary"}}, "template": template}});
        canary.create(Kind::Deployment, deployment).await?;
        let lab = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": REPLICA_SET},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "lab"}}, "template": self::template("lab")}});
        canary.create(Kind::ReplicaSet, lab).await?;
        let since = clock::instant();
        for ready in [true, false] {
            if !canary.flip_lab(ready, budget).await {
                return Err(ObserveError::Proof(format!(
                    "the lab's ReplicaSet controller did not answer within {budget:?}: is a kube-controller-manager \
                     running on this cluster?"
                )));
            }
        }
        // A stock controller that has just been started needs a moment to find its feet.
        world.until(doubt.saturating_sub(since.elapsed()), || canary.replica_set().is_some()).await;
        if let Some(why) = world.gap() {
            return Err(ObserveError::Proof(why));
        }
        if let Some(rs) = canary.replica_set() {
            return Err(ObserveError::Proof(format!(
                "a Deployment controller is already on: it made ReplicaSet {} for the canary before any subject ran; \
                 start kube-controller-manager with --controllers=*,-deployment",
                rs.name
            )));
        }
        Ok(canary)
    }

    /// Wait until the subject has taken the canary's Deployment up; false if it did not within the budget.
    pub async fn taken_up(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> bool {
        self.world
            .until(budget, || {
                exited() || (self.pod().is_some() && self.deployment().is_some_and(|d| d.int("/status/replicas") == 1))
            })
            .await
            && !exited()
    }

    /// Flip the pod's readiness and see how far that gets; no further than the lab once the subject has ended.
    pub async fn flip(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> Reach {
        self.world.until(budget, || exited() || self.pod().is_some() && self.deployment().is_some()).await;
        let (Some(pod), Some(deployment)) = (self.pod(), self.deployment()) else {
            return self.reach_of_lab(Duration::from_secs(5)).await;
        };
        // Away from what the far end says now: only then does an arrival prove a journey.
        let ready = deployment.int(READY) == 0;
        if self.set_ready(&pod.name, ready).await.is_err() {
            return self.reach_of_lab(Duration::from_secs(5)).await;
        }
        let wanted = i64::from(ready);
        let travelled = |object: Option<Object>| object.is_some_and(|o| o.int(READY) == wanted);
        let arrived = || travelled(self.replica_set()) && travelled(self.deployment());
        if self.world.until(budget, || exited() || arrived()).await && arrived() {
            Reach::Subject
        } else {
            self.reach_of_lab(Duration::from_secs(5)).await
        }
    }

    /// What is wrong about the canary when a flip did not travel: the subject's half, unless the lab's proves dead.
    pub fn discrepancy(&self) -> Trouble {
        let why = match (self.deployment(), self.replica_set()) {
            (Some(deployment), Some(rs)) => {
                let (found, right) = (deployment.int(READY), rs.int(READY));
                format!(
                    "deployment/canary, in a namespace of its own, has status.readyReplicas {found}, and {right} is right"
                )
            }
            _ => "deployment/canary, in a namespace of its own, has no ReplicaSet".to_owned(),
        };
        Trouble { blame: Blame::Subject, why }
    }

    /// Whether the lab's half alone answers; for telling whose fault a silence is.
    pub async fn reach_of_lab(&self, budget: Duration) -> Reach {
        let ready = self.lab().is_some_and(|rs| rs.int(READY) == 0);
        if self.flip_lab(ready, budget).await { Reach::Lab } else { Reach::Nowhere }
    }

    /// Make the subject publish an event of the canary's own, and wait for it: events are written in order, so all
    /// earlier ones are there then. A new Deployment each time, because clients throttle events per object.
    pub async fn await_event(&self, number: u32, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> bool {
        let name = format!("event-{number}");
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template(&name)}});
        if self.create(Kind::Deployment, deployment).await.is_err() {
            return false;
        }
        let arrived = || {
            let events = self.world.list(Kind::Event, &self.namespace);
            events.iter().any(|event| event.text("/involvedObject/name") == name)
        };
        let arrived = self.world.until(budget, || exited() || arrived()).await && arrived();
        self.api(Kind::Deployment).delete(&name, &DeleteParams::background()).await.ok();
        arrived
    }

    async fn flip_lab(&self, ready: bool, budget: Duration) -> bool {
        if !self.world.until(budget, || self.lab_pod().is_some()).await {
            return false;
        }
        let Some(pod) = self.lab_pod() else { return false };
        if self.set_ready(&pod.name, ready).await.is_err() {
            return false;
        }
        self.world.until(budget, || self.lab().is_some_and(|rs| rs.int(READY) == i64::from(ready))).await
    }

    fn deployment(&self) -> Option<Object> {
        self.world.get(Kind::Deployment, &self.namespace, DEPLOYMENT)
    }

    fn lab(&self) -> Option<Object> {
        self.world.get(Kind::ReplicaSet, &self.namespace, REPLICA_SET)
    }

    fn replica_set(&self) -> Option<Object> {
        let uid = self.deployment()?.text("/metadata/uid").to_owned();
        self.world.list(Kind::ReplicaSet, &self.namespace).into_iter().find(|rs| rs.owner() == Some(&uid))
    }

    fn pod(&self) -> Option<Object> {
        self.pod_of(self.replica_set()?.text("/metadata/uid"))
    }

    fn lab_pod(&self) -> Option<Object> {
        self.pod_of(self.lab()?.text("/metadata/uid"))
    }

    fn pod_of(&self, uid: &str) -> Option<Object> {
        let pods = self.world.list(Kind::Pod, &self.namespace);
        pods.into_iter().find(|pod| pod.owner() == Some(uid) && pod.alive())
    }

    async fn set_ready(&self, pod: &str, ready: bool) -> Result<(), kube::Error> {
        let status = json!({"status": {"phase": "Running", "conditions": [
            {"type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": clock::rfc3339()},
        ]}});
        self.api(Kind::Pod).patch_status(pod, &PatchParams::default(), &Patch::Merge(status)).await.map(drop)
    }

    async fn create(&self, kind: Kind, object: Value) -> Result<(), ObserveError> {
        let object = serde_json::from_value(object).expect("a literal of the right shape");
        let made = self.api(kind).create(&PostParams::default(), &object).await;
        made.map(drop).map_err(|error| ObserveError::Canary(Box::new(error)))
    }

    fn api(&self, kind: Kind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(kind))
    }
}

fn template(app: &str) -> Value {
    json!({"metadata": {"labels": {"app": app}}, "spec": {"schedulerName": "lockstep",
        "containers": [{"name": "app", "image": "canary"}]}})
}
