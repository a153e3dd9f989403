//! Which Deployments a change wakes.
//!
//! Upstream: the event handlers of deployment_controller.go. Ownership by UID decides; labels only where nobody owns.

use std::sync::Arc;

use super::{Cache, Key};
use crate::model::{Deployment, OwnerReference, Pod, ReplicaSet};

/// An object that came, changed or went: its place, and how it is now.
#[derive(Debug)]
pub(crate) enum Change {
    Deployment(Key, Option<Arc<Deployment>>),
    ReplicaSet(Key, Option<Arc<ReplicaSet>>),
    Pod(Key, Option<Pod>),
}

impl Cache {
    /// Takes a change in, and returns the Deployments to look at.
    pub(crate) fn take(&mut self, change: Change) -> Vec<Key> {
        match change {
            Change::Deployment(key, now) => {
                self.put_deployment(&key, now);
                vec![key]
            }
            Change::ReplicaSet(key, now) => {
                let before = self.put_replica_set(&key, now.as_ref());
                self.woken_by_replica_set(before.as_deref(), now.as_deref())
            }
            Change::Pod(key, Some(now)) => {
                self.put_pod(&key, Some(now));
                Vec::new()
            }
            Change::Pod(key, None) => {
                let before = self.put_pod(&key, None);
                before.and_then(|pod| self.woken_by_deleted_pod(&pod)).into_iter().collect()
            }
        }
    }

    fn woken_by_replica_set(&self, before: Option<&ReplicaSet>, now: Option<&ReplicaSet>) -> Vec<Key> {
        let Some(rs) = now.or(before) else { return Vec::new() };
        let namespace = rs.meta.namespace.as_str();
        let owner = rs.meta.controller();
        let old_owner = before.and_then(|before| before.meta.controller());
        let owner_changed = before.is_some() && owner != old_owner;
        let mut woken = Vec::new();
        if let (Some(before), Some(now)) = (before, now) {
            if before.meta.resource_version == now.meta.resource_version {
                return woken;
            }
            if owner_changed {
                woken.extend(old_owner.and_then(|owner| self.owner(namespace, owner)));
            }
        }
        if let Some(owner) = owner {
            woken.extend(self.owner(namespace, owner));
            return woken;
        }
        // Nobody's: whoever could adopt it, if that is news. One that is going or gone is of no interest.
        let news = match (before, now) {
            (_, None) => false,
            (None, Some(now)) => !now.meta.is_deleting(),
            (Some(before), Some(now)) => owner_changed || before.meta.labels != now.meta.labels,
        };
        if news {
            woken.extend(self.matching(rs));
        }
        woken
    }

    /// A Recreate Deployment waits for its last pod to be gone; only that one wakes it (pods that have ended but are still there
    /// hold the wake-up back, issue 128798).
    fn woken_by_deleted_pod(&self, pod: &Pod) -> Option<Key> {
        let owner = pod.controller.as_ref().filter(|owner| owner.kind == "ReplicaSet")?;
        let rs = self.replica_set(&Key::new(&pod.namespace, &owner.name)).filter(|rs| rs.meta.uid == owner.uid)?;
        let key = self.owner(&pod.namespace, rs.meta.controller()?)?;
        let deployment = self.deployment(&key).filter(|deployment| deployment.spec.strategy.is_recreate())?;
        let mut owned = self.owned_by(&key.namespace, &deployment.meta.uid);
        owned.retain(|rs| selects(&deployment, rs));
        let alone = owned.iter().all(|rs| self.pods_of(&rs.meta.uid).next().is_none());
        alone.then_some(key)
    }

    /// The Deployment that an owner reference means, if it is still the same one.
    fn owner(&self, namespace: &str, owner: &OwnerReference) -> Option<Key> {
        if owner.kind != "Deployment" {
            return None;
        }
        let key = Key::new(namespace, &owner.name);
        self.deployment(&key).filter(|deployment| deployment.meta.uid == owner.uid).map(|_| key)
    }

    fn matching(&self, rs: &ReplicaSet) -> Vec<Key> {
        if rs.meta.labels.is_empty() {
            return Vec::new();
        }
        self.deployments_in(&rs.meta.namespace)
            .filter(|deployment| selects(deployment, rs))
            .map(|deployment| Key::new(&deployment.meta.namespace, &deployment.meta.name))
            .collect()
    }
}

/// An empty or invalid selector selects nothing.
fn selects(deployment: &Deployment, rs: &ReplicaSet) -> bool {
    let selector = deployment.spec.selector.as_ref().filter(|selector| !selector.is_empty());
    selector.is_some_and(|selector| selector.matches(&rs.meta.labels).unwrap_or(false))
}
