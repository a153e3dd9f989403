//! Small worlds for tests: a Deployment, ReplicaSets of it, pods.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::deployment::select::Sets;
use crate::deployment::sync::Sync;
use crate::deployment::{Action, Observed, Plan, plan};
use crate::model::{Deployment, Pod, ReplicaSet, names};
use crate::{Compatibility, Settings};

/// When tests happen.
pub(super) fn now() -> Timestamp {
    "2017-02-15T18:50:00Z".parse().unwrap()
}

/// A world under construction.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) deployment: Value,
    pub(super) sets: Vec<Value>,
    pub(super) pods: Vec<Pod>,
    pub(super) settings: Settings,
}

impl World {
    /// A Deployment `foo` with upstream's test defaults: rolling, neither surge nor unavailable
    /// pods, no deadline.
    pub(super) fn new(replicas: i32) -> Self {
        let deployment = json!({
            "metadata": {
                "namespace": "default", "name": "foo", "uid": "d", "resourceVersion": "1", "generation": 1,
                "creationTimestamp": "2016-05-20T00:00:00Z",
            },
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"foo": "bar"}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}},
                "template": template("app:new"),
            },
        });
        Self { deployment, sets: Vec::new(), pods: Vec::new(), settings: Settings::default() }
    }

    /// Under a controller that mends upstream's defects.
    pub(super) fn fixed(mut self) -> Self {
        self.settings.compatibility = Compatibility::Fixed;
        self
    }

    pub(super) fn spec(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.deployment["spec"][field] = value.into();
        self
    }

    pub(super) fn meta(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.deployment["metadata"][field] = value.into();
        self
    }

    pub(super) fn annotate(mut self, name: &str, value: &str) -> Self {
        self.deployment["metadata"]["annotations"][name] = value.into();
        self
    }

    pub(super) fn status(mut self, status: Value) -> Self {
        self.deployment["status"] = status;
        self
    }

    pub(super) fn bounds(self, surge: impl Into<Value>, unavailable: impl Into<Value>) -> Self {
        let (surge, unavailable) = (surge.into(), unavailable.into());
        self.spec(
            "strategy",
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}),
        )
    }

    pub(super) fn recreate(self) -> Self {
        self.spec("strategy", json!({"type": "Recreate"}))
    }

    pub(super) fn with(mut self, set: Set) -> Self {
        self.sets.push(set.0);
        self
    }

    pub(super) fn pod(mut self, owner: &str, phase: &str) -> Self {
        let controller = crate::model::OwnerReference {
            kind: "ReplicaSet".to_owned(),
            name: owner.to_owned(),
            uid: owner.to_owned(),
            controller: true,
            ..Default::default()
        };
        let name = format!("pod-{}", self.pods.len());
        let (namespace, phase) = ("default".to_owned(), phase.to_owned());
        let pod = Pod {
            namespace,
            name,
            resource_version: "1".to_owned(),
            controller: Some(controller),
            phase,
            traits: None,
        };
        self.pods.push(pod);
        self
    }

    pub(super) fn observed(&self) -> Observed {
        let mut replica_sets: Vec<_> =
            self.sets.iter().map(|raw| Arc::new(ReplicaSet::read(raw.clone()).unwrap())).collect();
        replica_sets.sort_by(|a, b| a.meta.age_order().cmp(&b.meta.age_order()));
        let deployment = Arc::new(Deployment::read(self.deployment.clone()).unwrap());
        Observed { deployment, replica_sets, pods: self.pods.clone() }
    }

    pub(super) fn plan(&self) -> Plan {
        plan(&self.observed(), now(), &self.settings)
    }

    /// Lets `part` run on a sync, with `new` as the new ReplicaSet's name and all others old;
    /// returns the plan.
    pub(super) fn part<T>(&self, new: Option<&str>, part: impl FnOnce(&mut Sync<'_>, &Sets) -> T) -> (T, Plan) {
        let observed = self.observed();
        let is_new = |rs: &&Arc<ReplicaSet>| Some(rs.meta.name.as_str()) == new;
        let sets = Sets {
            new: observed.replica_sets.iter().find(is_new).cloned(),
            old: observed.replica_sets.iter().filter(|rs| !is_new(rs)).cloned().collect(),
        };
        let mut sync = Sync::new(&observed, now(), &self.settings);
        let result = part(&mut sync, &sets);
        (result, sync.into_plan())
    }
}

/// A ReplicaSet under construction: owned by `foo`, its UID its name.
#[derive(Clone)]
pub(super) struct Set(pub(super) Value);

