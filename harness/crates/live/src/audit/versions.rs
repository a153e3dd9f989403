//! Derives the versions of objects from the server's answers.
//!
//! Most answers are the stored object. Some are not: a Scale has only the number of replicas,
//! clients that request metadata get only that, and the deletion of an object without a grace
//! period is answered by a Status, as is an eviction. The answer to the last deletion of a pod is
//! the pod once more.
//!
//! The deletion of a collection (`deletecollection`) is expanded into the deletions of its objects.
//! It is one request, whose answer lists the objects as they were before. The options decide what
//! happened to each: an object without finalizers is gone, one with finalizers or a foreground
//! deletion waits for them, and a pod that runs on a node has its grace period.
//!
//! [`Continuity`] checks whether a log contains all writes of a Deployment: the versions must
//! follow from each other. A log can lack writes unnoticed: one of several API servers writes no
//! log, an audit policy leaves out a subresource, an exporter drops records. Four checks detect it.
//! Each write of a spec increments `metadata.generation`, and a write of the status does not. An
//! update names the version that it replaces. A ReplicaSet counts pods that must have been created,
//! and ready ones that must have become ready. And a controller that creates pods also writes
//! statuses.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::ChangeType;
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::{controller_uid, count, deleting, int, name, text, uid};
use serde_json::{Value, json};

use super::entry::AuditEntry;

/// One version, and the entry that it comes from.
#[derive(Debug)]
pub(super) struct LoggedVersion<'a> {
    pub(super) entry: &'a AuditEntry,
    pub(super) kind: &'static str,
    /// What happened to the object.
    pub(super) change: ChangeType,
    /// The object; for a deleted one its last version.
    pub(super) object: Value,
}

/// The objects at one moment, by kind and name.
#[derive(Debug, Default)]
pub(super) struct Objects(BTreeMap<(&'static str, String), Value>);

impl Objects {
    /// The version that an entry created. `None` if it created none: the write changed nothing, or
    /// the log has no earlier version of the object.
    ///
    /// # Errors
    /// There is a version, but the log lacks it, for this reason.
    pub(super) fn version_of<'a>(&self, entry: &'a AuditEntry, last: u64) -> Result<Option<LoggedVersion<'a>>, String> {
        let Some(kind) = entry.kind() else { return Ok(None) };
        let previous = self.0.get(&(kind, entry.name().to_owned()));
        let logged = |change, mut object: Value| {
            if releases(entry) {
                object["metadata"]["resourceVersion"] = json!(last.to_string());
            }
            Ok(Some(LoggedVersion { entry, kind, change, object }))
        };
        if let Some(why) = entry.lacks_answer() {
            return Err(format!("the log lacks the answer to {}: {why}", entry.request()));
        }
        let Some(answer) = &entry.response_object else { return Ok(None) };
        let of = text(answer, "/kind").unwrap_or_default();
        let removes = entry.verb == "delete" && entry.object_ref.subresource.is_empty();
        match of {
            "Status" if removes => {
                let Some(previous) = previous else { return Ok(None) };
                let mut object = previous.clone();
                object["metadata"]["resourceVersion"] = json!(last.to_string());
                logged(ChangeType::Deleted, object)
            }
            "Status" if entry.is_eviction() => {
                let Some(previous) = previous.filter(|previous| !deleting(previous)) else { return Ok(None) };
                let object = deletion(entry, previous, json!(last.to_string()));
                logged(if is_held(&object) { ChangeType::Modified } else { ChangeType::Deleted }, object)
            }
            // Each object of a collection has an entry of its own.
            "Status" | "Table" | "PartialObjectMetadataList" => Ok(None),
            _ if of.strip_suffix("List") == Some(kind) => Ok(None),
            "Scale" | "PartialObjectMetadata" => {
                let Some(previous) = previous else { return Ok(None) };
                let object = if of == "Scale" { scaled(previous, answer) } else { with_metadata(previous, answer) };
                match is_gone(entry, &object) {
                    true => logged(ChangeType::Deleted, object),
                    false if is_same(previous, answer) && !removes => Ok(None),
                    false => logged(ChangeType::Modified, object),
                }
            }
            _ if of == kind && version(answer).is_some() => {
                let change = match previous {
                    _ if is_gone(entry, answer) => ChangeType::Deleted,
                    Some(previous) if is_same(previous, answer) => return Ok(None),
                    Some(_) => ChangeType::Modified,
                    None => ChangeType::Added,
                };
                logged(change, answer.clone())
            }
            _ => Err(format!(
                "the log lacks the answer to {}: it has {} instead",
                entry.request(),
                if of == kind { "one without a resourceVersion" } else { "another kind" }
            )),
        }
    }

    /// Forget an object, of which there is a later, unknown version.
    pub(super) fn forget(&mut self, entry: &AuditEntry) {
        if let Some(kind) = entry.kind() {
            self.0.remove(&(kind, entry.name().to_owned()));
        }
    }

    pub(super) fn apply(&mut self, logged: &LoggedVersion<'_>) {
        let key = (logged.kind, logged.entry.name().to_owned());
        match logged.change {
            ChangeType::Deleted => drop(self.0.remove(&key)),
            ChangeType::Added | ChangeType::Modified => drop(self.0.insert(key, logged.object.clone())),
        }
    }

    /// Add an object.
    pub(super) fn put(&mut self, kind: &'static str, object: Value) {
        self.0.insert((kind, name(&object).to_owned()), object);
    }

    pub(super) fn get(&self, kind: &'static str, name: &str) -> Option<&Value> {
        self.0.get(&(kind, name.to_owned()))
    }

    /// All objects of a kind, by name.
    pub(super) fn all(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        self.0.range((kind, String::new())..).take_while(move |((of, _), _)| *of == kind).map(|(_, object)| object)
    }

    /// The objects, by kind and name.
    pub(super) fn into_all(self) -> impl Iterator<Item = (&'static str, Value)> {
        self.0.into_iter().map(|((kind, _), object)| (kind, object))
    }
}

