//! One reconciliation of a Deployment and its ReplicaSets.

use std::cmp::{max, min};
use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, PostParams};
use kube::{Api, Error, ResourceExt};

use crate::replica_sets::{REVISION, counts, desired, size};
use crate::rollout::Rollout;

impl Rollout {
    /// Does the next action and writes the status. Returns when to reconcile again without a
    /// change.
    pub async fn reconcile(mut self) -> Result<Option<Duration>, Error> {
        let before = (self.status.clone(), self.revision());
        self.find().await?;
        let updates_progress = self.act().await?;
        self.report(updates_progress);
        if before == (self.status.clone(), self.revision()) {
            return Ok(self.until_deadline());
        }
        self.deployment.status = Some(self.status);
        let api: Api<Deployment> = Api::namespaced(self.client, &self.deployment.namespace().unwrap_or_default());
        api.replace_status(&self.deployment.name_any(), &PostParams::default(), &self.deployment).await?;
        Ok(None) // the watch shows what was written
    }

    fn revision(&self) -> Option<String> {
        self.deployment.annotations().get(REVISION).cloned()
    }

    /// Does the next action. Returns whether to update the progress condition.
    async fn act(&mut self) -> Result<bool, Error> {
        if self.deployment.metadata.deletion_timestamp.is_some() {
            return Ok(false);
        }
        self.note_pause();
        let is_paused = self.spec.paused == Some(true);
        let is_other = |at: usize| desired(&self.sets[at]).is_some_and(|count| count != self.replicas);
        if is_paused || self.active().into_iter().any(is_other) {
            self.refresh().await?;
            self.scale().await?;
            if is_paused {
                self.clean_up().await?;
            }
            return Ok(false);
        }
        if self.is_recreate() { self.recreate().await } else { self.roll().await }?;
        Ok(true)
    }

    pub fn is_recreate(&self) -> bool {
        self.spec.strategy.as_ref().is_some_and(|strategy| strategy.type_.as_deref() == Some("Recreate"))
    }

    /// Adds new pods as far as maxSurge allows, and removes old ones as far as maxUnavailable does.
    async fn roll(&mut self) -> Result<(), Error> {
        let current = self.refresh_or_create().await?;
        let now = size(&self.sets[current]);
        let target = if now < self.replicas { self.new_size(now) } else { self.replicas };
        if self.resize(current, target).await? || self.reduce_old(current).await? || !self.is_complete() {
            return Ok(());
        }
        self.clean_up().await
    }

    /// Unavailable pods are removed first, which does not reduce availability.
    async fn reduce_old(&mut self, current: usize) -> Result<bool, Error> {
        let (old, least) = (self.active_old(), self.replicas - self.max_unavailable());
        let new = &self.sets[current];
        let mut budget = self.total_size() - least - (size(new) - counts(new).available);
        let mut moved = false;
        for &at in &old {
            let unhealthy = size(&self.sets[at]) - counts(&self.sets[at]).available;
            if unhealthy < 0 && budget > 0 {
                return Ok(moved); // its status is behind its last cut
            }
            moved |= self.shrink(at, unhealthy, &mut budget).await?;
        }
        budget = min(budget, self.sum(|set| counts(set).available) - least);
        for &at in &old {
            moved |= self.shrink(at, size(&self.sets[at]), &mut budget).await?;
        }
        Ok(moved)
    }

    async fn shrink(&mut self, at: usize, most: i32, budget: &mut i32) -> Result<bool, Error> {
        let amount = max(0, min(most, *budget));
        *budget -= amount;
        self.resize(at, size(&self.sets[at]) - amount).await
    }

    /// Waits for the end of the last old pod before creating a new one.
    async fn recreate(&mut self) -> Result<(), Error> {
        self.refresh().await?;
        let old = self.active_old();
        for &at in &old {
            self.resize(at, 0).await?;
        }
        if !old.is_empty() || self.is_any_old_pod_left().await? {
            return Ok(());
        }
        let current = self.refresh_or_create().await?;
        self.resize(current, self.replicas).await?;
        if self.is_complete() { self.clean_up().await } else { Ok(()) }
    }

    async fn is_any_old_pod_left(&self) -> Result<bool, Error> {
        let old: Vec<_> = self.old().map(|at| &self.sets[at]).collect();
        if old.iter().any(|set| counts(set).replicas > 0) {
            return Ok(true);
        }
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &self.deployment.namespace().unwrap_or_default());
        let pods = api.list(&ListParams::default()).await?;
        Ok(pods.items.iter().any(|pod| {
            let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
            let owner = pod.owner_references().iter().find(|owner| owner.controller == Some(true));
            let is_old = owner.is_some_and(|owner| old.iter().any(|set| set.uid().as_ref() == Some(&owner.uid)));
            is_old && !matches!(phase, Some("Failed" | "Succeeded"))
        }))
    }

    /// Whether all pods are new and available.
    pub fn is_complete(&self) -> bool {
        let DeploymentStatus { updated_replicas, replicas, available_replicas, observed_generation, .. } = self.status;
        [updated_replicas, replicas, available_replicas].iter().all(|count| count.unwrap_or(0) == self.replicas)
            && observed_generation.unwrap_or(0) >= self.deployment.metadata.generation.unwrap_or(0)
    }
}