impl Set {
    pub(super) fn new(name: &str, replicas: i32, minute: u32) -> Self {
        Self(json!({
            "metadata": {
                "namespace": "default", "name": name, "uid": name, "resourceVersion": "1", "generation": 1,
                "creationTimestamp": format!("2016-05-20T01:{minute:02}:00Z"),
                "labels": {"foo": "bar", "pod-template-hash": name},
                "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": "Deployment", "name": "foo", "uid": "d", "controller": true}
                ],
            },
            "spec": {"replicas": replicas, "template": template(&format!("app:{name}"))},
            "status": {"observedGeneration": 1, "terminatingReplicas": 0},
        }))
    }

    /// With the template of [`World::new`].
    pub(super) fn current(mut self) -> Self {
        self.0["spec"]["template"] = template("app:new");
        self.0["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = self.0["metadata"]["name"].clone();
        self
    }

    pub(super) fn meta(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0["metadata"][field] = value.into();
        self
    }

    pub(super) fn status(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0["status"][field] = value.into();
        self
    }

    #[expect(clippy::needless_pass_by_value, reason = "reads better at every call")]
    pub(super) fn annotate(mut self, name: &str, value: impl ToString) -> Self {
        self.0["metadata"]["annotations"][name] = value.to_string().into();
        self
    }

    pub(super) fn revision(self, revision: impl ToString) -> Self {
        self.annotate(names::REVISION, revision)
    }

    /// As it was last sized for.
    pub(super) fn sized_for(self, desired: i32, max: i32) -> Self {
        self.annotate(names::DESIRED_REPLICAS, desired).annotate(names::MAX_REPLICAS, max)
    }

    /// All pods there, so many ready and available.
    pub(super) fn healthy(self, available: i32) -> Self {
        let replicas = self.0["spec"]["replicas"].clone();
        self.status("replicas", replicas).status("readyReplicas", available).status("availableReplicas", available)
    }
}

pub(super) fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"foo": "bar"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

/// Sizes that a plan gives, in order.
pub(super) fn sizes(plan: &Plan) -> Vec<(String, i32)> {
    plan.actions()
        .filter_map(|action| match action {
            Action::UpdateReplicaSet(change) => Some((change.name.clone(), change.replicas?)),
            Action::CreateReplicaSet(new) => Some((new.name.clone(), new.replicas)),
            _ => None,
        })
        .collect()
}

/// What a plan does, a word for each action.
pub(super) fn words(plan: &Plan) -> Vec<&'static str> {
    plan.actions()
        .map(|action| match action {
            Action::CreateReplicaSet(_) => "create",
            Action::UpdateReplicaSet(_) => "update",
            Action::DeleteReplicaSet { .. } => "delete",
            Action::UpdateDeployment(_) => "deployment",
            Action::UpdateStatus(_) => "status",
            Action::Event(_) => "event",
        })
        .collect()
}

/// Messages of a plan's events.
pub(super) fn messages(plan: &Plan) -> Vec<&str> {
    plan.actions()
        .filter_map(|action| match action {
            Action::Event(event) => Some(event.message.as_str()),
            _ => None,
        })
        .collect()
}

/// The status that a plan writes last.
pub(super) fn status(plan: &Plan) -> Option<&crate::model::DeploymentStatus> {
    plan.actions()
        .filter_map(|action| match action {
            Action::UpdateStatus(change) => Some(&change.status),
            _ => None,
        })
        .last()
}

/// Sizes and available pods of each ReplicaSet after a plan, if no pod changes: cutting takes
/// unavailable pods first.
pub(super) fn carry_out(world: &World) -> World {
    let plan = world.plan();
    let mut after = world.clone();
    for action in plan.actions() {
        match action {
            Action::CreateReplicaSet(new) => {
                let mut created = new.object.clone();
                created["metadata"]["uid"] = new.name.clone().into();
                created["metadata"]["resourceVersion"] = "1".into();
                created["metadata"]["generation"] = 1.into();
                created["metadata"]["creationTimestamp"] = now().to_string().into();
                created["status"] =
                    json!({"observedGeneration": 1, "terminatingReplicas": 0, "replicas": new.replicas});
                after.sets.push(created);
            }
            Action::UpdateReplicaSet(change) => {
                let set = after.sets.iter_mut().find(|set| set["metadata"]["name"] == change.name).unwrap();
                for (name, value) in &change.annotations {
                    set["metadata"]["annotations"][name] = value.clone().into();
                }
                if let Some(size) = change.replicas {
                    set["spec"]["replicas"] = size.into();
                    set["status"]["replicas"] = size.into();
                    for field in ["readyReplicas", "availableReplicas"] {
                        let kept = set["status"][field].as_i64().unwrap_or(0).min(i64::from(size));
                        set["status"][field] = kept.into();
                    }
                }
            }
            Action::DeleteReplicaSet { name } => after.sets.retain(|set| set["metadata"]["name"] != *name),
            Action::UpdateStatus(change) => {
                change.status.write_over(&mut after.deployment["status"]);
                if let Some(revision) = &change.revision {
                    after = after.annotate(names::REVISION, revision);
                }
            }
            Action::UpdateDeployment(_) | Action::Event(_) => {}
        }
    }
    after
}
