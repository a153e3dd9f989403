//! A recording without the names and values of its cluster.
//!
//! Only listed fields remain, which replay and timelines need, and of their values numbers,
//! booleans, times and the words that Kubernetes itself defines. All other values are replaced by a
//! word with a number, the same one throughout the recording, so that owners, selectors and equal
//! templates still match. UIDs are replaced by UIDs in the same order, since a controller may
//! choose by it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use lockstep_recording::{Header, Identity, ObjectVersion, Recording, RecordingEnd, RecordingEntry, Settling, Trouble};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{HASH_LABEL, OWN_PREFIX};
use serde_json::{Map, Value, json};

/// The name of the Deployment.
const WEB: &str = "web";
/// The annotation with the manifest that kubectl applied last.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The annotation that `kubectl rollout restart` writes.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";
/// The annotation with the cost of a pod's deletion.
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// The annotations that the Deployment controller writes.
const CONTROLLER_ANNOTATIONS: [&str; 4] = ["revision", "revision-history", "desired-replicas", "max-replicas"];

/// The recording, without names and values.
#[must_use]
pub fn anonymous(recording: &Recording) -> Recording {
    let mut names = Pseudonyms::of(recording);
    let entries = recording.entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Object(version) => names.version(version).map(RecordingEntry::Object),
        // A server's message may contain any name.
        RecordingEntry::Trouble(trouble) => Some(RecordingEntry::Trouble(without_text(trouble))),
        RecordingEntry::Settled(settling) => Some(RecordingEntry::Settled(Settling {
            unsettled: settling.unsettled.as_ref().map(without_text),
            ..settling.clone()
        })),
        _ => None,
    });
    let entries = entries.collect();
    let end = recording.end.as_ref().map(|end| RecordingEnd { diagnosis: None, ..end.clone() });
    Recording { header: names.header(&recording.header), entries, end }
}

fn without_text(trouble: &Trouble) -> Trouble {
    Trouble { why: "a gap".to_owned(), ..trouble.clone() }
}

/// The replacements of names and values.
#[derive(Debug, Default)]
struct Pseudonyms {
    /// The Deployment's own name.
    deployment: String,
    uids: BTreeMap<String, String>,
    /// The numbers of names, by what they name.
    numbers: BTreeMap<&'static str, BTreeMap<String, usize>>,
}

impl Pseudonyms {
    fn of(recording: &Recording) -> Self {
        let (mut uids, mut deployment) = (BTreeSet::new(), None);
        for entry in &recording.entries {
            if let RecordingEntry::Object(version) = entry {
                collect_uids(&version.object.value(), &mut uids);
                deployment = deployment.or_else(|| (version.kind == "Deployment").then(|| version.name.clone()));
            }
        }
        let uids = (1_u64..).zip(uids).map(|(number, uid)| (uid, format!("00000000-0000-4000-8000-{number:012x}")));
        Self { deployment: deployment.unwrap_or_default(), uids: uids.collect(), numbers: BTreeMap::new() }
    }

    fn word(&mut self, of: &'static str, text: &str) -> String {
        let numbers = self.numbers.entry(of).or_default();
        let next = numbers.len() + 1;
        let number = *numbers.entry(text.to_owned()).or_insert(next);
        format!("{of}-{number}")
    }

    fn header(&mut self, header: &Header) -> Header {
        let subject = self.identity(&header.subject);
        Header {
            format: header.format,
            case: format!("captured/{WEB}"),
            path: String::new(),
            source: String::new(),
            controllers: header.controllers.clone(),
            under_test: header.under_test.clone(),
            namespace: "default".to_owned(),
            subject,
            kind: header.kind,
            cluster: self.identity(&header.cluster),
            cluster_controllers: None,
            beside: None,
            workload: None,
            real_pods: header.real_pods,
            unevaluated: Vec::new(),
            seed: header.seed,
            started: self.text("started", &header.started),
        }
    }

    /// The version as upstream writes it, without a vendor's suffix.
    fn identity(&mut self, identity: &Identity) -> Identity {
        let version = identity.version.split(['+', '-']).next().unwrap_or_default();
        let is_upstreams = version.bytes().all(|byte| byte.is_ascii_digit() || b"v.".contains(&byte));
        Identity::new("cluster", self.program(&identity.program), if is_upstreams { version } else { "" })
    }

