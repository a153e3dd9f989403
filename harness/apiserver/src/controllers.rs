//! The controllers that run in every cluster: dependents are deleted after their owners, the
//! content of a namespace with it; a namespace gets its service account; quotas are counted.
//!
//! These are upstream's garbage collector and its service account controller; `namespaces` and
//! `quota` have the namespace and the resource quota controller. Each step is one write, so that
//! the caller decides when it happens.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::claims::taken_out;
use super::kinds::{Kind, Kinds, built_in};
use super::object::Object;
use super::remove::{FOREGROUND, How, ORPHAN};
use super::server::{Server, stamp};
use super::store::{Change, Key};
use crate::pointer::At;

impl Server {
    /// Does the next thing that is due, of the garbage collector only if it is on; whether there
    /// was one.
    pub(super) fn step_controllers(&mut self, now: Timestamp, collects: bool) -> bool {
        self.account() || collects && self.owners(now) || self.empty_namespaces(now) || self.recount_quota(now)
    }

    /// Does what clients rely on right after a write: service accounts and quotas.
    pub(super) fn run_urgent_controllers(&mut self, now: Timestamp) {
        while self.account() || self.recount_quota(now) {}
    }

    /// Begins the deletion of a namespace.
    pub(super) fn end_namespace(&mut self, object: &Arc<Object>, now: Timestamp) -> Arc<Object> {
        if object.deleting() {
            return Arc::clone(object);
        }
        let mut body = object.body.clone();
        body["metadata"]["deletionTimestamp"] = stamp(now);
        body["status"]["phase"] = "Terminating".into();
        self.keep(object.kind, object.key(), body, object.managers.clone())
    }

    fn account(&mut self) -> bool {
        let (spaces, accounts) = (kind("namespaces"), kind("serviceaccounts"));
        let concerned = |change: &Change| [spaces.place(), accounts.place()].contains(&change.key.kind);
        if !self.store.changed(self.accounted, concerned) {
            self.accounted = self.store.version();
            return false;
        }
        let lacks = |space: &&Arc<Object>| {
            !space.deleting() && self.store.get(&Key::new(accounts, space.meta("name"), "default")).is_none()
        };
        let Some(space) = self
            .store
            .list(spaces, "")
            .find(lacks)
            .map(|space| (space.meta("name").to_owned(), space.body["metadata"]["creationTimestamp"].clone()))
        else {
            self.accounted = self.store.version();
            return false;
        };
        let (name, created) = space;
        let body = json!({"metadata": {"name": "default", "namespace": name, "uid": self.chance.uid(), "creationTimestamp": created}});
        self.store.put(accounts, Key::new(accounts, &name, "default"), body, None);
        true
    }

    fn owners(&mut self, now: Timestamp) -> bool {
        let did = self.owners_changed() && self.next_of_owners(now);
        if !did {
            self.collected = self.store.version();
        }
        did
    }

    /// Whether a change since the last collection concerns owners or dependents. Most do not, and
    /// looking at all objects after each would be most of a simulation's work.
    fn owners_changed(&self) -> bool {
        self.store.changed(self.collected, |change| match (change.before(), change.after()) {
            (_, None) => true,
            (None, Some(after)) => {
                after.deleting()
                    || owners(&self.kinds, &after).iter().any(|owner| !self.store.owned().has_uid(uid(owner)))
            }
            (Some(before), Some(after)) => {
                let references = "/metadata/ownerReferences";
                after.deleting() || before.body.at(references) != after.body.at(references)
            }
        })
    }

