//! The store: every object in order, and the log of all changes.
//!
//! Nearly all that reads the log reads its newest changes. The objects of older ones are kept as
//! their text, which takes a tenth of the room; who still asks for one has it read anew. Of a log
//! that grows very long the beginning is dropped, as etcd's compaction does: a watch or a list from
//! there is answered with 410.
//!
//! One counter counts all changes, as etcd's does; an object's resourceVersion is the count at its
//! last change. A watch is a position in the log.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::kinds::{Kind, Place};
use super::managed::{self, Managers};
use super::object::Object;
use super::owned::Owned;

/// The key of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The place of its kind.
    pub(super) kind: Place,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// One change of one object.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) key: Key,
    before: Option<Logged>,
    after: Option<Logged>,
    last: Option<Logged>,
    pub(super) version: u64,
}

/// An object in the log.
#[derive(Debug)]
enum Logged {
    Whole(Arc<Object>),
    Text { kind: &'static Kind, version: u64, text: Bytes, managers: Managers },
}

/// All objects and changes.
#[derive(Debug, Default)]
pub(super) struct Store {
    objects: BTreeMap<Key, Arc<Object>>,
    owned: Owned,
    log: Vec<Change>,
    /// The changes of the log before this one have texts.
    packed: usize,
    version: u64,
    /// Watches cannot start before this version.
    forgotten: u64,
    /// By kind: the version of the last change that the log has no longer.
    dropped_of: BTreeMap<Place, u64>,
}

/// As many changes have whole objects: more than there are while any watch waits for its turn.
const WHOLE: usize = 256;

/// At least so many of the newest changes stay in the log, and at most twice as many.
pub(super) const LOGGED: usize = 20_000;

impl Logged {
    fn object(&self) -> Arc<Object> {
        match self {
            Self::Whole(object) => Arc::clone(object),
            Self::Text { kind, version, text, managers } => {
                let body = serde_json::from_slice(text).expect("what was written as JSON reads as JSON");
                Object::read(kind, body, managers.clone(), *version, text.clone())
            }
        }
    }

    fn pack(&mut self) {
        if let Self::Whole(object) = self {
            let (text, managers) = (object.bare().clone(), object.managers.clone());
            *self = Self::Text { kind: object.kind, version: object.version, text, managers };
        }
    }
}

impl Change {
    pub(super) fn before(&self) -> Option<Arc<Object>> {
        self.before.as_ref().map(Logged::object)
    }

    /// `None`: it was deleted.
    pub(super) fn after(&self) -> Option<Arc<Object>> {
        self.after.as_ref().map(Logged::object)
    }

    /// Its last state, at the version of its deletion.
    pub(super) fn last(&self) -> Option<Arc<Object>> {
        self.last.as_ref().map(Logged::object)
    }

