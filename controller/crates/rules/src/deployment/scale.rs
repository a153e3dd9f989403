//! `spec.replicas`: scales ReplicaSets when it changes or when a Deployment is paused; in the
//! middle of a rollout in proportion to their sizes.
//!
//! Upstream: `isScalingEvent`, `sync`, `scale`, `scaleReplicaSet`. Proportional scaling keeps the
//! ratio of old to new pods, so that scaling does not speed a rollout up.
//!
//! Cases: `scale/up-and-down`, `scale/up-in-mid-rollout`, `scale/three-active-in-proportion`,
//! `scale/saturated`, `pause/template-and-scale`, `pause/scale-to-zero`, `pause/history`.

use std::cmp::Ordering;
use std::sync::Arc;

use rollout_model::{Deployment, ReplicaSet, names};

use super::create::size_annotations;
use super::plan::{EventKind, ReplicaSetChange};
use super::replica_sets::OwnedReplicaSets;
use super::sync::{DeploymentSync, SyncStep};
use super::{compatibility, sizes};
use crate::Compatibility;

impl DeploymentSync<'_> {
    /// Whether a ReplicaSet with replicas was last scaled for another `spec.replicas` than the
    /// Deployment has now.
    pub(super) fn is_scaling_event(&mut self, owned: &[Arc<ReplicaSet>]) -> SyncStep<bool> {
        let sets = self.find_replica_sets(owned, false)?;
        if self.should_leave_scaling_to_recreate(&sets) {
            return Ok(false);
        }
        let replicas = self.deployment.replicas();
        Ok(sets
            .all()
            .filter(|rs| rs.is_active())
            .filter_map(|rs| rs.count_annotation(names::DESIRED_REPLICAS))
            .any(|desired| desired != replicas))
    }

    /// Scales, cleans up the history if paused, and updates the status but not the progress
    /// (upstream: `sync`).
    pub(super) fn scale_and_update_status(&mut self, owned: &[Arc<ReplicaSet>]) -> SyncStep<()> {
        let sets = self.find_replica_sets(owned, false)?;
        self.scale(&sets)?;
        if self.deployment.spec.paused && self.rollback_request().is_none() {
            self.clean_up_history(&sets.old);
        }
        self.update_counts(&sets)
    }

    pub(super) fn scale(&mut self, sets: &OwnedReplicaSets) -> SyncStep<()> {
        let replicas = self.deployment.replicas();
        let mut newest_first = sets.old.clone();
        newest_first.reverse();
        let active: Vec<_> = newest_first.iter().chain(&sets.new).filter(|rs| rs.is_active()).cloned().collect();
        if active.len() < 2 {
            // The only ReplicaSet with replicas, or else the new one, or else the newest, is scaled
            // to the full size. If it has that size already, upstream does not update its
            // annotations, so the scaling event may never end (issue 102551).
            if let Some(rs) = active.first().or(sets.new.as_ref()).or(newest_first.first()) {
                let refresh = self.should_refresh_annotations(rs);
                self.resize_and_annotate(rs, replicas, refresh)?;
            }
            return Ok(());
        }
        if sets.new.as_ref().is_some_and(|new| is_saturated(&self.deployment, new)) {
            for rs in newest_first.iter().filter(|rs| rs.is_active()) {
                self.resize(rs, 0)?;
            }
            return Ok(());
        }
        if self.deployment.spec.strategy.is_rolling() {
            for (rs, size) in proportions(&self.deployment, active, self.settings.compatibility) {
                self.resize_and_annotate(&rs, size, true)?;
            }
        }
        Ok(())
    }

    /// Scales a ReplicaSet that has another size. Returns whether it did, and the ReplicaSet
    /// afterwards.
    pub(super) fn resize(&mut self, rs: &Arc<ReplicaSet>, size: i32) -> SyncStep<(bool, Arc<ReplicaSet>)> {
        self.resize_and_annotate(rs, size, false)
    }

    /// Like `resize`, but with `refresh` it also writes a ReplicaSet of which only the annotations
    /// are out of date (upstream: `scaleReplicaSet`).
    fn resize_and_annotate(
        &mut self,
        rs: &Arc<ReplicaSet>,
        size: i32,
        refresh: bool,
    ) -> SyncStep<(bool, Arc<ReplicaSet>)> {
        let current = rs.spec.replicas;
        let resized = current != size;
        let mut annotations = std::collections::BTreeMap::from(size_annotations(&self.deployment));
        annotations.retain(|name, value| rs.annotation(name) != Some(value));
        if !resized && (!refresh || annotations.is_empty()) {
            return Ok((false, rs.clone()));
        }
        let change = ReplicaSetChange { replicas: resized.then_some(size), annotations, ..Default::default() };
        let answer = self.update_replica_set(rs, change)?;
        if resized {
            let direction = if current < size { "up" } else { "down" };
            let name = &rs.meta.name;
            let message = format!("Scaled {direction} replica set {name} from {current} to {size}");
            self.event(EventKind::Normal, names::event::SCALING, message);
        }
        Ok((resized, answer))
    }
}

