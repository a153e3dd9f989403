//! The garbage collector.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::pointer::JsonPointer;
use crate::registry::field_ownership::without_removed_fields;
use crate::registry::state::Server;
use crate::registry::verbs::delete::DeleteOptions;
use crate::storage::keys::StoreKey;
use crate::storage::object::{FOREGROUND, ORPHAN, StoredObject};
use crate::types::kinds::Kinds;

impl Server {
    pub(crate) fn collect_garbage(&mut self, now: Timestamp) -> bool {
        let acted = self.owners_have_changed() && self.collect_one(now);
        if !acted {
            self.gc_version = self.store.version();
        }
        acted
    }

    /// Whether a change since the last collection affects owners or dependents. Most do not, and
    /// checking all objects after each write would dominate a simulation.
    fn owners_have_changed(&self) -> bool {
        self.store.has_changed(self.gc_version, |change| match (change.before(), change.after()) {
            (_, None) => true,
            (None, Some(after)) => {
                after.is_deleting()
                    || served_owners(&self.kinds, &after).iter().any(|owner| !self.store.owners().has_uid(uid(owner)))
            }
            (Some(before), Some(after)) => {
                let references = "/metadata/ownerReferences";
                after.is_deleting() || before.body.at(references) != after.body.at(references)
            }
        })
    }

    fn collect_one(&mut self, now: Timestamp) -> bool {
        let object = |key: &StoreKey| self.store.get(key);
        let waiting: Vec<Arc<StoredObject>> = self.store.owners().waiting().filter_map(object).collect();
        let mut suspects = self.store.owners().with_absent_owner();
        for owner in waiting.iter().filter(|owner| owner.finalizers().any(|name| name == FOREGROUND)) {
            suspects.extend(self.store.owners().dependents(owner.meta("uid")));
        }
        let suspects: Vec<Arc<StoredObject>> = suspects.into_iter().filter_map(object).collect();
        if suspects.iter().any(|object| !object.is_deleting() && self.follow_owners(object, now)) {
            return true;
        }
        for owner in &waiting {
            let dependents = || self.dependents(owner.meta("uid"));
            if owner.finalizers().any(|name| name == ORPHAN) {
                let dependent = dependents().next();
                if let Some(dependent) = dependent {
                    let mut body = dependent.body.clone();
                    if let Some(references) = body["metadata"]["ownerReferences"].as_array_mut() {
                        references.retain(|one| uid(one) != owner.meta("uid"));
                    }
                    return self.write_without(&dependent, &body);
                }
                return self.remove_finalizer(owner, ORPHAN);
            }
            if owner.finalizers().any(|name| name == FOREGROUND) {
                let blocks = |dependent: Arc<StoredObject>| {
                    served_owners(&self.kinds, &dependent)
                        .iter()
                        .any(|one| uid(one) == owner.meta("uid") && one["blockOwnerDeletion"] == true)
                };
                if !dependents().any(blocks) {
                    return self.remove_finalizer(owner, FOREGROUND);
                }
            }
        }
        false
    }

    /// The dependents of an owner whose kind is served.
    fn dependents(&self, owner: &str) -> impl Iterator<Item = Arc<StoredObject>> {
        let all = self.store.owners().dependents(owner).filter_map(|key| self.store.get(key));
        all.filter(move |object| served_owners(&self.kinds, object).iter().any(|one| uid(one) == owner))
    }

    /// Deletes an object whose owners are all absent or waiting, or removes its references to
    /// absent owners; returns whether it did. Upstream: `attemptToDeleteItem`.
    fn follow_owners(&mut self, object: &Arc<StoredObject>, now: Timestamp) -> bool {
        let references = object.body["metadata"]["ownerReferences"].as_array();
        let owned = served_owners(&self.kinds, object);
        // For an owner of a kind that is not served, upstream retries forever.
        if owned.is_empty() || references.is_some_and(|references| references.len() != owned.len()) {
            return false;
        }
        let waits = |owner: &&&Value| {
            let found = self.store.get_by_uid(uid(owner));
            found.is_some_and(|one| one.is_deleting() && one.finalizers().any(|name| name == FOREGROUND))
        };
        let waiting: Vec<&str> = owned.iter().filter(waits).map(|owner| uid(owner)).collect();
        let absent: Vec<&str> =
            owned.iter().map(|owner| uid(owner)).filter(|uid| !self.store.owners().has_uid(uid)).collect();
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
        let options = DeleteOptions { propagation: Some(policy.to_owned()), ..DeleteOptions::default() };
        self.delete_object(object, &options, now).is_ok()
    }

    /// Removes a finalizer of the garbage collector. If it is the last, the object is removed
    /// instead of updated.
    fn remove_finalizer(&mut self, object: &Arc<StoredObject>, finalizer: &str) -> bool {
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

    /// Writes an object from which a controller removed fields; returns whether it did.
    fn write_without(&mut self, before: &StoredObject, after: &Value) -> bool {
        let (body, managers) = without_removed_fields(before, after);
        self.write(before.kind, body, managers).is_ok()
    }
}

/// The owner references to kinds that are served.
fn served_owners<'a>(kinds: &Kinds, object: &'a StoredObject) -> Vec<&'a Value> {
    let all = object.body["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    all.filter(|owner| {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        kinds.find(text("apiVersion"), text("kind")).is_some()
    })
    .collect()
}

fn uid(owner: &Value) -> &str {
    owner["uid"].as_str().unwrap_or_default()
}
