//! Orders the updates of all watches. Pure.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::{
    Blame, ChangeType, Header, Identity, ObjectVersion, Recording, RecordingEnd, RecordingEntry, Settling, Trouble,
    WriterRole,
};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::is_complete;
use lockstep_timeline::object::{controller_uid, name, remove_managed_fields, text, uid};
use serde_json::Value;

use super::follow::WatchUpdate;

/// Collects versions.
#[derive(Debug)]
pub struct Journal {
    /// The Deployment's name.
    name: String,
    /// The objects when each kind was first listed.
    initial: Vec<ObjectVersion>,
    /// The versions after that.
    later: Vec<ObjectVersion>,
    /// Gaps, and when they were noticed.
    gaps: Vec<(u64, String)>,
    /// The kinds without a working watch, since when, and why.
    lost: BTreeMap<&'static str, (u64, String)>,
    /// The last version of each object, by kind and name.
    last: BTreeMap<(&'static str, String), Value>,
    listed_kinds: BTreeSet<&'static str>,
    /// The manager that created the first ReplicaSet.
    creator: Option<String>,
    /// The managers that wrote the Deployment's status, or created a ReplicaSet: several, if the
    /// controller was replaced.
    controllers: BTreeSet<String>,
    /// The manager that last wrote the Deployment's status.
    reporter: Option<String>,
    /// The managers that wrote these versions of ReplicaSets, except for their status, by
    /// resourceVersion.
    authors: BTreeMap<u64, Vec<String>>,
    /// Whether the Deployment was changed, or was not complete at first.
    busy: bool,
}

impl Journal {
    /// A journal for the Deployment of this name.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            initial: Vec::new(),
            later: Vec::new(),
            gaps: Vec::new(),
            lost: BTreeMap::new(),
            last: BTreeMap::new(),
            listed_kinds: BTreeSet::new(),
            creator: None,
            controllers: BTreeSet::new(),
            reporter: None,
            authors: BTreeMap::new(),
            busy: false,
        }
    }

    /// Apply an update, this many milliseconds after the beginning.
    pub(super) fn take(&mut self, news: WatchUpdate, at: u64) {
        match &news {
            WatchUpdate::Lost { kind, why } => drop(self.lost.entry(kind).or_insert_with(|| (at, why.clone()))),
            WatchUpdate::Opened { kind, .. }
            | WatchUpdate::Alive { kind }
            | WatchUpdate::Version { kind, .. }
            | WatchUpdate::Listed { kind, .. } => {
                drop(self.lost.remove(kind));
            }
        }
        match news {
            WatchUpdate::Opened { .. } | WatchUpdate::Alive { .. } | WatchUpdate::Lost { .. } => {}
            WatchUpdate::Version { kind, change, object } => self.version(kind, change, object, at),
            WatchUpdate::Listed { kind, objects, gap } => {
                let first = self.listed_kinds.insert(kind);
                if let Some(why) = gap.filter(|_| !first) {
                    self.gaps
                        .push((at, format!("{kind}s were not seen for a time, as the server could not go on: {why}")));
                }
                let names: BTreeSet<String> = objects.iter().map(|object| name(object).to_owned()).collect();
                let gone: Vec<(&'static str, String)> =
                    self.last.keys().filter(|(of, name)| *of == kind && !names.contains(name)).cloned().collect();
                for key in gone {
                    let object = self.last[&key].clone();
                    self.version(kind, ChangeType::Deleted, object, at);
                }
                for object in objects {
                    let previous = self.last.get(&(kind, name(&object).to_owned()));
                    if previous.is_some_and(|previous| previous.at(RV) == object.at(RV)) {
                        continue;
                    }
                    let change = if previous.is_some() { ChangeType::Modified } else { ChangeType::Added };
                    if first { self.add_initial(kind, object) } else { self.version(kind, change, object, at) }
                }
            }
        }
    }

    /// Whether a rollout was recorded to its end.
    pub(super) fn is_complete(&self) -> bool {
        self.busy && self.deployment().is_none_or(is_complete)
    }

    /// The Deployment's controller, as far as managed fields show; with the server's version if it
    /// is upstream's.
    pub(super) fn controller(&self, cluster: &str, version: &str) -> Identity {
        let program = self.reporter.as_deref().or(self.creator.as_deref()).unwrap_or("kube-controller-manager");
        Identity::new(cluster, program, if program == "kube-controller-manager" { version } else { "" })
    }

    /// The recording of the objects that belong to the Deployment.
    pub fn finish(self, header: Header, at: u64) -> Recording {
        let Self { initial, mut later, mut gaps, lost, name, controllers, authors, .. } = self;
        for version in later.iter_mut().filter(|version| version.kind == "ReplicaSet") {
            let strangers = authors.get(&version.rv).filter(|all| all.iter().any(|one| !controllers.contains(one)));
            if strangers.is_some() {
                version.by = WriterRole::Driver;
            }
        }
        gaps.extend(
            lost.into_iter().map(|(kind, (at, why))| (at, format!("{kind}s were not seen from then on: {why}"))),
        );
        gaps.sort_by_key(|(at, _)| *at);
        later.sort_by_key(|version| version.rv);
        let belongs = belonging(&[&initial, &later], &name);
        let kept = |version: &ObjectVersion| {
            belongs.contains(uid(&version.object)) || belongs.contains(involved(&version.object))
        };
        let mut entries: Vec<RecordingEntry> =
            initial.into_iter().filter(kept).map(stripped).map(RecordingEntry::Object).collect();
        entries.push(RecordingEntry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at: 0 }));
        let mut gaps = gaps.into_iter().peekable();
        let trouble = |why| RecordingEntry::Trouble(Trouble::new(Blame::Environment, why));
        for version in later.into_iter().filter(kept) {
            while let Some((_, why)) = gaps.next_if(|(when, _)| *when <= version.at) {
                entries.push(trouble(why));
            }
            entries.push(RecordingEntry::Object(stripped(version)));
        }
        entries.extend(gaps.map(|(_, why)| trouble(why)));
        let end = RecordingEnd { completed: true, events_complete: false, at, diagnosis: None };
        Recording { header, entries, end: Some(end) }
    }

    fn deployment(&self) -> Option<&Value> {
        self.last.get(&("Deployment", self.name.clone()))
    }

    /// Record that changes up to this time are unknown.
    pub(crate) fn gap(&mut self, at: u64, why: String) {
        self.gaps.push((at, why));
    }

    /// Add an object from before the first change.
    pub fn add_initial(&mut self, kind: &'static str, object: Value) {
        self.busy |= kind == "Deployment" && !is_complete(&object);
        self.note_authors(kind, None, &object);
        self.last.insert((kind, name(&object).to_owned()), object.clone());
        let name = name(&object).to_owned();
        self.initial.push(ObjectVersion {
            kind: kind.to_owned(),
            name,
            change: ChangeType::Added,
            rv: rv(&object),
            by: WriterRole::Other,
            author: None,
            at: 0,
            object: object.into(),
        });
    }

    /// Add a version from a watch, whose managed fields show who wrote it.
    fn version(&mut self, kind: &'static str, change: ChangeType, object: Value, at: u64) {
        let before = self.last.get(&(kind, name(&object).to_owned())).cloned();
        self.note_authors(kind, before.as_ref(), &object);
        let author = if change == ChangeType::Deleted { None } else { new_manager(before.as_ref(), &object) };
        self.add_version(kind, change, object, (WriterRole::Other, author), at);
    }

    /// Remember who wrote this version, by its managed fields.
    fn note_authors(&mut self, kind: &str, before: Option<&Value>, object: &Value) {
        match (kind, before) {
            ("Deployment", _) if name(object) == self.name => {
                let reports = |entry: &&Value| entry.at("/subresource").and_then(Value::as_str) == Some("status");
                let mut all: Vec<&Value> = entries(object).iter().filter(reports).collect();
                all.sort_by_key(|entry| text(entry, "/time"));
                let names: Vec<String> = all.iter().filter_map(|entry| manager(entry)).collect();
                self.reporter = names.last().cloned().or(self.reporter.take());
                self.controllers.extend(names);
            }
            // A ReplicaSet without an owner may be a user's.
            ("ReplicaSet", None) if controller_uid(object).is_some() => {
                let creator = creator(object);
                self.controllers.extend(creator.clone());
                self.creator = self.creator.take().or(creator);
            }
            ("ReplicaSet", Some(before)) => drop(self.authors.insert(rv(object), authors(before, object))),
            _ => {}
        }
    }

    /// Add a version, who wrote it, and the name of that program.
    pub fn add_version(
        &mut self,
        kind: &'static str,
        change: ChangeType,
        object: Value,
        (by, author): (WriterRole, Option<String>),
        at: u64,
    ) {
        let key = (kind, name(&object).to_owned());
        let before = match change {
            ChangeType::Deleted => self.last.remove(&key),
            ChangeType::Added | ChangeType::Modified => self.last.insert(key, object.clone()),
        };
        let generation = |object: &Value| object.at("/metadata/generation").and_then(Value::as_i64);
        self.busy |= kind == "Deployment" && before.as_ref().and_then(generation) != generation(&object);
        let (name, rv) = (name(&object).to_owned(), rv(&object));
        self.later.push(ObjectVersion {
            kind: kind.to_owned(),
            name,
            change,
            rv,
            by,
            author,
            at,
            object: object.into(),
        });
    }
}

