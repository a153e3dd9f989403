//! The world of a recording at one moment: the last version of every object that still exists.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::object;
use crate::recording::{Change, Version};

/// The kind of Deployments.
pub(super) const DEPLOYMENT: &str = "Deployment";
/// The kinds of other workloads that have a pod template.
pub(super) const STATEFUL_SET: &str = "StatefulSet";
pub(super) const DAEMON_SET: &str = "DaemonSet";
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
type Names<'a> = BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<&'a str>>>;

/// Every object that exists, by kind and name; Deployments and ReplicaSets also by UID, and what each controls.
#[derive(Debug, Default, Clone)]
pub(super) struct World<'a> {
    objects: BTreeMap<(&'a str, &'a str), &'a Value>,
    /// The names of objects that others may be controlled by, by kind and UID.
    owners: Names<'a>,
    /// The names of what an owner controls, by kind and the owner's UID.
    controlled: Names<'a>,
}

impl<'a> World<'a> {
    /// Apply one version; what was there before.
    pub(super) fn apply(&mut self, version: &'a Version) -> Option<&'a Value> {
        let after = (version.change != Change::Deleted).then_some(&*version.object);
        self.put((&version.kind, &version.name), after)
    }

    /// An object is as `after` from now on, or gone; what was there before.
    pub(super) fn put(&mut self, (kind, name): (&'a str, &'a str), after: Option<&'a Value>) -> Option<&'a Value> {
        let before = match after {
            Some(after) => self.objects.insert((kind, name), after),
            None => self.objects.remove(&(kind, name)),
        };
        if [DEPLOYMENT, REPLICA_SET].contains(&kind) {
            self.index(Index::Owners, (kind, name), before.map(object::uid), after.map(object::uid));
        }
        if [REPLICA_SET, POD].contains(&kind) {
            let owner = object::controller_uid;
            self.index(Index::Controlled, (kind, name), before.and_then(owner), after.and_then(owner));
        }
        before
    }

    /// All objects of a kind, by name.
    pub(super) fn all(&self, kind: &'a str) -> impl Iterator<Item = &'a Value> + use<'a, '_> {
        self.objects.range((kind, "")..).take_while(move |((of, _), _)| *of == kind).map(|(_, object)| *object)
    }

    /// The ReplicaSets or pods that this one controls, by name.
    pub(super) fn controlled(&self, kind: &'a str, owner: &Value) -> impl Iterator<Item = &'a Value> + use<'a, '_> {
        let names = self.controlled.get(kind).and_then(|all| all.get(object::uid(owner)));
        names.into_iter().flatten().filter_map(move |name| self.get(kind, name))
    }

    /// The Deployment that controls a ReplicaSet.
    pub(super) fn deployment_of(&self, replica_set: &Value) -> Option<&'a Value> {
        self.with_uid(DEPLOYMENT, object::controller_uid(replica_set)?).next()
    }

    /// The Deployments or ReplicaSets with a UID; there is one, or none.
    pub(super) fn with_uid(&self, kind: &'a str, uid: &str) -> impl Iterator<Item = &'a Value> + use<'a, '_> {
        let names = self.owners.get(kind).and_then(|all| all.get(uid));
        names.into_iter().flatten().filter_map(move |name| self.get(kind, name))
    }

    /// One object.
    pub(super) fn get(&self, kind: &str, name: &str) -> Option<&'a Value> {
        self.objects.get(&(kind, name)).copied()
    }

    fn index(&mut self, index: Index, (kind, name): (&'a str, &'a str), was: Option<&'a str>, is: Option<&'a str>) {
        let index = match index {
            Index::Owners => &mut self.owners,
            Index::Controlled => &mut self.controlled,
        };
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
            index.entry(is).or_default().insert(name);
        }
    }
}

/// Which of the world's indexes.
#[derive(Clone, Copy)]
enum Index {
    Owners,
    Controlled,
}
