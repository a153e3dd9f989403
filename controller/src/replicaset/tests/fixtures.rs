//! Small worlds for tests: a ReplicaSet, pods of it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::Settings;
use crate::model::{OwnerReference, Pod, PodCount, PodTraits, ReplicaSet};
use crate::replicaset::{Observed, Plan, Report, plan, report};

/// When tests happen.
pub(super) fn now() -> Timestamp {
    "2026-01-01T12:00:00.25Z".parse().unwrap()
}

/// So many seconds before that.
pub(super) fn ago(seconds: i64) -> Option<Timestamp> {
    Some(now() - SignedDuration::from_secs(seconds))
}

/// A pod under construction: owned by `rs`, labelled `app: web`, running, its UID its name.
#[derive(Debug, Clone)]
pub(super) struct Made(pub(super) Pod);

pub(super) fn pod(name: &str) -> Made {
    let owner = OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "ReplicaSet".to_owned(),
        name: "rs".to_owned(),
        uid: "rs".to_owned(),
        controller: true,
    };
    let labels = Arc::new([("app".to_owned(), "web".to_owned())].into());
    let traits = PodTraits { uid: name.to_owned(), labels, ..PodTraits::default() };
    Made(Pod {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        resource_version: "1".to_owned(),
        controller: Some(owner),
        phase: "Running".to_owned(),
        traits: Some(Box::new(traits)),
    })
}

impl Made {
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

    pub(super) fn going(self) -> Self {
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

/// A ReplicaSet `rs`, as it comes.
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

pub(super) fn observed(raw: Value, pods: impl IntoIterator<Item = Made>) -> Observed {
    let pods: Vec<_> = pods.into_iter().map(Made::arc).collect();
    Observed {
        replica_set: Arc::new(ReplicaSet::read(raw).unwrap()),
        siblings: Vec::new(),
        neighbours: pods.clone(),
        pods: pods.into_iter().map(PodCount::from).collect(),
        may_manage: true,
    }
}

pub(super) fn planned(observed: &Observed) -> Plan {
    plan(observed, now(), &Settings::default()).unwrap()
}

pub(super) fn reported(observed: &Observed, failure: Option<&str>, settings: &Settings) -> Report {
    report(observed, &planned(observed).active, failure, now(), settings)
}
