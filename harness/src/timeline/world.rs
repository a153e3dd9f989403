//! The world of a recording at one moment: the last version of every object that still exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use super::object;
use crate::recording::{Change, Version};

/// The kind of Deployments.
pub(super) const DEPLOYMENT: &str = "Deployment";
/// The kinds of other workloads that have a pod template.
pub(super) const STATEFUL_SET: &str = "StatefulSet";
pub(super) const DAEMON_SET: &str = "DaemonSet";
pub(super) const ROLLOUT: &str = "Rollout";
pub(super) const CRON_JOB: &str = "CronJob";
/// The kind of what a restart of a CronJob makes, and a restart of its own kind makes anew.
pub(super) const JOB: &str = "Job";
/// The kind of ReplicaSets.
pub(super) const REPLICA_SET: &str = "ReplicaSet";
/// The kind of pods.
pub(super) const POD: &str = "Pod";
/// The kind of events.
pub(super) const EVENT: &str = "Event";

/// Names by kind and a UID.
type Names<'a> = BTreeMap<&'a str, BTreeMap<String, BTreeSet<&'a str>>>;

/// An object: that of the recording, or parsed for the time that it exists.
#[derive(Debug, Clone)]
pub(super) enum Held<'a> {
    /// Parsed in the recording.
    Recorded(&'a Value),
    /// Packed in the recording.
    Parsed(Arc<Value>),
}

impl Deref for Held<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Recorded(object) => object,
            Self::Parsed(object) => object,
        }
    }
}

/// Every object that exists, by kind and name; Deployments and ReplicaSets also by UID, and what
/// each controls.
#[derive(Debug, Default, Clone)]
pub(super) struct World<'a> {
    /// By kind and name.
    objects: BTreeMap<&'a str, BTreeMap<&'a str, Held<'a>>>,
    /// The names of objects that others may be controlled by, by kind and UID.
    owners: Names<'a>,
    /// The names of what an owner controls, by kind and the owner's UID.
    controlled: Names<'a>,
}

impl<'a> World<'a> {
    /// Apply one version, whose object this is; what was there before.
    pub(super) fn apply(&mut self, version: &'a Version, object: Held<'a>) -> Option<Held<'a>> {
        let after = (version.change != Change::Deleted).then_some(object);
        self.put((&version.kind, &version.name), after)
    }

    /// An object is as `after` from now on, or gone; what was there before.
    pub(super) fn put(&mut self, (kind, name): (&'a str, &'a str), after: Option<Held<'a>>) -> Option<Held<'a>> {
        let all = self.objects.entry(kind).or_default();
        let before = match after {
            Some(after) => all.insert(name, after),
            None => all.remove(name),
        };
        let (was, is) = (before.as_deref(), all.get(name).map(|object| &**object));
        if [DEPLOYMENT, REPLICA_SET].contains(&kind) {
            index(&mut self.owners, (kind, name), was.map(object::uid), is.map(object::uid));
        }
        if [REPLICA_SET, POD].contains(&kind) {
            let owner = object::controller_uid;
            index(&mut self.controlled, (kind, name), was.and_then(owner), is.and_then(owner));
        }
        before
    }

    /// All objects of a kind, by name.
    pub(super) fn all<'w>(&'w self, kind: &str) -> impl Iterator<Item = &'w Value> + use<'w> {
        self.objects.get(kind).into_iter().flat_map(BTreeMap::values).map(|object| &**object)
    }

    /// The names of all objects of a kind, in order.
    pub(super) fn names(&self, kind: &str) -> impl Iterator<Item = &'a str> {
        self.objects.get(kind).into_iter().flat_map(BTreeMap::keys).copied()
    }

    /// The ReplicaSets or pods that this one controls, by name.
    pub(super) fn controlled<'w>(&'w self, kind: &str, owner: &Value) -> impl Iterator<Item = &'w Value> {
        let names = self.controlled.get(kind).and_then(|all| all.get(object::uid(owner)));
        names.into_iter().flatten().filter_map(move |name| self.get(kind, name))
    }

    /// The Deployment that controls a ReplicaSet.
    pub(super) fn deployment_of(&self, replica_set: &Value) -> Option<&Value> {
        self.with_uid(DEPLOYMENT, object::controller_uid(replica_set)?).next()
    }

    /// The Deployments or ReplicaSets with a UID; there is one, or none.
    pub(super) fn with_uid(&self, kind: &str, uid: &str) -> impl Iterator<Item = &Value> {
        self.names_with_uid(kind, uid).filter_map(move |name| self.get(kind, name))
    }

    /// Their names.
    pub(super) fn names_with_uid(&self, kind: &str, uid: &str) -> impl Iterator<Item = &'a str> {
        self.owners.get(kind).and_then(|all| all.get(uid)).into_iter().flatten().copied()
    }

    /// One object.
    pub(super) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(kind)?.get(name).map(|object| &**object)
    }
}

fn index<'a>(index: &mut Names<'a>, (kind, name): (&'a str, &'a str), was: Option<&str>, is: Option<&str>) {
    if was == is {
        return;
    }
    let index = index.entry(kind).or_default();
    if let Some(was) = was
        && let Some(names) = index.get_mut(was)
    {
        names.remove(name);
        if names.is_empty() {
            index.remove(was);
        }
    }
    if let Some(is) = is {
        index.entry(is.to_owned()).or_default().insert(name);
    }
}
