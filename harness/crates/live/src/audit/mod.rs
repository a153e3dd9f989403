//! Imports the history of a Deployment from the audit logs of kube-apiserver: the result is the
//! recording that `capture` would have made at the time.
//!
//! An audit log contains every request. At level `RequestResponse` it also contains the server's
//! answer, which is the object as it was stored: a version. Ordered by resourceVersion, these are
//! the versions that a watch would have delivered, and the entries also show who wrote each.
//!
//! * `log` reads files; `entry` is one request that wrote something, and finds such entries inside
//!   the records of exporters.
//! * `versions` derives versions from answers, also those of the deletion of a collection, and
//!   detects writes that the log lacks. Each missing write is a gap in the recording,
//!   after which nothing is judged.
//! * A recording begins with the existing objects. They are known from the creation of the
//!   Deployment, or else from the first moment at which every object that the counters refer to has
//!   been written at least once.
//!
//! `infer` makes a case of the recording, and `capture` can remove the names from it.

mod entry;
mod log;
mod versions;

use std::collections::BTreeSet;

use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{FORMAT, FileName, Header, Identity, Recording, SubjectKind, WriterRole};
use lockstep_support::clock;
use lockstep_timeline::object::{controller_uid, count, deleting, replicas, text, uid};
pub use log::AuditError;
use serde_json::Value;
use versions::{Continuity, is_ready};

use self::entry::AuditEntry;
use self::log::Gap;
pub use self::log::Log;
use self::versions::{Objects, releases, version};
use crate::capture::Journal;

/// Which Deployment and time range to import.
#[derive(Debug, Clone, Default)]
pub struct ImportQuery {
    /// The Deployment's namespace; `None`: any.
    pub namespace: Option<String>,
    /// Its name; `None`: the only one in the log.
    pub deployment: Option<String>,
    /// Versions before this time become the initial objects.
    pub from: Option<jiff::Timestamp>,
    /// Versions after this time are left out.
    pub to: Option<jiff::Timestamp>,
}

/// Make a recording of a Deployment from audit logs.
///
/// # Errors
/// See [`AuditError`].
pub fn import(log: Log, query: &ImportQuery) -> Result<Recording, AuditError> {
    let Log { mut entries, gaps, has_entries, .. } = log;
    if !has_entries {
        return Err(AuditError::NoEntries);
    }
    entries.retain(|entry| query.namespace.as_ref().is_none_or(|wanted| *wanted == entry.object_ref.namespace));
    let (namespace, deployment) = deployment(&entries, query)?;
    entries.retain(|entry| entry.object_ref.namespace == namespace);
    entries.retain(|entry| query.to.is_none_or(|to| entry.time() <= to));
    // In a namespace that is being deleted every create fails, which no case can express.
    let deleted = entries.iter().filter(|entry| entry.deletes_namespace()).map(AuditEntry::time).min();
    entries.retain(|entry| deleted.is_none_or(|deleted| entry.time() < deleted));
    levels(&entries, &deployment)?;
    // Entries without a version are ordered by time.
    entries.sort_by_key(AuditEntry::at);
    let mut last = 0;
    let mut ordered: Vec<(u64, AuditEntry)> = Vec::new();
    for entry in entries {
        let own = entry.response_object.as_ref().and_then(version);
        last = last.max(own.unwrap_or(0));
        ordered.push((own.filter(|_| !releases(&entry)).unwrap_or(last), entry));
    }
    ordered.sort_by_key(|(version, entry)| (*version, entry.at()));
    let first = beginning(&ordered, &deployment, query)?;
    let gaps = gaps.into_iter().filter(|gap| {
        let outside = |at| query.to.is_some_and(|to| at > to) || deleted.is_some_and(|deleted| at > deleted);
        !gap.at.is_some_and(outside)
    });
    recording(&ordered, first, gaps.collect(), (&namespace, &deployment))
}

/// Find the Deployment.
fn deployment(entries: &[AuditEntry], query: &ImportQuery) -> Result<(String, String), AuditError> {
    let fits = |expected: &Option<String>, actual: &str| expected.as_ref().is_none_or(|name| name == actual);
    let of_deployments = entries.iter().filter(|entry| entry.kind() == Some("Deployment"));
    let found: BTreeSet<(String, String)> = of_deployments
        .map(|entry| (entry.object_ref.namespace.clone(), entry.name().to_owned()))
        .filter(|(namespace, name)| fits(&query.namespace, namespace) && fits(&query.deployment, name))
        .collect();
    let wanted = match (&query.namespace, &query.deployment) {
        (Some(namespace), Some(name)) => format!("deployment {namespace}/{name}"),
        (Some(namespace), None) => format!("a deployment in namespace {namespace}"),
        (None, Some(name)) => format!("deployment {name}"),
        (None, None) => "a deployment".to_owned(),
    };
    let names = || found.iter().map(|(namespace, name)| format!("{namespace}/{name}")).collect::<Vec<_>>().join(", ");
    match found.len() {
        0 => Err(AuditError::NoDeployment(wanted)),
        1 => found.into_iter().next().ok_or(AuditError::NoDeployment(wanted)),
        _ => Err(AuditError::Several(names())),
    }
}

