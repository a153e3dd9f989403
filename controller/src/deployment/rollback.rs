//! Rolling back by annotation, what is left of `extensions/v1beta1`'s rollback.
//!
//! Upstream: `rollback`, `getRollbackTo`. The annotation asks for a revision, 0 for the one before;
//! it is removed whether or not it could be served. kubectl's undo does not use it.
//!
//! Cases: `rollback/to-revision`, `rollback/annotations`, `rollback/not-found`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::plan::{Action, DeploymentChange, EventKind};
use super::revision;
use super::sync::{Flow, Sync};
use crate::model::{ReplicaSet, names, without_label};

impl Sync<'_> {
    /// The revision asked for; what is not a number asks for nothing.
    pub(super) fn rollback_request(&self) -> Option<i64> {
        self.deployment.meta.annotations.get(names::ROLLBACK_TO)?.parse().ok()
    }

    pub(super) fn roll_back(&mut self, owned: &[Arc<ReplicaSet>], asked: i64) -> Flow<()> {
        let sets = self.find_sets(owned, true)?;
        let revision = if asked == 0 { revision::second_highest(sets.all()) } else { asked };
        if asked == 0 && revision == 0 {
            return self.give_up(names::event::ROLLBACK_NOT_FOUND, "Unable to find last revision.".to_owned());
        }
        let Some(target) = sets.all().find(|rs| rs.revision() == Some(revision)) else {
            let message = "Unable to find the revision to rollback to.".to_owned();
            return self.give_up(names::event::ROLLBACK_NOT_FOUND, message);
        };
        let name = self.deployment.meta.name.clone();
        if self.deployment.template().is_same(target.template()) {
            let message = format!("The rollback revision contains the same template as current deployment {name:?}");
            return self.give_up(names::event::ROLLBACK_UNCHANGED, message);
        }
        // The Deployment takes the ReplicaSet's user annotations, or else the ReplicaSet would be
        // given the Deployment's.
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

    fn give_up(&mut self, reason: &'static str, message: String) -> Flow<()> {
        self.event(EventKind::Warning, reason, message);
        self.write_deployment(None)
    }

    fn write_deployment(&mut self, template: Option<serde_json::Value>) -> Flow<()> {
        self.claim_deployment_write()?;
        let mut annotations = BTreeMap::clone(&self.deployment.meta.annotations);
        annotations.remove(names::ROLLBACK_TO);
        self.push(Action::UpdateDeployment(DeploymentChange { template, annotations }));
        Ok(())
    }
}
