//! The state of a recording at one moment: the last version of every object that still exists.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::sync::Arc;

use lockstep_recording::{ChangeType, ObjectVersion};
use serde_json::Value;

use super::object;

pub(super) const DEPLOYMENT: &str = "Deployment";
/// Kinds of other workloads that have a pod template.
pub(super) const STATEFUL_SET: &str = "StatefulSet";
pub(super) const DAEMON_SET: &str = "DaemonSet";
pub(super) const ROLLOUT: &str = "Rollout";
pub(super) const CRON_JOB: &str = "CronJob";
/// A restart of a CronJob creates one; a restart of a Job recreates it.
pub(super) const JOB: &str = "Job";
pub(super) const REPLICA_SET: &str = "ReplicaSet";
pub(super) const POD: &str = "Pod";
pub(super) const EVENT: &str = "Event";

/// Names by kind and UID.
type NameIndex<'a> = BTreeMap<&'a str, BTreeMap<String, BTreeSet<&'a str>>>;

/// An object, either borrowed from the recording or parsed as long as it exists.
#[derive(Debug, Clone)]
pub(super) enum RecordedObject<'a> {
    /// It is parsed in the recording.
    Recorded(&'a Value),
    /// It is packed in the recording.
    Parsed(Arc<Value>),
}

impl Deref for RecordedObject<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Recorded(object) => object,
            Self::Parsed(object) => object,
        }
    }
}

/// Every object that exists, by kind and name; Deployments and ReplicaSets also by UID, with the
/// objects that each controls.
#[derive(Debug, Default, Clone)]
pub(super) struct RecordedObjects<'a> {
    /// The objects by kind and name.
    objects: BTreeMap<&'a str, BTreeMap<&'a str, RecordedObject<'a>>>,
    /// The names of objects that may control others, by kind and UID.
    owners: NameIndex<'a>,
    /// The names of controlled objects, by kind and the owner's UID.
    controlled: NameIndex<'a>,
}

impl<'a> RecordedObjects<'a> {
    /// Applies a version whose object this is. Returns the object before.
    pub(super) fn apply(
        &mut self,
        version: &'a ObjectVersion,
        object: RecordedObject<'a>,
    ) -> Option<RecordedObject<'a>> {
        let after = (version.change != ChangeType::Deleted).then_some(object);
        self.replace((&version.kind, &version.name), after)
    }

    /// Replaces an object, or removes it if `after` is `None`. Returns the object before.
    pub(super) fn replace(
        &mut self,
        (kind, name): (&'a str, &'a str),
        after: Option<RecordedObject<'a>>,
    ) -> Option<RecordedObject<'a>> {
        let all = self.objects.entry(kind).or_default();
        let before = match after {
            Some(after) => all.insert(name, after),
            None => all.remove(name),
        };
        let (was, is) = (before.as_deref(), all.get(name).map(|object| &**object));
        if [DEPLOYMENT, REPLICA_SET].contains(&kind) {
            update_index(&mut self.owners, (kind, name), was.map(object::uid), is.map(object::uid));
        }
        if [REPLICA_SET, POD].contains(&kind) {
            let owner = object::controller_uid;
            update_index(&mut self.controlled, (kind, name), was.and_then(owner), is.and_then(owner));
        }
        before
    }

    /// All objects of a kind, by name.
    pub(super) fn of_kind<'w>(&'w self, kind: &str) -> impl Iterator<Item = &'w Value> + use<'w> {
        self.objects.get(kind).into_iter().flat_map(BTreeMap::values).map(|object| &**object)
    }

    /// The names of all objects of a kind, in order.
    pub(super) fn names(&self, kind: &str) -> impl Iterator<Item = &'a str> {
        self.objects.get(kind).into_iter().flat_map(BTreeMap::keys).copied()
    }

    /// The ReplicaSets or pods that this object controls, by name.
    pub(super) fn controlled<'w>(&'w self, kind: &str, owner: &Value) -> impl Iterator<Item = &'w Value> {
        let names = self.controlled.get(kind).and_then(|all| all.get(object::uid(owner)));
        names.into_iter().flatten().filter_map(move |name| self.get(kind, name))
    }

    /// The Deployment that controls a ReplicaSet.
    pub(super) fn deployment_of(&self, replica_set: &Value) -> Option<&Value> {
        self.with_uid(DEPLOYMENT, object::controller_uid(replica_set)?).next()
    }

    /// The Deployments or ReplicaSets with a UID; there is at most one.
    pub(super) fn with_uid(&self, kind: &str, uid: &str) -> impl Iterator<Item = &Value> {
        self.names_with_uid(kind, uid).filter_map(move |name| self.get(kind, name))
    }

    /// The names of the Deployments or ReplicaSets with a UID.
    pub(super) fn names_with_uid(&self, kind: &str, uid: &str) -> impl Iterator<Item = &'a str> {
        self.owners.get(kind).and_then(|all| all.get(uid)).into_iter().flatten().copied()
    }

    pub(super) fn get(&self, kind: &str, name: &str) -> Option<&Value> {
        self.objects.get(kind)?.get(name).map(|object| &**object)
    }
}

fn update_index<'a>(index: &mut NameIndex<'a>, (kind, name): (&'a str, &'a str), was: Option<&str>, is: Option<&str>) {
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
