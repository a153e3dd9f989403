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

    /// So many milliseconds pass.
    fn after(mut self, milliseconds: u64) -> Self {
        self.at += milliseconds;
        self
    }

    /// The second that the cluster's clock shows, as it is stamped.
    fn stamp(&self) -> String {
        format!("2026-11-24T00:00:{:02}Z", self.at / 1000)
    }

    /// A pod that becomes ready now.
    fn ready(self, name: &str, set: &str) -> Self {
        let mut object = pod(name, set, true);
        object["status"]["conditions"][0]["lastTransitionTime"] = json!(self.stamp());
        self.version("Pod", Change::Modified, &object)
    }

    /// A pod whose deletion has begun, in this phase.
    fn ending(self, name: &str, set: &str, phase: &str, change: Change) -> Self {
        let mut object = pod(name, set, phase == "Running");
        object["metadata"]["deletionTimestamp"] = json!("2026-11-24T00:00:30Z");
        object["status"]["phase"] = json!(phase);
        self.version("Pod", change, &object)
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

/// When the Deployments of these tests have progressed, and why.
const BEGAN: (&str, &str) = ("NewReplicaSetAvailable", "2026-11-24T00:00:00Z");

/// A Deployment with this strategy, minReadySeconds, reason of Progressing and time of its last progress.
fn with(strategy: &str, least: i64, image: &str, (generation, observed): (i64, i64), progress: (&str, &str)) -> Value {
    let progress =
        json!([{"type": "Progressing", "status": "True", "reason": progress.0, "lastUpdateTime": progress.1}]);
    json!({
        "metadata": {"name": "web", "uid": "d", "generation": generation, "annotations": {"deployment.kubernetes.io/revision": "7"}},
        "spec": {"replicas": 2, "template": template(image), "strategy": {"type": strategy}, "minReadySeconds": least,
            "progressDeadlineSeconds": 10},
        "status": {"observedGeneration": observed, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "conditions": progress}
    })
}

/// As `Reel::begun`, with this Deployment.
fn begun_with(deployment: &Value) -> Reel {
    Reel::new()
        .version(DEPLOYMENT, Change::Modified, deployment)
        .set("new", 7, "app:7", (2, 2, 2))
        .set("old", 5, "app:5", (0, 0, 0))
        .pod("a", "new", true)
        .pod("b", "new", true)
        .settled()
}

/// kubelet removes a pod some time after its containers have ended; upstream's Recreate does not wait for that.
#[test]
fn a_recreate_goes_on_once_the_pods_have_ended() {
    let recreate = |image: &str, generation| with("Recreate", 0, image, generation, BEGAN);
    let inferred = begun_with(&recreate("app:7", (9, 9)))
        .version(DEPLOYMENT, Change::Modified, &recreate("app:8", (10, 9)))
        .set("new", 7, "app:7", (0, 2, 2))
        .ending("a", "new", "Running", Change::Modified)
        .ending("b", "new", "Running", Change::Modified)
        .after(900)
        .ending("a", "new", "Succeeded", Change::Modified)
        .ending("b", "new", "Failed", Change::Modified)
        .set("third", 8, "app:8", (2, 0, 0))
        .ending("a", "new", "Succeeded", Change::Deleted)
        .ending("b", "new", "Failed", Change::Deleted)
        .inferred();
    let ended = "{terminate: {pods: 1, of: {replicaset: rs2}}}";
    let lines: Vec<&str> = steps(&inferred).into_iter().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["- set: {image: \"app:8\"}", &format!("- together: [{ended}, {ended}]")]);
    let entries = inferred.recording.entries.iter();
    let ends = entries.skip_while(|entry| !matches!(entry, Entry::Step(mark) if mark.index == 2));
    let told = ends.filter_map(|entry| match entry {
        Entry::Step(mark) => Some(format!("{}.{}", mark.index, mark.part)),
        Entry::Object(version) => Some(format!("{} {:?}", version.name, version.change)),
        _ => None,
    });
    let expected = ["2.0", "a Deleted", "b Deleted", "web-third Modified"];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// Pods that are still on their way out at the end have not gone at once.
#[test]
fn a_recreate_that_waits_until_the_end_waits_for_pods() {
    let recreate = |image: &str, generation| with("Recreate", 0, image, generation, BEGAN);
    let inferred = begun_with(&recreate("app:7", (9, 9)))
        .version(DEPLOYMENT, Change::Modified, &recreate("app:8", (10, 9)))
        .set("new", 7, "app:7", (0, 2, 2))
        .ending("a", "new", "Running", Change::Modified)
        .inferred();
    assert!(inferred.case.source.contains("terminations: held"), "{}", inferred.case.source);
}

/// Where pods of a Recreate go at once, their end is no step, and none is given.
#[test]
fn what_was_recreated_before_the_beginning_went_at_once() {
    let recreate = |image: &str, generation| with("Recreate", 0, image, generation, BEGAN);
    let inferred = begun_with(&recreate("app:7", (9, 9)))
        .version(DEPLOYMENT, Change::Modified, &recreate("app:8", (10, 9)))
        .inferred();
    assert!(!inferred.case.source.contains("terminat"), "{}", inferred.case.source);
}

/// A deadline counts from the second in which a Deployment last progressed, however long the case takes to settle; no other time is told.
#[test]
fn a_deadline_is_counted_from_the_step_that_began_it() {
    let rolling = |image, generation, progress| with("RollingUpdate", 0, image, generation, progress);
    let reel = begun_with(&rolling("app:7", (9, 9), BEGAN)).after(3000);
    let began = reel.stamp();
    let inferred = reel
        .version(DEPLOYMENT, Change::Modified, &rolling("app:8", (10, 9), BEGAN))
        .version(DEPLOYMENT, Change::Modified, &rolling("app:8", (10, 10), ("ReplicaSetUpdated", &began)))
        .after(300)
        .pod("a", "new", true)
        .after(10_900)
        .version(DEPLOYMENT, Change::Modified, &rolling("app:8", (10, 10), ("ProgressDeadlineExceeded", &began)))
        .after(5_000)
        .version(DEPLOYMENT, Change::Modified, &rolling("app:9", (11, 10), ("ProgressDeadlineExceeded", &began)))
        .inferred();
    let expected = [
        "- set: {image: \"app:8\"}",
        "label: step1",
        "- advance: {to: 12s, since: step1}",
        "- set: {image: \"app:9\"}",
    ];
    assert_eq!(steps(&inferred), expected);
}

/// A rollout with minReadySeconds 4 in which pods c, d and e are new.
struct Slow(Reel);

impl Slow {
    fn begun() -> Self {
        let reel = begun_with(&with("RollingUpdate", 4, "app:7", (9, 9), BEGAN)).version(
            DEPLOYMENT,
            Change::Modified,
            &with("RollingUpdate", 4, "app:8", (10, 9), BEGAN),
        );
        let new = Self(reel).set(0, 0);
        let with_pods = new.0.pod("c", "third", false).pod("d", "third", false).pod("e", "third", false);
        Self(with_pods).counted(0, 0)
    }

    fn set(self, ready: i64, available: i64) -> Self {
        let set = json!({"metadata": {"name": "web-third", "uid": "third", "generation": 1,
                "ownerReferences": [{"controller": true, "uid": "d"}], "annotations": {"deployment.kubernetes.io/revision": "8"}},
            "spec": {"replicas": 3, "minReadySeconds": 4, "template": template("app:8")},
            "status": {"observedGeneration": 1, "replicas": 3, "readyReplicas": ready, "availableReplicas": available}});
        Self(self.0.version("ReplicaSet", Change::Modified, &set))
    }

    /// The controllers write so many into their statuses.
    fn counted(self, ready: i64, available: i64) -> Self {
        let mut deployment = with("RollingUpdate", 4, "app:8", (10, 10), BEGAN);
        for (counter, pods) in [("replicas", 5), ("readyReplicas", 2 + ready), ("availableReplicas", 2 + available)] {
            deployment["status"][counter] = json!(pods);
        }
        Self(self.set(ready, available).0.version(DEPLOYMENT, Change::Modified, &deployment))
    }

    fn after(self, milliseconds: u64) -> Self {
        Self(self.0.after(milliseconds))
    }

    fn ready(self, name: &str) -> Self {
        Self(self.0.ready(name, "third"))
    }
}

/// What makes several pods ready at once waits until they are available. So it does that only where nothing else happened before.
#[test]
fn pods_that_become_ready_and_available_together_are_one_step() {
    let slow = Slow::begun().after(1000).ready("c").ready("d").ready("e").counted(3, 0);
    let inferred = slow.after(4000).counted(3, 1).counted(3, 3).0.inferred();
    let lines: Vec<&str> = steps(&inferred).into_iter().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["- set: {image: \"app:8\"}", "- ready: {pods: 3, atomic: true}"]);
    let cut = Slow::begun().after(1000).ready("c").ready("d").ready("e").counted(3, 0).0.inferred();
    let one = "{ready: {pods: 1}}";
    assert_eq!(
        steps(&cut).last(),
        Some(&format!("- together: [{one}, {one}, {one}]").as_str()),
        "none is available yet"
    );
}

