//! A Deployment's past, from the audit logs of kube-apiserver: the recording that `capture` would
//! have made while it happened.
//!
//! An audit log has every request. At level `RequestResponse` it has what the server answered as
//! well, and that is the object as it was stored then: a version. Ordered by resourceVersion these
//! are what a watch would have shown, and the entries say besides who wrote each.
//!
//! * `log` reads files, `envelope` finds the entries in what exporters wrap them in, and `entry` is
//!   one that wrote something.
//! * `collection` is the deletion of many objects as that of each; `versions` makes versions of
//!   answers; `continuity` finds writes that the log lacks. What is missing is a gap in the
//!   recording, from which on nothing is judged.
//! * A recording begins with what is there. A log has that where it has the Deployment's creation,
//!   or from the first moment on at which each object that the counters speak of is known, as each
//!   was written at least once.
//!
//! The border: what `infer` makes of it, a case, and what `capture` does to a recording of a live
//! cluster, names taken out for one.

mod collection;
mod continuity;
mod entry;
mod envelope;
mod error;
mod log;
mod versions;

use std::collections::BTreeSet;

use serde_json::Value;

use self::continuity::{Continuity, is_ready};
use self::entry::Entry;
pub use self::error::AuditError;
use self::log::Gap;
pub use self::log::Log;
use self::versions::{Objects, version};
use crate::capture::Journal;
use crate::clock;
use crate::controllers::Controllers;
use crate::recording::{FORMAT, FileName, Header, Identity, Recording, SubjectKind, Writer};
use crate::timeline::object::{controller_uid, count, deleting, replicas, text, uid};

/// What is looked for in a log.
#[derive(Debug, Clone, Default)]
pub struct Sought {
    /// The Deployment's namespace; `None`: whichever there is.
    pub namespace: Option<String>,
    /// Its name; `None`: the only one there is.
    pub deployment: Option<String>,
    /// What came before is what was there at the beginning.
    pub from: Option<jiff::Timestamp>,
    /// What came after is left out.
    pub to: Option<jiff::Timestamp>,
}

/// The recording of a Deployment, from what audit logs have.
///
/// # Errors
/// See [`AuditError`].
pub fn import(log: Log, sought: &Sought) -> Result<Recording, AuditError> {
    let Log { mut entries, gaps, has_entries, .. } = log;
    if !has_entries {
        return Err(AuditError::NoEntries);
    }
    entries.retain(|entry| sought.namespace.as_ref().is_none_or(|wanted| *wanted == entry.object_ref.namespace));
    let (namespace, deployment) = deployment(&entries, sought)?;
    entries.retain(|entry| entry.object_ref.namespace == namespace);
    entries.retain(|entry| sought.to.is_none_or(|to| entry.time() <= to));
    // What follows is what a namespace that is being deleted allows, which no case can say.
    let deleted = entries.iter().filter(|entry| entry.deletes_namespace()).map(Entry::time).min();
    entries.retain(|entry| deleted.is_none_or(|deleted| entry.time() < deleted));
    levels(&entries, &deployment)?;
    // Where there is no version, time has to say.
    entries.sort_by_key(Entry::at);
    let mut last = 0;
    let mut ordered: Vec<(u64, Entry)> = Vec::new();
    for entry in entries {
        let own = entry.response_object.as_ref().and_then(version);
        last = last.max(own.unwrap_or(0));
        ordered.push((own.unwrap_or(last), entry));
    }
    ordered.sort_by_key(|(version, entry)| (*version, entry.at()));
    let first = beginning(&ordered, &deployment, sought)?;
    let gaps = gaps.into_iter().filter(|gap| {
        let outside = |at| sought.to.is_some_and(|to| at > to) || deleted.is_some_and(|deleted| at > deleted);
        !gap.at.is_some_and(outside)
    });
    recording(&ordered, first, gaps.collect(), (&namespace, &deployment))
}