/// Whether the new ReplicaSet has the full size in its spec and its annotation, and all its pods
/// are available (upstream: `IsSaturated`).
fn is_saturated(deployment: &Deployment, new: &ReplicaSet) -> bool {
    let replicas = deployment.replicas();
    let desired = new.annotation(names::DESIRED_REPLICAS).and_then(|text| text.parse::<i64>().ok());
    new.spec.replicas == replicas
        && desired.is_some_and(|desired| desired as i32 == replicas)
        && new.status.available_replicas == replicas
}

/// The new sizes of all ReplicaSets with replicas, in the order of the writes. The largest comes
/// first; of equal ones the newest grows first and the oldest shrinks first. The first one also
/// gets what rounding leaves over. If the total needs no change, the sizes stay as they are, in the
/// order of `active`.
fn proportions(
    deployment: &Deployment,
    mut active: Vec<Arc<ReplicaSet>>,
    compatibility: Compatibility,
) -> Vec<(Arc<ReplicaSet>, i32)> {
    let allowed = if deployment.replicas() > 0 { sizes::max_replicas(deployment) } else { 0 };
    let to_add = allowed.wrapping_sub(sizes::desired_replicas(active.iter().map(Arc::as_ref)));
    // If no pod is added or removed, upstream does not sort: the old ReplicaSets are annotated
    // before the new one, whatever their sizes (case found/annotated-in-mid-rollout).
    if to_add != 0 {
        active.sort_by(|a, b| proportion_order(a, b, to_add));
    }
    let mut added = 0_i32;
    let mut sized: Vec<_> = active
        .into_iter()
        .map(|rs| {
            let share = proportion(deployment, &rs, to_add, added, compatibility);
            added = added.wrapping_add(share);
            let size = rs.spec.replicas.wrapping_add(share);
            (rs, size)
        })
        .collect();
    if to_add != 0
        && let Some((_, size)) = sized.first_mut()
    {
        *size = size.wrapping_add(to_add.wrapping_sub(added)).max(0);
    }
    sized
}

/// The order in which ReplicaSets get their proportion.
fn proportion_order(a: &ReplicaSet, b: &ReplicaSet, to_add: i32) -> Ordering {
    let by_age = a.meta.age_order().cmp(&b.meta.age_order());
    let by_age = if to_add > 0 { by_age.reverse() } else { by_age };
    b.spec.replicas.cmp(&a.spec.replicas).then(by_age)
}

/// How many pods one ReplicaSet gains or loses, limited to the rest of `to_add` (upstream:
/// `GetReplicaSetProportion`).
fn proportion(deployment: &Deployment, rs: &ReplicaSet, to_add: i32, added: i32, compatibility: Compatibility) -> i32 {
    if rs.spec.replicas == 0 {
        return 0;
    }
    if to_add == 0 || to_add == added {
        return 0;
    }
    let left = to_add.wrapping_sub(added);
    let fraction = replica_set_fraction(deployment, rs, compatibility);
    if to_add > 0 { fraction.min(left) } else { fraction.max(left) }
}

/// How many pods one ReplicaSet gains or loses by its share of the old total alone (upstream:
/// `getReplicaSetFraction`).
pub(super) fn replica_set_fraction(deployment: &Deployment, rs: &ReplicaSet, compatibility: Compatibility) -> i32 {
    let size = rs.spec.replicas;
    if deployment.replicas() == 0 {
        return size.wrapping_neg();
    }
    // Without a valid annotation, the number of existing pods is used as the old total.
    let before = rs.count_annotation(names::MAX_REPLICAS).filter(|before| *before != 0);
    let before = before.unwrap_or(deployment.status.replicas);
    if before == 0 {
        return 0;
    }
    let scaled =
        compatibility::scaled_product(size, sizes::max_replicas(deployment), compatibility) / f64::from(before);
    let rounded = if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 };
    (rounded as i32).wrapping_sub(size)
}