    fn program(&mut self, name: &str) -> String {
        if PROGRAMS.contains(&name) { name.to_owned() } else { self.word("program", name) }
    }

    fn version(&mut self, version: &ObjectVersion) -> Option<ObjectVersion> {
        let object = match version.kind.as_str() {
            "Deployment" | "ReplicaSet" | "Pod" => self.object(version),
            "Event" => self.event(version)?,
            _ => return None,
        };
        let name = object.at("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let authors =
            version.author.as_deref().map(|all| all.split(", ").map(|one| self.program(one)).collect::<Vec<_>>());
        let author = authors.map(|all| all.join(", "));
        Some(ObjectVersion { name, author, object: object.into(), ..version.clone() })
    }

    fn name(&mut self, kind: &str, name: &str) -> String {
        match kind {
            "Deployment" if name == self.deployment => WEB.to_owned(),
            "Deployment" => self.word("deployment", name),
            "ReplicaSet" => {
                let hash = name.strip_prefix(&self.deployment).and_then(|rest| rest.strip_prefix('-'));
                match hash.map(str::to_owned) {
                    Some(hash) => format!("{WEB}-{}", self.word("hash", &hash)),
                    None => self.word("set", name),
                }
            }
            "Pod" => self.word("pod", name),
            _ => self.word("object", name),
        }
    }

    /// Only `Deleted pod: NAME` is read from Events.
    fn event(&mut self, version: &ObjectVersion) -> Option<Value> {
        let object = version.object.value();
        let text = |pointer: &str| object.at(pointer).and_then(Value::as_str).unwrap_or_default();
        let pod = text("/message").strip_prefix("Deleted pod: ")?;
        Some(json!({
            "metadata": {"name": self.word("event", &version.name), "resourceVersion": version.rv.to_string()},
            "message": format!("Deleted pod: {}", self.name("Pod", pod)),
            "reason": self.text("reason", text("/reason")),
            "involvedObject": {"kind": "ReplicaSet", "uid": self.text("uid", text("/involvedObject/uid"))},
        }))
    }

    fn object(&mut self, version: &ObjectVersion) -> Value {
        let (kind, object) = (version.kind.as_str(), version.object.value());
        let part = |name: &str| object.get(name).unwrap_or(&Value::Null);
        let mut metadata = self.fields(part("metadata"));
        metadata.insert("name".to_owned(), self.name(kind, &version.name).into());
        metadata.insert("namespace".to_owned(), "default".into());
        for field in ["labels", "annotations"] {
            if let Some(all) = part("metadata").get(field) {
                metadata.insert(field.to_owned(), self.map(all));
            }
        }
        let owners = part("metadata").get("ownerReferences").and_then(Value::as_array).into_iter().flatten();
        for (owner, anonymous) in
            owners.zip(metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten())
        {
            let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
            let name = self.name(text("kind"), text("name"));
            anonymous
                .as_object_mut()
                .into_iter()
                .for_each(|fields| drop(fields.insert("name".to_owned(), name.clone().into())));
        }
        let mut spec = self.fields(part("spec"));
        if let Some(all) = object.at("/spec/selector/matchLabels") {
            spec.insert("selector".to_owned(), json!({"matchLabels": self.map(all)}));
        }
        if kind != "Pod" {
            spec.insert("template".to_owned(), self.template(object.at("/spec/template").unwrap_or(&Value::Null)));
        }
        let mut status = self.fields(part("status"));
        self.quotas(object.at("/status/conditions"), status.get_mut("conditions"));
        let api_version = self.value("apiVersion", part("apiVersion"));
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
    }

    /// The fields of a mapping that remain.
    fn fields(&mut self, value: &Value) -> Map<String, Value> {
        let known = value.as_object().into_iter().flatten().filter(|(field, _)| FIELDS.contains(&field.as_str()));
        known.map(|(field, value)| (field.clone(), self.value(field, value))).collect()
    }

    fn value(&mut self, field: &str, value: &Value) -> Value {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
            Value::String(text) => self.text(field, text).into(),
            Value::Array(list) => list.iter().map(|value| self.value(field, value)).collect(),
            Value::Object(_) => self.fields(value).into(),
        }
    }