/// The resourceVersion of an answer, if it has one.
pub(super) fn version(answer: &Value) -> Option<u64> {
    text(answer, "/metadata/resourceVersion")?.parse().ok().filter(|version| *version > 0)
}

/// The object after a write of its scale.
fn scaled(previous: &Value, scale: &Value) -> Value {
    let mut object = previous.clone();
    let replicas = scale.at("/spec/replicas").cloned().unwrap_or(json!(0));
    if previous.at("/spec/replicas") != Some(&replicas) {
        let generation = int(previous, "/metadata/generation").unwrap_or(0) + 1;
        object["metadata"]["generation"] = json!(generation);
        object["spec"]["replicas"] = replicas;
    }
    object["metadata"]["resourceVersion"] = scale.at("/metadata/resourceVersion").cloned().unwrap_or_default();
    object
}

/// The object after a write of its metadata.
fn with_metadata(previous: &Value, answer: &Value) -> Value {
    let mut object = previous.clone();
    object["metadata"] = answer.at("/metadata").cloned().unwrap_or_default();
    object
}

/// Whether an answer has the version that is known already: writes that change nothing and dry runs
/// create none.
fn is_same(previous: &Value, answer: &Value) -> bool {
    uid_of(previous) == uid_of(answer) && version(previous).is_some() && version(previous) == version(answer)
}

fn uid_of(object: &Value) -> Option<&str> {
    text(object, "/metadata/uid")
}

/// Whether this entry takes the last finalizer off a deleted object. The answer is the object as it
/// was read, with the version that it had then.
pub(super) fn releases(entry: &AuditEntry) -> bool {
    entry.verb != "delete" && entry.response_object.as_ref().is_some_and(|answer| is_gone(entry, answer))
}

/// Whether this answer is the last version of an object, which nothing keeps any longer.
fn is_gone(entry: &AuditEntry, answer: &Value) -> bool {
    let removed = entry.verb == "delete" || deleting(answer) && entry.object_ref.subresource.is_empty();
    removed && !is_held(answer)
}

