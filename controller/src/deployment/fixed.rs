//! What `--compatibility=fixed` does otherwise than upstream: the list is this file.
//!
//! Upstream's known defects are behaviour that others rely on or have to live with, so they are
//! followed by default. Here are those that leave a Deployment stuck or its sizes wrong, each fixed
//! at the one place where upstream errs. All else stays upstream's, decision for decision. Each
//! rule says what upstream does, and the case that shows it.
//!
//! Outside this list there is one difference that no flag undoes, for it decides nothing but when a
//! decision is made: upstream's queue drops a Deployment that failed sixteen times in a row, some
//! 164 s, and leaves it alone until something about it changes. Here it is tried again every 1000 s
//! (`runtime/queue.rs`). Until then the two are the same, and no case goes on for longer.

use super::select::Sets;
use super::sync::Sync;
use crate::model::ReplicaSet;
use crate::settings::Compatibility;

impl Sync<'_> {
    fn fixes(&self) -> bool {
        self.settings.compatibility == Compatibility::Fixed
    }

    /// Issue 102551. Upstream's `scale` leaves the only ReplicaSet with pods alone if it has the
    /// size asked for, whatever its annotations say; one that says another size makes every sync a
    /// scaling event, and the rollout waits for ever. Fixed: the annotations are written too, and
    /// the next sync rolls out.
    pub(super) fn refreshes_the_only_one(&self, rs: &ReplicaSet) -> bool {
        self.fixes() && rs.is_active()
    }

    /// Upstream's `scale` has no rule for a Recreate with two ReplicaSets that have pods, and its
    /// `syncDeployment` does nothing else while their sizes are not those asked for (case
    /// `recreate/two-active-replicasets`). Fixed: that is for the rollout, which takes the old ones
    /// down and then sizes the new one.
    pub(super) fn leaves_scaling_to_recreate(&self, sets: &Sets) -> bool {
        let active = sets.all().filter(|rs| rs.is_active()).count();
        self.fixes() && self.deployment.spec.strategy.is_recreate() && active > 1
    }
}

/// A ReplicaSet's size times the most pods there may be. Upstream's product in
/// `getReplicaSetFraction` has 32 bits: beyond 2³¹−1 it wraps around, and shares of thousands
/// become negative. Fixed: it does not.
pub(super) fn product(size: i32, most: i32, compatibility: Compatibility) -> f64 {
    match compatibility {
        Compatibility::Upstream => f64::from(size.wrapping_mul(most)),
        Compatibility::Fixed => f64::from(size) * f64::from(most),
    }
}