/// No controller decides anything between pods that become ready in the same second and are available later.
#[test]
fn pods_are_available_so_long_after_they_became_ready() {
    let slow = Slow::begun().after(1000).ready("c").counted(1, 0).after(100).ready("d").counted(2, 0);
    let slow = slow.after(2000).ready("e").counted(3, 0).after(2000).counted(3, 1).counted(3, 2);
    let inferred = slow.after(2000).counted(3, 3).0.inferred();
    assert_eq!(inferred.concurrent.keys().map(|step| step.index).collect::<Vec<_>>(), [2, 5]);
    let expected = [
        "- set: {image: \"app:8\"}",
        "- together: [{ready: {pods: 1}}, {ready: {pods: 1}}]",
        "label: step2",
        "- advance: {to: 2s, since: step2}",
        "- ready: {pods: 1}",
        "label: step4",
        "- advance: {to: 4s, since: step2}",
        "- advance: {to: 4s, since: step4}",
    ];
    let lines: Vec<&str> = steps(&inferred).into_iter().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, expected);
}

/// A controller deletes old ReplicaSets without pods, and no more of them than the history is too long.
#[rstest]
#[case::within_the_history("old", "app:5", 10, Some("delete: replicaset/rs1"))]
#[case::beyond_the_history("old", "app:5", 0, None)]
#[case::the_current_one("new", "app:7", 0, Some("delete: replicaset/rs2"))]
fn a_replica_set_that_no_controller_deletes(
    #[case] hash: &str,
    #[case] image: &str,
    #[case] kept: u64,
    #[case] expected: Option<&str>,
) {
    let keeps = |image: &str, generation| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        deployment["spec"]["revisionHistoryLimit"] = json!(kept);
        deployment
    };
    let mut reel = begun_with(&keeps("app:7", (9, 9)));
    let found = reel.entries.iter().find_map(|entry| match entry {
        Entry::Object(version) if version.name == format!("web-{hash}") => Some(Value::clone(&version.object)),
        _ => None,
    });
    let gone = found.unwrap();
    assert_eq!(gone["spec"]["template"], template(image));
    reel = reel.version("ReplicaSet", Change::Deleted, &gone);
    let inferred = reel.version(DEPLOYMENT, Change::Modified, &keeps("app:8", (10, 9))).inferred();
    let text = steps(&inferred).concat();
    assert!(expected.map_or(!text.contains("delete"), |expected| text.contains(expected)), "{text}");
}