    fn next_of_owners(&mut self, now: Timestamp) -> bool {
        let object = |key: &Key| self.store.get(key).cloned();
        let waiting: Vec<Arc<Object>> = self.store.owned().waiting().filter_map(object).collect();
        let mut suspects = self.store.owned().left_behind();
        for owner in waiting.iter().filter(|owner| owner.finalizers().any(|name| name == FOREGROUND)) {
            suspects.extend(self.store.owned().dependents(owner.meta("uid")));
        }
        let suspects: Vec<Arc<Object>> = suspects.into_iter().filter_map(object).collect();
        if suspects.iter().any(|object| !object.deleting() && self.follow(object, now)) {
            return true;
        }
        for owner in &waiting {
            let dependents = || self.dependents(owner.meta("uid"));
            if owner.finalizers().any(|name| name == ORPHAN) {
                let dependent = dependents().next().cloned();
                if let Some(dependent) = dependent {
                    let mut body = dependent.body.clone();
                    if let Some(references) = body["metadata"]["ownerReferences"].as_array_mut() {
                        references.retain(|one| uid(one) != owner.meta("uid"));
                    }
                    return self.write_without(&dependent, &body);
                }
                return self.release(owner, ORPHAN);
            }
            if owner.finalizers().any(|name| name == FOREGROUND) {
                let blocks = |dependent: &Arc<Object>| {
                    owners(&self.kinds, dependent)
                        .iter()
                        .any(|one| uid(one) == owner.meta("uid") && one["blockOwnerDeletion"] == true)
                };
                if !dependents().any(blocks) {
                    return self.release(owner, FOREGROUND);
                }
            }
        }
        false
    }

    /// The objects of which this is an owner, of a kind that is served.
    fn dependents(&self, owner: &str) -> impl Iterator<Item = &Arc<Object>> {
        let all = self.store.owned().dependents(owner).filter_map(|key| self.store.get(key));
        all.filter(move |object| owners(&self.kinds, object).iter().any(|one| uid(one) == owner))
    }

    /// Deletes an object without owners, or removes its references to absent ones; whether there
    /// was something to do. Upstream: `attemptToDeleteItem`.
    fn follow(&mut self, object: &Arc<Object>, now: Timestamp) -> bool {
        let references = object.body["metadata"]["ownerReferences"].as_array();
        let owned = owners(&self.kinds, object);
        // Upstream retries forever for an owner of a kind that is not served.
        if owned.is_empty() || references.is_some_and(|references| references.len() != owned.len()) {
            return false;
        }
        let waits = |owner: &&&Value| {
            let found = self.store.of_uid(uid(owner));
            found.is_some_and(|one| one.deleting() && one.finalizers().any(|name| name == FOREGROUND))
        };
        let waiting: Vec<&str> = owned.iter().filter(waits).map(|owner| uid(owner)).collect();
        let absent: Vec<&str> =
            owned.iter().map(|owner| uid(owner)).filter(|uid| !self.store.owned().has_uid(uid)).collect();
        if waiting.len() + absent.len() == 0 {
            return false;
        }
        if waiting.len() + absent.len() < owned.len() {
            let mut body = object.body.clone();
            if let Some(references) = body["metadata"]["ownerReferences"].as_array_mut() {
                references.retain(|one| !waiting.contains(&uid(one)) && !absent.contains(&uid(one)));
            }
            return self.write_without(object, &body);
        }
        let own = |finalizer: &str| object.finalizers().any(|name| name == finalizer);
        let policy = match () {
            () if !waiting.is_empty() && self.dependents(object.meta("uid")).next().is_some() => "Foreground",
            () if own(ORPHAN) => "Orphan",
            () if own(FOREGROUND) => "Foreground",
            () => "Background",
        };
        let how = How { propagation: Some(policy.to_owned()), ..How::default() };
        self.take(object, &how, now).is_ok()
    }

    /// Removes one of the server's finalizers. With the last one the object is removed and not
    /// written without it.
    fn release(&mut self, object: &Arc<Object>, finalizer: &str) -> bool {
        let grace = object.body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        if grace == 0 && object.finalizers().all(|name| name == finalizer) {
            return self.store.remove(&object.key()).is_some();
        }
        let mut body = object.body.clone();
        if let Some(names) = body["metadata"]["finalizers"].as_array_mut() {
            names.retain(|name| name != finalizer);
        }
        self.write_without(object, &body)
    }

    /// Writes an object from which a controller has removed fields; whether it is written.
    fn write_without(&mut self, before: &Object, after: &Value) -> bool {
        let (body, managers) = taken_out(before, after);
        self.write(before.kind, body, managers).is_ok()
    }
}

fn kind(plural: &str) -> &'static Kind {
    built_in("", plural).expect("the core kinds are served")
}

/// The owners of kinds that are served.
fn owners<'a>(kinds: &Kinds, object: &'a Object) -> Vec<&'a Value> {
    let all = object.body["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    all.filter(|owner| {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        kinds.named(text("apiVersion"), text("kind")).is_some()
    })
    .collect()
}

fn uid(owner: &Value) -> &str {
    owner["uid"].as_str().unwrap_or_default()
}
