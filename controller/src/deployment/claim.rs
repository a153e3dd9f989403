//! Whose ReplicaSets these are: adoption of orphans, release of those that match no more.
//!
//! Upstream: `getReplicaSetsForDeployment`, `ClaimReplicaSets`. What decides is the controller
//! owner's UID; labels decide only about orphans and about letting go. The labels are the
//! ReplicaSet's own, not its selector's.
//!
//! Cases: `adoption/released`, `adoption/other-controller`, `adoption/orphan`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::PlanError;
use super::plan::Claim;
use super::sync::{Flow, Sync};
use crate::model::ReplicaSet;

impl Sync<'_> {
    /// The ReplicaSets that this Deployment manages, oldest first, after the changes of ownership
    /// that this plans.
    pub(super) fn claim(&mut self) -> Flow<Vec<Arc<ReplicaSet>>> {
        let deleting = self.deployment.meta.is_deleting();
        let mut owned = Vec::new();
        // A selector without meaning fails the sync even where there is nothing to select from.
        self.matches(&BTreeMap::new())?;
        for rs in &self.observed.replica_sets {
            let (name, uid) = (rs.meta.name.clone(), rs.meta.uid.clone());
            let matches = self.matches(&rs.meta.labels)?;
            match rs.meta.controller() {
                Some(owner) if owner.uid != self.deployment.meta.uid => {}
                Some(_) if matches => owned.push(rs.clone()),
                Some(_) if deleting => {}
                Some(_) => self.plan.claims.push(Claim::Release { name, uid }),
                None if !matches || deleting || rs.meta.is_deleting() => {}
                None => {
                    // The patch makes the cached version out of date, so it cannot be sized in the
                    // same sync.
                    self.outdate(&name);
                    self.plan.claims.push(Claim::Adopt { name, uid });
                    owned.push(rs.clone());
                }
            }
        }
        owned.sort_by(|a, b| a.meta.age_order().cmp(&b.meta.age_order()));
        Ok(owned)
    }

    /// A Deployment without a selector matches nothing.
    fn matches(&self, labels: &BTreeMap<String, String>) -> Flow<bool> {
        let Some(selector) = &self.deployment.spec.selector else {
            return Ok(false);
        };
        Ok(selector.matches(labels).map_err(PlanError::from)?)
    }
}