/// The old way to undo is an annotation; the controller writes the template back and removes it.
#[test]
fn a_rollback_by_the_controller_is_no_step() {
    let asks = |image: &str, generation, asks: bool| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        if asks {
            deployment["metadata"]["annotations"]["deprecated.deployment.rollback.to"] = json!("0");
        }
        deployment
    };
    let inferred = begun_with(&asks("app:7", (9, 9), false))
        .version(DEPLOYMENT, Change::Modified, &asks("app:7", (9, 9), true))
        .version(DEPLOYMENT, Change::Modified, &asks("app:5", (10, 9), false))
        .inferred();
    let text = steps(&inferred);
    assert!(text.len() == 1 && text[0].contains("rollback.to: \"0\""), "{text:?}");
}

/// kubectl's undo writes the annotations of the ReplicaSet as well, and what writes the template alone is none.
#[rstest]
#[case::as_the_replica_set_has_them("first", &["- undo: web"])]
#[case::others("second", &["- set: {image: \"app:5\"}"])]
fn an_undo_brings_annotations(#[case] cause: &str, #[case] expected: &[&str]) {
    let caused = |object: &mut Value, cause: &str| {
        object["metadata"]["annotations"]["kubernetes.io/change-cause"] = json!(cause);
    };
    let deployment = |image: &str, generation, cause: &str| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        caused(&mut deployment, cause);
        deployment
    };
    let mut reel = begun_with(&deployment("app:7", (9, 9), "second"));
    for entry in &mut reel.entries {
        if let Entry::Object(version) = entry
            && version.name == "web-old"
        {
            let mut old = Value::clone(&version.object);
            caused(&mut old, "first");
            old["metadata"]["annotations"]["deployment.kubernetes.io/desired-replicas"] = json!("2");
            version.object = Arc::new(old);
        }
    }
    let inferred = reel.version(DEPLOYMENT, Change::Modified, &deployment("app:5", (10, 9), cause)).inferred();
    assert_eq!(steps(&inferred), expected);
}

