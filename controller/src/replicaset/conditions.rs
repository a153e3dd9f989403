//! The one condition of a ReplicaSet: that its pods cannot be made, or cannot be deleted.
//!
//! Upstream: the middle of `calculateStatus`. It stays as it was first told until a sync goes well,
//! even if by then something else goes wrong.
//!
//! Case: `replicaset/quota`.

use jiff::Timestamp;

use crate::model::{Condition, ReplicaSet, names};

/// The conditions after a sync. `active` is the number of pods before it.
pub(super) fn with_failure(rs: &ReplicaSet, active: usize, failure: Option<&str>, now: Timestamp) -> Vec<Condition> {
    let mut conditions = rs.status.conditions.clone();
    let kind = names::condition::REPLICA_FAILURE;
    match (failure, Condition::find(&conditions, kind)) {
        (Some(message), None) => {
            let missing = i64::try_from(active).unwrap_or(i64::MAX) < i64::from(rs.spec.replicas);
            let reason = if missing { names::reason::FAILED_CREATE_POD } else { names::reason::FAILED_DELETE_POD };
            let mut condition = Condition::new(kind, names::status::TRUE, reason, message, now);
            // Conditions of ReplicaSets have no such field.
            condition.last_update_time = None;
            Condition::set(&mut conditions, condition);
        }
        (None, Some(_)) => Condition::remove(&mut conditions, kind),
        _ => {}
    }
    conditions
}
