//! Fixtures: a Deployment with ReplicaSets and pods.

use std::sync::Arc;

use jiff::Timestamp;
use rollout_model::{Deployment, Pod, ReplicaSet, names};
use serde_json::{Value, json};

use crate::deployment::replica_sets::OwnedReplicaSets;
use crate::deployment::sync::DeploymentSync;
use crate::deployment::{DeploymentAction, DeploymentPlan, ObservedDeployment, plan};
use crate::{Compatibility, RuleSettings};

/// The current time in tests.
pub(super) fn now() -> Timestamp {
    "2017-02-15T18:50:00Z".parse().unwrap()
}

/// A Deployment with ReplicaSets, pods and settings.
#[derive(Clone, Debug)]
pub(super) struct TestDeployment {
    pub(super) deployment: Value,
    pub(super) sets: Vec<Value>,
    pub(super) pods: Vec<Pod>,
    pub(super) settings: RuleSettings,
}

impl TestDeployment {
    /// A Deployment `foo` with upstream's test defaults: rolling, with maxSurge and maxUnavailable
    /// 0 and no deadline.
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
        Self { deployment, sets: Vec::new(), pods: Vec::new(), settings: RuleSettings::default() }
    }

    /// Switches to `--compatibility=fixed`.
    pub(super) fn with_fixes(mut self) -> Self {
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

    pub(super) fn with(mut self, set: TestReplicaSet) -> Self {
        self.sets.push(set.0);
        self
    }

    pub(super) fn pod(mut self, owner: &str, phase: &str) -> Self {
        let controller = rollout_model::OwnerReference {
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

    pub(super) fn observe(&self) -> ObservedDeployment {
        let mut replica_sets: Vec<_> =
            self.sets.iter().map(|raw| Arc::new(ReplicaSet::read(raw.clone()).unwrap())).collect();
        replica_sets.sort_by(|a, b| a.meta.age_order().cmp(&b.meta.age_order()));
        let deployment = Arc::new(Deployment::read(self.deployment.clone()).unwrap());
        ObservedDeployment { deployment, replica_sets, pods: self.pods.clone() }
    }

    pub(super) fn plan(&self) -> DeploymentPlan {
        plan(&self.observe(), now(), &self.settings)
    }

    /// Runs one rule in a sync in which `new` names the new ReplicaSet and all others are old.
    /// Returns its result and the plan.
    pub(super) fn run_rule<T>(
        &self,
        new: Option<&str>,
        part: impl FnOnce(&mut DeploymentSync<'_>, &OwnedReplicaSets) -> T,
    ) -> (T, DeploymentPlan) {
        let observed = self.observe();
        let is_new = |rs: &&Arc<ReplicaSet>| Some(rs.meta.name.as_str()) == new;
        let sets = OwnedReplicaSets {
            new: observed.replica_sets.iter().find(is_new).cloned(),
            old: observed.replica_sets.iter().filter(|rs| !is_new(rs)).cloned().collect(),
        };
        let mut sync = DeploymentSync::new(&observed, now(), &self.settings);
        let result = part(&mut sync, &sets);
        (result, sync.into_plan())
    }
}

/// A ReplicaSet that `foo` owns; its UID is its name.
#[derive(Clone)]
pub(super) struct TestReplicaSet(pub(super) Value);

impl TestReplicaSet {
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

    /// Sets the template of [`TestDeployment::new`].
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

    /// Sets the annotations of the size that it was last scaled for.
    pub(super) fn sized_for(self, desired: i32, max: i32) -> Self {
        self.annotate(names::DESIRED_REPLICAS, desired).annotate(names::MAX_REPLICAS, max)
    }

    /// Sets the status: all replicas exist, and `available` are ready and available.
    pub(super) fn healthy(self, available: i32) -> Self {
        let replicas = self.0["spec"]["replicas"].clone();
        self.status("replicas", replicas).status("readyReplicas", available).status("availableReplicas", available)
    }
}

pub(super) fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"foo": "bar"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
}

/// The sizes that a plan sets, in order.
pub(super) fn planned_sizes(plan: &DeploymentPlan) -> Vec<(String, i32)> {
    plan.actions()
        .filter_map(|action| match action {
            DeploymentAction::UpdateReplicaSet(change) => Some((change.name.clone(), change.replicas?)),
            DeploymentAction::CreateReplicaSet(new) => Some((new.name.clone(), new.replicas)),
            _ => None,
        })
        .collect()
}

pub(super) fn action_names(plan: &DeploymentPlan) -> Vec<&'static str> {
    plan.actions()
        .map(|action| match action {
            DeploymentAction::CreateReplicaSet(_) => "create",
            DeploymentAction::UpdateReplicaSet(_) => "update",
            DeploymentAction::DeleteReplicaSet { .. } => "delete",
            DeploymentAction::UpdateDeployment(_) => "deployment",
            DeploymentAction::UpdateStatus(_) => "status",
            DeploymentAction::Event(_) => "event",
        })
        .collect()
}

pub(super) fn event_messages(plan: &DeploymentPlan) -> Vec<&str> {
    plan.actions()
        .filter_map(|action| match action {
            DeploymentAction::Event(event) => Some(event.message.as_str()),
            _ => None,
        })
        .collect()
}

/// The last status that a plan writes.
pub(super) fn written_status(plan: &DeploymentPlan) -> Option<&rollout_model::DeploymentStatus> {
    plan.actions()
        .filter_map(|action| match action {
            DeploymentAction::UpdateStatus(change) => Some(&change.status),
            _ => None,
        })
        .last()
}

/// Applies a plan to the fixture without any change of pods; scaling down removes unavailable pods
/// first.
pub(super) fn apply_plan(fixture: &TestDeployment) -> TestDeployment {
    apply(fixture, &fixture.plan())
}

/// Applies this plan as [`apply_plan`] does.
pub(super) fn apply(fixture: &TestDeployment, plan: &DeploymentPlan) -> TestDeployment {
    let mut after = fixture.clone();
    for action in plan.actions() {
        match action {
            DeploymentAction::CreateReplicaSet(new) => {
                let mut created = new.object.clone();
                created["metadata"]["uid"] = new.name.clone().into();
                created["metadata"]["resourceVersion"] = "1".into();
                created["metadata"]["generation"] = 1.into();
                created["metadata"]["creationTimestamp"] = now().to_string().into();
                created["status"] =
                    json!({"observedGeneration": 1, "terminatingReplicas": 0, "replicas": new.replicas});
                after.sets.push(created);
            }
            DeploymentAction::UpdateReplicaSet(change) => {
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
            DeploymentAction::DeleteReplicaSet { name } => after.sets.retain(|set| set["metadata"]["name"] != *name),
            DeploymentAction::UpdateStatus(change) => {
                change.status.write_over(&mut after.deployment["status"]);
                if let Some(revision) = &change.revision {
                    after = after.annotate(names::REVISION, revision);
                }
            }
            DeploymentAction::UpdateDeployment(_) | DeploymentAction::Event(_) => {}
        }
    }
    after
}
