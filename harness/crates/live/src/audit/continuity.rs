//! Checks whether a log contains all writes of a Deployment: the versions must follow from each
//! other.
//!
//! A log can lack writes unnoticed: one of several API servers writes no log, an audit policy
//! leaves out a subresource, an exporter drops records. Three checks detect it. Each write of a
//! spec increments `metadata.generation`, and a write of the status does not. A ReplicaSet counts
//! pods that must have been created, and ready ones that must have become ready. And a controller
//! that creates pods also writes statuses.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::ChangeType;
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{controller_uid, count, int, name, text, uid};
use serde_json::Value;

use super::entry::AuditEntry;
use super::versions::{LoggedVersion, Objects};

/// What the earlier versions have shown.
#[derive(Debug, Default)]
pub(super) struct Continuity {
    /// The UIDs of the pods of each ReplicaSet, and of those that were ever ready.
    pods: BTreeMap<String, BTreeSet<String>>,
    ready: BTreeMap<String, BTreeSet<String>>,
    /// The kinds whose status was written, and those that were created or sized.
    statuses: BTreeSet<&'static str>,
    spec_writes: BTreeSet<&'static str>,
    /// The counts that were reported as too high.
    reported: BTreeSet<String>,
    /// The objects whose last version is already a gap, by kind and name.
    unknown: BTreeSet<(Option<&'static str>, String)>,
}

impl Continuity {
    /// Add an object that existed when the log began.
    pub(super) fn add_existing(&mut self, kind: &str, object: &Value) {
        if kind != "Pod" {
            return;
        }
        let Some(owner) = controller_uid(object) else { return };
        self.pods.entry(owner.to_owned()).or_default().insert(uid(object).to_owned());
        if is_ready(object) {
            self.ready.entry(owner.to_owned()).or_default().insert(uid(object).to_owned());
        }
    }

    /// Note a write whose version is not known.
    pub(super) fn skip(&mut self, entry: &AuditEntry) {
        self.unknown.insert((entry.kind(), entry.name().to_owned()));
    }

    /// Check the next version. Returns which earlier write the log lacks, if it lacks one. `before`
    /// has the objects before this version, `deployment` is the UID of the Deployment.
    pub(super) fn next(&mut self, before: &Objects, logged: &LoggedVersion<'_>, deployment: &str) -> Option<String> {
        let object = &logged.object;
        self.add_existing(logged.kind, object);
        let is_own = match logged.kind {
            "Deployment" => uid(object) == deployment,
            "ReplicaSet" => controller_uid(object) == Some(deployment),
            "Pod" => {
                let is_owner =
                    |set: &Value| controller_uid(object) == Some(uid(set)) && controller_uid(set) == Some(deployment);
                logged.change == ChangeType::Added && before.all("ReplicaSet").any(is_owner)
            }
            _ => false,
        };
        if !is_own {
            return None;
        }
        let is_status = logged.entry.is_status();
        if is_status {
            self.statuses.insert(logged.kind)
        } else {
            self.spec_writes.insert(logged.kind)
        };
        let is_known = !self.unknown.remove(&(Some(logged.kind), name(object).to_owned()));
        let known = before.get(logged.kind, name(object)).filter(|known| is_known && uid(known) == uid(object));
        let generations = known.and_then(|known| Some((int(known, GENERATION)?, int(object, GENERATION)?)));
        if let Some((then, now)) = generations
            && (now > then + 1 || is_status && now > then)
        {
            let subject = format!("{} {}", logged.kind.to_lowercase(), name(object));
            return Some(format!(
                "a write of {subject} is not in the log: its generation is {now}, and the log last had {then}"
            ));
        }
        if logged.kind != "ReplicaSet" {
            return None;
        }
        let counts = [("/status/replicas", &self.pods, "pods"), ("/status/readyReplicas", &self.ready, "ready pods")];
        let missing = counts.into_iter().find_map(|(pointer, all, what)| {
            let (counted, seen) = (count(object, pointer), all.get(uid(object)).map_or(0, BTreeSet::len));
            let missing = usize::try_from(counted).is_ok_and(|counted| counted > seen);
            missing
                .then(|| format!("replicaset {} counts {counted} {what}, and the log has shown {seen}", name(object)))
        });
        // Each version has the same count until it changes.
        missing.filter(|missing| self.reported.insert(missing.clone()))
    }

    /// The statuses that the log lacks completely.
    pub(super) fn end(&self) -> Option<String> {
        let lacks = |kind: &str| !self.statuses.contains(kind);
        // Without pods there may be nothing to report yet.
        if !self.spec_writes.contains("Pod") {
            return None;
        }
        let kinds: Vec<&str> = ["Deployment", "ReplicaSet"].into_iter().filter(|kind| lacks(kind)).collect();
        let resources: Vec<String> = kinds.iter().map(|kind| format!("{}s/status", kind.to_lowercase())).collect();
        (!kinds.is_empty()).then(|| format!("the log has no write of {}", resources.join(" and ")))
    }
}

const GENERATION: &str = "/metadata/generation";

/// Whether a pod is ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    let conditions = pod.at("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|all| {
        all.iter().any(|one| text(one, "/type") == Some("Ready") && text(one, "/status") == Some("True"))
    })
}
