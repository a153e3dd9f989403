//! Old ReplicaSets beyond the history limit.
//!
//! Upstream: `cleanupDeployment`. Lowest revision first; one that still has something to do is
//! passed over, and no other takes its place. Runs once the *cached* status says complete, so one
//! sync late, or while paused.
//!
//! Cases: `history/limit-2`, `history/undo-keeps-order`, `history/passed-over`.

use std::sync::Arc;

use super::plan::Action;
use super::sync::Sync;
use crate::model::ReplicaSet;

impl Sync<'_> {
    pub(super) fn clean_up(&mut self, old: &[Arc<ReplicaSet>]) {
        let Some(limit) = self.deployment.history_limit() else {
            return;
        };
        let mut candidates: Vec<&Arc<ReplicaSet>> = old.iter().filter(|rs| !rs.meta.is_deleting()).collect();
        let excess = candidates.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        if excess == 0 {
            return;
        }
        candidates.sort_by(|a, b| {
            let by_age = a.meta.age_order().cmp(&b.meta.age_order());
            match (a.revision(), b.revision()) {
                (Some(left), Some(right)) => left.cmp(&right).then(by_age),
                _ => by_age,
            }
        });
        for rs in candidates.into_iter().take(excess) {
            let is_done = rs.status.replicas == 0 && rs.spec.replicas == 0;
            if is_done && rs.meta.generation <= rs.status.observed_generation {
                self.push(Action::DeleteReplicaSet { name: rs.meta.name.clone() });
            }
        }
    }
}
