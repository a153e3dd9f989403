//! syncReplicaSet: applies the rules about pods and about the status to one ReplicaSet.
//!
//! Upstream's `syncReplicaSet` is split into two decisions: [`plan`] before pods are created or
//! deleted, and [`report`] after it, because the status includes the failures.
//!
//! Case: `replicaset/stale-pods-scaled-up`.

use jiff::Timestamp;
use rollout_model::{ModelError, PodCount};

use super::burst::{ReplicaDiff, replica_diff};
use super::plan::{ObservedReplicaSet, PodAdjustment, ReplicaSetPlan, ReplicaSetReport};
use super::{body, claim, pods_to_delete, status};
use crate::RuleSettings;

/// Decides which pods belong to a ReplicaSet, and which to create or delete.
///
/// The same arguments always give the same plan. How long pods have been ready is measured against
/// `now`. If a plan made from counts of pods [names pods](ReplicaSetPlan::has_named_pods), it must
/// be made again from the individual pods.
///
/// # Errors
/// If the selector is invalid. Retrying does not help.
pub fn plan(observed: &ObservedReplicaSet, now: Timestamp) -> Result<ReplicaSetPlan, ModelError> {
    let rs = &observed.replica_set;
    let (claims, active) = claim::claim(rs, &observed.pods)?;
    let adjustment = if !observed.can_manage_pods || rs.meta.is_deleting() {
        PodAdjustment::Nothing
    } else {
        match replica_diff(PodCount::total(&active), rs.spec.replicas) {
            ReplicaDiff::Nothing => PodAdjustment::Nothing,
            ReplicaDiff::Create(count) => match body::pod(rs) {
                Some(pod) => PodAdjustment::Create { count, pod },
                None => PodAdjustment::Impossible { why: "unable to create pods, no labels" },
            },
            ReplicaDiff::Delete(count) => {
                let to_delete = pods_to_delete::choose(&active, &observed.siblings, &observed.neighbours, count, now);
                PodAdjustment::Delete { names: to_delete.into_iter().map(|pod| pod.name.clone()).collect() }
            }
        }
    };
    Ok(ReplicaSetPlan { claims, active, adjustment })
}

/// Decides the status. `active` are the pods that the plan counted as replicas; `failure` is the
/// error of creating or deleting pods.
pub fn report(
    observed: &ObservedReplicaSet,
    active: &[PodCount],
    failure: Option<&str>,
    now: Timestamp,
    settings: &RuleSettings,
) -> ReplicaSetReport {
    let rs = &observed.replica_set;
    // A pod that counts as a replica is not terminating.
    let has_inactive = active.len() < observed.pods.len();
    let terminating =
        settings.terminating_replicas.then(|| if has_inactive { claim::terminating(rs, &observed.pods) } else { 0 });
    let status = status::calculate_status(rs, active, terminating, failure, now);
    let is_changed = status::is_changed(rs, &status);
    ReplicaSetReport { status, is_changed }
}