/// Whether an object remains for a time after its deletion.
fn is_held(object: &Value) -> bool {
    let finalizers = object.at("/metadata/finalizers").and_then(Value::as_array);
    let grace = int(object, "/metadata/deletionGracePeriodSeconds").unwrap_or(0);
    finalizers.is_some_and(|all| !all.is_empty()) || grace > 0
}

/// The verb of the request.
const VERB: &str = "deletecollection";
/// The finalizer that a deletion adds by its propagation policy, if it waits for other objects.
const FINALIZERS: [(&str, &str); 2] = [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")];

/// The entry itself, or one entry for each object that it deletes.
pub(super) fn expand(entry: AuditEntry) -> Vec<AuditEntry> {
    if entry.verb != VERB {
        return vec![entry];
    }
    // Objects that the entry lacks are a gap.
    let Some(items) = entry.response_object.as_ref().and_then(|list| list.at("/items")).and_then(Value::as_array)
    else {
        return vec![entry];
    };
    // The entry of an empty collection still shows who sent the request.
    if items.is_empty() { vec![entry] } else { items.iter().map(|item| object_deletion(&entry, item)).collect() }
}

fn object_deletion(entry: &AuditEntry, item: &Value) -> AuditEntry {
    // The answer has the objects as the server read them; the deletion came after that.
    let version = entry.response_object.as_ref().and_then(|list| list.at("/metadata/resourceVersion"));
    let object = deletion(entry, item, version.cloned().unwrap_or_default());
    let name = text(item, "/metadata/name").unwrap_or_default().to_owned();
    entry.of_object("delete", name, object)
}

/// The object as its deletion leaves it, with this resourceVersion.
fn deletion(entry: &AuditEntry, item: &Value, version: Value) -> Value {
    let mut object = item.clone();
    object["kind"] = json!(entry.kind());
    object["metadata"]["resourceVersion"] = version;
    if !deleting(item) {
        let grace = grace(entry, item);
        let until = entry.time().as_second() + grace;
        let until = jiff::Timestamp::from_second(until).map_or_else(|_| String::new(), |until| until.to_string());
        object["metadata"]["deletionTimestamp"] = json!(until);
        object["metadata"]["deletionGracePeriodSeconds"] = json!(grace);
        if let Some(generation) = int(item, "/metadata/generation") {
            object["metadata"]["generation"] = json!(generation + 1);
        }
        let policy = entry.option("propagationPolicy");
        let finalizer = FINALIZERS.iter().find(|(known, _)| policy.as_deref() == Some(*known)).map(|(_, name)| *name);
        if let Some(finalizer) = finalizer {
            let mut all = item.at("/metadata/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
            all.push(json!(finalizer));
            object["metadata"]["finalizers"] = all.into();
        }
    }
    object
}

/// The seconds until the object is gone: only a pod that runs on a node has a grace period.
fn grace(entry: &AuditEntry, item: &Value) -> i64 {
    let ended = matches!(text(item, "/status/phase"), Some("Failed" | "Succeeded"));
    let runs = text(item, "/spec/nodeName").is_some_and(|node| !node.is_empty()) && !ended;
    let asked = entry.option("gracePeriodSeconds").and_then(|seconds| seconds.parse().ok());
    if runs { asked.or_else(|| int(item, "/spec/terminationGracePeriodSeconds")).unwrap_or(30) } else { 0 }
}

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
        let describe_gap = |why: String| {
            Some(format!("a write of {} {} is not in the log: {why}", logged.kind.to_lowercase(), name(object)))
        };
        let generations = known.and_then(|known| Some((int(known, GENERATION)?, int(object, GENERATION)?)));
        if let Some((then, now)) = generations
            && (now > then + 1 || is_status && now > then)
        {
            return describe_gap(format!("its generation is {now}, and the log last had {then}"));
        }
        // A deletion that is answered by a Status has no version of its own.
        let then = known.filter(|known| !deleting(known)).and_then(version);
        if let (Some(then), Some(replaced)) = (then, logged.entry.replaced_version())
            && then != replaced
        {
            return describe_gap(format!("version {replaced} was replaced, and the log last had {then}"));
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
