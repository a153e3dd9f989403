//! What the watches have brought, in one order. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::follow::News;
use crate::pointer::At;
use crate::recording::{Blame, Change, End, Entry, Header, Identity, Recording, Settling, Trouble, Version, Writer};
use crate::timeline::is_complete;
use crate::timeline::object::{controller_uid, name, text, uid};

/// Gathers versions.
#[derive(Debug)]
pub(crate) struct Journal {
    /// The Deployment's name.
    name: String,
    /// What was there when each kind was listed first.
    there: Vec<Version>,
    /// What came later.
    later: Vec<Version>,
    /// Gaps, and when they were noticed.
    gaps: Vec<(u64, String)>,
    /// The last version of each object, by kind and name.
    last: BTreeMap<(&'static str, String), Value>,
    listed: BTreeSet<&'static str>,
    /// The manager of the controller's writes.
    controller: Option<String>,
    /// Whether the Deployment was changed, or was not complete at first.
    busy: bool,
}

impl Journal {
    /// Of a Deployment of this name.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            there: Vec::new(),
            later: Vec::new(),
            gaps: Vec::new(),
            last: BTreeMap::new(),
            listed: BTreeSet::new(),
            controller: None,
            busy: false,
        }
    }

    /// Take in what a watch has brought, so many milliseconds after the beginning.
    pub(super) fn take(&mut self, news: News, at: u64) {
        match news {
            News::Heard { .. } => {}
            News::Seen { kind, change, object } => self.version(kind, change, object, at),
            News::Listed { kind, objects, gap } => {
                let first = self.listed.insert(kind);
                if let Some(why) = gap.filter(|_| !first) {
                    self.gaps
                        .push((at, format!("{kind}s were not seen for a time, as the server could not go on: {why}")));
                }
                let names: BTreeSet<String> = objects.iter().map(|object| name(object).to_owned()).collect();
                let gone: Vec<(&'static str, String)> =
                    self.last.keys().filter(|(of, name)| *of == kind && !names.contains(name)).cloned().collect();
                for key in gone {
                    let object = self.last[&key].clone();
                    self.version(kind, Change::Deleted, object, at);
                }
                for object in objects {
                    let known = self.last.get(&(kind, name(&object).to_owned()));
                    if known.is_some_and(|known| known.at(RV) == object.at(RV)) {
                        continue;
                    }
                    let change = if known.is_some() { Change::Modified } else { Change::Added };
                    if first { self.found(kind, object) } else { self.version(kind, change, object, at) }
                }
            }
        }
    }

    /// Whether a rollout has been seen to its end.
    pub(super) fn is_complete(&self) -> bool {
        self.busy && self.deployment().is_none_or(is_complete)
    }

    /// Who writes ReplicaSets there, as far as managed fields tell; with the server's version where that is upstream's.
    pub(super) fn controller(&self, cluster: &str, version: &str) -> Identity {
        let program = self.controller.as_deref().unwrap_or("kube-controller-manager");
        Identity::new(cluster, program, if program == "kube-controller-manager" { version } else { "" })
    }

    /// The recording of what belongs to the Deployment.
    pub(crate) fn finish(self, header: Header, at: u64) -> Recording {
        let Self { there, mut later, gaps, name, .. } = self;
        later.sort_by_key(|version| version.rv);
        let belongs = belonging(&[&there, &later], &name);
        let kept =
            |version: &Version| belongs.contains(uid(&version.object)) || belongs.contains(involved(&version.object));
        let mut entries: Vec<Entry> = there.into_iter().filter(kept).map(stripped).map(Entry::Object).collect();
        entries.push(Entry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at: 0 }));
        let mut gaps = gaps.into_iter().peekable();
        let trouble = |why| Entry::Trouble(Trouble::new(Blame::Environment, why));
        for version in later.into_iter().filter(kept) {
            while let Some((_, why)) = gaps.next_if(|(when, _)| *when <= version.at) {
                entries.push(trouble(why));
            }
            entries.push(Entry::Object(stripped(version)));
        }
        entries.extend(gaps.map(|(_, why)| trouble(why)));
        let end = End { completed: true, events_complete: false, at, diagnosis: None };
        Recording { header, entries, end: Some(end) }
    }

    fn deployment(&self) -> Option<&Value> {
        self.last.get(&("Deployment", self.name.clone()))
    }

    /// What was there before anything happened.
    pub(crate) fn found(&mut self, kind: &'static str, object: Value) {
        self.busy |= kind == "Deployment" && !is_complete(&object);
        if kind == "ReplicaSet" {
            self.controller = self.controller.take().or_else(|| manager(&object));
        }
        self.last.insert((kind, name(&object).to_owned()), object.clone());
        let name = name(&object).to_owned();
        self.there.push(Version {
            kind: kind.to_owned(),
            name,
            change: Change::Added,
            rv: rv(&object),
            by: Writer::Other,
            at: 0,
            object: Arc::new(object),
        });
    }

    /// A version that a watch has shown: its managed fields say who wrote it.
    fn version(&mut self, kind: &'static str, change: Change, object: Value, at: u64) {
        let mut by = Writer::Other;
        if kind == "ReplicaSet" {
            match self.last.get(&(kind, name(&object).to_owned())) {
                None => self.controller = self.controller.take().or_else(|| manager(&object)),
                Some(before) if self.is_foreign(before, &object) => by = Writer::Driver,
                Some(_) => {}
            }
        }
        self.written(kind, change, object, by, at);
    }

    /// A version, and who wrote it.
    pub(crate) fn written(&mut self, kind: &'static str, change: Change, object: Value, by: Writer, at: u64) {
        let key = (kind, name(&object).to_owned());
        let before = match change {
            Change::Deleted => self.last.remove(&key),
            Change::Added | Change::Modified => self.last.insert(key, object.clone()),
        };
        let generation = |object: &Value| object.at("/metadata/generation").and_then(Value::as_i64);
        self.busy |= kind == "Deployment" && before.as_ref().and_then(generation) != generation(&object);
        let (name, rv) = (name(&object).to_owned(), rv(&object));
        self.later.push(Version { kind: kind.to_owned(), name, change, rv, by, at, object: Arc::new(object) });
    }

    /// Whether somebody other than the controller wrote this version's spec or metadata, by its managed fields.
    fn is_foreign(&self, before: &Value, after: &Value) -> bool {
        let Some(controller) = &self.controller else { return false };
        let known = entries(before);
        let is_other = |entry: &Value| entry.at("/manager").and_then(Value::as_str) != Some(controller);
        // An entry stays as it is where its manager writes another size once more.
        let sized = before.at("/spec/replicas") != after.at("/spec/replicas");
        entries(after).iter().any(|entry| {
            let is_status = entry.at("/subresource").and_then(Value::as_str) == Some("status");
            let is_new = !known.contains(entry) || sized && entry.at("/fieldsV1/f:spec/f:replicas").is_some();
            !is_status && is_new && is_other(entry)
        })
    }
}

