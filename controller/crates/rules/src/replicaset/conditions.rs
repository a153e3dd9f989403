//! `status.conditions`, type ReplicaFailure: pods could not be created or deleted.
//!
//! Upstream: the middle part of `calculateStatus`. The condition keeps its first reason and message
//! until a sync succeeds, even if a different failure follows.
//!
//! Case: `replicaset/quota`.

use jiff::Timestamp;
use rollout_model::{Condition, ReplicaSet, names};

/// The conditions after a sync. `active` is the number of pods before the sync.
pub(super) fn conditions_after_sync(
    rs: &ReplicaSet,
    active: usize,
    failure: Option<&str>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut conditions = rs.status.conditions.clone();
    let kind = names::condition::REPLICA_FAILURE;
    match (failure, Condition::find(&conditions, kind)) {
        (Some(message), None) => {
            let missing = i64::try_from(active).unwrap_or(i64::MAX) < i64::from(rs.spec.replicas);
            let reason = if missing { names::reason::FAILED_CREATE_POD } else { names::reason::FAILED_DELETE_POD };
            let mut condition = Condition::new(kind, names::status::TRUE, reason, message, now);
            // Conditions of ReplicaSets do not have this field.
            condition.last_update_time = None;
            Condition::set(&mut conditions, condition);
        }
        (None, Some(_)) => Condition::remove(&mut conditions, kind),
        _ => {}
    }
    conditions
}
