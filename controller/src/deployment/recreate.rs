//! The Recreate rollout: all old pods go, and only when the last has ended do new ones come.
//!
//! Upstream: `rolloutRecreate`, `oldPodsRunning`. Only a rollout waits: pods that are deleted
//! within one ReplicaSet are replaced at once.
//!
//! Cases: `recreate/three`, `recreate/failed-old-pods`.

use std::sync::Arc;

use super::select::Sets;
use super::sizes;
use super::sync::{Flow, Sync};
use crate::model::{Pod, ReplicaSet};

impl Sync<'_> {
    pub(super) fn roll_out_recreate(&mut self, owned: &[Arc<ReplicaSet>]) -> Flow<()> {
        let mut sets = self.find_sets(owned, false)?;
        let mut scaled = false;
        for rs in sets.active_old() {
            scaled |= self.resize(&rs, 0)?.0;
        }
        if scaled || old_pods_running(&sets, owned, &self.observed.pods) {
            return self.report_progress(&sets);
        }
        if sets.new.is_none() {
            sets = self.find_sets(owned, true)?;
        }
        if let Some(new) = &sets.new {
            self.resize(new, self.deployment.replicas())?;
        }
        if self.is_complete(&self.deployment.status) {
            self.clean_up(&sets.old);
        }
        self.report_progress(&sets)
    }
}

/// Whether a pod of another template may still run. Terminating ones do; those that have ended do
/// not. One whose state nobody knows counts as running.
fn old_pods_running(sets: &Sets, owned: &[Arc<ReplicaSet>], pods: &[Pod]) -> bool {
    if sizes::existing(sets.old.iter().map(Arc::as_ref)) > 0 {
        return true;
    }
    let new = sets.new.as_ref().map(|rs| rs.meta.uid.as_str());
    pods.iter().any(|pod| {
        let owner = pod.controller.as_ref().map(|owner| owner.uid.as_str());
        owner != new && !pod.has_ended() && owned.iter().any(|rs| Some(rs.meta.uid.as_str()) == owner)
    })
}
