//! What the watches have brought, in one order. Pure.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The kinds that are not watched at the moment, since when, and why.
    lost: BTreeMap<&'static str, (u64, String)>,
    /// The last version of each object, by kind and name.
    last: BTreeMap<(&'static str, String), Value>,
    listed: BTreeSet<&'static str>,
    /// The manager who created a ReplicaSet first.
    creator: Option<String>,
    /// The managers who wrote the Deployment's status, or created a ReplicaSet: there are several
    /// where the controller was replaced.
    controllers: BTreeSet<String>,
    /// The manager who wrote the Deployment's status last.
    reporter: Option<String>,
    /// The managers who wrote these versions of ReplicaSets, but for their status, by
    /// resourceVersion.
    authors: BTreeMap<u64, Vec<String>>,
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
            lost: BTreeMap::new(),
            last: BTreeMap::new(),
            listed: BTreeSet::new(),
            creator: None,
            controllers: BTreeSet::new(),
            reporter: None,
            authors: BTreeMap::new(),
            busy: false,
        }
    }

    /// Take in what a watch has brought, so many milliseconds after the beginning.
    pub(super) fn take(&mut self, news: News, at: u64) {
        match &news {
            News::Lost { kind, why } => drop(self.lost.entry(kind).or_insert_with(|| (at, why.clone()))),
            News::Heard { kind } | News::Seen { kind, .. } | News::Listed { kind, .. } => drop(self.lost.remove(kind)),
        }
        match news {
            News::Heard { .. } | News::Lost { .. } => {}
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

    /// Who looks after the Deployment there, as far as managed fields tell; with the server's
    /// version where that is upstream's.
    pub(super) fn controller(&self, cluster: &str, version: &str) -> Identity {
        let program = self.reporter.as_deref().or(self.creator.as_deref()).unwrap_or("kube-controller-manager");
        Identity::new(cluster, program, if program == "kube-controller-manager" { version } else { "" })
    }

    /// The recording of what belongs to the Deployment.
    pub(crate) fn finish(self, header: Header, at: u64) -> Recording {
        let Self { there, mut later, mut gaps, lost, name, controllers, authors, .. } = self;
        for version in later.iter_mut().filter(|version| version.kind == "ReplicaSet") {
            let strangers = authors.get(&version.rv).filter(|all| all.iter().any(|one| !controllers.contains(one)));
            if strangers.is_some() {
                version.by = Writer::Driver;
            }
        }
        gaps.extend(
            lost.into_iter().map(|(kind, (at, why))| (at, format!("{kind}s were not seen from then on: {why}"))),
        );
        gaps.sort_by_key(|(at, _)| *at);
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

    /// Something that was written then is not known.
    pub(crate) fn gap(&mut self, at: u64, why: String) {
        self.gaps.push((at, why));
    }

    /// What was there before anything happened.
    pub(crate) fn found(&mut self, kind: &'static str, object: Value) {
        self.busy |= kind == "Deployment" && !is_complete(&object);
        self.notice(kind, None, &object);
        self.last.insert((kind, name(&object).to_owned()), object.clone());
        let name = name(&object).to_owned();
        self.there.push(Version {
            kind: kind.to_owned(),
            name,
            change: Change::Added,
            rv: rv(&object),
            by: Writer::Other,
            author: None,
            at: 0,
            object: object.into(),
        });
    }

    /// A version that a watch has shown: its managed fields say who wrote it.
    fn version(&mut self, kind: &'static str, change: Change, object: Value, at: u64) {
        let before = self.last.get(&(kind, name(&object).to_owned())).cloned();
        self.notice(kind, before.as_ref(), &object);
        let author = if change == Change::Deleted { None } else { wrote(before.as_ref(), &object) };
        self.written(kind, change, object, (Writer::Other, author), at);
    }

    /// Who wrote this version, by its managed fields.
    fn notice(&mut self, kind: &str, before: Option<&Value>, object: &Value) {
        match (kind, before) {
            ("Deployment", _) if name(object) == self.name => {
                let reports = |entry: &&Value| entry.at("/subresource").and_then(Value::as_str) == Some("status");
                let mut all: Vec<&Value> = entries(object).iter().filter(reports).collect();
                all.sort_by_key(|entry| text(entry, "/time"));
                let names: Vec<String> = all.iter().filter_map(|entry| manager(entry)).collect();
                self.reporter = names.last().cloned().or(self.reporter.take());
                self.controllers.extend(names);
            }
            // One without an owner is somebody's own.
            ("ReplicaSet", None) if controller_uid(object).is_some() => {
                let creator = creator(object);
                self.controllers.extend(creator.clone());
                self.creator = self.creator.take().or(creator);
            }
            ("ReplicaSet", Some(before)) => drop(self.authors.insert(rv(object), authors(before, object))),
            _ => {}
        }
    }

    /// A version, and who wrote it, with the name of that program.
    pub(crate) fn written(
        &mut self,
        kind: &'static str,
        change: Change,
        object: Value,
        (by, author): (Writer, Option<String>),
        at: u64,
    ) {
        let key = (kind, name(&object).to_owned());
        let before = match change {
            Change::Deleted => self.last.remove(&key),
            Change::Added | Change::Modified => self.last.insert(key, object.clone()),
        };
        let generation = |object: &Value| object.at("/metadata/generation").and_then(Value::as_i64);
        self.busy |= kind == "Deployment" && before.as_ref().and_then(generation) != generation(&object);
        let (name, rv) = (name(&object).to_owned(), rv(&object));
        self.later.push(Version { kind: kind.to_owned(), name, change, rv, by, author, at, object: object.into() });
    }
}

/// The place of the resourceVersion.
const RV: &str = "/metadata/resourceVersion";

fn entries(object: &Value) -> &[Value] {
    object.at("/metadata/managedFields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn manager(entry: &Value) -> Option<String> {
    Some(text(entry, "/manager")?.to_owned())
}

/// Who created this ReplicaSet: the first manager of anything but its status.
fn creator(set: &Value) -> Option<String> {
    manager(entries(set).iter().find(|entry| entry.at("/subresource").is_none())?)
}

/// The managers whose entries are new in a version. A deletion leaves none, nor does a write that
/// repeats the one before it in the same second.
fn wrote(before: Option<&Value>, after: &Value) -> Option<String> {
    let known = before.map(entries).unwrap_or_default();
    let new = entries(after).iter().filter(|entry| is_new(known, entry));
    let all: BTreeSet<String> = new.filter_map(manager).collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join(", "))
}

/// Whether a manager wrote something: an entry also changes when others take fields over.
fn is_new(known: &[Value], entry: &Value) -> bool {
    let own = |entry: &Value| ["/manager", "/operation", "/subresource"].map(|place| entry.at(place).cloned());
    let before = known.iter().find(|one| own(one) == own(entry));
    before.is_none_or(|before| {
        before.at("/time") != entry.at("/time") || has_more(before.at("/fieldsV1"), entry.at("/fieldsV1"))
    })
}

/// Whether a set of fields has some that the other lacks.
fn has_more(one: Option<&Value>, two: Option<&Value>) -> bool {
    let (one, two) = (one.and_then(Value::as_object), two.and_then(Value::as_object));
    let known = |key: &str| one.and_then(|fields| fields.get(key));
    let lacks = |(key, value): (&String, &Value)| known(key).is_none_or(|known| has_more(Some(known), Some(value)));
    two.is_some_and(|fields| fields.iter().any(lacks))
}

/// Who wrote the spec or the metadata of a ReplicaSet between two versions.
fn authors(before: &Value, after: &Value) -> Vec<String> {
    let known = entries(before);
    // An entry stays as it is where its manager writes another size once more.
    let sized = before.at("/spec/replicas") != after.at("/spec/replicas");
    let wrote = |entry: &&Value| {
        let is_status = entry.at("/subresource").and_then(Value::as_str) == Some("status");
        let is_new = is_new(known, entry) || sized && entry.at("/fieldsV1/f:spec/f:replicas").is_some();
        !is_status && is_new
    };
    entries(after).iter().filter(wrote).filter_map(manager).collect()
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
    if let Some(metadata) = version.object.change().pointer_mut("/metadata").and_then(Value::as_object_mut) {
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

    fn header() -> Header {
        Header {
            format: crate::recording::FORMAT,
            case: "captured/web".to_owned(),
            path: String::new(),
            source: String::new(),
            judged: Default::default(),
            under_test: Default::default(),
            namespace: "shop".to_owned(),
            subject: Identity::new("prod", "kube-controller-manager", "v1.36.3"),
            kind: crate::recording::SubjectKind::Cluster,
            cluster: Identity::new("prod", "kube-apiserver", "v1.36.3"),
            cluster_controllers: None,
            workload: None,
            real_pods: true,
            unevaluated: Vec::new(),
            seed: None,
            started: "2026-11-24T00:00:00Z".to_owned(),
        }
    }

    /// A watch that comes back goes on without a gap; one that does not, leaves one.
    #[test]
    fn what_is_not_watched_at_the_end_is_a_gap() {
        let mut journal = Journal::new("web");
        let lost = |kind| News::Lost { kind, why: "no route to host".to_owned() };
        journal.take(lost("Pod"), 1);
        journal.take(lost("Deployment"), 2);
        journal.take(News::Heard { kind: "Pod" }, 3);
        let recording = journal.finish(header(), 4);
        let told = recording.entries.iter().filter_map(|entry| match entry {
            Entry::Trouble(trouble) => Some(trouble.why.as_str()),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), ["Deployments were not seen from then on: no route to host"]);
    }

    #[test]
    fn who_scaled_a_replicaset_is_told_each_time() {
        let mut journal = Journal::new("web");
        for (rv, replicas, manager) in
            [(2, 3, "controller"), (3, 4, "kubectl"), (4, 5, "kubectl"), (5, 5, "kubectl"), (6, 3, "controller")]
        {
            journal.take(set(rv, replicas, manager), rv);
        }
        assert_eq!(written_by(journal), [Writer::Other, Writer::Driver, Writer::Driver, Writer::Other, Writer::Other]);
    }

    /// A deletion leaves managed fields as they are, so they do not say who began it.
    #[test]
    fn managed_fields_name_the_programs() {
        let mut journal = Journal::new("web");
        let again = set(4, 4, "kubectl");
        for news in [set(2, 3, "controller"), set(3, 4, "kubectl"), again, set(5, 3, "controller")] {
            journal.take(news, 0);
        }
        journal.take(deployment(6, "controller"), 0);
        let all = journal.finish(header(), 9).entries.into_iter().filter_map(|entry| match entry {
            Entry::Object(version) if version.kind == "ReplicaSet" => Some(version.author),
            _ => None,
        });
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(all.collect::<Vec<_>>(), [named("controller"), named("kubectl"), None, named("controller")]);
    }

    /// A manager who loses a field to another has not written.
    #[test]
    fn a_field_that_is_taken_over_is_the_others_write() {
        let entry = |manager: &str, fields: &Value| json!({"manager": manager, "time": "t", "fieldsV1": fields});
        let stray = |rv: u64, fields: &[Value]| News::Seen {
            kind: "ReplicaSet",
            change: if rv == 2 { Change::Added } else { Change::Modified },
            object: json!({"spec": {"replicas": rv}, "metadata": {"name": "web-1", "uid": "s", "resourceVersion": rv.to_string(),
                "managedFields": fields, "ownerReferences": [{"controller": true, "uid": "d"}]}}),
        };
        let whole = entry("kubectl", &json!({"f:spec": {"f:replicas": {}, "f:selector": {}}}));
        let rest = entry("kubectl", &json!({"f:spec": {"f:selector": {}}}));
        let size = entry("controller", &json!({"f:spec": {"f:replicas": {}}}));
        let made = entry("controller", &json!({"f:spec": {"f:template": {}}}));
        let mut journal = Journal::new("web");
        journal.take(stray(2, &[made.clone(), whole]), 0);
        journal.take(stray(3, &[made, rest, size]), 0);
        assert_eq!(written_by(journal), [Writer::Other, Writer::Other]);
    }

    /// Who wrote the versions of ReplicaSets.
    fn written_by(mut journal: Journal) -> Vec<Writer> {
        journal.take(deployment(1, "controller"), 0);
        let all = journal.finish(header(), 9).entries.into_iter().filter_map(|entry| match entry {
            Entry::Object(version) if version.kind == "ReplicaSet" => Some(version.by),
            _ => None,
        });
        all.collect()
    }

    /// The Deployment, whose status this manager wrote.
    fn deployment(rv: u64, manager: &str) -> News {
        let fields = [json!({"manager": manager, "subresource": "status", "time": "2026-11-24T00:00:00Z"})];
        let metadata = json!({"name": "web", "uid": "d", "resourceVersion": rv.to_string(), "managedFields": fields});
        News::Seen { kind: "Deployment", change: Change::Modified, object: json!({"metadata": metadata}) }
    }

    /// A controller that takes the place of another writes ReplicaSets that it did not create; the
    /// status of the Deployment shows who it is, if only later.
    #[test]
    fn a_controller_that_replaces_another_is_no_stranger() {
        let mut journal = Journal::new("web");
        journal.take(set(2, 3, "controller"), 2);
        journal.take(set(3, 4, "its-successor"), 3);
        journal.take(set(5, 6, "kubectl"), 5);
        journal.take(deployment(6, "its-successor"), 6);
        assert_eq!(journal.controller("prod", "v1.36.3").version, "");
        assert_eq!(written_by(journal), [Writer::Other, Writer::Other, Writer::Driver]);
    }
}
