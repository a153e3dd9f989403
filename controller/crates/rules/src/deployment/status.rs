//! `status`: the Deployment's counts and the condition Available.
//!
//! Upstream: `calculateStatus`, `syncDeploymentStatus`, `DeploymentComplete`. All counts are sums
//! over the status of ReplicaSets.
//!
//! Cases: `status/minimum-availability`, `status/terminating`, `rolling/min-ready-seconds`,
//! `recreate/three`.

use rollout_model::{Condition, DeploymentStatus, ReplicaSet, names};

use super::replica_sets::OwnedReplicaSets;
use super::sizes;
use super::sync::{DeploymentSync, SyncStep};

impl DeploymentSync<'_> {
    /// Writes the counts if they have changed. The condition Progressing is not updated.
    pub(super) fn update_counts(&mut self, sets: &OwnedReplicaSets) -> SyncStep<()> {
        let status = self.calculate_status(sets);
        if status == self.deployment.status {
            return Ok(());
        }
        self.write_status(status)
    }

    /// The status that follows from the ReplicaSets.
    pub(super) fn calculate_status(&self, sets: &OwnedReplicaSets) -> DeploymentStatus {
        let deployment = &self.deployment;
        let available = sizes::available_replicas(sets.all());
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
            replicas: sizes::actual_replicas(sets.all()),
            updated_replicas: sizes::actual_replicas(sets.new.as_deref()),
            ready_replicas: sizes::ready_replicas(sets.all()),
            available_replicas: available,
            unavailable_replicas: sizes::desired_replicas(sets.all()).wrapping_sub(available).max(0),
            terminating_replicas: if self.settings.terminating_replicas {
                terminating_replicas(sets.all())
            } else {
                None
            },
            collision_count: deployment.status.collision_count,
            conditions,
        }
    }

    /// Whether all desired pods are new and available by this status, and no old pod exists.
    pub(super) fn is_complete(&self, status: &DeploymentStatus) -> bool {
        let replicas = self.deployment.replicas();
        status.updated_replicas == replicas
            && status.replicas == replicas
            && status.available_replicas == replicas
            && status.observed_generation >= self.deployment.meta.generation
    }
}

/// The number of terminating pods; unknown if a ReplicaSet has a status without that number
/// (upstream: `GetTerminatingReplicaCountForReplicaSets`).
pub(super) fn terminating_replicas<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> Option<i32> {
    all.into_iter().try_fold(0_i32, |sum, rs| match rs.status.terminating_replicas {
        Some(number) => Some(sum.wrapping_add(number)),
        None if rs.status.observed_generation == 0 => Some(sum),
        None => None,
    })
}
