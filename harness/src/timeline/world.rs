//! The world of a recording at one moment: the last version of every object that still exists.

use std::collections::BTreeMap;

use serde_json::Value;

use super::object;
use crate::recording::{Change, Version};

/// The kind of Deployments.
pub(super) const DEPLOYMENT: &str = "Deployment";
/// The kinds of other workloads that have a pod template.
pub(super) const STATEFUL_SET: &str = "StatefulSet";
pub(super) const DAEMON_SET: &str = "DaemonSet";
pub(super) const CRON_JOB: &str = "CronJob";
/// The kind of ReplicaSets.
pub(super) const REPLICA_SET: &str = "ReplicaSet";
/// The kind of pods.
pub(super) const POD: &str = "Pod";
/// The kind of events.
pub(super) const EVENT: &str = "Event";

/// Every object that exists, by kind and name.
#[derive(Debug, Default, Clone)]
pub(super) struct World<'a> {
    objects: BTreeMap<(&'a str, &'a str), &'a Value>,
}

impl<'a> World<'a> {
    /// Apply one version; what was there before.
    pub(super) fn apply(&mut self, version: &'a Version) -> Option<&'a Value> {
        let key = (version.kind.as_str(), version.name.as_str());
        match version.change {
            Change::Added | Change::Modified => self.objects.insert(key, &version.object),
            Change::Deleted => self.objects.remove(&key),
        }
    }

    /// All objects of a kind, by name.
    pub(super) fn all(&self, kind: &'a str) -> impl Iterator<Item = &'a Value> + use<'a, '_> {
        self.objects.range((kind, "")..).take_while(move |((of, _), _)| *of == kind).map(|(_, object)| *object)
    }

    /// The objects of a kind that this one controls.
    pub(super) fn controlled(&self, kind: &'a str, owner: &Value) -> impl Iterator<Item = &'a Value> + use<'a, '_> {
        let owner = object::uid(owner).to_owned();
        self.all(kind).filter(move |object| object::controller_uid(object) == Some(owner.as_str()))
    }

    /// The Deployment that controls a ReplicaSet.
    pub(super) fn deployment_of(&self, replica_set: &Value) -> Option<&'a Value> {
        let uid = object::controller_uid(replica_set)?;
        self.all(DEPLOYMENT).find(|deployment| object::uid(deployment) == uid)
    }
}
