//! The store: all objects in order, and a log of all changes.
//!
//! Most readers of the log need only its newest changes. The objects of older changes are packed as
//! JSON text, which takes a tenth of the memory, and are parsed again on access. The beginning of a
//! very long log is dropped, as in etcd's compaction: watches and lists from there get 410.
//!
//! One counter counts all changes, as in etcd; the resourceVersion of an object is the count at its
//! last change. A watch is a position in the log.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::fields::entries::Managers;
use crate::fields::field_manager;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::storage::owner_index::OwnerIndex;
use crate::types::kinds::{KindOrder, ResourceKind};

/// A change of an object.
#[derive(Debug)]
pub(crate) struct ChangeRecord {
    pub(crate) key: StoreKey,
    before: Option<LoggedObject>,
    after: Option<LoggedObject>,
    last: Option<LoggedObject>,
    pub(crate) version: u64,
}

/// An object in the log, decoded or packed.
#[derive(Debug)]
enum LoggedObject {
    Decoded(Arc<StoredObject>),
    Text { kind: &'static ResourceKind, version: u64, text: Bytes, managers: Managers },
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    objects: BTreeMap<StoreKey, Arc<StoredObject>>,
    owners: OwnerIndex,
    log: Vec<ChangeRecord>,
    /// Changes before this index are packed.
    packed: usize,
    version: u64,
    /// Watches cannot start before this version.
    forgotten: u64,
    /// The version of the last dropped change, by kind.
    dropped: BTreeMap<KindOrder, u64>,
}

/// The number of newest changes that stay decoded: more than any watch has pending.
const DECODED_CHANGES: usize = 256;

/// The log keeps at least this many of the newest changes, and at most twice as many.
pub(crate) const LOGGED: usize = 20_000;

impl LoggedObject {
    fn object(&self) -> Arc<StoredObject> {
        match self {
            Self::Decoded(object) => Arc::clone(object),
            Self::Text { kind, version, text, managers } => {
                let body = serde_json::from_slice(text).expect("what was written as JSON reads as JSON");
                StoredObject::with_text(kind, body, managers.clone(), *version, text.clone())
            }
        }
    }

    fn pack(&mut self) {
        if let Self::Decoded(object) = self {
            let (text, managers) = (object.untyped_text_without_managers().clone(), object.managers.clone());
            *self = Self::Text { kind: object.kind, version: object.version, text, managers };
        }
    }
}

impl ChangeRecord {
    pub(crate) fn before(&self) -> Option<Arc<StoredObject>> {
        self.before.as_ref().map(LoggedObject::object)
    }

    /// The object after the change; `None` if it was deleted.
    pub(crate) fn after(&self) -> Option<Arc<StoredObject>> {
        self.after.as_ref().map(LoggedObject::object)
    }

    /// The last state of a deleted object, at the version of its deletion.
    pub(crate) fn last(&self) -> Option<Arc<StoredObject>> {
        self.last.as_ref().map(LoggedObject::object)
    }

    fn pack(&mut self) {
        [&mut self.before, &mut self.after, &mut self.last].into_iter().flatten().for_each(LoggedObject::pack);
    }
}

impl Store {
    /// The latest version.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Forgets the changes up to a version: watches and lists from there are refused.
    pub(crate) fn forget(&mut self, version: u64) {
        self.forgotten = self.forgotten.max(version.min(self.version));
    }

    pub(crate) fn get(&self, key: &StoreKey) -> Option<&Arc<StoredObject>> {
        self.objects.get(key)
    }

    /// The objects of a kind in one namespace, or in all if it is empty.
    pub(crate) fn list<'a>(
        &'a self,
        kind: &'static ResourceKind,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Arc<StoredObject>> {
        self.objects_of(kind.order(), namespace)
    }

    fn objects_of<'a>(&'a self, place: KindOrder, namespace: &'a str) -> impl Iterator<Item = &'a Arc<StoredObject>> {
        let from = StoreKey { kind: place, namespace: namespace.to_owned(), name: String::new() };
        self.objects
            .range(from..)
            .take_while(move |(key, _)| key.kind == place && (namespace.is_empty() || key.namespace == namespace))
            .map(|(_, object)| object)
    }

    /// The index of objects by owner.
    pub(crate) fn owners(&self) -> &OwnerIndex {
        &self.owners
    }

    /// The object with a UID; the first, if restored objects share it.
    pub(crate) fn get_by_uid(&self, uid: &str) -> Option<&Arc<StoredObject>> {
        self.get(self.owners.of_uid(uid)?)
    }

