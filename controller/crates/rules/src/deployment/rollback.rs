//! `deprecated.deployment.rollback.to`: rolls back by annotation, the remains of the rollback in
//! `extensions/v1beta1`.
//!
//! Upstream: `rollback`, `getRollbackTo`. The annotation names a revision; 0 means the previous
//! one. It is removed whether or not the rollback was possible. `kubectl rollout undo` does not use
//! it.
//!
//! Cases: `rollback/to-revision`, `rollback/annotations`, `rollback/not-found`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rollout_model::{ReplicaSet, names, without_label};

use super::plan::{DeploymentAction, DeploymentChange, EventKind};
use super::revision;
use super::sync::{DeploymentSync, SyncStep};

impl DeploymentSync<'_> {
    /// The requested revision. A value that is not a number is ignored.
    pub(super) fn rollback_request(&self) -> Option<i64> {
        self.deployment.meta.annotations.get(names::ROLLBACK_TO)?.parse().ok()
    }

    pub(super) fn roll_back(&mut self, owned: &[Arc<ReplicaSet>], requested: i64) -> SyncStep<()> {
        let sets = self.find_replica_sets(owned, true)?;
        let revision = if requested == 0 { revision::last_revision(sets.all()) } else { requested };
        if requested == 0 && revision == 0 {
            return self.reject_rollback(names::event::ROLLBACK_NOT_FOUND, "Unable to find last revision.".to_owned());
        }
        let Some(target) = sets.all().find(|rs| rs.revision() == Some(revision)) else {
            let message = "Unable to find the revision to rollback to.".to_owned();
            return self.reject_rollback(names::event::ROLLBACK_NOT_FOUND, message);
        };
        let name = self.deployment.meta.name.clone();
        if self.deployment.template().is_same(target.template()) {
            let message = format!("The rollback revision contains the same template as current deployment {name:?}");
            return self.reject_rollback(names::event::ROLLBACK_UNCHANGED, message);
        }
        // The Deployment takes over the user's annotations from the ReplicaSet. Otherwise the next
        // sync would overwrite those with the Deployment's.
        let never_copied = |key: &str| names::NOT_COPIED.contains(&key);
        let annotations = Arc::make_mut(&mut self.deployment.meta.annotations);
        annotations.retain(|key, _| never_copied(key));
        let of_target = BTreeMap::clone(&target.meta.annotations);
        annotations.extend(of_target.into_iter().filter(|(key, _)| !never_copied(key)));
        let template = without_label(target.template().value(), names::POD_TEMPLATE_HASH);
        self.write_deployment(Some(template))?;
        let message = format!("Rolled back deployment {name:?} to revision {revision}");
        self.event(EventKind::Normal, names::event::ROLLBACK, message);
        Ok(())
    }

    fn reject_rollback(&mut self, reason: &'static str, message: String) -> SyncStep<()> {
        self.event(EventKind::Warning, reason, message);
        self.write_deployment(None)
    }

    fn write_deployment(&mut self, template: Option<serde_json::Value>) -> SyncStep<()> {
        self.mark_deployment_written()?;
        let mut annotations = BTreeMap::clone(&self.deployment.meta.annotations);
        annotations.remove(names::ROLLBACK_TO);
        self.push(DeploymentAction::UpdateDeployment(DeploymentChange { template, annotations }));
        Ok(())
    }
}