    /// The text, if it is allowed in this field; otherwise a word that replaces it.
    fn text(&mut self, field: &str, text: &str) -> String {
        let stays = match field {
            "resourceVersion" => is_number(text),
            "maxSurge" | "maxUnavailable" => is_number(text.strip_suffix('%').unwrap_or(text)),
            "started" => is_time(text),
            _ if field.ends_with("Time") || field.ends_with("Timestamp") => is_time(text),
            _ => words(field).contains(&text),
        };
        match field {
            _ if stays => text.to_owned(),
            "uid" => self.uids.get(text).cloned().unwrap_or_default(),
            // A server refuses finalizers and types without a domain.
            "finalizers" => format!("example.com/{}", self.word("finalizer", text)),
            "type" | "conditionType" => format!("example.com/{}", self.word("type", text)),
            "apiVersion" => format!("example.com/{}", self.word("v", text).replacen('-', "", 1)),
            "kind" => self.word("Kind", text),
            _ => self.word("value", text),
        }
    }

    /// The part of a ReplicaSet's message about a quota from which its limit is inferred.
    fn quotas(&mut self, conditions: Option<&Value>, anonymous: Option<&mut Value>) {
        let list = conditions.and_then(Value::as_array).into_iter().flatten();
        for (condition, anonymous) in list.zip(anonymous.and_then(Value::as_array_mut).into_iter().flatten()) {
            let refusal = condition.at("/message").and_then(Value::as_str).and_then(quota);
            if let (Some((name, [requested, used, limited])), Some(fields)) = (refusal, anonymous.as_object_mut()) {
                let quota = self.word("quota", name);
                let message = format!(
                    "pods \"pod\" is forbidden: exceeded quota: {quota}, requested: pods={requested}, used: pods={used}, limited: pods={limited}"
                );
                fields.insert("message".to_owned(), message.into());
            }
        }
    }

    /// Labels or annotations: the keys that controllers read, and words for all others.
    fn map(&mut self, all: &Value) -> Value {
        let mut map = Map::new();
        for (key, value) in all.as_object().into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            let is_own = key.strip_prefix(OWN_PREFIX).is_some_and(|rest| CONTROLLER_ANNOTATIONS.contains(&rest));
            let (key, value) = match key.as_str() {
                LAST_APPLIED => continue,
                HASH_LABEL => (key.clone(), self.word("hash", text)),
                RESTARTED if is_time(text) => (key.clone(), text.to_owned()),
                COST if is_number(text.strip_prefix('-').unwrap_or(text)) => (key.clone(), text.to_owned()),
                _ if is_own && text.split(',').all(is_number) => (key.clone(), text.to_owned()),
                _ if is_own => (key.clone(), self.word("value", text)),
                _ => (self.word("key", key), self.word("value", text)),
            };
            map.insert(key, value.into());
        }
        map.into()
    }

    /// The image of the first container, and a number for the rest.
    fn template(&mut self, template: &Value) -> Value {
        let image = template.at("/spec/containers/0/image").and_then(Value::as_str).unwrap_or_default();
        let mut rest = template.clone();
        if let Some(container) = rest.pointer_mut("/spec/containers/0").and_then(Value::as_object_mut) {
            container.remove("image");
        }
        let restarted = template.at("/metadata/annotations").and_then(|all| all.get(RESTARTED)).and_then(Value::as_str);
        let restarted = restarted.filter(|time| is_time(time));
        if let Some(annotations) = rest.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut)
            && restarted.is_some()
        {
            annotations.remove(RESTARTED);
        }
        let labels = template.at("/metadata/labels").map(|labels| self.map(labels)).unwrap_or(json!({}));
        if let Some(labels) = rest.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove(HASH_LABEL);
        }
        if rest.at("/metadata/annotations").and_then(Value::as_object).is_some_and(Map::is_empty)
            && let Some(metadata) = rest.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
        let mut annotations = json!({"rest": self.word("template", &rest.to_string())});
        if let Some(restarted) = restarted {
            annotations[RESTARTED] = restarted.into();
        }
        let image = self.word("image", image).replacen('-', ":", 1);
        json!({"metadata": {"labels": labels, "annotations": annotations},
            "spec": {"containers": [{"name": "app", "image": image}]}})
    }
}