    /// All objects in a namespace, in order.
    pub(crate) fn list_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<StoredObject>> {
        // Sorts after every namespace, as those have ASCII names.
        let end_of = |kind: KindOrder| StoreKey { kind, namespace: char::MAX.to_string(), name: String::new() };
        let next = move |kind: KindOrder| self.objects.range((Bound::Excluded(end_of(kind)), Bound::Unbounded)).next();
        let first = self.objects.keys().next().map(|key| key.kind);
        let kinds = std::iter::successors(first, move |kind| next(*kind).map(|(key, _)| key.kind));
        kinds.flat_map(move |kind| self.objects_of(kind, namespace))
    }

    /// The objects of a kind at an older version.
    pub(crate) fn list_at(&self, kind: &'static ResourceKind, namespace: &str, version: u64) -> Vec<Arc<StoredObject>> {
        let mut objects: BTreeMap<StoreKey, Arc<StoredObject>> =
            self.list(kind, namespace).map(|object| (object.key(), Arc::clone(object))).collect();
        let place = kind.order();
        for change in self.log.iter().rev().take_while(|change| change.version > version) {
            if change.key.kind != place || !(namespace.is_empty() || change.key.namespace == namespace) {
                continue;
            }
            match change.before() {
                Some(before) => objects.insert(change.key.clone(), before),
                None => objects.remove(&change.key),
            };
        }
        objects.into_values().collect()
    }

    /// Creates or replaces an object. An equal object is not written.
    pub(crate) fn put(
        &mut self,
        kind: &'static ResourceKind,
        key: StoreKey,
        body: Value,
        managers: Managers,
    ) -> Arc<StoredObject> {
        let before = self.objects.get(&key).cloned();
        let is_same = |before: &&Arc<StoredObject>| {
            field_manager::are_equal(&before.managers, &managers) && is_equal(&before.body, &body)
        };
        if let Some(before) = before.as_ref().filter(is_same) {
            return Arc::clone(before);
        }
        self.record(kind, key, before, (body, managers))
    }

    /// Creates or replaces an object even if it is equal; with this version if it is later than all
    /// others.
    pub(crate) fn restore(
        &mut self,
        kind: &'static ResourceKind,
        key: StoreKey,
        body: Value,
        version: Option<u64>,
    ) -> Arc<StoredObject> {
        self.version = self.version.max(version.unwrap_or(0).saturating_sub(1));
        let before = self.objects.get(&key).cloned();
        self.record(kind, key, before, (body, None))
    }

    fn record(
        &mut self,
        kind: &'static ResourceKind,
        key: StoreKey,
        before: Option<Arc<StoredObject>>,
        (body, managers): (Value, Managers),
    ) -> Arc<StoredObject> {
        self.version += 1;
        let after = StoredObject::new(kind, body, managers, self.version);
        self.owners.update(&key, before.as_deref(), Some(&after));
        self.objects.insert(key.clone(), Arc::clone(&after));
        let (before, logged) = (before.map(LoggedObject::Decoded), Some(LoggedObject::Decoded(Arc::clone(&after))));
        self.append(ChangeRecord { key, before, after: logged, last: None, version: self.version });
        after
    }

    /// Removes an object; returns its last state, at the version of its deletion.
    pub(crate) fn remove(&mut self, key: &StoreKey) -> Option<Arc<StoredObject>> {
        let before = self.objects.remove(key)?;
        self.owners.update(key, Some(&before), None);
        self.version += 1;
        let last = StoredObject::new(before.kind, before.body.clone(), before.managers.clone(), self.version);
        let (before, logged) = (Some(LoggedObject::Decoded(before)), Some(LoggedObject::Decoded(Arc::clone(&last))));
        self.append(ChangeRecord { key: key.clone(), before, after: None, last: logged, version: self.version });
        Some(last)
    }

    fn append(&mut self, change: ChangeRecord) {
        self.log.push(change);
        while self.packed + DECODED_CHANGES < self.log.len() {
            self.log[self.packed].pack();
            self.packed += 1;
        }
        if self.log.len() >= 2 * LOGGED {
            let oldest = self.log.len() - LOGGED;
            self.forget(self.log[oldest - 1].version);
            for change in self.log.drain(..oldest) {
                self.dropped.insert(change.key.kind, change.version);
            }
            self.packed -= oldest;
        }
    }

    /// Whether a relevant change followed a version, or the log lacks changes since then.
    pub(crate) fn has_changed(&self, version: u64, is_relevant: impl Fn(&ChangeRecord) -> bool) -> bool {
        self.lacks_changes(version) || self.since(version).iter().any(is_relevant)
    }

    /// Whether the log has dropped changes after a version.
    pub(crate) fn lacks_changes(&self, version: u64) -> bool {
        self.dropped.keys().any(|kind| self.lacks_changes_of(*kind, version))
    }

