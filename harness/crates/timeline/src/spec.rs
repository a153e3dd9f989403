//! The invariant `spec`: a controller changes nothing in the spec of a workload but the template,
//! and none of its labels. They are what the user asks for.
//!
//! A version does not say who wrote it. So a change counts once the subject is known to have
//! written the workload itself in the same step, whichever of the two the recording has first. A
//! controller may pause a Deployment, and resume the one that it has paused.
//!
//! Source: the API's documentation of `spec`; upstream's controllers write their own status,
//! annotations, and the template of an undo.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::{ChangeType, Header, ObjectVersion, SubjectRequest};
use lockstep_support::pointer::JsonPointer;
use serde_json::{Map, Value};

use super::checkpoint::is_paused;
use super::model::{Invariant, InvariantBreach};
use super::recorded_objects::{DAEMON_SET, DEPLOYMENT, STATEFUL_SET};

/// The workloads whose spec is a user's, by kind and resource.
const WORKLOADS: [(&str, &str); 3] =
    [(DEPLOYMENT, "deployments"), (STATEFUL_SET, "statefulsets"), (DAEMON_SET, "daemonsets")];

/// A workload: its resource and name.
type WorkloadKey = (&'static str, String);

/// What another writer than the driver has changed since the last settling.
#[derive(Debug, Default)]
pub(super) struct SpecChanges {
    /// The fields that were changed.
    changed: BTreeMap<WorkloadKey, BTreeSet<String>>,
    /// The workloads that the subject has written, but for their status.
    writes: BTreeSet<WorkloadKey>,
    /// The Deployments that were paused by another writer than the driver.
    paused: BTreeSet<String>,
}

impl SpecChanges {
    /// No changes yet. `None` for a kind in place of Deployments, of which the spec is not known,
    /// and for a case with an autoscaler: it may write in the same step as the subject.
    pub(super) fn of(header: &Header) -> Option<Self> {
        let has_autoscaler = header.source.contains("HorizontalPodAutoscaler");
        (header.workload.is_none() && !has_autoscaler).then(Self::default)
    }

    /// Records a version of another writer; `before` is the object before.
    pub(super) fn record_version(
        &mut self,
        version: &ObjectVersion,
        before: Option<&Value>,
    ) -> Option<InvariantBreach> {
        let (_, resource) = WORKLOADS.into_iter().find(|(kind, _)| *kind == version.kind)?;
        let before = before.filter(|_| version.change == ChangeType::Modified)?;
        let mut fields = changed_fields(before, &version.object);
        if is_paused(&version.object) {
            let pauses = fields.remove("spec.paused");
            self.paused.extend(pauses.then(|| version.name.clone()));
        } else if fields.contains("spec.paused") && self.paused.remove(&version.name) {
            fields.remove("spec.paused");
        }
        if fields.is_empty() {
            return None;
        }
        let key = (resource, version.name.clone());
        self.changed.entry(key.clone()).or_default().extend(fields);
        self.breach(&key)
    }

    /// Records a request of the subject.
    pub(super) fn record_request(&mut self, request: &SubjectRequest) -> Option<InvariantBreach> {
        let writes = request.is_successful_write() && request.subresource != "status" && request.elsewhere.is_none();
        let (_, resource) = WORKLOADS.into_iter().find(|(_, resource)| writes && *resource == request.resource)?;
        let key = (resource, request.name.clone());
        self.writes.insert(key.clone());
        self.breach(&key)
    }

    /// The namespace has settled: a later request has not made the changes so far.
    pub(super) fn reset(&mut self) {
        self.changed.clear();
        self.writes.clear();
    }

    fn breach(&self, key: &WorkloadKey) -> Option<InvariantBreach> {
        let fields = self.changed.get(key).filter(|_| self.writes.contains(key))?;
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        let detail = format!("{} of {} changed by the controller", fields.join(" and "), key.1);
        Some(InvariantBreach { invariant: Invariant::Spec, detail })
    }
}

/// The fields of the spec but the template, and the labels, that differ.
fn changed_fields(before: &Value, after: &Value) -> BTreeSet<String> {
    let (empty, mut fields) = (Map::new(), BTreeSet::new());
    let [old, new] = [before, after].map(|object| object.at("/spec").and_then(Value::as_object).unwrap_or(&empty));
    let names = old.keys().chain(new.keys()).filter(|name| *name != "template");
    fields.extend(names.filter(|name| old.get(*name) != new.get(*name)).map(|name| format!("spec.{name}")));
    if before.at("/metadata/labels") != after.at("/metadata/labels") {
        fields.insert("metadata.labels".to_owned());
    }
    fields
}
