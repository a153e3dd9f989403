//! Scaling: when what is asked for changes, or a paused Deployment is not the size it should be.
//!
//! Upstream: `isScalingEvent`, `sync`, `scale`, `scaleReplicaSet`. A rollout that is under way
//! grows and shrinks in proportion, so that scaling does not speed it up.
//!
//! Cases: `scale/up-and-down`, `scale/up-in-mid-rollout`, `scale/three-active-in-proportion`,
//! `scale/saturated`, `pause/template-and-scale`, `pause/scale-to-zero`, `pause/history`.

use std::cmp::Ordering;
use std::sync::Arc;

use super::create::sizes_annotations;
use super::fixed;
use super::plan::{EventKind, ReplicaSetChange};
use super::select::Sets;
use super::sizes;
use super::sync::{Flow, Sync};
use crate::model::{Deployment, ReplicaSet, names};
use crate::settings::Compatibility;

impl Sync<'_> {
    /// Whether some ReplicaSet with pods was last sized for another number than is asked for now.
    pub(super) fn is_scaling_event(&mut self, owned: &[Arc<ReplicaSet>]) -> Flow<bool> {
        let sets = self.find_sets(owned, false)?;
        if self.leaves_scaling_to_recreate(&sets) {
            return Ok(false);
        }
        let replicas = self.deployment.replicas();
        Ok(sets
            .all()
            .filter(|rs| rs.is_active())
            .filter_map(|rs| rs.count_annotation(names::DESIRED_REPLICAS))
            .any(|desired| desired != replicas))
    }

    /// Scales, cleans up if paused, and reports, without judging progress (upstream: `sync`).
    pub(super) fn scale_and_report(&mut self, owned: &[Arc<ReplicaSet>]) -> Flow<()> {
        let sets = self.find_sets(owned, false)?;
        self.scale(&sets)?;
        if self.deployment.spec.paused && self.rollback_request().is_none() {
            self.clean_up(&sets.old);
        }
        self.write_counts(&sets)
    }

    pub(super) fn scale(&mut self, sets: &Sets) -> Flow<()> {
        let replicas = self.deployment.replicas();
        let mut newest_first = sets.old.clone();
        newest_first.reverse();
        let active: Vec<_> = newest_first.iter().chain(&sets.new).filter(|rs| rs.is_active()).cloned().collect();
        if active.len() < 2 {
            // The only one with pods, or else the new one, or else the newest: to the full size. If
            // it has that already, upstream leaves its annotations as they are, which can leave a
            // scaling event standing for ever (issue 102551).
            if let Some(rs) = active.first().or(sets.new.as_ref()).or(newest_first.first()) {
                let refresh = self.refreshes_the_only_one(rs);
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

    /// Sizes a ReplicaSet, unless it has that size. Whether it was sized, and how it is afterwards.
    pub(super) fn resize(&mut self, rs: &Arc<ReplicaSet>, size: i32) -> Flow<(bool, Arc<ReplicaSet>)> {
        self.resize_and_annotate(rs, size, false)
    }

    /// The same; with `refresh`, also writes one whose annotations alone are behind (upstream:
    /// `scaleReplicaSet`).
    fn resize_and_annotate(&mut self, rs: &Arc<ReplicaSet>, size: i32, refresh: bool) -> Flow<(bool, Arc<ReplicaSet>)> {
        let current = rs.spec.replicas;
        let resized = current != size;
        let mut annotations = std::collections::BTreeMap::from(sizes_annotations(&self.deployment));
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

/// Whether the new ReplicaSet has all pods, knows that it should, and all are available (upstream:
/// `IsSaturated`).
fn is_saturated(deployment: &Deployment, new: &ReplicaSet) -> bool {
    let replicas = deployment.replicas();
    let desired = new.annotation(names::DESIRED_REPLICAS).and_then(|text| text.parse::<i64>().ok());
    new.spec.replicas == replicas
        && desired.is_some_and(|desired| desired as i32 == replicas)
        && new.status.available_replicas == replicas
}

/// New sizes of all active ReplicaSets, in the order in which they are written: the largest first,
/// among equals the newest grows and the oldest shrinks first, and what rounding leaves over goes
/// to the first; or, where the total is right already, their sizes as they are, in the order of
/// `active`.
fn proportions(
    deployment: &Deployment,
    mut active: Vec<Arc<ReplicaSet>>,
    compatibility: Compatibility,
) -> Vec<(Arc<ReplicaSet>, i32)> {
    let allowed = if deployment.replicas() > 0 { sizes::max_replicas(deployment) } else { 0 };
    let to_add = allowed.wrapping_sub(sizes::wanted(active.iter().map(Arc::as_ref)));
    // Where nothing is added, upstream does not sort: the old ones are annotated before the new
    // one, whatever their sizes (case found/annotated-in-mid-rollout).
    if to_add != 0 {
        active.sort_by(|a, b| share_order(a, b, to_add));
    }
    let mut added = 0_i32;
    let mut sized: Vec<_> = active
        .into_iter()
        .map(|rs| {
            let share = share(deployment, &rs, to_add, added, compatibility);
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

/// Which of two ReplicaSets gets its share first.
fn share_order(a: &ReplicaSet, b: &ReplicaSet, to_add: i32) -> Ordering {
    let by_age = a.meta.age_order().cmp(&b.meta.age_order());
    let by_age = if to_add > 0 { by_age.reverse() } else { by_age };
    b.spec.replicas.cmp(&a.spec.replicas).then(by_age)
}

/// What one ReplicaSet gains or loses, within what is left (upstream: `GetReplicaSetProportion`).
fn share(deployment: &Deployment, rs: &ReplicaSet, to_add: i32, added: i32, compatibility: Compatibility) -> i32 {
    if rs.spec.replicas == 0 {
        return 0;
    }
    if to_add == 0 || to_add == added {
        return 0;
    }
    let left = to_add.wrapping_sub(added);
    let fraction = fraction(deployment, rs, compatibility);
    if to_add > 0 { fraction.min(left) } else { fraction.max(left) }
}

/// What one ReplicaSet would gain or lose if only its own share of the old total counted (upstream:
/// `getReplicaSetFraction`).
pub(super) fn fraction(deployment: &Deployment, rs: &ReplicaSet, compatibility: Compatibility) -> i32 {
    let size = rs.spec.replicas;
    if deployment.replicas() == 0 {
        return size.wrapping_neg();
    }
    // Without a usable annotation, the pods that there are stand in for the old total.
    let before = rs.count_annotation(names::MAX_REPLICAS).filter(|before| *before != 0);
    let before = before.unwrap_or(deployment.status.replicas);
    if before == 0 {
        return 0;
    }
    let scaled = fixed::product(size, sizes::max_replicas(deployment), compatibility) / f64::from(before);
    let rounded = if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 };
    (rounded as i32).wrapping_sub(size)
}
