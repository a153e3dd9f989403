//! Deletes the content of namespaces. Upstream: the namespace controller.
//!
//! Pods are deleted first, then everything else. The conditions of the namespace show what remains;
//! once it is empty, the namespace is finalized.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::http::request::timestamp_value;
use crate::registry::core::{namespace, pod};
use crate::registry::state::Server;
use crate::registry::verbs::delete::DeleteOptions;
use crate::storage::object::StoredObject;
use crate::types::kinds::ResourceKind;

/// The conditions, with their reasons and messages while there is no problem.
const CONDITIONS: [(&str, &str, &str); 5] = [
    (DISCOVERY, "ResourcesDiscovered", "All resources successfully discovered"),
    (PARSING, "ParsedGroupVersions", "All legacy kube types successfully parsed"),
    (FAILURE, "ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    (REMAINING, "ContentRemoved", "All content successfully removed"),
    (FINALIZERS, "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
];
const DISCOVERY: &str = "NamespaceDeletionDiscoveryFailure";
const PARSING: &str = "NamespaceDeletionGroupVersionParsingFailure";
const FAILURE: &str = "NamespaceDeletionContentFailure";
const REMAINING: &str = "NamespaceContentRemaining";
const FINALIZERS: &str = "NamespaceFinalizersRemaining";

impl Server {
    /// Starts the deletion of a namespace.
    pub(crate) fn begin_namespace_deletion(&mut self, object: &Arc<StoredObject>, now: Timestamp) -> Arc<StoredObject> {
        if object.is_deleting() {
            return Arc::clone(object);
        }
        let mut body = object.body.clone();
        body["metadata"]["deletionTimestamp"] = timestamp_value(now);
        body["status"]["phase"] = "Terminating".into();
        self.put_object(object.kind, object.key(), body, object.managers.clone())
    }

    /// Performs the next step for a namespace in deletion; returns whether there was one.
    pub(crate) fn delete_namespace_contents(&mut self, now: Timestamp) -> bool {
        let deleting: Vec<Arc<StoredObject>> =
            self.store.list(&namespace::KIND, "").filter(|one| one.is_deleting()).collect();
        for space in deleting {
            let name = space.meta("name");
            let is_finalized = space.body["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty);
            if !is_finalized {
                let next = self.remaining(name).into_iter().find(|one| !one.is_deleting());
                if let Some(next) = next {
                    let how = DeleteOptions { propagation: Some("Background".to_owned()), ..DeleteOptions::default() };
                    return self.delete_object(&next, &how, now).is_ok();
                }
                let mut body = space.body.clone();
                body["status"]["conditions"] = self.conditions(&space, now);
                if body != *space.body {
                    return self.write(space.kind, body, space.managers.clone()).is_ok();
                }
            }
            if self.store.list_namespace(name).next().is_none() {
                // The namespace is removed with its last finalizer.
                if space.finalizers().next().is_none() {
                    return self.store.remove(&space.key()).is_some();
                }
                let mut body = space.body.clone();
                if let Some(spec) = body["spec"].as_object_mut() {
                    spec.remove("finalizers");
                }
                let before = self.store.version();
                self.store.put(space.kind, space.key(), body, space.managers.clone());
                if self.store.version() != before {
                    return true;
                }
            }
        }
        false
    }

    /// The objects to delete next: the pods, or everything else if there are none.
    fn remaining(&self, namespace: &str) -> Vec<Arc<StoredObject>> {
        let pods: Vec<_> = self.store.list(&pod::KIND, namespace).collect();
        if pods.is_empty() { self.store.list_namespace(namespace).collect() } else { pods }
    }

    /// The conditions once all objects are in deletion. Upstream: `deleteAllContent` and
    /// `namespaceConditionUpdater`.
    fn conditions(&self, space: &StoredObject, now: Timestamp) -> Value {
        let name = space.meta("name");
        let mut wrong: BTreeMap<&str, (&str, String)> = BTreeMap::new();
        if self.store.list(&pod::KIND, name).next().is_some() {
            // While pods remain, upstream reports nothing else.
            if self.are_pods_stuck(space, now) {
                let why = format!(
                    "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: {name} \
                     for gvr: /v1, Resource=pods"
                );
                wrong.insert(FAILURE, ("ContentDeletionFailed", why));
            }
        } else {
            let (kinds, finalizers) = self.counts_of_remaining(name);
            if !kinds.is_empty() {
                let why = format!("Some resources are remaining: {}", kinds.join(", "));
                wrong.insert(REMAINING, ("SomeResourcesRemain", why));
            }
            if !finalizers.is_empty() {
                let why = format!("Some content in the namespace has finalizers remaining: {}", finalizers.join(", "));
                wrong.insert(FINALIZERS, ("SomeFinalizersRemain", why));
            }
        }
        let mut all = space.body["status"]["conditions"].as_array().cloned().unwrap_or_default();
        for (kind, reason, message) in CONDITIONS {
            let (status, reason, message) = match wrong.remove(kind) {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", reason, message.to_owned()),
            };
            let mut condition = json!({"type": kind, "status": status, "lastTransitionTime": timestamp_value(now),
                "reason": reason, "message": message});
            match all.iter_mut().find(|one| one["type"] == kind) {
                Some(current) => {
                    if current["status"] == status {
                        condition["lastTransitionTime"] = current["lastTransitionTime"].clone();
                    }
                    *current = condition;
                }
                None => all.push(condition),
            }
        }
        Value::Array(all)
    }

    /// Whether pods without finalizers still exist after the grace period since the deletion of the
    /// namespace.
    fn are_pods_stuck(&self, space: &StoredObject, now: Timestamp) -> bool {
        let pods = || self.store.list(&pod::KIND, space.meta("name"));
        let running =
            pods().filter(|pod| !matches!(pod.body["status"]["phase"].as_str(), Some("Succeeded" | "Failed")));
        let grace = running.filter_map(|pod| pod.body["spec"]["terminationGracePeriodSeconds"].as_i64()).max();
        let deleted = space.meta("deletionTimestamp").parse::<Timestamp>();
        let until = deleted.ok().and_then(|from| from.checked_add(SignedDuration::from_secs(grace.unwrap_or(0))).ok());
        until.is_some_and(|until| now >= until) && pods().all(|pod| pod.finalizers().next().is_none())
    }

    /// The numbers of remaining objects by kind and by finalizer, as the conditions print them.
    fn counts_of_remaining(&self, namespace: &str) -> (Vec<String>, Vec<String>) {
        let kinds: BTreeMap<String, &'static ResourceKind> =
            self.kinds.all().filter(|kind| kind.namespaced).map(|kind| (kind.resource(), kind)).collect();
        let (mut remaining, mut finalizers) = (Vec::new(), BTreeMap::<String, usize>::new());
        for kind in kinds.into_values() {
            let objects = || self.store.list(self.kinds.storage_of(kind), namespace);
            if objects().next().is_some() {
                let number = objects().count();
                remaining.push(format!("{}.{} has {number} resource instances", kind.plural, kind.group));
            }
            for object in objects() {
                for finalizer in object.finalizers() {
                    *finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
        }
        remaining.sort();
        let shown = finalizers.iter().map(|(name, number)| format!("{name} in {number} resource instances"));
        let mut finalizers: Vec<String> = shown.collect();
        finalizers.sort();
        (remaining, finalizers)
    }
}