/// The pointer to the resourceVersion.
const RV: &str = "/metadata/resourceVersion";

fn entries(object: &Value) -> &[Value] {
    object.at("/metadata/managedFields").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn manager(entry: &Value) -> Option<String> {
    Some(text(entry, "/manager")?.to_owned())
}

/// The creator of this ReplicaSet: the first manager of anything but its status.
fn creator(set: &Value) -> Option<String> {
    manager(entries(set).iter().find(|entry| entry.at("/subresource").is_none())?)
}

/// The managers whose entries are new in a version. A deletion adds none, nor does a write that
/// repeats the last one in the same second.
fn new_manager(before: Option<&Value>, after: &Value) -> Option<String> {
    let previous = before.map(entries).unwrap_or_default();
    let new = entries(after).iter().filter(|entry| is_new(previous, entry));
    let all: BTreeSet<String> = new.filter_map(manager).collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join(", "))
}

/// Whether a manager wrote something: an entry also changes when others take fields over.
fn is_new(previous: &[Value], entry: &Value) -> bool {
    let own = |entry: &Value| ["/manager", "/operation", "/subresource"].map(|place| entry.at(place).cloned());
    let before = previous.iter().find(|one| own(one) == own(entry));
    before.is_none_or(|before| {
        before.at("/time") != entry.at("/time") || has_more(before.at("/fieldsV1"), entry.at("/fieldsV1"))
    })
}

