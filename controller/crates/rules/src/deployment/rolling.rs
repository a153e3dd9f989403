//! `spec.strategy.type: RollingUpdate`: scales the new ReplicaSet up, then the old ones down, one
//! direction in each sync.
//!
//! Upstream: `rolloutRolling`, `reconcileNewReplicaSet`, `reconcileOldReplicaSets`. Sizes are
//! `spec.replicas` of the ReplicaSets, and availability is what their status reports. Pods are not
//! read, and terminating pods do not count.
//!
//! Cases: `rolling/quarter-on-ten`, `rolling/surge-1-unavailable-0`,
//! `rolling/surge-3-unavailable-2`, `rolling/rollover`, `rolling/new-replicaset-scaled-by-hand`,
//! `rolling/all-old-unready`, `rolling/unhealthy-old-first`, `rolling/three-revisions-and-scale`,
//! `during/undone-before-the-first-step`.

use std::sync::Arc;

use rollout_model::{Deployment, ModelError, ReplicaSet, RoundingDirection};

use super::plan::PlanError;
use super::replica_sets::OwnedReplicaSets;
use super::sizes;
use super::sync::{DeploymentSync, SyncEnd, SyncStep};

impl DeploymentSync<'_> {
    pub(super) fn roll_out_rolling(&mut self, owned: &[Arc<ReplicaSet>]) -> SyncStep<()> {
        let sets = self.find_replica_sets(owned, true)?;
        let Some(new) = sets.new.clone() else { return Ok(()) };
        let has_scaled = self.scale_new(&sets, &new)? || self.scale_down_old(&sets, &new)?;
        if !has_scaled && self.is_complete(&self.deployment.status) {
            self.clean_up_history(&sets.old);
        }
        self.update_rollout_status(&sets)
    }

    /// Scales the new ReplicaSet up as far as maxSurge allows, or down to `spec.replicas`.
    pub(super) fn scale_new(&mut self, sets: &OwnedReplicaSets, new: &Arc<ReplicaSet>) -> SyncStep<bool> {
        let (current, desired) = (new.spec.replicas, self.deployment.replicas());
        let size = if current >= desired {
            desired
        } else {
            new_replica_set_size(&self.deployment, sizes::desired_replicas(sets.all()), current)?
        };
        Ok(self.resize(new, size)?.0)
    }

    /// Scales old ReplicaSets down as far as maxUnavailable allows. Unhealthy pods go first,
    /// because they serve no requests.
    ///
    /// A failure in here is ignored, as upstream ignores it: the status is still written, and the
    /// watch starts another sync.
    pub(super) fn scale_down_old(&mut self, sets: &OwnedReplicaSets, new: &Arc<ReplicaSet>) -> SyncStep<bool> {
        let old = sets.active_old();
        if sizes::desired_replicas(old.iter().map(Arc::as_ref)) == 0 {
            return Ok(false);
        }
        // New pods that are not available already use up the budget: removing an old pod for each
        // of them as well would make two pods unavailable.
        let spent = new.spec.replicas.wrapping_sub(new.status.available_replicas);
        let minimum = sizes::min_available(&self.deployment);
        let most = sizes::desired_replicas(sets.all()).wrapping_sub(minimum).wrapping_sub(spent);
        if most <= 0 {
            return Ok(false);
        }
        let reduced = self.skip_group_on_error(|sync| {
            let (old, unhealthy) = sync.scale_down_unhealthy(old, most)?;
            let healthy = sync.scale_down_healthy(&old, new, minimum)?;
            Ok(unhealthy.wrapping_add(healthy) > 0)
        });
        match reduced {
            Err(SyncEnd::OutOfDate) => Ok(false),
            other => other,
        }
    }

    /// Phase one (upstream: `cleanupUnhealthyReplicas`): scales each old ReplicaSet, oldest first,
    /// down by its unavailable pods.
    pub(super) fn scale_down_unhealthy(
        &mut self,
        mut old: Vec<Arc<ReplicaSet>>,
        most: i32,
    ) -> SyncStep<(Vec<Arc<ReplicaSet>>, i32)> {
        let mut total = 0;
        for rs in &mut old {
            if total >= most {
                break;
            }
            let unhealthy = rs.spec.replicas.wrapping_sub(rs.status.available_replicas);
            if unhealthy == 0 {
                continue;
            }
            if unhealthy < 0 {
                // The status lags behind an earlier scale-down. Upstream computes a negative
                // number of pods to remove, treats that as an invalid request, and scales no
                // further old ReplicaSet in this sync.
                return Err(SyncEnd::OutOfDate);
            }
            let cut = unhealthy.min(most - total);
            let (_, reduced) = self.resize(rs, rs.spec.replicas - cut)?;
            *rs = reduced;
            total += cut;
        }
        Ok((old, total))
    }

    /// Phase two (upstream: `scaleDownOldReplicaSetsForRollingUpdate`): scales old ReplicaSets
    /// down, oldest first, while more pods than the minimum are available.
    pub(super) fn scale_down_healthy(
        &mut self,
        old: &[Arc<ReplicaSet>],
        new: &Arc<ReplicaSet>,
        minimum: i32,
    ) -> SyncStep<i32> {
        let available = sizes::available_replicas(old.iter().chain([new]).map(Arc::as_ref));
        let budget = available.wrapping_sub(minimum);
        let mut total = 0;
        for rs in old {
            if total >= budget {
                break;
            }
            if rs.spec.replicas == 0 {
                continue;
            }
            let cut = rs.spec.replicas.min(budget - total);
            self.resize(rs, rs.spec.replicas - cut)?;
            total += cut;
        }
        Ok(total)
    }
}

/// The size that the new ReplicaSet may have. `all` is the sum of `spec.replicas` over all
/// ReplicaSets, `current` that of the new one (upstream: `NewRSNewReplicas`).
pub(super) fn new_replica_set_size(deployment: &Deployment, all: i32, current: i32) -> Result<i32, PlanError> {
    let strategy = &deployment.spec.strategy;
    let replicas = deployment.replicas();
    if strategy.is_recreate() {
        return Ok(replicas);
    }
    if !strategy.is_rolling() {
        return Err(PlanError::Strategy(strategy.kind.clone()));
    }
    // Only maxSurge is resolved here, so it is not raised to 1 where both bounds round to 0.
    let surge = strategy
        .rolling_update
        .max_surge
        .as_ref()
        .ok_or(ModelError::NoBound)?
        .scaled_value(replicas, RoundingDirection::Up)?;
    let most = replicas.wrapping_add(surge);
    if all >= most {
        return Ok(current);
    }
    Ok(current.wrapping_add(most.wrapping_sub(all).min(replicas.wrapping_sub(current))))
}
