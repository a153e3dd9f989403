//! Whom a change wakes: one file for each controller.
//!
//! Pure: a change goes into the cache, and the keys to look at come out.

mod deployments;
mod replica_sets;

use std::sync::Arc;
use std::time::Duration;

use super::{Cache, Key};
use crate::model::{Deployment, Pod, ReplicaSet};
use crate::settings::ControllerName;

/// An object that came, changed or went: its place, and how it is now.
#[derive(Debug)]
pub(crate) enum Change {
    Deployment(Key, Option<Arc<Deployment>>),
    ReplicaSet(Key, Option<Arc<ReplicaSet>>),
    Pod(Key, Option<Arc<Pod>>),
}

/// Whom a change wakes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Woken {
    pub(crate) deployments: Vec<Key>,
    pub(crate) replica_sets: Vec<Wake>,
}

/// Why a ReplicaSet is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Something about it has changed.
    Changed(Key),
    /// It is to be looked at after a while.
    After(Key, Duration),
    /// A pod of it has appeared.
    PodCame(Key),
    /// A pod of it, the second key, is on its way out, or gone.
    PodWent(Key, Key),
    /// It is gone, with its UID: nothing is expected of it any more.
    Gone(Key, String),
}

impl Cache {
    /// Takes a change in, and returns whom it wakes.
    pub(crate) fn take(&mut self, change: Change) -> Woken {
        let (deployment, replica_set) = (ControllerName::Deployment, ControllerName::ReplicaSet);
        let mut woken = Woken::default();
        match change {
            Change::Deployment(key, now) => {
                self.put_deployment(&key, now);
                woken.deployments.extend(self.wakes(deployment).then_some(key));
            }
            Change::ReplicaSet(key, now) => {
                let before = self.put_replica_set(&key, now);
                let now = self.replica_set(&key);
                if self.wakes(deployment) {
                    woken.deployments = self.woken_by_replica_set(before.as_deref(), now.as_deref());
                }
                if self.wakes(replica_set) {
                    woken.replica_sets = replica_sets::woken_by_itself(key, before.as_deref(), now.as_deref());
                }
            }
            Change::Pod(key, now) => {
                let before = self.put_pod(&key, now.clone());
                if self.wakes(deployment)
                    && let (Some(before), None) = (&before, &now)
                {
                    woken.deployments.extend(self.woken_by_deleted_pod(before));
                }
                if self.wakes(replica_set) {
                    woken.replica_sets = self.woken_by_pod(&key, before.as_deref(), now.as_deref());
                }
            }
        }
        woken
    }

    fn wakes(&self, controller: ControllerName) -> bool {
        self.controllers.contains(&controller)
    }
}
