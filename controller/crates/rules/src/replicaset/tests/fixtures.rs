//! Fixtures: a ReplicaSet with pods.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rollout_model::{OwnerReference, Pod, PodCount, PodTraits, ReplicaSet};
use serde_json::{Value, json};

use crate::RuleSettings;
use crate::replicaset::{ObservedReplicaSet, ReplicaSetPlan, ReplicaSetReport, plan, report};

/// The current time in tests.
pub(super) fn now() -> Timestamp {
    "2026-01-01T12:00:00.25Z".parse().unwrap()
}

/// The time so many seconds ago.
pub(super) fn ago(seconds: i64) -> Option<Timestamp> {
    Some(now() - SignedDuration::from_secs(seconds))
}

/// A pod that `rs` owns, with label `app: web`, running; its UID is its name.
#[derive(Debug, Clone)]
pub(super) struct TestPod(pub(super) Pod);

pub(super) fn pod(name: &str) -> TestPod {
    let owner = OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        name: "rs".to_owned(),
        uid: "rs".to_owned(),
        controller: true,
    };
    let labels = Arc::new([("app".to_owned(), "web".to_owned())].into());
    let traits = PodTraits { uid: name.to_owned(), labels, ..PodTraits::default() };
    TestPod(Pod {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        resource_version: "1".to_owned(),
        controller: Some(owner),
        phase: "Running".to_owned(),
        traits: Some(Box::new(traits)),
    })
}

impl TestPod {
    pub(super) fn with(mut self, change: impl FnOnce(&mut PodTraits)) -> Self {
        change(self.0.traits.as_mut().unwrap());
        self
    }

    pub(super) fn phase(mut self, phase: &str) -> Self {
        self.0.phase = phase.to_owned();
        self
    }

    pub(super) fn node(self, node: &str) -> Self {
        self.with(|traits| traits.node = node.to_owned())
    }

    pub(super) fn ready(self, since: Option<Timestamp>) -> Self {
        self.with(|traits| (traits.ready, traits.ready_since) = (true, since))
    }

    pub(super) fn label(self, key: &str, value: &str) -> Self {
        self.with(|traits| {
            Arc::make_mut(&mut traits.labels).insert(key.to_owned(), value.to_owned());
        })
    }

    pub(super) fn deleting(self) -> Self {
        self.with(|traits| traits.deleting = true)
    }

    pub(super) fn orphan(mut self) -> Self {
        self.0.controller = None;
        self
    }

    pub(super) fn owned_by(mut self, uid: &str) -> Self {
        self.0.controller.as_mut().unwrap().uid = uid.to_owned();
        self
    }

    pub(super) fn arc(self) -> Arc<Pod> {
        Arc::new(self.0)
    }
}

/// The JSON of a ReplicaSet `rs`.
pub(super) fn raw(replicas: i32) -> Value {
    json!({
        "metadata": {"namespace": "ns", "name": "rs", "uid": "rs", "resourceVersion": "1", "generation": 1},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "app:1"}], "ofTheFuture": true},
            },
        },
        "status": {"replicas": 0, "observedGeneration": 1, "terminatingReplicas": 0},
    })
}

pub(super) fn observed_replica_set(raw: Value, pods: impl IntoIterator<Item = TestPod>) -> ObservedReplicaSet {
    let pods: Vec<_> = pods.into_iter().map(TestPod::arc).collect();
    ObservedReplicaSet {
        replica_set: Arc::new(ReplicaSet::read(raw).unwrap()),
        siblings: Vec::new(),
        neighbours: pods.clone(),
        pods: pods.into_iter().map(PodCount::from).collect(),
        can_manage_pods: true,
    }
}

pub(super) fn make_plan(observed: &ObservedReplicaSet) -> ReplicaSetPlan {
    plan(observed, now()).unwrap()
}

pub(super) fn make_report(
    observed: &ObservedReplicaSet,
    failure: Option<&str>,
    settings: &RuleSettings,
) -> ReplicaSetReport {
    report(observed, &make_plan(observed).active, failure, now(), settings)
}