/// Whether a set of fields has some that the other lacks.
fn has_more(one: Option<&Value>, two: Option<&Value>) -> bool {
    let (one, two) = (one.and_then(Value::as_object), two.and_then(Value::as_object));
    let field_of = |key: &str| one.and_then(|fields| fields.get(key));
    let lacks =
        |(key, value): (&String, &Value)| field_of(key).is_none_or(|previous| has_more(Some(previous), Some(value)));
    two.is_some_and(|fields| fields.iter().any(lacks))
}

/// The managers that wrote the spec or the metadata of a ReplicaSet between two versions.
fn authors(before: &Value, after: &Value) -> Vec<String> {
    let previous = entries(before);
    // The entry does not change if its manager writes another size again.
    let sized = before.at("/spec/replicas") != after.at("/spec/replicas");
    let wrote = |entry: &&Value| {
        let is_status = entry.at("/subresource").and_then(Value::as_str) == Some("status");
        let is_new = is_new(previous, entry) || sized && entry.at("/fieldsV1/f:spec/f:replicas").is_some();
        !is_status && is_new
    };
    entries(after).iter().filter(wrote).filter_map(manager).collect()
}

/// The UIDs of the Deployment, of all ReplicaSets that it ever controlled, and of their pods.
fn belonging(versions: &[&[ObjectVersion]], name: &str) -> BTreeSet<String> {
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

/// Without managed fields, which recordings do not contain.
fn stripped(mut version: ObjectVersion) -> ObjectVersion {
    remove_managed_fields(version.object.change());
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

    /// A ReplicaSet of the controller whose size this manager wrote last.
    fn set(rv: u64, replicas: u64, manager: &str) -> WatchUpdate {
        let entry = |manager: &str, fields: &Value| json!({"manager": manager, "fieldsV1": fields});
        let fields = [
            entry("controller", &json!({"f:spec": {"f:template": {}}})),
            entry(manager, &json!({"f:spec": {"f:replicas": {}}})),
        ];
        let metadata = json!({"name": "web-1", "uid": "s", "resourceVersion": rv.to_string(), "managedFields": fields,
            "ownerReferences": [{"controller": true, "uid": "d"}]});
        let change = if rv == 2 { ChangeType::Added } else { ChangeType::Modified };
        WatchUpdate::Version {
            kind: "ReplicaSet",
            change,
            object: json!({"metadata": metadata, "spec": {"replicas": replicas}}),
        }
    }

    fn header() -> Header {
        Header {
            format: lockstep_recording::FORMAT,
            case: "captured/web".to_owned(),
            path: String::new(),
            source: String::new(),
            controllers: Default::default(),
            under_test: Default::default(),
            namespace: "shop".to_owned(),
            subject: Identity::new("prod", "kube-controller-manager", "v1.36.3"),
            kind: lockstep_recording::SubjectKind::Cluster,
            cluster: Identity::new("prod", "kube-apiserver", "v1.36.3"),
            cluster_controllers: None,
            beside: None,
            workload: None,
            real_pods: true,
            unevaluated: Vec::new(),
            seed: None,
            started: "2026-11-24T00:00:00Z".to_owned(),
        }
    }

    /// A watch that recovers leaves no gap; one that does not leaves one.
    #[test]
    fn kind_without_a_watch_at_the_end_is_a_gap() {
        let mut journal = Journal::new("web");
        let lost = |kind| WatchUpdate::Lost { kind, why: "no route to host".to_owned() };
        journal.take(lost("Pod"), 1);
        journal.take(lost("Deployment"), 2);
        journal.take(WatchUpdate::Alive { kind: "Pod" }, 3);
        let recording = journal.finish(header(), 4);
        let clients = recording.entries.iter().filter_map(|entry| match entry {
            RecordingEntry::Trouble(trouble) => Some(trouble.why.as_str()),
            _ => None,
        });
        assert_eq!(clients.collect::<Vec<_>>(), ["Deployments were not seen from then on: no route to host"]);
    }

    #[test]
    fn names_the_client_of_every_scale() {
        let mut journal = Journal::new("web");
        for (rv, replicas, manager) in
            [(2, 3, "controller"), (3, 4, "kubectl"), (4, 5, "kubectl"), (5, 5, "kubectl"), (6, 3, "controller")]
        {
            journal.take(set(rv, replicas, manager), rv);
        }
        assert_eq!(
            written_by(journal),
            [WriterRole::Other, WriterRole::Driver, WriterRole::Driver, WriterRole::Other, WriterRole::Other]
        );
    }

    /// A deletion does not change managed fields, so they do not show who started it.
    #[test]
    fn managed_fields_name_the_programs() {
        let mut journal = Journal::new("web");
        let again = set(4, 4, "kubectl");
        for news in [set(2, 3, "controller"), set(3, 4, "kubectl"), again, set(5, 3, "controller")] {
            journal.take(news, 0);
        }
        journal.take(deployment(6, "controller"), 0);
        let all = journal.finish(header(), 9).entries.into_iter().filter_map(|entry| match entry {
            RecordingEntry::Object(version) if version.kind == "ReplicaSet" => Some(version.author),
            _ => None,
        });
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(all.collect::<Vec<_>>(), [named("controller"), named("kubectl"), None, named("controller")]);
    }

    /// A manager that loses a field to another has not written.
    #[test]
    fn losing_a_field_is_not_a_write() {
        let entry = |manager: &str, fields: &Value| json!({"manager": manager, "time": "t", "fieldsV1": fields});
        let stray = |rv: u64, fields: &[Value]| WatchUpdate::Version {
            kind: "ReplicaSet",
            change: if rv == 2 { ChangeType::Added } else { ChangeType::Modified },
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
        assert_eq!(written_by(journal), [WriterRole::Other, WriterRole::Other]);
    }

    /// The writers of the versions of ReplicaSets.
    fn written_by(mut journal: Journal) -> Vec<WriterRole> {
        journal.take(deployment(1, "controller"), 0);
        let all = journal.finish(header(), 9).entries.into_iter().filter_map(|entry| match entry {
            RecordingEntry::Object(version) if version.kind == "ReplicaSet" => Some(version.by),
            _ => None,
        });
        all.collect()
    }

    /// The Deployment, with a status that this manager wrote.
    fn deployment(rv: u64, manager: &str) -> WatchUpdate {
        let fields = [json!({"manager": manager, "subresource": "status", "time": "2026-11-24T00:00:00Z"})];
        let metadata = json!({"name": "web", "uid": "d", "resourceVersion": rv.to_string(), "managedFields": fields});
        WatchUpdate::Version { kind: "Deployment", change: ChangeType::Modified, object: json!({"metadata": metadata}) }
    }

    /// A controller that replaces another writes ReplicaSets that it did not create; the status of
    /// the Deployment identifies it, if only later.
    #[test]
    fn recognises_a_controller_that_replaces_another() {
        let mut journal = Journal::new("web");
        journal.take(set(2, 3, "controller"), 2);
        journal.take(set(3, 4, "its-successor"), 3);
        journal.take(set(5, 6, "kubectl"), 5);
        journal.take(deployment(6, "its-successor"), 6);
        assert_eq!(journal.controller("prod", "v1.36.3").version, "");
        assert_eq!(written_by(journal), [WriterRole::Other, WriterRole::Other, WriterRole::Driver]);
    }
}
