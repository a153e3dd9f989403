//! `pod-template-hash`: creates the new ReplicaSet under the Deployment's name and this hash, and
//! handles a name that is taken (`status.collisionCount`) or a refusal.
//!
//! Upstream: the second half of `getNewReplicaSet`. Because the name follows from the template, a
//! sync that runs twice on a stale cache finds its own ReplicaSet and does not create a second one.
//! If another object has the name, `collisionCount` is raised, which gives another hash (issue
//! 59212).
//!
//! Cases: `rolling/quarter-on-ten`, `adoption/name-taken`, `rolling/template-label`.

use std::sync::Arc;

use jiff::Timestamp;
use rollout_model::hash::pod_template_hash;
use rollout_model::{Condition, Deployment, ReplicaSet, names, omit_zero, with_label};
use serde_json::json;

use super::plan::{
    DeploymentAction, DeploymentPlan, EventKind, FailurePolicy, NewReplicaSet, ObservedDeployment, PlanError,
    StatusChange,
};
use super::sync::{DeploymentSync, SyncStep};
use super::{revision, rolling, sizes};
use crate::RuleSettings;
use crate::ownership::owner_reference;

/// The longest name of an object.
const NAME_LIMIT: usize = 253;

/// What to do about a name that is taken.
#[derive(Debug, Clone, PartialEq)]
pub enum NameConflict {
    /// The name belongs to this Deployment's own ReplicaSet with the same template, or the cache
    /// does not have the object yet: sync again.
    Retry,
    /// Another object has the name: raise `collisionCount`, then sync again.
    Collision(DeploymentPlan),
}

impl DeploymentSync<'_> {
    /// Plans the new ReplicaSet with as many replicas as the bounds allow at once, and returns it
    /// as the server will return it.
    pub(super) fn create_new_replica_set(
        &mut self,
        old: &[Arc<ReplicaSet>],
        next_revision: i64,
    ) -> SyncStep<Arc<ReplicaSet>> {
        let mut new = new_replica_set(&self.deployment, next_revision, self.settings)?;
        let desired = sizes::desired_replicas(old.iter().map(Arc::as_ref));
        new.replicas = rolling::new_replica_set_size(&self.deployment, desired, 0)?;
        new.object["spec"]["replicas"] = new.replicas.into();
        let (name, replicas) = (new.name.clone(), new.replicas);
        let created = ReplicaSet::read(new.object.clone()).map_err(PlanError::from)?;
        self.push(DeploymentAction::CreateReplicaSet(new));
        if replicas > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {replicas}");
            self.event(EventKind::Normal, names::event::SCALING, message);
        }
        let mut changed = self.set_revision(&next_revision.to_string());
        if self.deployment.progress_deadline_seconds().is_some() {
            let message = format!("Created new replica set {name:?}");
            let (kind, reason) = (names::condition::PROGRESSING, names::reason::NEW_REPLICA_SET);
            let condition = Condition::new(kind, names::status::TRUE, reason, message, self.now);
            Condition::set(&mut self.deployment.status.conditions, condition);
            changed = true;
        }
        if changed {
            self.write_status(self.deployment.status.clone())?;
        }
        Ok(Arc::new(created))
    }
}

/// Decides what to do when the server answers that the name of a new ReplicaSet is taken.
/// `existing` is the cached ReplicaSet of that name.
pub fn plan_after_conflict(
    observed: &ObservedDeployment,
    existing: Option<&ReplicaSet>,
    now: Timestamp,
    settings: &RuleSettings,
) -> NameConflict {
    let Some(existing) = existing else {
        return NameConflict::Retry;
    };
    let deployment = &observed.deployment;
    let is_owned = existing.meta.controller().is_some_and(|owner| owner.uid == deployment.meta.uid);
    if is_owned && existing.template().is_same(deployment.template()) {
        return NameConflict::Retry;
    }
    let mut sync = DeploymentSync::new(observed, now, settings);
    let mut status = deployment.status.clone();
    status.collision_count = Some(status.collision_count.unwrap_or(0).wrapping_add(1));
    // This is the only write of the plan, so it cannot end with `OutOfDate`.
    let _ = sync.write_status(status);
    NameConflict::Collision(sync.into_plan())
}

