//! `spec.strategy.type: Recreate`: scales all old ReplicaSets to 0, and creates new pods only after
//! the last old pod has ended.
//!
//! Upstream: `rolloutRecreate`, `oldPodsRunning`. Only a rollout waits: pods that are deleted
//! within one ReplicaSet are replaced at once.
//!
//! Cases: `recreate/three`, `recreate/failed-old-pods`.

use std::sync::Arc;

use rollout_model::{Pod, ReplicaSet};

use super::replica_sets::OwnedReplicaSets;
use super::sizes;
use super::sync::{DeploymentSync, SyncStep};

impl DeploymentSync<'_> {
    pub(super) fn roll_out_recreate(&mut self, owned: &[Arc<ReplicaSet>]) -> SyncStep<()> {
        let mut sets = self.find_replica_sets(owned, false)?;
        let mut scaled = false;
        for rs in sets.active_old() {
            scaled |= self.resize(&rs, 0)?.0;
        }
        if scaled || old_pods_running(&sets, owned, &self.observed.pods) {
            return self.update_rollout_status(&sets);
        }
        if sets.new.is_none() {
            sets = self.find_replica_sets(owned, true)?;
        }
        if let Some(new) = &sets.new {
            self.resize(new, self.deployment.replicas())?;
        }
        if self.is_complete(&self.deployment.status) {
            self.clean_up_history(&sets.old);
        }
        self.update_rollout_status(&sets)
    }
}

/// Whether a pod of another template may still run. A terminating pod runs, a pod that has ended
/// does not, and a pod in phase Unknown counts as running.
fn old_pods_running(sets: &OwnedReplicaSets, owned: &[Arc<ReplicaSet>], pods: &[Pod]) -> bool {
    if sizes::actual_replicas(sets.old.iter().map(Arc::as_ref)) > 0 {
        return true;
    }
    let new = sets.new.as_ref().map(|rs| rs.meta.uid.as_str());
    pods.iter().any(|pod| {
        let owner = pod.controller.as_ref().map(|owner| owner.uid.as_str());
        owner != new && !pod.has_ended() && owned.iter().any(|rs| Some(rs.meta.uid.as_str()) == owner)
    })
}