    /// Whether the log has dropped changes of a kind after a version. A watch of a kind that never
    /// changes stays valid however much else is written.
    pub(crate) fn lacks_changes_of(&self, kind: KindOrder, version: u64) -> bool {
        self.dropped.get(&kind).is_some_and(|last| version < *last)
    }

    /// The changes after a version that are still in the log, in order.
    pub(crate) fn since(&self, version: u64) -> &[ChangeRecord] {
        let first = self.log.partition_point(|change| change.version <= version);
        &self.log[first..]
    }
}

fn is_equal(old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return false };
    old.len() == new.len()
        && old.iter().all(|(name, value)| match (name.as_str(), new.get(name)) {
            ("metadata", Some(other)) => is_equal_metadata(value, other),
            (_, other) => other == Some(value),
        })
}

/// Compares metadata except for the resourceVersion.
fn is_equal_metadata(old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return false };
    let rest = |map: &serde_json::Map<String, Value>| map.keys().filter(|name| *name != "resourceVersion").count();
    rest(old) == rest(new)
        && old.iter().filter(|(name, _)| *name != "resourceVersion").all(|(name, value)| new.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::kinds::kind;

    static PODS: ResourceKind = kind("", "v1", "pods", "Pod");

    fn pod(name: &str, phase: &str) -> (StoreKey, Value) {
        let key = StoreKey::new(&PODS, "ns", name);
        (key, json!({"metadata": {"name": name, "namespace": "ns"}, "status": {"phase": phase}}))
    }

    #[test]
    fn numbers_changes_and_lists_old_versions() {
        let mut store = Store::default();
        let (key, body) = pod("a", "Pending");
        assert_eq!(store.put(&PODS, key.clone(), body.clone(), None).version, 1);
        assert_eq!(store.put(&PODS, key.clone(), body, None).version, 1, "nothing changed");
        store.put(&PODS, key.clone(), pod("a", "Running").1, None);
        store.put(&PODS, pod("b", "").0, pod("b", "").1, None);
        assert_eq!(store.remove(&key).unwrap().version, 4);
        let names = |version| -> Vec<String> {
            store.list_at(&PODS, "ns", version).iter().map(|one| one.meta("name").to_owned()).collect()
        };
        assert_eq!((names(1), names(3), names(4)), (vec!["a".into()], vec!["a".into(), "b".into()], vec!["b".into()]));
        assert_eq!(store.list_at(&PODS, "ns", 1)[0].body["status"]["phase"], "Pending");
        assert_eq!(store.since(2).len(), 2);
        store.forget(9);
        assert_eq!(store.forgotten(), 4, "no more than there was");
    }

    #[test]
    fn drops_oldest_changes_of_a_long_log() {
        let mut store = Store::default();
        let change =
            |store: &mut Store, number: usize| store.put(&PODS, pod("a", "").0, pod("a", &number.to_string()).1, None);
        (1..2 * LOGGED).for_each(|number| drop(change(&mut store, number)));
        assert_eq!((store.since(0).len(), store.forgotten()), (2 * LOGGED - 1, 0));
        change(&mut store, 2 * LOGGED);
        let first = u64::try_from(LOGGED).unwrap() + 1;
        assert_eq!((store.lacks_changes(first - 2), store.lacks_changes(first - 1)), (true, false));
        assert_eq!((store.since(first - 1).len(), store.since(first - 1)[0].version), (LOGGED, first));
        assert_eq!((store.has_changed(0, |_| false), store.has_changed(first - 1, |_| false)), (true, false));
        assert_eq!(store.forgotten(), first - 1, "a watch from before the first is refused");
        let newest = change(&mut store, 0);
        assert_eq!(store.since(newest.version - 1)[0].after().unwrap().body, newest.body);
    }

    #[test]
    fn keeps_old_objects_as_they_were() {
        let mut store = Store::default();
        let states: Vec<String> = (0..2 * DECODED_CHANGES).map(|number| format!("state {number}")).collect();
        for state in &states {
            let (key, body) = pod("a", state);
            store.put(&PODS, key, body, None);
        }
        let phase = |object: Option<Arc<StoredObject>>| object.map(|object| object.body["status"]["phase"].clone());
        for (at, change) in store.since(0).iter().enumerate() {
            assert_eq!(phase(change.after()), Some(states[at].as_str().into()));
            assert_eq!(phase(change.before()), at.checked_sub(1).map(|at| states[at].as_str().into()));
            let (after, version) = (change.after().unwrap(), change.version);
            assert_eq!((after.version, after.meta("resourceVersion")), (version, version.to_string().as_str()));
        }
        assert!(matches!(store.log[0].after, Some(LoggedObject::Text { .. })));
        assert!(matches!(store.log[2 * DECODED_CHANGES - 1].before, Some(LoggedObject::Decoded(_))));
    }
}