/// The place of the resourceVersion.
const RV: &str = "/metadata/resourceVersion";

fn entries(object: &Value) -> &[Value] {
    object.at("/metadata/managedFields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Who created this ReplicaSet: the first manager of anything but its status.
fn manager(set: &Value) -> Option<String> {
    let own = entries(set).iter().find(|entry| entry.at("/subresource").is_none())?;
    Some(own.at("/manager")?.as_str()?.to_owned())
}

/// The UIDs of the Deployment, of the ReplicaSets that were ever its own, and of their pods.
fn belonging(versions: &[&[Version]], name: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for kind in ["Deployment", "ReplicaSet", "Pod"] {
        for version in versions.iter().copied().flatten().filter(|version| version.kind == kind) {
            let is_own = if kind == "Deployment" {
                version.name == name
            } else {
                controller_uid(&version.object).is_some_and(|uid| all.contains(uid))
            };
            if is_own {
                all.insert(uid(&version.object).to_owned());
            }
        }
    }
    all
}

/// Without managed fields, which recordings do not have.
fn stripped(mut version: Version) -> Version {
    if let Some(metadata) = Arc::make_mut(&mut version.object).pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    version
}

fn involved(object: &Value) -> &str {
    text(object, "/involvedObject/uid").unwrap_or_default()
}

fn rv(object: &Value) -> u64 {
    object.at(RV).and_then(Value::as_str).and_then(|rv| rv.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A ReplicaSet of the controller's whose size this manager wrote last.
    fn set(rv: u64, replicas: u64, manager: &str) -> News {
        let entry = |manager: &str, fields: &Value| json!({"manager": manager, "fieldsV1": fields});
        let fields = [
            entry("controller", &json!({"f:spec": {"f:template": {}}})),
            entry(manager, &json!({"f:spec": {"f:replicas": {}}})),
        ];
        let metadata = json!({"name": "web-1", "uid": "s", "resourceVersion": rv.to_string(), "managedFields": fields,
            "ownerReferences": [{"controller": true, "uid": "d"}]});
        let change = if rv == 2 { Change::Added } else { Change::Modified };
        News::Seen { kind: "ReplicaSet", change, object: json!({"metadata": metadata, "spec": {"replicas": replicas}}) }
    }

    #[test]
    fn who_scaled_a_replicaset_is_told_each_time() {
        let mut journal = Journal::new("web");
        for (rv, replicas, manager) in
            [(2, 3, "controller"), (3, 4, "kubectl"), (4, 5, "kubectl"), (5, 5, "kubectl"), (6, 3, "controller")]
        {
            journal.take(set(rv, replicas, manager), rv);
        }
        let by: Vec<Writer> = journal.later.iter().map(|version| version.by).collect();
        assert_eq!(by, [Writer::Other, Writer::Driver, Writer::Driver, Writer::Other, Writer::Other]);
    }
}
