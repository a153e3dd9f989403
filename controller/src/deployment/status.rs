//! The Deployment's numbers, and whether enough pods are available.
//!
//! Upstream: `calculateStatus`, `syncDeploymentStatus`, `DeploymentComplete`. Everything is summed
//! from what ReplicaSets report.
//!
//! Cases: `status/minimum-availability`, `status/terminating`, `rolling/min-ready-seconds`,
//! `recreate/three`.

use super::select::Sets;
use super::sizes;
use super::sync::{Flow, Sync};
use crate::model::{Condition, DeploymentStatus, ReplicaSet, names};

impl Sync<'_> {
    /// Writes the numbers if they changed; progress is not judged.
    pub(super) fn write_counts(&mut self, sets: &Sets) -> Flow<()> {
        let status = self.counts(sets);
        if status == self.deployment.status {
            return Ok(());
        }
        self.write_status(status)
    }

    /// The status that the ReplicaSets amount to.
    pub(super) fn counts(&self, sets: &Sets) -> DeploymentStatus {
        let deployment = &self.deployment;
        let available = sizes::available(sets.all());
        let mut conditions = deployment.status.conditions.clone();
        let (status, reason, message) = if available >= sizes::min_available(deployment) {
            (names::status::TRUE, names::reason::MINIMUM_AVAILABLE, "Deployment has minimum availability.")
        } else {
            (names::status::FALSE, names::reason::MINIMUM_UNAVAILABLE, "Deployment does not have minimum availability.")
        };
        let kind = names::condition::AVAILABLE;
        Condition::set(&mut conditions, Condition::new(kind, status, reason, message, self.now));
        DeploymentStatus {
            observed_generation: deployment.meta.generation,
            replicas: sizes::existing(sets.all()),
            updated_replicas: sizes::existing(sets.new.as_deref()),
            ready_replicas: sizes::ready(sets.all()),
            available_replicas: available,
            unavailable_replicas: sizes::wanted(sets.all()).wrapping_sub(available).max(0),
            terminating_replicas: if self.settings.terminating_replicas { terminating(sets.all()) } else { None },
            collision_count: deployment.status.collision_count,
            conditions,
        }
    }

    /// Whether a status says that all pods asked for are new and available and no other is left.
    pub(super) fn is_complete(&self, status: &DeploymentStatus) -> bool {
        let replicas = self.deployment.replicas();
        status.updated_replicas == replicas
            && status.replicas == replicas
            && status.available_replicas == replicas
            && status.observed_generation >= self.deployment.meta.generation
    }
}

/// Pods on their way out; unknown if a ReplicaSet that has reported at all does not say (upstream:
/// `GetTerminatingReplicaCountForReplicaSets`).
pub(super) fn terminating<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> Option<i32> {
    all.into_iter().try_fold(0_i32, |sum, rs| match rs.status.terminating_replicas {
        Some(number) => Some(sum.wrapping_add(number)),
        None if rs.status.observed_generation == 0 => Some(sum),
        None => None,
    })
}
