//! Which ReplicaSet is the new one, and which are old.
//!
//! Upstream: `FindNewReplicaSet`, `FindOldReplicaSets`, `getNewReplicaSet`. The new ReplicaSet is
//! the oldest one whose template means the same as the Deployment's; every other one is old,
//! duplicates included (issue 40415).
//!
//! Cases: `adoption/twin-comes-later`, `status/min-ready-seconds-raised`,
//! `annotations/replicaset-revision-unparsable`.

use std::sync::Arc;

use super::plan::ReplicaSetChange;
use super::revision;
use super::sync::{Flow, Sync};
use crate::model::{Condition, ReplicaSet, names};

/// The ReplicaSets of one Deployment.
#[derive(Debug, Clone)]
pub(super) struct Sets {
    /// The one with the Deployment's template, if there is one.
    pub(super) new: Option<Arc<ReplicaSet>>,
    /// All others, oldest first.
    pub(super) old: Vec<Arc<ReplicaSet>>,
}

impl Sets {
    /// All of them: the old ones, then the new one.
    pub(super) fn all(&self) -> impl Iterator<Item = &ReplicaSet> {
        self.old.iter().chain(&self.new).map(Arc::as_ref)
    }

    /// Old ones that have pods asked of them.
    pub(super) fn active_old(&self) -> Vec<Arc<ReplicaSet>> {
        self.old.iter().filter(|rs| rs.is_active()).cloned().collect()
    }
}

impl Sync<'_> {
    /// Finds new and old, brings the new one's annotations and `minReadySeconds` up to date, gives
    /// the Deployment its revision, and, if asked to, creates a new one that is missing (upstream:
    /// `getAllReplicaSetsAndSyncRevision`).
    ///
    /// Always from the cache: called twice in one sync it meets its own first write, and ends the
    /// sync.
    pub(super) fn find_sets(&mut self, owned: &[Arc<ReplicaSet>], create: bool) -> Flow<Sets> {
        let template = self.deployment.template();
        let mut same = owned.iter().filter(|rs| rs.template().is_same(template));
        let new = same.next().cloned();
        let old: Vec<_> =
            owned.iter().filter(|rs| new.as_ref().is_none_or(|new| new.meta.uid != rs.meta.uid)).cloned().collect();
        let next_revision = revision::highest(old.iter().map(Arc::as_ref)).wrapping_add(1);
        let new = match new {
            Some(rs) => Some(self.refresh_new(&rs, next_revision)?),
            None if create => Some(self.create(&old, next_revision)?),
            None => None,
        };
        Ok(Sets { new, old })
    }

    fn refresh_new(&mut self, rs: &Arc<ReplicaSet>, next_revision: i64) -> Flow<Arc<ReplicaSet>> {
        let update = revision::update(&self.deployment, &rs.meta.annotations, next_revision);
        let wanted = self.deployment.spec.min_ready_seconds;
        let ready_seconds = (rs.spec.min_ready_seconds != wanted).then_some(wanted);
        if update.counts || ready_seconds.is_some() {
            let change =
                ReplicaSetChange { min_ready_seconds: ready_seconds, annotations: update.set, ..Default::default() };
            return self.update_replica_set(rs, change);
        }
        let mut changed = self.set_revision(rs.annotation(names::REVISION).unwrap_or_default());
        let deadline = self.deployment.progress_deadline().is_some();
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

    /// Gives the working copy a revision; whether that changes it (upstream:
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