/// The status write after the creation of a ReplicaSet, for a Deployment that has changed
/// meanwhile. It has the revision and the condition Progressing; everything else is the fresh
/// status. `None` if the Deployment's template has changed, because the new template has another
/// revision (case `during/retemplated-after-creation`).
pub fn reapply_creation_status(
    observed: &Deployment,
    fresh: &Deployment,
    change: &StatusChange,
) -> Option<StatusChange> {
    if !observed.template().is_same(fresh.template()) {
        return None;
    }
    let mut status = fresh.status.clone();
    if let Some(condition) = Condition::find(&change.status.conditions, names::condition::PROGRESSING) {
        Condition::set(&mut status.conditions, condition.clone());
    }
    Some(StatusChange { revision: change.revision.clone(), status })
}

/// Reports in the status and in an event that the server refused the new ReplicaSet for another
/// reason than its name. A failure of these writes is ignored, because the sync fails anyway.
pub fn plan_after_refusal(
    observed: &ObservedDeployment,
    name: &str,
    error: &str,
    now: Timestamp,
    settings: &RuleSettings,
) -> DeploymentPlan {
    let mut sync = DeploymentSync::new(observed, now, settings);
    let message = format!("Failed to create new replica set {name:?}: {error}");
    let reason = names::reason::FAILED_CREATE;
    if observed.deployment.progress_deadline_seconds().is_some() {
        let mut status = observed.deployment.status.clone();
        let kind = names::condition::PROGRESSING;
        Condition::set(&mut status.conditions, Condition::new(kind, names::status::FALSE, reason, &*message, now));
        if status != observed.deployment.status {
            let _ = sync.write_status(status);
        }
    }
    sync.event(EventKind::Warning, reason, message);
    let mut plan = sync.into_plan();
    for step in &mut plan.steps {
        step.on_error = FailurePolicy::Ignore;
    }
    plan
}

fn new_replica_set(
    deployment: &Deployment,
    next_revision: i64,
    settings: &RuleSettings,
) -> Result<NewReplicaSet, PlanError> {
    let mut raw = deployment.raw();
    let template = raw["spec"]["template"].take();
    let hash = pod_template_hash(&template, deployment.status.collision_count, settings.hash);
    let name = replica_set_name(&deployment.meta.name, &hash);
    let template = with_label(template, names::POD_TEMPLATE_HASH, &hash);
    let mut selector = raw["spec"]["selector"].take();
    selector["matchLabels"][names::POD_TEMPLATE_HASH] = hash.into();
    let mut annotations = revision::annotation_update(deployment, &Default::default(), next_revision).annotations;
    annotations.extend(size_annotations(deployment));
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment.meta.namespace,
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [owner_reference("Deployment", &deployment.meta)],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template},
    });
    omit_zero(&mut object["spec"], "minReadySeconds", deployment.spec.min_ready_seconds.into());
    Ok(NewReplicaSet { name, replicas: 0, annotations, object })
}

/// The annotations `desired-replicas` and `max-replicas`, which record the Deployment's size when a
/// ReplicaSet was last scaled (upstream: `SetReplicasAnnotations`).
pub(super) fn size_annotations(deployment: &Deployment) -> [(String, String); 2] {
    [
        (names::DESIRED_REPLICAS.to_owned(), deployment.replicas().to_string()),
        (names::MAX_REPLICAS.to_owned(), sizes::max_replicas(deployment).to_string()),
    ]
}

/// The Deployment's name, truncated if it is too long, and the hash (upstream:
/// `generateReplicaSetName`, issue 116447).
pub(super) fn replica_set_name(deployment: &str, hash: &str) -> String {
    let room = NAME_LIMIT.saturating_sub(1 + hash.len());
    let prefix = if room > 0 { &deployment[..deployment.len().min(room)] } else { deployment };
    format!("{prefix}-{hash}")
}
