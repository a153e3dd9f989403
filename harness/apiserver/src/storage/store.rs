//! The store: all objects in order, and a log of all changes.
//!
//! Decoded objects take much memory, so only those of a kind that were written last stay decoded,
//! and in the log those of the newest changes; the others are packed as JSON text, and decoded on
//! access. By kind, because what each write reads, such as namespaces, is written once.
//!
//! The beginning of a very long log is dropped, and watches and lists from there get 410. Upstream
//! drops by age and number: etcd's history of more than five minutes, and of a watch cache what
//! exceeds 102,400 events of a kind or is older than 75 seconds. Here only number and size count:
//! virtual time passes by hours between two requests, so any age would expire watches that a real
//! cluster of the same load serves.
//!
//! One counter counts all changes, as in etcd; the resourceVersion of an object is the count at its
//! last change. A watch is a position in the log.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;

use crate::fields::entries::{ManagedFields, Managers};
use crate::fields::field_manager;
use crate::storage::keys::StoreKey;
use crate::storage::lazy_json::json_len;
use crate::storage::object::{StoredObject, StoredVersion};
use crate::storage::owner_index::OwnerIndex;
use crate::types::kinds::{KindOrder, ResourceKind};

/// A change of an object.
#[derive(Debug)]
pub(crate) struct ChangeRecord {
    pub(crate) key: Arc<StoreKey>,
    before: Option<StoredVersion>,
    after: Option<StoredVersion>,
    last: Option<StoredVersion>,
    pub(crate) version: u64,
    /// The bytes of its new JSON, approximately until it is packed.
    bytes: usize,
}

/// The decoded objects of a kind by version: those that were written last.
#[derive(Debug, Default)]
struct DecodedObjects {
    /// With the bytes of their JSON.
    by_version: BTreeMap<u64, (Arc<StoreKey>, usize)>,
    bytes: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    objects: BTreeMap<Arc<StoreKey>, StoredVersion>,
    decoded: BTreeMap<KindOrder, DecodedObjects>,
    /// The managers of the object that was written last, by kind. The next one has often the same.
    managers: BTreeMap<KindOrder, Arc<ManagedFields>>,
    owners: OwnerIndex,
    log: Vec<ChangeRecord>,
    /// Changes before this index are packed.
    packed: usize,
    /// The bytes of the packed and of the other changes.
    packed_bytes: usize,
    unpacked_bytes: usize,
    version: u64,
    /// Watches cannot start before this version.
    forgotten: u64,
    /// The version of the last dropped change, by kind.
    dropped: BTreeMap<KindOrder, u64>,
}

/// The bytes of JSON of the objects of a kind that stay decoded: some hundred objects of a typical
/// workload, which take five megabytes.
const DECODED_BYTES: usize = 256 << 10;

/// The number of newest changes that stay decoded, unless they exceed [`DECODED_BYTES`]: more than
/// any watch has pending.
const DECODED_CHANGES: usize = 256;

/// The log keeps at least this many of the newest changes, and at most twice as many,
pub(crate) const LOGGED: usize = 20_000;

/// but at most this many bytes of JSON; of a log that exceeds them the older half is dropped.
pub(crate) const LOGGED_BYTES: usize = 64 << 20;

impl ChangeRecord {
    pub(crate) fn before(&self) -> Option<Arc<StoredObject>> {
        self.before.as_ref().map(StoredVersion::object)
    }

    /// The object after the change; `None` if it was deleted.
    pub(crate) fn after(&self) -> Option<Arc<StoredObject>> {
        self.after.as_ref().map(StoredVersion::object)
    }

    /// The last state of a deleted object, at the version of its deletion.
    pub(crate) fn last(&self) -> Option<Arc<StoredObject>> {
        self.last.as_ref().map(StoredVersion::object)
    }