    fn pack(&mut self) {
        [&mut self.before, &mut self.after, &mut self.last].into_iter().flatten().for_each(Logged::pack);
    }
}

impl Key {
    pub(super) fn new(kind: &'static Kind, namespace: &str, name: &str) -> Self {
        Self { kind: kind.place(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl Store {
    /// The latest version of all.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Forgets the changes up to this version: watches and lists from there are refused.
    pub(super) fn forget(&mut self, version: u64) {
        self.forgotten = self.forgotten.max(version.min(self.version));
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// The objects of a kind, in one namespace or (empty) in all.
    pub(super) fn list<'a>(&'a self, kind: &'static Kind, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
        self.objects_of(kind.place(), namespace)
    }

    fn objects_of<'a>(&'a self, place: Place, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
        let from = Key { kind: place, namespace: namespace.to_owned(), name: String::new() };
        self.objects
            .range(from..)
            .take_while(move |(key, _)| key.kind == place && (namespace.is_empty() || key.namespace == namespace))
            .map(|(_, object)| object)
    }

    /// Objects by owner.
    pub(super) fn owned(&self) -> &Owned {
        &self.owned
    }

    /// The object that has this UID; the first, if a restored one has that of another.
    pub(super) fn of_uid(&self, uid: &str) -> Option<&Arc<Object>> {
        self.get(self.owned.of_uid(uid)?)
    }

    /// Everything in a namespace, in order.
    pub(super) fn inside<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Object>> {
        // After every namespace: those have names of ASCII.
        let end_of = |kind: Place| Key { kind, namespace: char::MAX.to_string(), name: String::new() };
        let next = move |kind: Place| self.objects.range((Bound::Excluded(end_of(kind)), Bound::Unbounded)).next();
        let first = self.objects.keys().next().map(|key| key.kind);
        let kinds = std::iter::successors(first, move |kind| next(*kind).map(|(key, _)| key.kind));
        kinds.flat_map(move |kind| self.objects_of(kind, namespace))
    }

    /// The objects of a kind as they were at an older version.
    pub(super) fn list_at(&self, kind: &'static Kind, namespace: &str, version: u64) -> Vec<Arc<Object>> {
        let mut objects: BTreeMap<Key, Arc<Object>> =
            self.list(kind, namespace).map(|object| (object.key(), Arc::clone(object))).collect();
        let place = kind.place();
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
    pub(super) fn put(&mut self, kind: &'static Kind, key: Key, body: Value, managers: Managers) -> Arc<Object> {
        let before = self.objects.get(&key).cloned();
        let is_same =
            |before: &&Arc<Object>| managed::are_same(&before.managers, &managers) && same(&before.body, &body);
        if let Some(before) = before.as_ref().filter(is_same) {
            return Arc::clone(before);
        }
        self.record(kind, key, before, (body, managers))
    }

    /// Creates or replaces an object even if it is equal, at this version if it is later than all
    /// others.
    pub(super) fn restore(&mut self, kind: &'static Kind, key: Key, body: Value, version: Option<u64>) -> Arc<Object> {
        self.version = self.version.max(version.unwrap_or(0).saturating_sub(1));
        let before = self.objects.get(&key).cloned();
        self.record(kind, key, before, (body, None))
    }

    fn record(
        &mut self,
        kind: &'static Kind,
        key: Key,
        before: Option<Arc<Object>>,
        (body, managers): (Value, Managers),
    ) -> Arc<Object> {
        self.version += 1;
        let after = Object::new(kind, body, managers, self.version);
        self.owned.change(&key, before.as_deref(), Some(&after));
        self.objects.insert(key.clone(), Arc::clone(&after));
        let (before, logged) = (before.map(Logged::Whole), Some(Logged::Whole(Arc::clone(&after))));
        self.note(Change { key, before, after: logged, last: None, version: self.version });
        after
    }

    /// Removes an object; returns its last state, at the version of its deletion.
    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<Object>> {
        let before = self.objects.remove(key)?;
        self.owned.change(key, Some(&before), None);
        self.version += 1;
        let last = Object::new(before.kind, before.body.clone(), before.managers.clone(), self.version);
        let (before, logged) = (Some(Logged::Whole(before)), Some(Logged::Whole(Arc::clone(&last))));
        self.note(Change { key: key.clone(), before, after: None, last: logged, version: self.version });
        Some(last)
    }

    fn note(&mut self, change: Change) {
        self.log.push(change);
        while self.packed + WHOLE < self.log.len() {
            self.log[self.packed].pack();
            self.packed += 1;
        }
        if self.log.len() >= 2 * LOGGED {
            let oldest = self.log.len() - LOGGED;
            self.forget(self.log[oldest - 1].version);
            for change in self.log.drain(..oldest) {
                self.dropped_of.insert(change.key.kind, change.version);
            }
            self.packed -= oldest;
        }
    }

    /// Whether there was such a change after a version, or may have been one that the log lacks.
    pub(super) fn changed(&self, version: u64, such: impl Fn(&Change) -> bool) -> bool {
        self.lacks(version) || self.since(version).iter().any(such)
    }

    /// Whether the log has no longer all changes after a version.
    pub(super) fn lacks(&self, version: u64) -> bool {
        self.dropped_of.keys().any(|kind| self.lacks_of(*kind, version))
    }

    /// Whether the log has no longer all changes of a kind after a version. A watch of a kind that
    /// never changes stands at its beginning, however much else is written.
    pub(super) fn lacks_of(&self, kind: Place, version: u64) -> bool {
        self.dropped_of.get(&kind).is_some_and(|last| version < *last)
    }

    /// The changes after a version that the log has, in order.
    pub(super) fn since(&self, version: u64) -> &[Change] {
        let first = self.log.partition_point(|change| change.version <= version);
        &self.log[first..]
    }
}

fn same(old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return false };
    old.len() == new.len()
        && old.iter().all(|(name, value)| match (name.as_str(), new.get(name)) {
            ("metadata", Some(other)) => same_meta(value, other),
            (_, other) => other == Some(value),
        })
}

/// The resourceVersion is not compared.
fn same_meta(old: &Value, new: &Value) -> bool {
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return false };
    let rest = |map: &serde_json::Map<String, Value>| map.keys().filter(|name| *name != "resourceVersion").count();
    rest(old) == rest(new)
        && old.iter().filter(|(name, _)| *name != "resourceVersion").all(|(name, value)| new.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::KINDS;
    use super::*;

    fn pod(name: &str, phase: &str) -> (Key, Value) {
        let key = Key::new(&KINDS[2], "ns", name);
        (key, json!({"metadata": {"name": name, "namespace": "ns"}, "status": {"phase": phase}}))
    }

    #[test]
    fn versions_count_all_changes_and_the_past_can_be_listed() {
        let mut store = Store::default();
        let (key, body) = pod("a", "Pending");
        assert_eq!(store.put(&KINDS[2], key.clone(), body.clone(), None).version, 1);
        assert_eq!(store.put(&KINDS[2], key.clone(), body, None).version, 1, "nothing changed");
        store.put(&KINDS[2], key.clone(), pod("a", "Running").1, None);
        store.put(&KINDS[2], pod("b", "").0, pod("b", "").1, None);
        assert_eq!(store.remove(&key).unwrap().version, 4);
        let names = |version| -> Vec<String> {
            store.list_at(&KINDS[2], "ns", version).iter().map(|one| one.meta("name").to_owned()).collect()
        };
        assert_eq!((names(1), names(3), names(4)), (vec!["a".into()], vec!["a".into(), "b".into()], vec!["b".into()]));
        assert_eq!(store.list_at(&KINDS[2], "ns", 1)[0].body["status"]["phase"], "Pending");
        assert_eq!(store.since(2).len(), 2);
        store.forget(9);
        assert_eq!(store.forgotten(), 4, "no more than there was");
    }

    #[test]
    fn the_beginning_of_a_very_long_log_is_forgotten() {
        let mut store = Store::default();
        let change = |store: &mut Store, number: usize| {
            store.put(&KINDS[2], pod("a", "").0, pod("a", &number.to_string()).1, None)
        };
        (1..2 * LOGGED).for_each(|number| drop(change(&mut store, number)));
        assert_eq!((store.since(0).len(), store.forgotten()), (2 * LOGGED - 1, 0));
        change(&mut store, 2 * LOGGED);
        let first = u64::try_from(LOGGED).unwrap() + 1;
        assert_eq!((store.lacks(first - 2), store.lacks(first - 1)), (true, false));
        assert_eq!((store.since(first - 1).len(), store.since(first - 1)[0].version), (LOGGED, first));
        assert_eq!((store.changed(0, |_| false), store.changed(first - 1, |_| false)), (true, false));
        assert_eq!(store.forgotten(), first - 1, "a watch from before the first is refused");
        let newest = change(&mut store, 0);
        assert_eq!(store.since(newest.version - 1)[0].after().unwrap().body, newest.body);
    }

    #[test]
    fn what_is_long_past_is_as_it_was() {
        let mut store = Store::default();
        let states: Vec<String> = (0..2 * WHOLE).map(|number| format!("state {number}")).collect();
        for state in &states {
            let (key, body) = pod("a", state);
            store.put(&KINDS[2], key, body, None);
        }
        let phase = |object: Option<Arc<Object>>| object.map(|object| object.body["status"]["phase"].clone());
        for (at, change) in store.since(0).iter().enumerate() {
            assert_eq!(phase(change.after()), Some(states[at].as_str().into()));
            assert_eq!(phase(change.before()), at.checked_sub(1).map(|at| states[at].as_str().into()));
            let (after, version) = (change.after().unwrap(), change.version);
            assert_eq!((after.version, after.meta("resourceVersion")), (version, version.to_string().as_str()));
        }
        assert!(matches!(store.log[0].after, Some(Logged::Text { .. })));
        assert!(matches!(store.log[2 * WHOLE - 1].before, Some(Logged::Whole(_))));
    }
}
