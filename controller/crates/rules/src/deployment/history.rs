//! `spec.revisionHistoryLimit`: deletes old ReplicaSets beyond the limit, lowest revision first.
//!
//! Upstream: `cleanupDeployment`. A ReplicaSet that still has pods or a status that lags is
//! skipped, and the one after it is not deleted in its place. The cleanup runs once the *cached*
//! status is complete, which is one sync late, or while the Deployment is paused.
//!
//! Cases: `history/limit-2`, `history/undo-keeps-order`, `history/passed-over`.

use std::sync::Arc;

use rollout_model::ReplicaSet;

use super::plan::DeploymentAction;
use super::sync::DeploymentSync;
use crate::merge_sort::merge_sort;

impl DeploymentSync<'_> {
    pub(super) fn clean_up_history(&mut self, old: &[Arc<ReplicaSet>]) {
        let Some(limit) = self.deployment.revision_history_limit() else {
            return;
        };
        let mut candidates: Vec<&Arc<ReplicaSet>> = old.iter().filter(|rs| !rs.meta.is_deleting()).collect();
        let excess = candidates.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        if excess == 0 {
            return;
        }
        // Not a total order: a ReplicaSet whose revision is not a number is compared by age, so it
        // may come after an older one of revision 3 and before a younger one of revision 1.
        candidates = merge_sort(candidates, |a, b| {
            let by_age = a.meta.age_order().cmp(&b.meta.age_order());
            match (a.revision(), b.revision()) {
                (Some(left), Some(right)) => left.cmp(&right).then(by_age),
                _ => by_age,
            }
        });
        for rs in candidates.into_iter().take(excess) {
            let is_done = rs.status.replicas == 0 && rs.spec.replicas == 0;
            if is_done && rs.meta.generation <= rs.status.observed_generation {
                self.push(DeploymentAction::DeleteReplicaSet { name: rs.meta.name.clone() });
            }
        }
    }
}
