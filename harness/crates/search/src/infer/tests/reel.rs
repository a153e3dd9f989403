//! Builds recordings of live clusters for tests, version by version.

use lockstep_recording::{
    ChangeType, FORMAT, Header, Identity, ObjectVersion, RecordingEnd, Settling, SubjectKind, WriterRole,
};
use serde_json::{Value, json};

use super::super::*;

/// A recording of a live cluster in the making.
pub(super) struct Reel {
    pub(super) entries: Vec<RecordingEntry>,
    rv: u64,
    at: u64,
}

impl Reel {
    pub(super) fn new() -> Self {
        Self { entries: Vec::new(), rv: 1000, at: 0 }
    }

    pub(super) fn settled(mut self) -> Self {
        self.entries.push(RecordingEntry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at: self.at }));
        self
    }

    pub(super) fn version(mut self, kind: &str, change: ChangeType, object: &Value) -> Self {
        (self.rv, self.at) = (self.rv + 1, self.at + 10);
        let name = text(object, "/metadata/name").to_owned();
        let (object, by) = (object.clone().into(), WriterRole::Other);
        self.entries.push(RecordingEntry::Object(ObjectVersion {
            kind: kind.to_owned(),
            name,
            change,
            rv: self.rv,
            by,
            author: None,
            at: self.at,
            object,
        }));
        self
    }

    /// Let this many milliseconds pass.
    pub(super) fn after(mut self, milliseconds: u64) -> Self {
        self.at += milliseconds;
        self
    }

    /// The time of the cluster's clock, in whole seconds.
    pub(super) fn stamp(&self) -> String {
        format!("2026-11-24T00:00:{:02}Z", self.at / 1000)
    }

    /// A pod that becomes ready now.
    pub(super) fn ready(self, name: &str, set: &str) -> Self {
        let mut object = pod(name, set, true);
        object["status"]["conditions"][0]["lastTransitionTime"] = json!(self.stamp());
        self.version("Pod", ChangeType::Modified, &object)
    }

    /// A terminating pod in this phase.
    pub(super) fn ending(self, name: &str, set: &str, phase: &str, change: ChangeType) -> Self {
        let mut object = pod(name, set, phase == "Running");
        object["metadata"]["deletionTimestamp"] = json!("2026-11-24T00:00:30Z");
        object["status"]["phase"] = json!(phase);
        self.version("Pod", change, &object)
    }

    pub(super) fn deployment(self, generation: i64, observed: i64, image: &str, (total, ready): (i64, i64)) -> Self {
        let object = json!({
            "metadata": {"name": "web", "uid": "d", "generation": generation, "annotations": {"deployment.kubernetes.io/revision": "7"}},
            "spec": {"replicas": 2, "template": template(image), "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
            "status": {"observedGeneration": observed, "replicas": total, "readyReplicas": ready, "availableReplicas": ready}
        });
        self.version(DEPLOYMENT, ChangeType::Modified, &object)
    }

    pub(super) fn set(self, hash: &str, revision: i64, image: &str, (wanted, total, ready): (i64, i64, i64)) -> Self {
        let object = json!({
            "metadata": {"name": format!("web-{hash}"), "uid": hash, "generation": 1, "ownerReferences": [{"controller": true, "uid": "d"}],
                "annotations": {"deployment.kubernetes.io/revision": revision.to_string()}},
            "spec": {"replicas": wanted, "template": template(image)},
            "status": {"observedGeneration": 1, "replicas": total, "readyReplicas": ready, "availableReplicas": ready}
        });
        self.version("ReplicaSet", ChangeType::Modified, &object)
    }

    pub(super) fn pod(self, name: &str, set: &str, ready: bool) -> Self {
        self.version("Pod", ChangeType::Modified, &pod(name, set, ready))
    }

    pub(super) fn going(self, name: &str, set: &str) -> Self {
        let mut object = pod(name, set, true);
        object["metadata"]["deletionTimestamp"] = json!("2026-11-24T00:00:00Z");
        self.version("Pod", ChangeType::Modified, &object)
    }

    /// A Deployment at its seventh revision with all pods ready, and one older ReplicaSet.
    pub(super) fn begun() -> Self {
        Self::new()
            .deployment(9, 9, "app:7", (2, 2))
            .set("new", 7, "app:7", (2, 2, 2))
            .set("old", 5, "app:5", (0, 0, 0))
            .pod("a", "new", true)
            .pod("b", "new", true)
            .settled()
    }

    pub(super) fn inferred(self) -> InferredCase {
        infer(&self.recording(), "captured/web", &Arrangements::new()).unwrap()
    }

    pub(super) fn recording(self) -> Recording {
        let header = Header {
            format: FORMAT,
            case: "captured/web".to_owned(),
            path: String::new(),
            source: String::new(),
            controllers: Default::default(),
            under_test: Default::default(),
            namespace: "shop".to_owned(),
            subject: Identity::new("prod", "kube-controller-manager", "v1.36.3"),
            kind: SubjectKind::Cluster,
            cluster: Identity::new("prod", "kube-apiserver", "v1.36.3"),
            cluster_controllers: None,
            beside: None,
            workload: None,
            real_pods: true,
            unevaluated: Vec::new(),
            seed: None,
            started: "2026-11-24T00:00:00Z".to_owned(),
        };
        let end = Some(RecordingEnd { completed: true, events_complete: false, at: self.at, diagnosis: None });
        Recording { header, entries: self.entries, end }
    }
}

pub(super) fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}})
}

fn pod(name: &str, set: &str, ready: bool) -> Value {
    let status = if ready { "True" } else { "False" };
    json!({"metadata": {"name": name, "uid": name, "ownerReferences": [{"controller": true, "uid": set}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-11-24T00:00:00Z"}]}})
}

/// The steps of the case, without `given`.
pub(super) fn steps(inferred: &InferredCase) -> Vec<&str> {
    let (_, steps) = inferred.case.source.split_once("\nsteps:\n").unwrap();
    steps.lines().map(str::trim).collect()
}

/// When and why the Deployments of these tests last progressed.
pub(super) const BEGAN: (&str, &str) = ("NewReplicaSetAvailable", "2026-11-24T00:00:00Z");

/// A Deployment with this strategy, minReadySeconds, reason of Progressing and time of its last
/// progress.
pub(super) fn with(
    strategy: &str,
    least: i64,
    image: &str,
    (generation, observed): (i64, i64),
    progress: (&str, &str),
) -> Value {
    let progress =
        json!([{"type": "Progressing", "status": "True", "reason": progress.0, "lastUpdateTime": progress.1}]);
    json!({
        "metadata": {"name": "web", "uid": "d", "generation": generation, "annotations": {"deployment.kubernetes.io/revision": "7"}},
        "spec": {"replicas": 2, "template": template(image), "strategy": {"type": strategy}, "minReadySeconds": least,
            "progressDeadlineSeconds": 10},
        "status": {"observedGeneration": observed, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "conditions": progress}
    })
}

/// The same as `Reel::begun`, with this Deployment.
pub(super) fn begun_with(deployment: &Value) -> Reel {
    Reel::new()
        .version(DEPLOYMENT, ChangeType::Modified, deployment)
        .set("new", 7, "app:7", (2, 2, 2))
        .set("old", 5, "app:5", (0, 0, 0))
        .pod("a", "new", true)
        .pod("b", "new", true)
        .settled()
}
