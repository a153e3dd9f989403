//! `metadata.ownerReferences`: adopts orphaned ReplicaSets that match `spec.selector` and releases
//! owned ones that no longer match.
//!
//! Upstream: `getReplicaSetsForDeployment`, `ClaimReplicaSets`. The UID of the controller owner
//! decides who owns a ReplicaSet; labels decide only about orphans and about releases. The labels
//! are those of the ReplicaSet itself, not of its selector.
//!
//! Cases: `adoption/released`, `adoption/other-controller`, `adoption/orphan`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rollout_model::ReplicaSet;

use super::plan::PlanError;
use super::sync::{DeploymentSync, SyncStep};
use crate::OwnershipChange;

impl DeploymentSync<'_> {
    /// Plans the changes of ownership, and returns the ReplicaSets that this Deployment owns after
    /// them, oldest first.
    pub(super) fn claim_replica_sets(&mut self) -> SyncStep<Vec<Arc<ReplicaSet>>> {
        let deleting = self.deployment.meta.is_deleting();
        let mut owned = Vec::new();
        // An invalid selector fails the sync even if there is no ReplicaSet.
        self.matches(&BTreeMap::new())?;
        for rs in &self.observed.replica_sets {
            let (name, uid) = (rs.meta.name.clone(), rs.meta.uid.clone());
            let matches = self.matches(&rs.meta.labels)?;
            match rs.meta.controller() {
                Some(owner) if owner.uid != self.deployment.meta.uid => {}
                Some(_) if matches => owned.push(rs.clone()),
                Some(_) if deleting => {}
                Some(_) => self.plan.claims.push(OwnershipChange::Release { name, uid }),
                None if !matches || deleting || rs.meta.is_deleting() => {}
                None => {
                    // The patch makes the cached version out of date, so the same sync cannot scale
                    // the ReplicaSet.
                    self.mark_out_of_date(&name);
                    self.plan.claims.push(OwnershipChange::Adopt { name, uid });
                    owned.push(rs.clone());
                }
            }
        }
        owned.sort_by(|a, b| a.meta.age_order().cmp(&b.meta.age_order()));
        Ok(owned)
    }

    /// A Deployment without a selector matches nothing.
    fn matches(&self, labels: &BTreeMap<String, String>) -> SyncStep<bool> {
        let Some(selector) = &self.deployment.spec.selector else {
            return Ok(false);
        };
        Ok(selector.matches(labels).map_err(PlanError::from)?)
    }
}