/// Where a capture begins while statuses are being written, what they come to is what was there.
#[test]
fn what_was_there_is_what_the_controllers_had_counted() {
    let counted = Reel::new()
        .deployment(9, 9, "app:7", (2, 0))
        .set("new", 7, "app:7", (2, 2, 1))
        .pod("a", "new", true)
        .pod("b", "new", true)
        .settled()
        .set("new", 7, "app:7", (2, 2, 2))
        .deployment(9, 9, "app:7", (2, 2))
        .deployment(10, 9, "app:8", (2, 2))
        .inferred();
    let given =
        counted.recording.entries.iter().take_while(|entry| !matches!(entry, Entry::Step(mark) if mark.index == 1));
    let ready = given.filter_map(|entry| match entry {
        Entry::Object(version) if version.kind == DEPLOYMENT => Some(int(&version.object, "/status/readyReplicas")),
        _ => None,
    });
    assert_eq!(ready.collect::<Vec<_>>(), [2]);
    assert_eq!(steps(&counted), ["- set: {image: \"app:8\"}"]);
}

/// In the middle of other things the newest ReplicaSet and the previous revision depend on what the controllers have done by then.
#[test]
fn what_comes_at_once_is_said_without_what_the_controllers_did() {
    let inferred = Reel::begun()
        .set("third", 6, "app:6", (2, 2, 0))
        .pod("c", "third", false)
        .deployment(10, 9, "app:8", (2, 2))
        .pod("c", "third", true)
        .deployment(11, 9, "app:6", (2, 2))
        .inferred();
    let line = *steps(&inferred).last().unwrap();
    assert!(
        line.contains("{ready: {pods: 1, of: {replicaset: rs3}}}") && line.ends_with("{set: {image: \"app:6\"}}]"),
        "{line}"
    );
}

/// Pods of a Recreate may end before a status says that they are on their way: what was there in between is not known.
#[test]
fn pods_that_end_before_the_controllers_settle_leave_a_step() {
    let recreate = |image: &str, generation| with("Recreate", 0, image, generation, BEGAN);
    let inferred = begun_with(&recreate("app:7", (9, 9)))
        .version(DEPLOYMENT, Change::Modified, &recreate("app:8", (10, 9)))
        .set("new", 7, "app:7", (0, 2, 2))
        .ending("a", "new", "Running", Change::Modified)
        .ending("b", "new", "Running", Change::Modified)
        .after(900)
        .ending("a", "new", "Succeeded", Change::Modified)
        .ending("b", "new", "Failed", Change::Modified)
        .inferred();
    assert_eq!(inferred.left.iter().map(|step| step.index).collect::<Vec<_>>(), [1]);
    assert_eq!(inferred.cut.map(|step| step.index), Some(2), "no status counts them");
}

#[test]
fn a_recording_that_ends_settled_is_whole() {
    let whole = Reel::begun().deployment(10, 9, "app:8", (2, 2)).deployment(10, 10, "app:8", (2, 2)).inferred();
    assert_eq!(whole.cut, None);
    let cut = Reel::begun().deployment(10, 9, "app:8", (2, 2)).inferred();
    assert_eq!(cut.cut.map(|step| step.index), Some(1));
    let said = Reel::begun().deployment(10, 9, "app:8", (2, 2)).settled().inferred();
    assert_eq!(said.cut, None, "the recording says so");
}

/// `kubectl apply` may change nothing but what it remembers.
#[test]
fn what_was_applied_last_is_a_step_where_nothing_else_is_written() {
    let applied = |image: &str, generation, what: &str| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        deployment["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = json!(what);
        deployment
    };
    let inferred = begun_with(&applied("app:7", (9, 9), "{}"))
        .version(DEPLOYMENT, Change::Modified, &applied("app:7", (9, 9), "{1}"))
        .version(DEPLOYMENT, Change::Modified, &applied("app:8", (10, 9), "{2}"))
        .inferred();
    let text = steps(&inferred);
    assert!(text[0].contains("last-applied-configuration: \"{1}\""), "{text:?}");
    assert_eq!(text[1..], ["- set: {image: \"app:8\"}"]);
}