/// Whether an entry may be about the Deployment or its objects: the names of its ReplicaSets and
/// pods begin with its own.
fn is_own(entry: &AuditEntry, deployment: &str) -> bool {
    let begins = |name: &str| name.strip_prefix(deployment).is_some_and(|rest| rest.starts_with('-'));
    match entry.kind() {
        Some("Deployment") => entry.name() == deployment,
        Some("Event") | None => false,
        // The name of a created pod is only in the answer.
        Some(_) if entry.name().is_empty() => entry.generate_name().is_none_or(begins),
        Some(_) => begins(entry.name()),
    }
}

/// Check that the audit policy logs the answers.
fn levels(entries: &[AuditEntry], deployment: &str) -> Result<(), AuditError> {
    let is_below = |entry: &&AuditEntry| entry.response_object.is_none() && entry.level != "RequestResponse";
    match entries.iter().filter(|entry| is_own(entry, deployment)).find(is_below) {
        None => Ok(()),
        Some(entry) => Err(AuditError::Level { request: entry.request(), level: entry.level.clone() }),
    }
}

/// The number of entries before the recording. From then on all objects are known: it is the
/// creation of the Deployment, or a moment at which the counters refer only to known objects; with
/// a start time, the last such moment until then.
fn beginning(ordered: &[(u64, AuditEntry)], deployment: &str, query: &ImportQuery) -> Result<usize, AuditError> {
    let creates =
        |entry: &AuditEntry| entry.kind() == Some("Deployment") && entry.name() == deployment && entry.verb == "create";
    let mut objects = Objects::default();
    let mut found = None;
    for (at, (last, entry)) in ordered.iter().enumerate() {
        if creates(entry) || is_known(&objects, deployment) {
            found = Some(at);
        }
        if found.is_some() && query.from.is_none_or(|from| entry.time() > from) {
            break;
        }
        pass(&mut objects, entry, *last);
    }
    found.ok_or_else(|| AuditError::Begins(deployment.to_owned()))
}

/// Apply the version of an entry, if it has one.
fn pass(objects: &mut Objects, entry: &AuditEntry, last: u64) {
    match objects.version_of(entry, last) {
        Ok(Some(logged)) => objects.apply(&logged),
        Ok(None) => {}
        Err(_) => objects.forget(entry),
    }
}

/// Whether the log has shown all objects that the Deployment's counters refer to.
fn is_known(objects: &Objects, deployment: &str) -> bool {
    let Some(deployment) = objects.get("Deployment", deployment) else { return false };
    let is_own = |owner: &Value, object: &&Value| controller_uid(object) == Some(uid(owner));
    let sets: Vec<&Value> = objects.all("ReplicaSet").filter(|set| is_own(deployment, set)).collect();
    let counts = |set: &Value| {
        let pods: Vec<&Value> =
            objects.all("Pod").filter(|pod| is_own(set, pod) && !deleting(pod) && !has_ended(pod)).collect();
        let is = |pointer: &str, number: usize| usize::try_from(count(set, pointer)) == Ok(number);
        usize::try_from(replicas(set)) == Ok(pods.len())
            && is("/status/replicas", pods.len())
            && is("/status/readyReplicas", pods.iter().filter(|pod| is_ready(pod)).count())
    };
    let sum = |pointer: &str| sets.iter().map(|set| count(set, pointer)).sum::<i64>();
    let summed = |pointer: &str| count(deployment, pointer) == sum(pointer);
    count(deployment, "/status/observedGeneration") == count(deployment, "/metadata/generation")
        && summed("/status/replicas")
        && summed("/status/readyReplicas")
        && sets.iter().all(|set| counts(set))
}

fn has_ended(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), Some("Failed" | "Succeeded"))
}