/// Which Deployment is meant.
fn deployment(entries: &[Entry], sought: &Sought) -> Result<(String, String), AuditError> {
    let fits = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
    let of_deployments = entries.iter().filter(|entry| entry.kind() == Some("Deployment"));
    let found: BTreeSet<(String, String)> = of_deployments
        .map(|entry| (entry.object_ref.namespace.clone(), entry.name().to_owned()))
        .filter(|(namespace, name)| fits(&sought.namespace, namespace) && fits(&sought.deployment, name))
        .collect();
    let wanted = match (&sought.namespace, &sought.deployment) {
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

/// Whether an entry is of the Deployment or may be of what belongs to it: its ReplicaSets and pods
/// have names that begin with its own.
fn is_own(entry: &Entry, deployment: &str) -> bool {
    let begins = |name: &str| name.strip_prefix(deployment).is_some_and(|rest| rest.starts_with('-'));
    match entry.kind() {
        Some("Deployment") => entry.name() == deployment,
        Some("Event") | None => false,
        // A pod that is created is named by the answer alone.
        Some(_) if entry.name().is_empty() => entry.generate_name().is_none_or(begins),
        Some(_) => begins(entry.name()),
    }
}

/// Whether the policy has the answers.
fn levels(entries: &[Entry], deployment: &str) -> Result<(), AuditError> {
    let is_below = |entry: &&Entry| entry.response_object.is_none() && entry.level != "RequestResponse";
    match entries.iter().filter(|entry| is_own(entry, deployment)).find(is_below) {
        None => Ok(()),
        Some(entry) => Err(AuditError::Level { request: entry.request(), level: entry.level.clone() }),
    }
}

/// How many entries come before the recording. From that moment on all is known: it is the
/// Deployment's creation, or one at which the counters speak only of objects that are known; with a
/// time, the last such moment until then.
fn beginning(ordered: &[(u64, Entry)], deployment: &str, sought: &Sought) -> Result<usize, AuditError> {
    let creates =
        |entry: &Entry| entry.kind() == Some("Deployment") && entry.name() == deployment && entry.verb == "create";
    let mut objects = Objects::default();
    let mut found = None;
    for (at, (last, entry)) in ordered.iter().enumerate() {
        if creates(entry) || is_known(&objects, deployment) {
            found = Some(at);
        }
        if found.is_some() && sought.from.is_none_or(|from| entry.time() > from) {
            break;
        }
        pass(&mut objects, entry, *last);
    }
    found.ok_or_else(|| AuditError::Begins(deployment.to_owned()))
}

/// Takes in what an entry tells.
fn pass(objects: &mut Objects, entry: &Entry, last: u64) {
    match objects.told(entry, last) {
        Ok(Some(told)) => objects.apply(&told),
        Ok(None) => {}
        Err(_) => objects.forget(entry),
    }
}

/// Whether the log has shown all that the Deployment's counters speak of.
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
    ordered: &[(u64, Entry)],
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
            continuity.found(entry.kind().unwrap_or_default(), object);
        }
    }
    let (Some((_, begins)), Some((_, ends))) = (after.first(), after.last()) else {
        return Err(AuditError::Time(deployment.to_owned()));
    };
    let millis = |at: i64| u64::try_from(at - begins.at()).unwrap_or(0);
    let since = |entry: &Entry| millis(entry.at());
    let mut journal = Journal::new(deployment);
    let mut live = Objects::default();
    for (kind, object) in objects.into_all() {
        journal.found(kind, object.clone());
        live.put(kind, object);
    }
    // What was cut off before the recording begins is as if the log began later.
    for gap in gaps.into_iter().filter(|gap| gap.at.is_none_or(|at| at >= begins.time())) {
        journal.gap(gap.at.map_or(0, |at| millis(at.as_millisecond())), gap.why);
    }
    for (last, entry) in after {
        let told = match live.told(entry, *last) {
            Ok(Some(told)) => told,
            Ok(None) => continue,
            Err(why) => {
                if is_own(entry, deployment) {
                    continuity.skip(entry);
                    journal.gap(since(entry), why);
                }
                continue;
            }
        };
        let owner = if told.kind == "Deployment" && told.entry.name() == deployment {
            uid(&told.object).to_owned()
        } else {
            live.get("Deployment", deployment).map(|owner| uid(owner).to_owned()).unwrap_or_default()
        };
        if let Some(missing) = continuity.next(&live, &told, &owner) {
            journal.gap(since(entry), missing);
        }
        live.apply(&told);
        let by = if controllers.contains(&entry.writer()) { Writer::Other } else { Writer::Driver };
        journal.written(told.kind, told.change, told.object, (by, Some(entry.author())), since(entry));
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
        judged: Controllers::default(),
        under_test: Controllers::default(),
        namespace: namespace.to_owned(),
        subject: Identity::new("audit log", program, own),
        kind: SubjectKind::Cluster,
        cluster: Identity::new("audit log", "kube-apiserver", version),
        cluster_controllers: None,
        workload: None,
        real_pods: true,
        unevaluated: Vec::new(),
        seed: None,
        started: clock::to_rfc3339(begins.time()),
    };
    Ok(journal.finish(header, since(ends)))
}

/// Programs that have the version of the cluster.
const OF_THE_CLUSTER: [&str; 3] = ["kube-controller-manager", "kube-scheduler", "kube-apiserver"];

/// Who looks after ReplicaSets and pods: programs that create them with an owner or write the
/// status of a Deployment or ReplicaSet, the garbage collector, which deletes those of an owner
/// that is gone, and kubelets, which write what became of a pod.
fn controllers(ordered: &[(u64, Entry)]) -> BTreeSet<(&str, &str)> {
    let reports = |entry: &Entry| matches!(entry.kind(), Some("Deployment" | "ReplicaSet")) && entry.is_status();
    let makes = |entry: &Entry| {
        matches!(entry.kind(), Some("ReplicaSet" | "Pod"))
            && entry.verb == "create"
            && entry.object_ref.subresource.is_empty()
            && entry.response_object.as_ref().is_some_and(|object| controller_uid(object).is_some())
    };
    let all = ordered.iter().map(|(_, entry)| entry);
    let is_helper =
        |entry: &&Entry| entry.program().0 == "kubelet" || entry.writer().0.ends_with(":generic-garbage-collector");
    let helpers = all.clone().filter(is_helper);
    all.filter(|entry| makes(entry) || reports(entry)).chain(helpers).map(Entry::writer).collect()
}

#[cfg(test)]
mod log_tests;
#[cfg(test)]
mod tests;
