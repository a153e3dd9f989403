//! Recordings as cases.

use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::recording::{Change, End, FORMAT, Header, Identity, Settling, SubjectKind, Version, Writer};

/// A live cluster in the making: version by version.
struct Reel {
    entries: Vec<Entry>,
    rv: u64,
    at: u64,
}

impl Reel {
    fn new() -> Self {
        Self { entries: Vec::new(), rv: 1000, at: 0 }
    }

    fn settled(mut self) -> Self {
        self.entries.push(Entry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at: self.at }));
        self
    }

    fn version(mut self, kind: &str, change: Change, object: &Value) -> Self {
        (self.rv, self.at) = (self.rv + 1, self.at + 10);
        let name = text(object, "/metadata/name").to_owned();
        let (object, by) = (Arc::new(object.clone()), Writer::Other);
        self.entries.push(Entry::Object(Version {
            kind: kind.to_owned(),
            name,
            change,
            rv: self.rv,
            by,
            at: self.at,
            object,
        }));
        self
    }

    fn deployment(self, generation: i64, observed: i64, image: &str, (total, ready): (i64, i64)) -> Self {
        let object = json!({
            "metadata": {"name": "web", "uid": "d", "generation": generation, "annotations": {"deployment.kubernetes.io/revision": "7"}},
            "spec": {"replicas": 2, "template": template(image), "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
            "status": {"observedGeneration": observed, "replicas": total, "readyReplicas": ready, "availableReplicas": ready}
        });
        self.version(DEPLOYMENT, Change::Modified, &object)
    }

    fn set(self, hash: &str, revision: i64, image: &str, (wanted, total, ready): (i64, i64, i64)) -> Self {
        let object = json!({
            "metadata": {"name": format!("web-{hash}"), "uid": hash, "generation": 1, "ownerReferences": [{"controller": true, "uid": "d"}],
                "annotations": {"deployment.kubernetes.io/revision": revision.to_string()}},
            "spec": {"replicas": wanted, "template": template(image)},
            "status": {"observedGeneration": 1, "replicas": total, "readyReplicas": ready, "availableReplicas": ready}
        });
        self.version("ReplicaSet", Change::Modified, &object)
    }

    fn pod(self, name: &str, set: &str, ready: bool) -> Self {
        self.version("Pod", Change::Modified, &pod(name, set, ready))
    }

    fn going(self, name: &str, set: &str) -> Self {
        let mut object = pod(name, set, true);
        object["metadata"]["deletionTimestamp"] = json!("2026-11-24T00:00:00Z");
        self.version("Pod", Change::Modified, &object)
    }

    /// At its seventh revision, all ready, with one older ReplicaSet.
    fn begun() -> Self {
        Self::new()
            .deployment(9, 9, "app:7", (2, 2))
            .set("new", 7, "app:7", (2, 2, 2))
            .set("old", 5, "app:5", (0, 0, 0))
            .pod("a", "new", true)
            .pod("b", "new", true)
            .settled()
    }

    fn inferred(self) -> Inferred {
        let header = Header {
            format: FORMAT,
            case: "captured/web".to_owned(),
            path: String::new(),
            source: String::new(),
            judged: Default::default(),
            under_test: Default::default(),
            namespace: "shop".to_owned(),
            subject: Identity::new("prod", "kube-controller-manager", "v1.36.3"),
            kind: SubjectKind::Cluster,
            cluster: Identity::new("prod", "kube-apiserver", "v1.36.3"),
            cluster_controllers: None,
            workload: None,
            real_pods: true,
            seed: None,
            started: "2026-11-24T00:00:00Z".to_owned(),
        };
        let end = Some(End { completed: true, events_complete: false, at: self.at, diagnosis: None });
        infer(&Recording { header, entries: self.entries, end }, "captured/web", &Arrangements::new()).unwrap()
    }
}

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}})
}

