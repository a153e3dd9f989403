//! The controllers of CustomResourceDefinitions.
//!
//! kube-apiserver itself runs these controllers: they accept the names, establish the kind, and on
//! deletion remove the objects before the definition. Here they act right after the triggering
//! request, with one write for each of upstream's.
//!
//! Upstream: `apiextensions-apiserver/pkg/controller` (status, establish, finalizer).

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fields::field_manager::FieldManager;
use crate::fields::path::FieldSet;
use crate::fields::typed::Atom;
use crate::http::request::timestamp_value;
use crate::registry::apiextensions::custom_resource_definition::KIND;
use crate::registry::custom::checks::approval_condition;
use crate::registry::custom::kinds_of;
use crate::registry::state::Server;
use crate::registry::verbs::delete::DeleteOptions;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::types::kinds::ResourceKind;

/// The finalizer that keeps a definition until its objects are deleted.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn condition<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    body["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == name)
}

/// Sets a condition. Its transition time changes only with its status.
fn set_condition(body: &mut Value, name: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
    let old = condition(body, name).cloned().unwrap_or_default();
    let time = if old["status"] == status { old["lastTransitionTime"].clone() } else { timestamp_value(now) };
    let mut all = body["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let new = json!({"type": name, "status": status, "lastTransitionTime": time, "reason": reason, "message": message});
    match all.iter_mut().find(|one| one["type"] == name) {
        Some(one) => *one = new,
        None => all.push(new),
    }
    body["status"]["conditions"] = Value::Array(all);
}

impl Server {
    /// Runs the controllers of definitions after a change, and serves the established kinds.
    pub(crate) fn establish(&mut self, now: Timestamp) {
        let mut due = std::mem::take(&mut self.deleting_definitions);
        loop {
            due.extend(self.serve_changed_definitions());
            let objects: Vec<Arc<StoredObject>> = due.iter().filter_map(|key| self.store.get(key)).collect();
            if !objects.iter().any(|one| self.step_definition(one, now)) {
                due.retain(|key| self.store.get(key).is_some_and(|one| one.is_deleting()));
                break;
            }
        }
        self.deleting_definitions = due;
    }

    /// Serves the kinds of established definitions among those that changed since the last call,
    /// and of the others no longer; returns the changed ones.
    fn serve_changed_definitions(&mut self) -> BTreeSet<StoreKey> {
        let (order, from) = (KIND.order(), self.definitions_version);
        self.definitions_version = self.store.version();
        let changed: BTreeSet<StoreKey> = if self.store.lacks_changes_of(order, from) {
            let served = self.kinds.definitions().map(|(name, _)| StoreKey::new(&KIND, "", name));
            self.store.list(&KIND, "").map(|one| one.key()).chain(served).collect()
        } else {
            let changes = self.store.since(from).iter().filter(|change| change.key.kind == order);
            changes.map(|change| StoreKey::clone(&change.key)).collect()
        };
        for key in &changed {
            let is_established =
                |body: &Value| condition(body, "Established").is_some_and(|one| one["status"] == "True");
            let established = self.store.get(key).filter(|one| is_established(&one.body));
            match established.map(|one| kinds_of(&one.body["spec"])) {
                Some(Ok(definition)) => self.kinds.define(&key.name, definition),
                _ => self.kinds.remove(&key.name),
            }
        }
        changed
    }

    /// Performs the next step for a definition; returns whether there was one.
    fn step_definition(&mut self, object: &Arc<StoredObject>, now: Timestamp) -> bool {
        let mut body = object.body.clone();
        if object.is_deleting() {
            return object.finalizers().any(|name| name == CLEANUP) && self.clean_up(object, now);
        }
        let requested = &object.body["spec"]["names"];
        if object.body["status"]["acceptedNames"] != *requested || condition(&body, "NamesAccepted").is_none() {
            body["status"]["acceptedNames"] = requested.clone();
            set_condition(&mut body, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
            if condition(&body, "Established").is_none() {
                let message = "the initial names have been accepted";
                set_condition(&mut body, "Established", "False", "Installing", message, now);
            }
            return self.write_definition(object, body, now);
        }
        if condition(&body, "Established").is_none_or(|one| one["status"] != "True") {
            let message = "the initial names have been accepted";
            set_condition(&mut body, "Established", "True", "InitialNamesAccepted", message, now);
            return self.write_definition(object, body, now);
        }
        const APPROVED: &str = "KubernetesAPIApprovalPolicyConformant";
        if let Some((status, reason, message)) = approval_condition(&body) {
            set_condition(&mut body, APPROVED, status, reason, &message, now);
            return self.write_definition(object, body, now);
        }
        false
    }

    /// Writes the status of a definition as kube-apiserver's controllers do.
    fn write_definition(&mut self, object: &Arc<StoredObject>, body: Value, now: Timestamp) -> bool {
        let before = self.store.version();
        let writer = FieldManager {
            root: Atom::of_type(KIND.table_index()),
            replicas: &[],
            api_version: KIND.api_version(),
            manager: "kube-apiserver".to_owned(),
            subresource: "status".to_owned(),
            reset: crate::registry::prepare::reset_fields(&KIND, "status"),
            time: Some(crate::clock::rfc3339(now)),
            converters: Vec::new(),
            empty: json!({}),
            rewritten: FieldSet::default(),
        };
        let managers = writer.update(&object.body, &object.managers, &Value::Null, &body);
        let managers = managers.or_else(|| object.managers.clone());
        self.store.put(&KIND, object.key(), body, managers);
        self.store.version() != before
    }

    /// Starts the deletion of a definition, whose objects are deleted first.
    pub(crate) fn begin_definition_deletion(
        &mut self,
        object: &Arc<StoredObject>,
        now: Timestamp,
    ) -> Arc<StoredObject> {
        if object.is_deleting() {
            return Arc::clone(object);
        }
        let mut body = object.body.clone();
        body["metadata"]["deletionTimestamp"] = timestamp_value(now);
        let mut finalizers = body["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if !finalizers.contains(&json!(CLEANUP)) {
            finalizers.push(json!(CLEANUP));
        }
        body["metadata"]["finalizers"] = Value::Array(finalizers);
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        set_condition(&mut body, "Terminating", "True", "InstanceDeletionPending", message, now);
        self.put_object(&KIND, object.key(), body, object.managers.clone())
    }

    /// Whether the objects of a custom kind are being deleted because its definition is.
    pub(crate) fn is_definition_terminating(&self, kind: &ResourceKind) -> bool {
        let definition = self.store.get(&StoreKey::new(&KIND, "", &kind.resource()));
        let terminating = definition.as_ref().and_then(|one| condition(&one.body, "Terminating"));
        terminating.is_some_and(|one| one["status"] == "True")
    }

    /// Deletes the objects of a definition, then removes its finalizer.
    fn clean_up(&mut self, object: &Arc<StoredObject>, now: Timestamp) -> bool {
        let Ok(definition) = kinds_of(&object.body["spec"]) else { return false };
        let mut body = object.body.clone();
        let reason = |body: &Value| condition(body, "Terminating").map(|one| one["reason"].clone()).unwrap_or_default();
        if reason(&body) != "InstanceDeletionInProgress" {
            let message = "CustomResource deletion is in progress";
            set_condition(&mut body, "Terminating", "True", "InstanceDeletionInProgress", message, now);
            return self.write_definition(object, body, now);
        }
        let remaining: Vec<Arc<StoredObject>> = self.store.list(definition.storage, "").collect();
        if let Some(next) = remaining.iter().find(|one| !one.is_deleting()) {
            return self.delete_object(next, &DeleteOptions::default(), now).is_ok();
        }
        if !remaining.is_empty() {
            return false;
        }
        let finalizers: Vec<String> = object.finalizers().filter(|name| *name != CLEANUP).map(str::to_owned).collect();
        if finalizers.is_empty() {
            return self.store.remove(&object.key()).is_some();
        }
        body["metadata"]["finalizers"] = json!(finalizers);
        set_condition(&mut body, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances", now);
        self.write_definition(object, body, now)
    }
}