/// The recording from an entry on.
fn recording(
    ordered: &[(u64, AuditEntry)],
    first: usize,
    gaps: Vec<Gap>,
    (namespace, deployment): (&str, &str),
) -> Result<Recording, AuditError> {
    let controllers = controllers(ordered);
    let mut objects = Objects::default();
    let mut continuity = Continuity::default();
    let (before, after) = ordered.split_at(first);
    for (last, entry) in before {
        pass(&mut objects, entry, *last);
        if let Some(object) = &entry.response_object {
            continuity.add_existing(entry.kind().unwrap_or_default(), object);
        }
    }
    let (Some((_, begins)), Some((_, ends))) = (after.first(), after.last()) else {
        return Err(AuditError::Time(deployment.to_owned()));
    };
    let millis = |at: i64| u64::try_from(at - begins.at()).unwrap_or(0);
    let since = |entry: &AuditEntry| millis(entry.at());
    let mut journal = Journal::new(deployment);
    let mut live = Objects::default();
    for (kind, object) in objects.into_all() {
        journal.add_initial(kind, object.clone());
        live.put(kind, object);
    }
    // What was cut off before the recording begins does not matter, as if the log began later.
    for gap in gaps.into_iter().filter(|gap| gap.at.is_none_or(|at| at >= begins.time())) {
        journal.gap(gap.at.map_or(0, |at| millis(at.as_millisecond())), gap.why);
    }
    for (last, entry) in after {
        let logged = match live.version_of(entry, *last) {
            Ok(Some(logged)) => logged,
            Ok(None) => continue,
            Err(why) => {
                if is_own(entry, deployment) {
                    continuity.skip(entry);
                    journal.gap(since(entry), why);
                }
                continue;
            }
        };
        let owner = if logged.kind == "Deployment" && logged.entry.name() == deployment {
            uid(&logged.object).to_owned()
        } else {
            live.get("Deployment", deployment).map(|owner| uid(owner).to_owned()).unwrap_or_default()
        };
        if let Some(missing) = continuity.next(&live, &logged, &owner) {
            journal.gap(since(entry), missing);
        }
        live.apply(&logged);
        let by = if controllers.contains(&entry.writer()) { WriterRole::Other } else { WriterRole::Driver };
        journal.add_version(logged.kind, logged.change, logged.object, (by, Some(entry.author())), since(entry));
    }
    if let Some(missing) = continuity.end() {
        journal.gap(0, missing);
    }
    let server = ordered.iter().map(|(_, entry)| entry.program()).find(|(program, _)| OF_THE_CLUSTER.contains(program));
    let version = server.map_or("", |(_, version)| version);
    let subject = ordered.iter().find(|(_, entry)| entry.kind() == Some("ReplicaSet"));
    let (program, own) = subject.map_or(("kube-controller-manager", version), |(_, entry)| entry.program());
    let header = Header {
        format: FORMAT,
        case: format!("imported/{}", FileName::of(deployment)),
        path: String::new(),
        source: String::new(),
        controllers: ControllerSet::default(),
        under_test: ControllerSet::default(),
        namespace: namespace.to_owned(),
        subject: Identity::new("audit log", program, own),
        kind: SubjectKind::Cluster,
        cluster: Identity::new("audit log", "kube-apiserver", version),
        cluster_controllers: None,
        beside: None,
        workload: None,
        real_pods: true,
        unevaluated: Vec::new(),
        seed: None,
        started: clock::to_rfc3339(begins.time()),
    };
    Ok(journal.finish(header, since(ends)))
}

/// The programs with the same version as the cluster.
const OF_THE_CLUSTER: [&str; 3] = ["kube-controller-manager", "kube-scheduler", "kube-apiserver"];

/// The controllers of ReplicaSets and pods: programs that create them with an owner or write the
/// status of a Deployment or ReplicaSet, the garbage collector, which deletes the objects of a
/// deleted owner, and kubelets, which write the status of pods.
fn controllers(ordered: &[(u64, AuditEntry)]) -> BTreeSet<(&str, &str)> {
    let reports = |entry: &AuditEntry| matches!(entry.kind(), Some("Deployment" | "ReplicaSet")) && entry.is_status();
    let makes = |entry: &AuditEntry| {
        matches!(entry.kind(), Some("ReplicaSet" | "Pod"))
            && entry.verb == "create"
            && entry.object_ref.subresource.is_empty()
            && entry.response_object.as_ref().is_some_and(|object| controller_uid(object).is_some())
    };
    let all = ordered.iter().map(|(_, entry)| entry);
    let is_helper = |entry: &&AuditEntry| {
        entry.program().0 == "kubelet" || entry.writer().0.ends_with(":generic-garbage-collector")
    };
    let helpers = all.clone().filter(is_helper);
    all.filter(|entry| makes(entry) || reports(entry)).chain(helpers).map(AuditEntry::writer).collect()
}

#[cfg(test)]
mod log_tests;
#[cfg(test)]
mod tests;
