//! `--compatibility=fixed`: the complete list of what it does differently from upstream.
//!
//! Users depend on upstream's known defects or work around them, so they are the default. This file
//! fixes those that leave a Deployment stuck or give it wrong sizes, each at the one place where
//! upstream errs. All other decisions are upstream's. Each rule says what upstream does, and names
//! the case that shows it.
//!
//! One further difference has no flag, because it only affects when a decision is made: upstream's
//! queue drops a Deployment that has failed sixteen times in a row, after some 164 s, and ignores
//! it until one of its objects changes. This controller retries it every 1000 s
//! (`runtime/queue.rs`). Until then both behave the same, and no case takes longer.

use rollout_model::ReplicaSet;

use super::replica_sets::OwnedReplicaSets;
use super::sync::DeploymentSync;
use crate::Compatibility;

impl DeploymentSync<'_> {
    fn applies_fixes(&self) -> bool {
        self.settings.compatibility == Compatibility::Fixed
    }

    /// Issue 102551. If only one ReplicaSet has replicas and it has the desired size, upstream's
    /// `scale` does not write it, even if its annotation has another size. That makes every sync a
    /// scaling event, and the rollout never continues. Fixed: the annotations are written too, and
    /// the next sync continues the rollout.
    pub(super) fn should_refresh_annotations(&self, rs: &ReplicaSet) -> bool {
        self.applies_fixes() && rs.is_active()
    }

    /// Upstream's `scale` has no rule for a Recreate Deployment with two ReplicaSets that have
    /// replicas, and its `syncDeployment` does nothing else while their `desired-replicas` differ
    /// from the Deployment's (case `recreate/two-active-replicasets`). Fixed: the rollout handles
    /// it. It scales the old ones down and then scales the new one.
    pub(super) fn should_leave_scaling_to_recreate(&self, sets: &OwnedReplicaSets) -> bool {
        let active = sets.all().filter(|rs| rs.is_active()).count();
        self.applies_fixes() && self.deployment.spec.strategy.is_recreate() && active > 1
    }
}

/// A ReplicaSet's size times the maximum number of pods. Upstream's product in
/// `getReplicaSetFraction` has 32 bits: above 2³¹−1 it wraps around, and proportions of thousands
/// of pods become negative. Fixed: the product does not wrap.
pub(super) fn scaled_product(size: i32, most: i32, compatibility: Compatibility) -> f64 {
    match compatibility {
        Compatibility::Upstream => f64::from(size.wrapping_mul(most)),
        Compatibility::Fixed => f64::from(size) * f64::from(most),
    }
}