    fn pack(&mut self) {
        if let Some(before) = &mut self.before {
            before.pack();
        }
        self.bytes = [&mut self.after, &mut self.last].into_iter().flatten().map(StoredVersion::pack).sum();
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

    pub(crate) fn get(&self, key: &StoreKey) -> Option<Arc<StoredObject>> {
        self.objects.get(key).map(StoredVersion::object)
    }

    pub(crate) fn contains(&self, key: &StoreKey) -> bool {
        self.objects.contains_key(key)
    }

    /// The objects of a kind in one namespace, or in all if it is empty.
    pub(crate) fn list<'a>(
        &'a self,
        kind: &'static ResourceKind,
        namespace: &'a str,
    ) -> impl Iterator<Item = Arc<StoredObject>> + 'a {
        self.entries_of(kind.order(), namespace).map(|(_, object)| object.object())
    }

    fn entries_of<'a>(
        &'a self,
        place: KindOrder,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a Arc<StoreKey>, &'a StoredVersion)> {
        let from = StoreKey { kind: place, namespace: namespace.to_owned(), name: String::new() };
        self.objects
            .range::<StoreKey, _>(from..)
            .take_while(move |(key, _)| key.kind == place && (namespace.is_empty() || key.namespace == namespace))
    }

    /// The index of objects by owner.
    pub(crate) fn owners(&self) -> &OwnerIndex {
        &self.owners
    }

    /// The object with a UID; the first, if restored objects share it.
    pub(crate) fn get_by_uid(&self, uid: &str) -> Option<Arc<StoredObject>> {
        self.get(self.owners.of_uid(uid)?)
    }

    /// All objects in a namespace, in order.
    pub(crate) fn list_namespace<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = Arc<StoredObject>> + 'a {
        // Sorts after every namespace, as those have ASCII names.
        let end_of = |kind: KindOrder| StoreKey { kind, namespace: char::MAX.to_string(), name: String::new() };
        let next = move |kind: KindOrder| {
            self.objects.range::<StoreKey, _>((Bound::Excluded(end_of(kind)), Bound::Unbounded)).next()
        };
        let first = self.objects.keys().next().map(|key| key.kind);
        let kinds = std::iter::successors(first, move |kind| next(*kind).map(|(key, _)| key.kind));
        kinds.flat_map(move |kind| self.entries_of(kind, namespace)).map(|(_, object)| object.object())
    }

    /// The objects of a kind at an older version, in order.
    pub(crate) fn list_at(
        &self,
        kind: &'static ResourceKind,
        namespace: &str,
        version: u64,
    ) -> Vec<(Arc<StoreKey>, Arc<StoredObject>)> {
        let place = kind.order();
        let mut objects: BTreeMap<&Arc<StoreKey>, &StoredVersion> = self.entries_of(place, namespace).collect();
        for change in self.log.iter().rev().take_while(|change| change.version > version) {
            if change.key.kind != place || !(namespace.is_empty() || change.key.namespace == namespace) {
                continue;
            }
            match &change.before {
                Some(before) => objects.insert(&change.key, before),
                None => objects.remove(&change.key),
            };
        }
        objects.into_iter().map(|(key, object)| (Arc::clone(key), object.object())).collect()
    }

    /// Creates or replaces an object. An equal object is not written.
    pub(crate) fn put(
        &mut self,
        kind: &'static ResourceKind,
        key: StoreKey,
        body: Value,
        managers: Managers,
    ) -> Arc<StoredObject> {
        let before = self.get(&key);
        if let Some(before) = &before
            && field_manager::are_equal(&before.managers, &managers)
            && is_equal(&before.body, &body)
        {
            return Arc::clone(before);
        }
        self.record(kind, key, before.as_deref(), body, managers)
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
        let before = self.get(&key);
        self.record(kind, key, before.as_deref(), body, None)
    }

    /// `replaced`: the object under this key, which the caller has read and may have decoded.
    fn record(
        &mut self,
        kind: &'static ResourceKind,
        key: StoreKey,
        replaced: Option<&StoredObject>,
        body: Value,
        mut managers: Managers,
    ) -> Arc<StoredObject> {
        if let Some(managers) = &mut managers {
            let last = self.managers.entry(kind.order()).or_insert_with(|| Arc::clone(managers));
            if Arc::ptr_eq(managers, last) || managers.equals(last) {
                managers.clone_from(last);
            } else {
                Arc::make_mut(managers).share_with(last);
                last.clone_from(managers);
            }
        }
        self.version += 1;
        let after = StoredObject::new(kind, body, managers, self.version);
        let (key, before) = match self.objects.get_key_value(&key) {
            Some((key, before)) => (Arc::clone(key), Some(before.clone())),
            None => (Arc::new(key), None),
        };
        self.owners.update(&key, replaced, Some(&after));
        let (kept, bytes) = (StoredVersion::Decoded(Arc::clone(&after)), json_len(&after.body));
        self.objects.insert(Arc::clone(&key), kept.clone());
        self.forget_decoded(key.kind, before.as_ref());
        self.count_decoded(Arc::clone(&key), bytes);
        self.append(ChangeRecord { key, before, after: Some(kept), last: None, version: self.version, bytes });
        after
    }

    /// Removes an object; returns its last state, at the version of its deletion.
    pub(crate) fn remove(&mut self, key: &StoreKey) -> Option<Arc<StoredObject>> {
        let (key, before) = self.objects.remove_entry(key)?;
        self.forget_decoded(key.kind, Some(&before));
        let removed = before.object();
        self.owners.update(&key, Some(&removed), None);
        self.version += 1;
        let last = StoredObject::new(removed.kind, removed.body.clone(), removed.managers.clone(), self.version);
        let (kept, bytes) = (Some(StoredVersion::Decoded(Arc::clone(&last))), json_len(&last.body));
        self.append(ChangeRecord { key, before: Some(before), after: None, last: kept, version: self.version, bytes });
        Some(last)
    }

    /// Stops counting a replaced or removed object among the decoded ones.
    fn forget_decoded(&mut self, kind: KindOrder, object: Option<&StoredVersion>) {
        if let (Some(object), Some(decoded)) = (object, self.decoded.get_mut(&kind))
            && let Some((_, bytes)) = decoded.by_version.remove(&object.version())
        {
            decoded.bytes -= bytes;
        }
    }

    /// Counts the object that was written last, and packs those of its kind that were not written
    /// for longest.
    fn count_decoded(&mut self, key: Arc<StoreKey>, bytes: usize) {
        let decoded = self.decoded.entry(key.kind).or_default();
        decoded.by_version.insert(self.version, (key, bytes));
        decoded.bytes += bytes;
        while decoded.bytes > DECODED_BYTES
            && let Some((_, (key, bytes))) = decoded.by_version.pop_first()
        {
            decoded.bytes -= bytes;
            if let Some(object) = self.objects.get_mut(&key) {
                object.pack();
            }
        }
    }

    fn append(&mut self, change: ChangeRecord) {
        self.unpacked_bytes += change.bytes;
        self.log.push(change);
        while self.packed + DECODED_CHANGES < self.log.len() || self.unpacked_bytes > DECODED_BYTES {
            let change = &mut self.log[self.packed];
            self.unpacked_bytes -= change.bytes;
            change.pack();
            self.packed_bytes += change.bytes;
            self.packed += 1;
        }
        self.drop_oldest_changes();
    }

    /// Drops the beginning of a log that is too long.
    fn drop_oldest_changes(&mut self) {
        let surplus = if self.log.len() >= 2 * LOGGED { self.log.len() - LOGGED } else { 0 };
        let mut excess = if self.packed_bytes > LOGGED_BYTES { self.packed_bytes - LOGGED_BYTES / 2 } else { 0 };
        let too_large = self.log.iter().take_while(|change| {
            let exceeds = excess > 0;
            excess = excess.saturating_sub(change.bytes);
            exceeds
        });
        let dropped = surplus.max(too_large.count());
        if dropped == 0 {
            return;
        }
        self.forget(self.log[dropped - 1].version);
        for change in self.log.drain(..dropped) {
            self.packed_bytes -= change.bytes;
            self.dropped.insert(change.key.kind, change.version);
        }
        self.packed -= dropped;
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
    use crate::fields::path::FieldSet;
    use crate::types::kinds::kind;

    static PODS: ResourceKind = kind("", "v1", "pods", "Pod");
    static EVENTS: ResourceKind = kind("", "v1", "events", "Event");

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
            store.list_at(&PODS, "ns", version).iter().map(|(key, _)| key.name.clone()).collect()
        };
        assert_eq!((names(1), names(3), names(4)), (vec!["a".into()], vec!["a".into(), "b".into()], vec!["b".into()]));
        assert_eq!(store.list_at(&PODS, "ns", 1)[0].1.body["status"]["phase"], "Pending");
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
        assert_eq!(*store.since(newest.version - 1)[0].after().unwrap().body, *newest.body);
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
        assert!(matches!(store.log[0].after, Some(StoredVersion::Packed(_))));
        assert!(matches!(store.log[2 * DECODED_CHANGES - 1].before, Some(StoredVersion::Decoded(_))));
    }
    /// A pod whose JSON is somewhat longer than `bytes`.
    fn large_pod(name: &str, bytes: usize) -> (StoreKey, Value) {
        let (key, mut body) = pod(name, "Running");
        body["metadata"]["annotations"] = json!({"note": "x".repeat(bytes)});
        (key, body)
    }

    #[test]
    fn drops_older_half_of_a_log_that_is_too_large() {
        const BYTES: usize = 1 << 20;
        let mut store = Store::default();
        let put = |store: &mut Store, number: usize| {
            let (key, mut body) = large_pod("a", BYTES);
            body["metadata"]["labels"] = json!({"number": number.to_string()});
            store.put(&PODS, key, body, None).version
        };
        let (key, body) = pod("idle", "Running");
        store.put(&EVENTS, StoreKey { kind: EVENTS.order(), ..key }, body, None);
        let mut newest = 0;
        while store.forgotten() == 0 {
            newest = put(&mut store, usize::try_from(newest).unwrap());
            assert!(newest < 80, "the log holds 64 MiB");
        }
        assert!(store.packed_bytes <= LOGGED_BYTES / 2, "{}", store.packed_bytes);
        let kept = store.since(0).len();
        assert!((31..=33).contains(&kept), "{kept}");
        assert_eq!(store.forgotten(), newest - u64::try_from(kept).unwrap());
        assert!(store.lacks_changes_of(PODS.order(), store.forgotten() - 1));
        assert!(!store.lacks_changes_of(PODS.order(), store.forgotten()));
        assert!(store.lacks_changes_of(EVENTS.order(), 0), "its only change was the oldest");
        assert!(!store.lacks_changes_of(EVENTS.order(), 1), "later versions lack nothing");
    }

    #[test]
    fn packs_objects_that_were_not_written_for_longest() {
        let mut store = Store::default();
        let put = |store: &mut Store, name: &str, bytes: usize| {
            let (key, body) = large_pod(name, bytes);
            store.put(&PODS, key, body, None)
        };
        let first = put(&mut store, "first", 10);
        let second = put(&mut store, "second", DECODED_BYTES / 2);
        let (key, body) = pod("of another kind", "");
        let event = store.put(&EVENTS, StoreKey { kind: EVENTS.order(), ..key }, body, None);
        put(&mut store, "first", DECODED_BYTES / 4);
        put(&mut store, "third", DECODED_BYTES / 2);
        let is_packed = |store: &Store, name: &str| matches!(store.objects[&pod(name, "").0], StoredVersion::Packed(_));
        assert_eq!(["first", "second", "third"].map(|name| is_packed(&store, name)), [false, true, false]);
        assert!(matches!(store.objects[&event.key()], StoredVersion::Decoded(_)), "those of its kind are few");
        let pods = |store: &Store| {
            let decoded = &store.decoded[&PODS.order()];
            (decoded.by_version.len(), decoded.bytes)
        };
        assert_eq!((pods(&store).0, *store.get(&second.key()).unwrap().body == *second.body), (2, true));
        // A reader does not change what stays decoded.
        assert!(is_packed(&store, "second"));
        store.remove(&first.key());
        store.remove(&second.key());
        assert_eq!(pods(&store).0, 1);
        assert!(pods(&store).1 < DECODED_BYTES / 2 + 200);
    }

    #[test]
    fn packed_object_keeps_its_managers() {
        let entries = json!([{"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1",
            "time": "2030-01-01T00:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}, "f:spec": {"f:replicas": {}}}}]);
        let managers = ManagedFields::read(&entries).unwrap();
        let managers = managers.detach_fields(&FieldSet::of_fields(&[&["spec", "replicas"]])).into_managers();
        let object = StoredObject::new(&PODS, pod("a", "Running").1, managers, 7);
        let mut kept = StoredVersion::Decoded(Arc::clone(&object));
        assert!(kept.pack() > 0);
        let packed = kept.object();
        assert_eq!((packed.with_managers(), packed.version), (object.with_managers(), 7));
        assert_eq!(packed.with_managers()["metadata"]["managedFields"].as_array().map(Vec::len), Some(2));
        let include = crate::http::request::ManagedFieldsPolicy::Include;
        let text: Value = serde_json::from_slice(&packed.text(include)).unwrap();
        assert_eq!(text, object.typed());
    }
}
