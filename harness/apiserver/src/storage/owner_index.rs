//! An index of objects by owner, updated with every change of the store.
//!
//! The garbage collector uses it. Without it, each deletion would scan all objects, so that the
//! cost of a rollout would be quadratic in its pods.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::pointer::JsonPointer;
use crate::storage::keys::StoreKey;
use crate::storage::object::{FOREGROUND, ORPHAN, StoredObject};

#[derive(Debug, Default)]
pub(crate) struct OwnerIndex {
    /// Objects by UID; restored objects may share one.
    uids: KeysByUid,
    /// Dependents by the UID of each referenced owner, whether it exists or not.
    dependents: KeysByUid,
    /// The referenced owners that do not exist.
    absent: BTreeSet<String>,
    /// Objects in deletion that wait for the garbage collector.
    waiting: BTreeSet<Arc<StoreKey>>,
}

/// Sorted keys by UID. Most have one key, and a `BTreeSet` reserves room for eleven.
type KeysByUid = BTreeMap<Box<str>, Vec<Arc<StoreKey>>>;

impl OwnerIndex {
    /// Whether an object has this UID.
    pub(crate) fn has_uid(&self, uid: &str) -> bool {
        self.uids.contains_key(uid)
    }

    /// The first object that has this UID.
    pub(crate) fn of_uid(&self, uid: &str) -> Option<&StoreKey> {
        self.uids.get(uid)?.first().map(Arc::as_ref)
    }

    /// The dependents of an owner, in order.
    pub(crate) fn dependents(&self, uid: &str) -> impl Iterator<Item = &StoreKey> {
        self.dependents.get(uid).into_iter().flatten().map(Arc::as_ref)
    }

    /// The objects with an owner that does not exist.
    pub(crate) fn with_absent_owner(&self) -> BTreeSet<&StoreKey> {
        self.absent.iter().flat_map(|uid| self.dependents(uid)).collect()
    }

    /// The objects in deletion that wait for the garbage collector, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &StoreKey> {
        self.waiting.iter().map(Arc::as_ref)
    }

    /// Updates the index after a change of an object.
    pub(crate) fn update(&mut self, key: &Arc<StoreKey>, before: Option<&StoredObject>, after: Option<&StoredObject>) {
        let (was, is) = (before.map(|object| object.meta("uid")), after.map(|object| object.meta("uid")));
        let references = |object: &StoredObject| object.body.at("/metadata/ownerReferences").cloned();
        let references_differ = match (before, after) {
            (Some(before), Some(after)) => {
                before.body.at("/metadata/ownerReferences") != after.body.at("/metadata/ownerReferences")
            }
            _ => true,
        };
        if references_differ {
            for uid in before.and_then(references).iter().flat_map(owners) {
                if remove_key(&mut self.dependents, uid, key) {
                    self.absent.remove(uid);
                }
            }
        }
        if was != is {
            if let Some(was) = was
                && remove_key(&mut self.uids, was, key)
                && self.dependents.contains_key(was)
            {
                self.absent.insert(was.to_owned());
            }
            if let Some(is) = is {
                self.absent.remove(is);
                add_key(&mut self.uids, is, key);
            }
        }
        if references_differ {
            for uid in after.and_then(references).iter().flat_map(owners) {
                add_key(&mut self.dependents, uid, key);
                if !self.has_uid(uid) {
                    self.absent.insert(uid.to_owned());
                }
            }
        }
        if after.is_some_and(waits_for_collector) {
            self.waiting.insert(Arc::clone(key));
        } else if before.is_some_and(waits_for_collector) {
            self.waiting.remove(key);
        }
    }
}

fn add_key(index: &mut KeysByUid, uid: &str, key: &Arc<StoreKey>) {
    if let Some(keys) = index.get_mut(uid) {
        if let Err(at) = keys.binary_search(key) {
            keys.insert(at, Arc::clone(key));
        }
    } else {
        index.insert(uid.into(), vec![Arc::clone(key)]);
    }
}