fn collect_uids(value: &Value, uids: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect_uids(value, uids)),
        Value::Object(map) => {
            uids.extend(map.get("uid").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|value| collect_uids(value, uids));
        }
        _ => {}
    }
}

/// The name of the quota and what was requested, used and limited, if it limits only pods.
fn quota(message: &str) -> Option<(&str, [i64; 3])> {
    let (_, rest) = message.split_once("exceeded quota: ")?;
    let (name, rest) = rest.split_once(", requested: ")?;
    let (requested, rest) = rest.split_once(", used: ")?;
    let (used, limited) = rest.split_once(", limited: ")?;
    let number = |text: &str| text.strip_prefix("pods=")?.trim().parse().ok();
    Some((name, [number(requested)?, number(used)?, number(limited)?]))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// RFC 3339 and nothing else: the parser also accepts names of time zones.
fn is_time(text: &str) -> bool {
    let has_signs_of_times = text.bytes().all(|byte| byte.is_ascii_digit() || b"-+:.TZ".contains(&byte));
    has_signs_of_times && text.parse::<Timestamp>().is_ok()
}

/// The fields that replay and timelines need. Labels, annotations, names, selectors and templates
/// are handled separately.
const FIELDS: [&str; 39] = [
    // metadata
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
    "apiVersion",
    "kind",
    "controller",
    "blockOwnerDeletion",
    // spec
    "replicas",
    "minReadySeconds",
    "progressDeadlineSeconds",
    "revisionHistoryLimit",
    "paused",
    "strategy",
    "type",
    "rollingUpdate",
    "maxSurge",
    "maxUnavailable",
    "readinessGates",
    "conditionType",
    // status
    "observedGeneration",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "unavailableReplicas",
    "fullyLabeledReplicas",
    "terminatingReplicas",
    "collisionCount",
    "phase",
    "conditions",
    "status",
    "reason",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
];

/// The upstream programs that write these objects.
const PROGRAMS: [&str; 6] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "others"];

/// The values that remain in a field.
fn words(field: &str) -> &'static [&'static str] {
    match field {
        "apiVersion" => &["apps/v1", "v1", "batch/v1"],
        "kind" => &["Deployment", "ReplicaSet", "Pod", "StatefulSet", "DaemonSet", "Job", "Node"],
        "finalizers" => &["foregroundDeletion", "orphan"],
        "type" | "conditionType" => &TYPES,
        "phase" => &["Pending", "Running", "Succeeded", "Failed", "Unknown"],
        "status" => &["True", "False", "Unknown"],
        "reason" => &REASONS,
        _ => &[],
    }
}

/// Types of strategies and of conditions.
const TYPES: [&str; 13] = [
    "RollingUpdate",
    "Recreate",
    "Available",
    "Progressing",
    "ReplicaFailure",
    "PodScheduled",
    "PodReadyToStartContainers",
    "Initialized",
    "ContainersReady",
    "Ready",
    "DisruptionTarget",
    "PodResizePending",
    "PodResizeInProgress",
];

/// Reasons of conditions and of Events.
const REASONS: [&str; 32] = [
    "DeploymentPaused",
    "DeploymentResumed",
    "FoundNewReplicaSet",
    "MinimumReplicasAvailable",
    "MinimumReplicasUnavailable",
    "NewReplicaSetAvailable",
    "NewReplicaSetCreated",
    "ProgressDeadlineExceeded",
    "ReplicaSetCreateError",
    "ReplicaSetUpdated",
    "FailedCreate",
    "FailedDelete",
    "SuccessfulCreate",
    "SuccessfulDelete",
    "ScalingReplicaSet",
    "ContainersNotInitialized",
    "ContainersNotReady",
    "PodCompleted",
    "PodFailed",
    "ReadinessGatesNotReady",
    "UnknownContainerStatuses",
    "SchedulingGated",
    "Unschedulable",
    "DeletionByPodGC",
    "DeletionByTaintManager",
    "EvictionByEvictionAPI",
    "PreemptionByScheduler",
    "TerminationByKubelet",
    "Evicted",
    "NodeLost",
    "Preempting",
    "DeadlineExceeded",
];

#[cfg(test)]
#[path = "anonymous_tests.rs"]
mod tests;
