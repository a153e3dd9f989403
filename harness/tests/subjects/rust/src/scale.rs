//! Sizes: the bounds of a rollout, and proportional scaling of ReplicaSets.

use std::cmp::{Reverse, max, min};

use k8s_openapi::api::apps::v1::RollingUpdateDeployment;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::Error;

use crate::replica_sets::{MAXIMUM, annotated, counts, desired, size};
use crate::rollout::Rollout;

impl Rollout {
    /// The largest size that the current ReplicaSet may have now.
    pub fn new_size(&self, now: i32) -> i32 {
        if self.is_recreate() {
            return self.replicas;
        }
        let room = max(0, self.replicas + self.max_surge() - self.total_size());
        now + min(room, self.replicas - now)
    }

    pub fn max_surge(&self) -> i32 {
        self.bound(|update| update.max_surge.as_ref(), f64::ceil)
    }

    /// maxUnavailable; 1 if both bounds are zero after rounding, because nothing could change
    /// otherwise.
    pub fn max_unavailable(&self) -> i32 {
        if self.replicas == 0 || self.is_recreate() {
            return 0;
        }
        match self.bound(|update| update.max_unavailable.as_ref(), f64::floor) {
            0 if self.max_surge() == 0 => 1,
            count => min(count, self.replicas),
        }
    }

    fn bound(&self, field: fn(&RollingUpdateDeployment) -> Option<&IntOrString>, round: fn(f64) -> f64) -> i32 {
        let update = self.spec.strategy.as_ref().and_then(|strategy| strategy.rolling_update.as_ref());
        match update.and_then(field) {
            None => 0,
            Some(IntOrString::Int(count)) => *count,
            Some(IntOrString::String(percent)) => {
                let percent: f64 = percent.trim_end_matches('%').parse().unwrap_or(0.0); // the server has checked it
                round(f64::from(self.replicas) * percent / 100.0) as i32
            }
        }
    }

    /// Distributes a new number of replicas among the ReplicaSets.
    pub async fn scale(&mut self) -> Result<(), Error> {
        let active = self.active();
        match (&*active, self.current) {
            ([only], _) => return self.resize(*only, self.replicas).await.map(drop),
            ([], current) => {
                let Some(only) = current.or(self.old().last()) else { return Ok(()) };
                return self.resize(only, self.replicas).await.map(drop);
            }
            _ => {}
        }
        if self.current.is_some_and(|at| self.is_saturated(at)) {
            for at in self.active_old() {
                self.resize(at, 0).await?;
            }
            return Ok(());
        }
        if self.is_recreate() {
            return Ok(());
        }
        for (at, size) in self.proportions(active) {
            self.resize_or_note(at, size).await?;
        }
        Ok(())
    }

    fn is_saturated(&self, at: usize) -> bool {
        let set = &self.sets[at];
        [Some(size(set)), Some(counts(set).available), desired(set)].iter().all(|count| *count == Some(self.replicas))
    }

    /// The ReplicaSets with their shares, the largest first; among equals the newest grows first,
    /// and the oldest shrinks first. `active` is oldest first.
    fn proportions(&self, mut active: Vec<usize>) -> Vec<(usize, i32)> {
        let most = if self.replicas > 0 { self.replicas + self.max_surge() } else { 0 };
        let mut left = most - self.total_size();
        let grows = left > 0;
        if grows {
            active.reverse();
        }
        active.sort_by_key(|&at| Reverse(size(&self.sets[at])));
        let limit = if grows { min } else { max };
        let mut sizes = Vec::new();
        for at in active {
            let share = limit(self.share(at), left);
            left -= share;
            sizes.push((at, size(&self.sets[at]) + share));
        }
        if let Some((_, first)) = sizes.first_mut() {
            *first = max(0, *first + left); // what rounding leaves over
        }
        sizes
    }

    /// The unlimited change of a ReplicaSet's size.
    fn share(&self, at: usize) -> i32 {
        let set = &self.sets[at];
        if self.replicas == 0 {
            return -size(set);
        }
        let noted = annotated(set, MAXIMUM).filter(|count| *count != 0);
        match noted.or(self.status.replicas).filter(|count| *count != 0) {
            None => 0,
            Some(before) => {
                let share = f64::from(size(set)) * f64::from(self.replicas + self.max_surge()) / f64::from(before);
                share.round() as i32 - size(set)
            }
        }
    }
}
