//! The rolling rollout: up with the new, then down with the old, one direction a sync.
//!
//! Upstream: `rolloutRolling`, `reconcileNewReplicaSet`, `reconcileOldReplicaSets`. Sizes are what
//! is asked for; availability is what ReplicaSets report. Pods are never looked at, and terminating
//! ones do not count.
//!
//! Cases: `rolling/quarter-on-ten`, `rolling/surge-1-unavailable-0`,
//! `rolling/surge-3-unavailable-2`, `rolling/rollover`, `rolling/new-replicaset-scaled-by-hand`,
//! `rolling/all-old-unready`, `rolling/unhealthy-old-first`, `rolling/three-revisions-and-scale`,
//! `during/undone-before-the-first-step`.

use std::sync::Arc;

use super::PlanError;
use super::select::Sets;
use super::sizes;
use super::sync::{End, Flow, Sync};
use crate::model::{Deployment, ModelError, ReplicaSet, Round};

impl Sync<'_> {
    pub(super) fn roll_out_rolling(&mut self, owned: &[Arc<ReplicaSet>]) -> Flow<()> {
        let sets = self.find_sets(owned, true)?;
        let Some(new) = sets.new.clone() else { return Ok(()) };
        let moved = self.size_new(&sets, &new)? || self.reduce_old(&sets, &new)?;
        if !moved && self.is_complete(&self.deployment.status) {
            self.clean_up(&sets.old);
        }
        self.report_progress(&sets)
    }

    /// Brings the new ReplicaSet as far up as the surge allows, or down to what is asked for.
    pub(super) fn size_new(&mut self, sets: &Sets, new: &Arc<ReplicaSet>) -> Flow<bool> {
        let (current, wanted) = (new.spec.replicas, self.deployment.replicas());
        let size =
            if current >= wanted { wanted } else { new_size(&self.deployment, sizes::wanted(sets.all()), current)? };
        Ok(self.resize(new, size)?.0)
    }

    /// Takes old ReplicaSets down as far as availability allows: unhealthy pods first, they serve
    /// nobody.
    ///
    /// What fails in here is forgiven, as upstream forgives it: the status is still written, and
    /// the watch brings another sync.
    pub(super) fn reduce_old(&mut self, sets: &Sets, new: &Arc<ReplicaSet>) -> Flow<bool> {
        let old = sets.active_old();
        if sizes::wanted(old.iter().map(Arc::as_ref)) == 0 {
            return Ok(false);
        }
        // New pods that are not available yet are already spent: taking an old pod for one of them
        // would lose two.
        let spent = new.spec.replicas.wrapping_sub(new.status.available_replicas);
        let minimum = sizes::min_available(&self.deployment);
        let most = sizes::wanted(sets.all()).wrapping_sub(minimum).wrapping_sub(spent);
        if most <= 0 {
            return Ok(false);
        }
        let reduced = self.forgiving(|sync| {
            let (old, unhealthy) = sync.reduce_unhealthy(old, most)?;
            let healthy = sync.reduce_healthy(&old, new, minimum)?;
            Ok(unhealthy.wrapping_add(healthy) > 0)
        });
        match reduced {
            Err(End::OutOfDate) => Ok(false),
            other => other,
        }
    }

    /// Phase one (upstream: `cleanupUnhealthyReplicas`): oldest first, each by its pods that are
    /// not available.
    pub(super) fn reduce_unhealthy(
        &mut self,
        mut old: Vec<Arc<ReplicaSet>>,
        most: i32,
    ) -> Flow<(Vec<Arc<ReplicaSet>>, i32)> {
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
                // The status lags behind an earlier cut. Upstream computes a cut of less than
                // nothing, calls that an invalid request, and scales no old ReplicaSet in this
                // sync.
                return Err(End::OutOfDate);
            }
            let cut = unhealthy.min(most - total);
            let (_, reduced) = self.resize(rs, rs.spec.replicas - cut)?;
            *rs = reduced;
            total += cut;
        }
        Ok((old, total))
    }

    /// Phase two (upstream: `scaleDownOldReplicaSetsForRollingUpdate`): oldest first, while more
    /// than the minimum is available.
    pub(super) fn reduce_healthy(&mut self, old: &[Arc<ReplicaSet>], new: &Arc<ReplicaSet>, minimum: i32) -> Flow<i32> {
        let available = sizes::available(old.iter().chain([new]).map(Arc::as_ref));
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

/// The size that the new ReplicaSet may have, given how many pods are asked for in all (upstream:
/// `NewRSNewReplicas`).
pub(super) fn new_size(deployment: &Deployment, all: i32, current: i32) -> Result<i32, PlanError> {
    let strategy = &deployment.spec.strategy;
    let replicas = deployment.replicas();
    if strategy.is_recreate() {
        return Ok(replicas);
    }
    if !strategy.is_rolling() {
        return Err(PlanError::Strategy(strategy.kind.clone()));
    }
    // The surge alone, not both bounds: here nothing is rounded up to one.
    let surge = strategy.rolling_update.max_surge.as_ref().ok_or(ModelError::NoBound)?.of(replicas, Round::Up)?;
    let most = replicas.wrapping_add(surge);
    if all >= most {
        return Ok(current);
    }
    Ok(current.wrapping_add(most.wrapping_sub(all).min(replicas.wrapping_sub(current))))
}
