//! Old ReplicaSets beyond the history limit.
//!
//! Upstream: `cleanupDeployment`. Lowest revision first; one that still has something to do is passed over, and no other takes
//! its place. Runs once the *cached* status says complete, so one sync late, or while paused.
//!
//! Cases: `history/limit-2`, `history/undo-keeps-order`, `history/passed-over`.

use std::sync::Arc;

use super::plan::Action;
use super::sync::Sync;
use crate::model::ReplicaSet;

impl Sync<'_> {
    pub(super) fn clean_up(&mut self, old: &[Arc<ReplicaSet>]) {
        let Some(limit) = flip!("clean-up-never", self.deployment.history_limit(), None::<i32>) else {
            return;
        };
        let mut candidates: Vec<&Arc<ReplicaSet>> = old.iter().filter(|rs| !rs.meta.is_deleting()).collect();
        let excess =
            candidates.len().saturating_sub(usize::try_from(limit).unwrap_or(0) + flip!("history-one-too-many", 0, 1));
        if excess == 0 {
            return;
        }
        candidates.sort_by(|a, b| {
            let by_age = a.meta.age_order().cmp(&b.meta.age_order());
            match flip!("history-in-creation-order", (a.revision(), b.revision()), (None::<i64>, None::<i64>)) {
                (Some(left), Some(right)) => left.cmp(&right).then(by_age),
                _ => by_age,
            }
        });
        let is_done = |rs: &ReplicaSet| rs.status.replicas == 0 && rs.spec.replicas == 0;
        flip!("history-passes-over", (), candidates.retain(|rs| is_done(rs)));
        for rs in candidates.into_iter().take(excess) {
            let done = flip!("history-deletes-busy", is_done(rs), true);
            if done && rs.meta.generation <= rs.status.observed_generation {
                self.push(Action::DeleteReplicaSet { name: rs.meta.name.clone() });
            }
        }
    }
}