fn pod(name: &str, set: &str, ready: bool) -> Value {
    let status = if ready { "True" } else { "False" };
    json!({"metadata": {"name": name, "uid": name, "ownerReferences": [{"controller": true, "uid": set}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-11-24T00:00:00Z"}]}})
}

/// The steps of the case, without what is given.
fn steps(inferred: &Inferred) -> Vec<&str> {
    let (_, steps) = inferred.case.source.split_once("\nsteps:\n").unwrap();
    steps.lines().map(str::trim).collect()
}

#[test]
fn what_was_there_is_given_in_the_order_of_revisions_and_counted_from_one() {
    let inferred = Reel::begun().deployment(10, 9, "app:8", (2, 2)).set("third", 8, "app:8", (1, 0, 0)).inferred();
    let source = &inferred.case.source;
    let given = "given:
  - deployment: {name: web, replicas: 2, image: \"app:5\", maxSurge: 1, maxUnavailable: 0}
  - ready: {pods: all}
  - set: {image: \"app:7\"}
  - ready: {pods: all}
steps:
  - set: {image: \"app:8\"}
";
    assert!(source.ends_with(given), "{source}");
    let set = inferred.recording.entries.iter().rev().find_map(|entry| match entry {
        Entry::Object(version) if version.kind == "ReplicaSet" => Some(live::revision(&version.object)),
        _ => None,
    });
    assert_eq!(set, Some(Some(3)));
    let generation = inferred.recording.entries.iter().rev().find_map(|entry| match entry {
        Entry::Object(version) if version.kind == DEPLOYMENT => Some(int(&version.object, "/metadata/generation")),
        _ => None,
    });
    assert_eq!(generation, Some(3));
}

#[test]
fn a_template_of_an_older_replica_set_is_an_undo() {
    let inferred = Reel::begun().deployment(10, 9, "app:5", (2, 2)).inferred();
    assert_eq!(steps(&inferred), ["# or `set: {image: \"app:5\"}`: both write the same", "- undo: web"]);
}

#[test]
fn a_pod_that_no_replica_set_has_too_many_of_was_deleted() {
    let inferred = Reel::begun().going("a", "new").inferred();
    assert_eq!(steps(&inferred), ["- delete: pod/rs2.1"]);
    let scaled = Reel::begun().set("new", 7, "app:7", (1, 2, 2)).going("a", "new").deployment(10, 9, "app:8", (2, 2));
    assert_eq!(steps(&scaled.inferred()), ["- set: {image: \"app:8\"}"], "the controller deleted it");
}

#[rstest]
#[case::settled_between(true, &["- ready: {pods: 2}"])]
#[case::at_once(false, &["- ready: {pods: 2, atomic: true}"])]
fn pods_that_become_ready(#[case] settles: bool, #[case] expected: &[&str]) {
    let mut reel = Reel::begun()
        .deployment(10, 10, "app:8", (4, 2))
        .set("third", 8, "app:8", (2, 2, 0))
        .pod("c", "third", false)
        .pod("d", "third", false)
        .pod("c", "third", true);
    if settles {
        reel = reel.set("third", 8, "app:8", (2, 2, 1)).deployment(10, 10, "app:8", (4, 3));
    }
    let inferred = reel.pod("d", "third", true).inferred();
    assert_eq!(&steps(&inferred)[steps(&inferred).len() - 1..], expected);
}

#[test]
fn what_the_controllers_do_is_no_step() {
    let entries = Reel::begun().set("new", 7, "app:7", (2, 2, 2)).deployment(9, 9, "app:7", (2, 2)).entries;
    let mut reel = Reel::begun().deployment(10, 9, "app:8", (2, 2));
    let changed = reel.entries.len() - 1;
    reel.entries.extend(entries.into_iter().skip(6).take(1));
    let inferred = reel.inferred();
    assert_eq!((steps(&inferred).len(), changed), (1, 6));
}

#[test]
fn a_deployment_that_no_controller_has_seen_is_created_in_a_step() {
    let mut deployment = json!({"metadata": {"name": "web", "uid": "d", "generation": 1}, "spec": {"replicas": 2}});
    deployment["spec"]["template"] = template("app:1");
    let inferred = Reel::new().version("Deployment", Change::Added, &deployment).settled().inferred();
    assert_eq!(steps(&inferred), ["- deployment: {name: web, replicas: 2, image: \"app:1\"}"]);
}