/// Removes a key; returns whether it was the last one.
fn remove_key(index: &mut KeysByUid, uid: &str, key: &Arc<StoreKey>) -> bool {
    let Some(keys) = index.get_mut(uid) else { return false };
    if let Ok(at) = keys.binary_search(key) {
        keys.remove(at);
    }
    let is_empty = keys.is_empty();
    if is_empty {
        index.remove(uid);
    }
    is_empty
}

fn owners(references: &Value) -> impl Iterator<Item = &str> {
    references.as_array().into_iter().flatten().map(|owner| owner["uid"].as_str().unwrap_or_default())
}

/// Whether the garbage collector has to remove a finalizer.
fn waits_for_collector(object: &StoredObject) -> bool {
    object.is_deleting() && object.finalizers().any(|name| name == ORPHAN || name == FOREGROUND)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::store::Store;
    use super::*;
    use crate::types::kinds::{ResourceKind, kind};

    static PODS: ResourceKind = kind("", "v1", "pods", "Pod");
    static EVENTS: ResourceKind = kind("", "v1", "events", "Event");

    fn put(store: &mut Store, name: &str, owner: Option<&str>, more: &Value) {
        let mut body = json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}")}});
        if let Some(owner) = owner {
            body["metadata"]["ownerReferences"] = json!([{"uid": format!("uid-{owner}")}]);
        }
        for (field, value) in more.as_object().into_iter().flatten() {
            body["metadata"][field] = value.clone();
        }
        store.put(&PODS, StoreKey::new(&PODS, "ns", name), body, None);
    }

    fn names<'a>(keys: impl IntoIterator<Item = &'a StoreKey>) -> Vec<&'a str> {
        keys.into_iter().map(|key| key.name.as_str()).collect()
    }

    #[test]
    fn lists_dependents_of_absent_owner() {
        let mut store = Store::default();
        put(&mut store, "b", Some("owner"), &json!({}));
        put(&mut store, "a", Some("owner"), &json!({}));
        assert_eq!(names(store.owners().with_absent_owner()), ["a", "b"]);
        put(&mut store, "owner", None, &json!({}));
        assert!(store.owners().with_absent_owner().is_empty());
        assert_eq!(names(store.owners().dependents("uid-owner")), ["a", "b"]);
        assert_eq!(store.get_by_uid("uid-owner").unwrap().meta("name"), "owner");
        put(&mut store, "b", None, &json!({}));
        store.remove(&StoreKey::new(&PODS, "ns", "owner"));
        assert_eq!(names(store.owners().with_absent_owner()), ["a"]);
        store.remove(&StoreKey::new(&PODS, "ns", "a"));
        assert!(store.owners().with_absent_owner().is_empty());
        assert!(!store.owners().has_uid("uid-a"));
    }

    #[test]
    fn waits_only_for_collector_finalizers_of_deleted_objects() {
        let mut store = Store::default();
        let deleted = "2026-01-01T00:00:00Z";
        put(&mut store, "a", None, &json!({"finalizers": [ORPHAN]}));
        put(&mut store, "b", None, &json!({"finalizers": ["mine"], "deletionTimestamp": deleted}));
        assert_eq!(names(store.owners().waiting()), [] as [&str; 0]);
        put(&mut store, "a", None, &json!({"finalizers": [ORPHAN], "deletionTimestamp": deleted}));
        assert_eq!(names(store.owners().waiting()), ["a"]);
        put(&mut store, "a", None, &json!({"deletionTimestamp": deleted}));
        assert_eq!(names(store.owners().waiting()), [] as [&str; 0]);
    }

    #[test]
    fn lists_objects_of_every_kind_in_a_namespace() {
        let mut store = Store::default();
        for (kind, namespace, name) in
            [(&PODS, "ns", "pod"), (&PODS, "other", "pod"), (&EVENTS, "ns", "x"), (&PODS, "a", "pod")]
        {
            let body =
                json!({"metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")}});
            store.put(kind, StoreKey::new(kind, namespace, name), body, None);
        }
        let inside: Vec<_> = store.list_namespace("ns").map(|object| object.meta("name").to_owned()).collect();
        assert_eq!(inside.len(), 2);
        assert!(inside.contains(&"pod".to_owned()) && inside.contains(&"x".to_owned()));
    }
}
