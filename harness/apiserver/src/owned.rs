//! Objects by owner: an index of the store, kept with every change.
//!
//! The garbage collector asks it what there is to do. Without it that would be a look at every
//! object after each deletion, so that a rollout cost the square of its pods.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::object::Object;
use super::remove::{FOREGROUND, ORPHAN};
use super::store::Key;
use crate::pointer::At;

/// The index.
#[derive(Debug, Default)]
pub(super) struct Owned {
    /// Objects by their UID; a restored object may have that of another one.
    uids: BTreeMap<String, BTreeSet<Key>>,
    /// Dependents by the UID of each owner that they refer to, whether it exists or not.
    dependents: BTreeMap<String, BTreeSet<Key>>,
    /// The owners among these that do not exist.
    absent: BTreeSet<String>,
    /// Objects in deletion that wait for the garbage collector.
    waiting: BTreeSet<Key>,
}

impl Owned {
    /// Whether an object has this UID.
    pub(super) fn has_uid(&self, uid: &str) -> bool {
        self.uids.contains_key(uid)
    }

    /// The first object that has this UID.
    pub(super) fn of_uid(&self, uid: &str) -> Option<&Key> {
        self.uids.get(uid)?.first()
    }

    /// The objects that refer to an owner, in order.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Key> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// The objects that refer to an owner that does not exist, in order.
    pub(super) fn left_behind(&self) -> BTreeSet<&Key> {
        self.absent.iter().flat_map(|uid| self.dependents(uid)).collect()
    }

    /// The objects in deletion that wait for the garbage collector, in order.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Key> {
        self.waiting.iter()
    }

    /// An object changed.
    pub(super) fn change(&mut self, key: &Key, before: Option<&Object>, after: Option<&Object>) {
        let (was, is) = (before.map(|object| object.meta("uid")), after.map(|object| object.meta("uid")));
        let references = |object: &Object| object.body.at("/metadata/ownerReferences").cloned();
        let references_differ = match (before, after) {
            (Some(before), Some(after)) => {
                before.body.at("/metadata/ownerReferences") != after.body.at("/metadata/ownerReferences")
            }
            _ => true,
        };
        if references_differ {
            for uid in before.and_then(references).iter().flat_map(owners) {
                if take(&mut self.dependents, uid, key) {
                    self.absent.remove(uid);
                }
            }
        }
        if was != is {
            if let Some(was) = was
                && take(&mut self.uids, was, key)
                && self.dependents.contains_key(was)
            {
                self.absent.insert(was.to_owned());
            }
            if let Some(is) = is {
                self.absent.remove(is);
                self.uids.entry(is.to_owned()).or_default().insert(key.clone());
            }
        }
        if references_differ {
            for uid in after.and_then(references).iter().flat_map(owners) {
                self.dependents.entry(uid.to_owned()).or_default().insert(key.clone());
                if !self.has_uid(uid) {
                    self.absent.insert(uid.to_owned());
                }
            }
        }
        if after.is_some_and(waits) {
            self.waiting.insert(key.clone());
        } else if before.is_some_and(waits) {
            self.waiting.remove(key);
        }
    }
}

/// Takes a key out; whether it was the last.
fn take(index: &mut BTreeMap<String, BTreeSet<Key>>, uid: &str, key: &Key) -> bool {
    let Some(keys) = index.get_mut(uid) else { return false };
    keys.remove(key);
    let is_empty = keys.is_empty();
    if is_empty {
        index.remove(uid);
    }
    is_empty
}

fn owners(references: &Value) -> impl Iterator<Item = &str> {
    references.as_array().into_iter().flatten().map(|owner| owner["uid"].as_str().unwrap_or_default())
}

/// Whether the garbage collector has to release it.
fn waits(object: &Object) -> bool {
    object.deleting() && object.finalizers().any(|name| name == ORPHAN || name == FOREGROUND)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kinds::KINDS;
    use super::super::store::Store;
    use super::*;

    fn put(store: &mut Store, name: &str, owner: Option<&str>, more: &Value) {
        let mut body = json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}")}});
        if let Some(owner) = owner {
            body["metadata"]["ownerReferences"] = json!([{"uid": format!("uid-{owner}")}]);
        }
        for (field, value) in more.as_object().into_iter().flatten() {
            body["metadata"][field] = value.clone();
        }
        store.put(&KINDS[2], Key::new(&KINDS[2], "ns", name), body, None);
    }

    fn names<'a>(keys: impl IntoIterator<Item = &'a Key>) -> Vec<&'a str> {
        keys.into_iter().map(|key| key.name.as_str()).collect()
    }

    #[test]
    fn dependents_are_left_behind_while_their_owner_does_not_exist() {
        let mut store = Store::default();
        put(&mut store, "b", Some("owner"), &json!({}));
        put(&mut store, "a", Some("owner"), &json!({}));
        assert_eq!(names(store.owned().left_behind()), ["a", "b"]);
        put(&mut store, "owner", None, &json!({}));
        assert!(store.owned().left_behind().is_empty());
        assert_eq!(names(store.owned().dependents("uid-owner")), ["a", "b"]);
        assert_eq!(store.of_uid("uid-owner").unwrap().meta("name"), "owner");
        put(&mut store, "b", None, &json!({}));
        store.remove(&Key::new(&KINDS[2], "ns", "owner"));
        assert_eq!(names(store.owned().left_behind()), ["a"]);
        store.remove(&Key::new(&KINDS[2], "ns", "a"));
        assert!(store.owned().left_behind().is_empty());
        assert!(!store.owned().has_uid("uid-a"));
    }

    #[test]
    fn only_finalizers_of_the_garbage_collector_are_waited_for_and_only_in_a_deletion() {
        let mut store = Store::default();
        let deleted = "2026-01-01T00:00:00Z";
        put(&mut store, "a", None, &json!({"finalizers": [ORPHAN]}));
        put(&mut store, "b", None, &json!({"finalizers": ["mine"], "deletionTimestamp": deleted}));
        assert_eq!(names(store.owned().waiting()), [] as [&str; 0]);
        put(&mut store, "a", None, &json!({"finalizers": [ORPHAN], "deletionTimestamp": deleted}));
        assert_eq!(names(store.owned().waiting()), ["a"]);
        put(&mut store, "a", None, &json!({"deletionTimestamp": deleted}));
        assert_eq!(names(store.owned().waiting()), [] as [&str; 0]);
    }

    #[test]
    fn a_namespace_holds_objects_of_all_kinds() {
        let mut store = Store::default();
        for (kind, namespace, name) in [(2, "ns", "pod"), (2, "other", "pod"), (3, "ns", "x"), (2, "a", "pod")] {
            let body =
                json!({"metadata": {"name": name, "namespace": namespace, "uid": format!("{namespace}-{name}")}});
            store.put(&KINDS[kind], Key::new(&KINDS[kind], namespace, name), body, None);
        }
        let inside: Vec<_> = store.inside("ns").map(|object| object.meta("name").to_owned()).collect();
        assert_eq!(inside.len(), 2);
        assert!(inside.contains(&"pod".to_owned()) && inside.contains(&"x".to_owned()));
    }
}
