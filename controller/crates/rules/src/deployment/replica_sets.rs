//! `spec.template`: finds the new ReplicaSet, which has this template; all others are old.
//!
//! Upstream: `FindNewReplicaSet`, `FindOldReplicaSets`, `getNewReplicaSet`. The new ReplicaSet is
//! the oldest one whose template equals the Deployment's, except for the hash label. All others are
//! old, including further ones with the same template (issue 40415).
//!
//! Cases: `adoption/twin-comes-later`, `status/min-ready-seconds-raised`,
//! `annotations/replicaset-revision-unparsable`.

use std::sync::Arc;

use rollout_model::{Condition, ReplicaSet, names};

use super::plan::ReplicaSetChange;
use super::revision;
use super::sync::{DeploymentSync, SyncStep};

/// The ReplicaSets of one Deployment, new and old.
#[derive(Debug, Clone)]
pub(super) struct OwnedReplicaSets {
    /// The ReplicaSet with the Deployment's template, if it exists.
    pub(super) new: Option<Arc<ReplicaSet>>,
    /// The other ReplicaSets, oldest first.
    pub(super) old: Vec<Arc<ReplicaSet>>,
}

impl OwnedReplicaSets {
    /// The old ReplicaSets, then the new one.
    pub(super) fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new).map(Arc::as_ref)
    }

    /// Old ReplicaSets with `spec.replicas` above 0.
    pub(super) fn active_old(&self) -> Vec<Arc<ReplicaSet>> {
        self.old.iter().filter(|rs| rs.is_active()).cloned().collect()
    }
}

impl DeploymentSync<'_> {
    /// Finds the new and old ReplicaSets, updates the new one's annotations and `minReadySeconds`,
    /// sets the Deployment's revision, and with `create` creates a missing new ReplicaSet
    /// (upstream: `getAllReplicaSetsAndSyncRevision`).
    ///
    /// It always reads the cached versions. A second call in one sync would therefore repeat the
    /// first call's write, which ends the sync.
    pub(super) fn find_replica_sets(&mut self, owned: &[Arc<ReplicaSet>], create: bool) -> SyncStep<OwnedReplicaSets> {
        let template = self.deployment.template();
        let mut matching = owned.iter().filter(|rs| rs.template().is_same(template));
        let new = matching.next().cloned();
        let old: Vec<_> =
            owned.iter().filter(|rs| new.as_ref().is_none_or(|new| new.meta.uid != rs.meta.uid)).cloned().collect();
        let next_revision = revision::max_revision(old.iter().map(Arc::as_ref)).wrapping_add(1);
        let new = match new {
            Some(rs) => Some(self.update_new_replica_set(&rs, next_revision)?),
            None if create => Some(self.create_new_replica_set(&old, next_revision)?),
            None => None,
        };
        Ok(OwnedReplicaSets { new, old })
    }

    fn update_new_replica_set(&mut self, rs: &Arc<ReplicaSet>, next_revision: i64) -> SyncStep<Arc<ReplicaSet>> {
        let update = revision::annotation_update(&self.deployment, &rs.meta.annotations, next_revision);
        let desired = self.deployment.spec.min_ready_seconds;
        let ready_seconds = (rs.spec.min_ready_seconds != desired).then_some(desired);
        if update.is_needed || ready_seconds.is_some() {
            let change = ReplicaSetChange {
                min_ready_seconds: ready_seconds,
                annotations: update.annotations,
                ..Default::default()
            };
            return self.update_replica_set(rs, change);
        }
        let mut changed = self.set_revision(rs.annotation(names::REVISION).unwrap_or_default());
        let deadline = self.deployment.progress_deadline_seconds().is_some();
        let conditions = &mut self.deployment.status.conditions;
        if deadline && Condition::find(conditions, names::condition::PROGRESSING).is_none() {
            let message = format!("Found new replica set {:?}", rs.meta.name);
            let (kind, reason) = (names::condition::PROGRESSING, names::reason::FOUND_NEW_REPLICA_SET);
            Condition::set(conditions, Condition::new(kind, names::status::TRUE, reason, message, self.now));
            changed = true;
        }
        if changed {
            self.write_status(self.deployment.status.clone())?;
        }
        Ok(rs.clone())
    }

    /// Sets the revision of the working copy and returns whether that changed it (upstream:
    /// `SetDeploymentRevision`).
    pub(super) fn set_revision(&mut self, revision: &str) -> bool {
        let annotations = &self.deployment.meta.annotations;
        if annotations.get(names::REVISION).map_or("", String::as_str) == revision {
            return false;
        }
        let annotations = Arc::make_mut(&mut self.deployment.meta.annotations);
        annotations.insert(names::REVISION.to_owned(), revision.to_owned());
        true
    }
}
