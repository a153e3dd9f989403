//! Creating the new ReplicaSet, and what to do when its name is taken or the server refuses.
//!
//! Upstream: the second half of `getNewReplicaSet`. The name is the Deployment's with the
//! template's hash, so a sync that runs twice on a stale cache finds its own ReplicaSet instead of
//! making a second one. A name that something else has taken raises `collisionCount`, which gives
//! another hash (issue 59212).
//!
//! Cases: `rolling/quarter-on-ten`, `adoption/name-taken`, `rolling/template-label`.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::plan::{Action, EventKind, NewReplicaSet, Observed, OnError, Plan, StatusChange};
use super::sync::{Flow, Sync};
use super::{PlanError, revision, rolling, sizes};
use crate::hash::pod_template_hash;
use crate::model::{Condition, Deployment, ReplicaSet, names, omit_zero, with_label};
use crate::settings::Settings;

/// Longest name of an object.
const NAME_LIMIT: usize = 253;

/// What a taken name means.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// It is this Deployment's own ReplicaSet with this very template, or one that the cache has
    /// yet to show: look again.
    LookAgain,
    /// It is something else: count the collision, then look again.
    Collision(Plan),
}

impl Sync<'_> {
    /// Plans the new ReplicaSet, at the size that it may have at once, and returns it as the server
    /// will.
    pub(super) fn create(&mut self, old: &[Arc<ReplicaSet>], next_revision: i64) -> Flow<Arc<ReplicaSet>> {
        let mut new = new_replica_set(&self.deployment, next_revision, self.settings)?;
        let wanted = sizes::wanted(old.iter().map(Arc::as_ref));
        new.replicas = rolling::new_size(&self.deployment, wanted, 0)?;
        new.object["spec"]["replicas"] = new.replicas.into();
        let (name, replicas) = (new.name.clone(), new.replicas);
        let created = ReplicaSet::read(new.object.clone()).map_err(PlanError::from)?;
        self.push(Action::CreateReplicaSet(new));
        if replicas > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {replicas}");
            self.event(EventKind::Normal, names::event::SCALING, message);
        }
        let mut changed = self.set_revision(&next_revision.to_string());
        if self.deployment.progress_deadline().is_some() {
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

/// What to do when the server said that the name of a new ReplicaSet is taken. `existing` is what
/// the cache has under it.
pub fn plan_after_conflict(
    observed: &Observed,
    existing: Option<&ReplicaSet>,
    now: Timestamp,
    settings: &Settings,
) -> Taken {
    let Some(existing) = existing else {
        return Taken::LookAgain;
    };
    let deployment = &observed.deployment;
    let own = existing.meta.controller().is_some_and(|owner| owner.uid == deployment.meta.uid);
    if own && existing.template().is_same(deployment.template()) {
        return Taken::LookAgain;
    }
    let mut sync = Sync::new(observed, now, settings);
    let mut status = deployment.status.clone();
    status.collision_count = Some(status.collision_count.unwrap_or(0).wrapping_add(1));
    // The only write of this plan, so it cannot be out of date.
    let _ = sync.write_status(status);
    Taken::Collision(sync.into_plan())
}

/// The status that tells of a new ReplicaSet, told anew of a Deployment that has changed meanwhile:
/// its revision and the word on its progress, nothing else. Nothing at all if the Deployment wants
/// another template by now, which has another revision (case `during/retemplated-after-creation`).
pub(super) fn restate_creation(
    observed: &Deployment,
    fresh: &Deployment,
    change: &StatusChange,
) -> Option<StatusChange> {
    if !observed.template().is_same(fresh.template()) {
        return None;
    }
    let mut status = fresh.status.clone();
    if let Some(told) = Condition::find(&change.status.conditions, names::condition::PROGRESSING) {
        Condition::set(&mut status.conditions, told.clone());
    }
    Some(StatusChange { revision: change.revision.clone(), status })
}

/// What to do when the server refused a new ReplicaSet for any other reason: say so in the status
/// and in an event. That the status cannot be written is no worse than what it would say.
pub fn plan_after_refusal(observed: &Observed, name: &str, error: &str, now: Timestamp, settings: &Settings) -> Plan {
    let mut sync = Sync::new(observed, now, settings);
    let message = format!("Failed to create new replica set {name:?}: {error}");
    let reason = names::reason::FAILED_CREATE;
    if observed.deployment.progress_deadline().is_some() {
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
        step.on_error = OnError::Ignore;
    }
    plan
}

fn new_replica_set(
    deployment: &Deployment,
    next_revision: i64,
    settings: &Settings,
) -> Result<NewReplicaSet, PlanError> {
    let mut raw = deployment.raw();
    let template = raw["spec"]["template"].take();
    let hash = pod_template_hash(&template, deployment.status.collision_count, settings.hash);
    let name = replica_set_name(&deployment.meta.name, &hash);
    let template = with_label(template, names::POD_TEMPLATE_HASH, &hash);
    let mut selector = raw["spec"]["selector"].take();
    selector["matchLabels"][names::POD_TEMPLATE_HASH] = hash.into();
    let mut annotations = revision::update(deployment, &Default::default(), next_revision).set;
    annotations.extend(sizes_annotations(deployment));
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment.meta.namespace,
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": deployment.meta.name,
                "uid": deployment.meta.uid,
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template},
    });
    omit_zero(&mut object["spec"], "minReadySeconds", deployment.spec.min_ready_seconds.into());
    Ok(NewReplicaSet { name, replicas: 0, annotations, object })
}

/// The two annotations that say what a ReplicaSet was last sized for (upstream:
/// `SetReplicasAnnotations`).
pub(super) fn sizes_annotations(deployment: &Deployment) -> [(String, String); 2] {
    [
        (names::DESIRED_REPLICAS.to_owned(), deployment.replicas().to_string()),
        (names::MAX_REPLICAS.to_owned(), sizes::max_replicas(deployment).to_string()),
    ]
}

/// The Deployment's name, cut if need be, and the hash (upstream: `generateReplicaSetName`, issue
/// 116447).
pub(super) fn replica_set_name(deployment: &str, hash: &str) -> String {
    let room = NAME_LIMIT.saturating_sub(1 + hash.len());
    let kept = if room > 0 { &deployment[..deployment.len().min(room)] } else { deployment };
    format!("{kept}-{hash}")
}
