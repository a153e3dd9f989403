//! Infers cases from recordings.

mod beginnings;
mod deletions;
mod pods;
mod reel;
mod user_writes;

use lockstep_recording::ChangeType;
use reel::{BEGAN, Reel, begun_with, steps, template, with};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

#[test]
fn given_has_initial_objects_by_revision_counted_from_one() {
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
        RecordingEntry::Object(version) if version.kind == "ReplicaSet" => Some(live::revision(&version.object)),
        _ => None,
    });
    assert_eq!(set, Some(Some(3)));
    let generation = inferred.recording.entries.iter().rev().find_map(|entry| match entry {
        RecordingEntry::Object(version) if version.kind == DEPLOYMENT => {
            Some(int(&version.object, "/metadata/generation"))
        }
        _ => None,
    });
    assert_eq!(generation, Some(3));
}

#[test]
fn deleting_a_pod_without_a_surplus_is_a_step() {
    let inferred = Reel::begun().going("a", "new").inferred();
    assert_eq!(steps(&inferred), ["- delete: pod/rs2.1"]);
    let scaled = Reel::begun().set("new", 7, "app:7", (1, 2, 2)).going("a", "new").deployment(10, 9, "app:8", (2, 2));
    assert_eq!(steps(&scaled.inferred()), ["- set: {image: \"app:8\"}"], "the controller deleted it");
}

#[rstest]
#[case::settled_between(true, &["- ready: {pods: 2}"])]
#[case::at_once(false, &["- ready: {pods: 2, atomic: true}"])]
fn merges_pods_that_become_ready(#[case] settles: bool, #[case] expected: &[&str]) {
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
fn writes_of_controllers_are_not_steps() {
    let entries = Reel::begun().set("new", 7, "app:7", (2, 2, 2)).deployment(9, 9, "app:7", (2, 2)).entries;
    let mut reel = Reel::begun().deployment(10, 9, "app:8", (2, 2));
    let changed = reel.entries.len() - 1;
    reel.entries.extend(entries.into_iter().skip(6).take(1));
    let inferred = reel.inferred();
    assert_eq!((steps(&inferred).len(), changed), (1, 6));
}

#[test]
fn creation_of_an_unobserved_deployment_is_a_step() {
    let mut deployment = json!({"metadata": {"name": "web", "uid": "d", "generation": 1}, "spec": {"replicas": 2}});
    deployment["spec"]["template"] = template("app:1");
    let inferred = Reel::new().version("Deployment", ChangeType::Added, &deployment).settled().inferred();
    assert_eq!(steps(&inferred), ["- deployment: {name: web, replicas: 2, image: \"app:1\"}"]);
}

#[rstest]
#[case::before_the_recording(1)]
#[case::in_the_recording(0)]
fn paused_deployment_without_replica_sets_is_created_paused(#[case] observed: i64) {
    let mut deployment =
        json!({"metadata": {"name": "web", "uid": "d", "generation": 1, "annotations": {"team": "a"}}});
    deployment["spec"] = json!({"replicas": 2, "paused": true, "template": template("app:1")});
    deployment["status"] = json!({"observedGeneration": observed});
    let mut scaled = deployment.clone();
    scaled["spec"]["replicas"] = json!(3);
    let reel = Reel::new().version(DEPLOYMENT, ChangeType::Added, &deployment).settled();
    let inferred = reel.version(DEPLOYMENT, ChangeType::Modified, &scaled).inferred();
    let created = "deployment: {name: web, replicas: 2, image: \"app:1\", paused: true, annotations: {";
    assert!(inferred.case.source.contains(created), "{}", inferred.case.source);
}

/// A controller deletes old ReplicaSets without pods, but only as many as exceed the history limit.
#[rstest]
#[case::within_the_history("old", "app:5", 10, Some("delete: replicaset/rs1"))]
#[case::beyond_the_history("old", "app:5", 0, None)]
#[case::the_current_one("new", "app:7", 0, Some("delete: replicaset/rs2"))]
fn deleting_a_replica_set_within_the_history_is_a_step(
    #[case] hash: &str,
    #[case] image: &str,
    #[case] history_limit: u64,
    #[case] expected: Option<&str>,
) {
    let keeps = |image: &str, generation| {
        let mut deployment = with("RollingUpdate", 0, image, generation, BEGAN);
        deployment["spec"]["revisionHistoryLimit"] = json!(history_limit);
        deployment
    };
    let mut reel = begun_with(&keeps("app:7", (9, 9)));
    let found = reel.entries.iter().find_map(|entry| match entry {
        RecordingEntry::Object(version) if version.name == format!("web-{hash}") => Some(Value::clone(&version.object)),
        _ => None,
    });
    let gone = found.unwrap();
    assert_eq!(gone["spec"]["template"], template(image));
    reel = reel.version("ReplicaSet", ChangeType::Deleted, &gone);
    let inferred = reel.version(DEPLOYMENT, ChangeType::Modified, &keeps("app:8", (10, 9))).inferred();
    let text = steps(&inferred).concat();
    assert!(expected.map_or(!text.contains("delete"), |expected| text.contains(expected)), "{text}");
}

/// If a capture begins while statuses are being written, the final statuses belong to the initial
/// state.
#[test]
fn initial_state_includes_the_first_statuses() {
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
    let given = counted
        .recording
        .entries
        .iter()
        .take_while(|entry| !matches!(entry, RecordingEntry::Step(mark) if mark.index == 1));
    let ready = given.filter_map(|entry| match entry {
        RecordingEntry::Object(version) if version.kind == DEPLOYMENT => {
            Some(int(&version.object, "/status/readyReplicas"))
        }
        _ => None,
    });
    assert_eq!(ready.collect::<Vec<_>>(), [2]);
    assert_eq!(steps(&counted), ["- set: {image: \"app:8\"}"]);
}

/// In the middle of other things, the newest ReplicaSet and the previous revision depend on what
/// the controllers have done by then.
#[test]
fn concurrent_steps_do_not_depend_on_controllers() {
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

/// For people to read: with the cluster's own revisions, and with terminating pods.
#[test]
fn annotating_adds_only_marks() {
    let inferred = Reel::begun().deployment(10, 9, "app:8", (2, 2)).set("third", 8, "app:8", (1, 0, 0)).inferred();
    let entries = &inferred.annotated.entries;
    let marks = entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Step(mark) => Some(format!("{} {}", mark.index, mark.label)),
        _ => None,
    });
    assert_eq!(marks.collect::<Vec<_>>(), ["0 what was there", "1 set image=app:8"]);
    let last: Vec<&ObjectVersion> = versions(entries).collect();
    assert_eq!(int(&last[last.len() - 2].object, "/metadata/generation"), 10);
    let decided = lockstep_timeline::Timeline::from_recording(&inferred.annotated).steps;
    let decided: Vec<String> = decided.iter().flat_map(|step| &step.decisions).map(ToString::to_string).collect();
    assert_eq!(decided.len(), 1, "what was there is decided by none of them: {decided:?}");
    assert!(decided[0].starts_with("rs3 created 1  revision=8"), "{decided:?}");
}

#[test]
fn recording_that_ends_settled_is_not_cut() {
    let whole = Reel::begun().deployment(10, 9, "app:8", (2, 2)).deployment(10, 10, "app:8", (2, 2)).inferred();
    assert_eq!(whole.incomplete_step, None);
    let cut = Reel::begun().deployment(10, 9, "app:8", (2, 2)).inferred();
    assert_eq!(cut.incomplete_step.map(|step| step.index), Some(1));
    let settled = Reel::begun().deployment(10, 9, "app:8", (2, 2)).settled().inferred();
    assert_eq!(settled.incomplete_step, None, "the recording says so");
}

#[rstest]
#[case::the_longest(63, true)]
#[case::longer(64, false)]
fn rejects_names_that_are_too_long_for_a_case(#[case] letters: usize, #[case] fits: bool) {
    let deployment = json!({"metadata": {"name": "w".repeat(letters)}});
    let recording = Reel::new().version(DEPLOYMENT, ChangeType::Added, &deployment).recording();
    let name = one_deployment(&recording).map_err(|error| error.to_string());
    let expected =
        "the Deployment's name has 64 letters, and a case allows 63; `capture --anonymise` gives it a short one";
    assert_eq!(name, if fits { Ok(()) } else { Err(expected.to_owned()) });
}

fn recreate(image: &str, generation: (i64, i64)) -> Value {
    with("Recreate", 0, image, generation, BEGAN)
}

/// A user writes a new template.
fn begun() -> Reel {
    begun_with(&recreate("app:7", (9, 9))).version(DEPLOYMENT, ChangeType::Modified, &recreate("app:8", (10, 9)))
}

/// Both pods are deleted, and have ended some time later.
fn ended() -> Reel {
    begun()
        .set("new", 7, "app:7", (0, 2, 2))
        .ending("a", "new", "Running", ChangeType::Modified)
        .ending("b", "new", "Running", ChangeType::Modified)
        .after(900)
        .ending("a", "new", "Succeeded", ChangeType::Modified)
        .ending("b", "new", "Failed", ChangeType::Modified)
}

/// kubelet removes a pod some time after its containers have ended; upstream's Recreate does not
/// wait for that.
#[test]
fn recreate_continues_once_the_pods_have_ended() {
    let inferred = ended()
        .set("third", 8, "app:8", (2, 0, 0))
        .ending("a", "new", "Succeeded", ChangeType::Deleted)
        .ending("b", "new", "Failed", ChangeType::Deleted)
        .inferred();
    let ended = "{terminate: {pods: 1, of: {replicaset: rs2}}}";
    let lines: Vec<&str> = steps(&inferred).into_iter().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["- set: {image: \"app:8\"}", &format!("- together: [{ended}, {ended}]")]);
    let entries = inferred.recording.entries.iter();
    let ends = entries.skip_while(|entry| !matches!(entry, RecordingEntry::Step(mark) if mark.index == 2));
    let lines = ends.filter_map(|entry| match entry {
        RecordingEntry::Step(mark) => Some(format!("{}.{}", mark.index, mark.part)),
        RecordingEntry::Object(version) => Some(format!("{} {:?}", version.name, version.change)),
        _ => None,
    });
    let expected = ["2.0", "a Deleted", "b Deleted", "web-third Modified"];
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}

/// Pods that are still terminating at the end were not removed at once.
#[test]
fn unfinished_recreate_waits_for_pods() {
    let inferred =
        begun().set("new", 7, "app:7", (0, 2, 2)).ending("a", "new", "Running", ChangeType::Modified).inferred();
    assert!(inferred.case.source.contains("terminations: held"), "{}", inferred.case.source);
}

/// If pods of a Recreate are removed at once, their end is not a step, and `given` has none.
#[test]
fn recreate_before_the_beginning_needs_no_terminations() {
    let inferred = begun().inferred();
    assert!(!inferred.case.source.contains("terminat"), "{}", inferred.case.source);
}

/// Pods of a Recreate may end before a status counts them as terminating: the state in between is
/// unknown.
#[test]
fn pods_that_end_early_leave_an_unsettled_step() {
    let inferred = ended().inferred();
    assert_eq!(inferred.unsettled.iter().map(|step| step.index).collect::<Vec<_>>(), [1]);
    assert_eq!(inferred.incomplete_step.map(|step| step.index), Some(2), "no status counts them");
}

/// A deadline counts from the second in which a Deployment last progressed, however long the case
/// takes to settle; no other time is part of the case.
#[test]
fn deadline_counts_from_the_step_that_started_it() {
    let rolling = |image, generation, progress| with("RollingUpdate", 0, image, generation, progress);
    let reel = begun_with(&rolling("app:7", (9, 9), BEGAN)).after(3000);
    let began = reel.stamp();
    let inferred = reel
        .version(DEPLOYMENT, ChangeType::Modified, &rolling("app:8", (10, 9), BEGAN))
        .version(DEPLOYMENT, ChangeType::Modified, &rolling("app:8", (10, 10), ("ReplicaSetUpdated", &began)))
        .after(300)
        .pod("a", "new", true)
        .after(10_900)
        .version(DEPLOYMENT, ChangeType::Modified, &rolling("app:8", (10, 10), ("ProgressDeadlineExceeded", &began)))
        .after(5_000)
        .version(DEPLOYMENT, ChangeType::Modified, &rolling("app:9", (11, 10), ("ProgressDeadlineExceeded", &began)))
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
struct SlowRollout(Reel);

impl SlowRollout {
    fn begun() -> Self {
        let reel = begun_with(&with("RollingUpdate", 4, "app:7", (9, 9), BEGAN)).version(
            DEPLOYMENT,
            ChangeType::Modified,
            &with("RollingUpdate", 4, "app:8", (10, 9), BEGAN),
        );
        let new = Self(reel).set(0, 0);
        let with_pods = new.0.pod("c", "third", false).pod("d", "third", false).pod("e", "third", false);
        Self(with_pods).with_counts(0, 0)
    }

    fn set(self, ready: i64, available: i64) -> Self {
        let set = json!({"metadata": {"name": "web-third", "uid": "third", "generation": 1,
                "ownerReferences": [{"controller": true, "uid": "d"}], "annotations": {"deployment.kubernetes.io/revision": "8"}},
            "spec": {"replicas": 3, "minReadySeconds": 4, "template": template("app:8")},
            "status": {"observedGeneration": 1, "replicas": 3, "readyReplicas": ready, "availableReplicas": available}});
        Self(self.0.version("ReplicaSet", ChangeType::Modified, &set))
    }

    /// The controllers write these counts into their statuses.
    fn with_counts(self, ready: i64, available: i64) -> Self {
        let mut deployment = with("RollingUpdate", 4, "app:8", (10, 10), BEGAN);
        for (counter, pods) in [("replicas", 5), ("readyReplicas", 2 + ready), ("availableReplicas", 2 + available)] {
            deployment["status"][counter] = json!(pods);
        }
        Self(self.set(ready, available).0.version(DEPLOYMENT, ChangeType::Modified, &deployment))
    }

    fn after(self, milliseconds: u64) -> Self {
        Self(self.0.after(milliseconds))
    }

    fn ready(self, name: &str) -> Self {
        Self(self.0.ready(name, "third"))
    }
}

/// An operation that makes several pods ready at once waits until they are available. So it is only
/// used if nothing else happened before.
#[test]
fn pods_that_become_ready_and_available_together_are_one_step() {
    let slow = SlowRollout::begun().after(1000).ready("c").ready("d").ready("e").with_counts(3, 0);
    let inferred = slow.after(4000).with_counts(3, 1).with_counts(3, 3).0.inferred();
    let lines: Vec<&str> = steps(&inferred).into_iter().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["- set: {image: \"app:8\"}", "- ready: {pods: 3, atomic: true}"]);
    let cut = SlowRollout::begun().after(1000).ready("c").ready("d").ready("e").with_counts(3, 0).0.inferred();
    let one = "{ready: {pods: 1}}";
    assert_eq!(
        steps(&cut).last(),
        Some(&format!("- together: [{one}, {one}, {one}]").as_str()),
        "none is available yet"
    );
}

/// No controller decides anything between pods that become ready in the same second and become
/// available later.
#[test]
fn availability_counts_from_readiness() {
    let slow = SlowRollout::begun().after(1000).ready("c").with_counts(1, 0).after(100).ready("d").with_counts(2, 0);
    let slow = slow.after(2000).ready("e").with_counts(3, 0).after(2000).with_counts(3, 1).with_counts(3, 2);
    let inferred = slow.after(2000).with_counts(3, 3).0.inferred();
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

/// A wait and the step after it take most of a second each to settle, and pods must not be
/// available by then.
#[test]
fn waits_leave_time_to_settle_before_pods_are_available() {
    let slow = SlowRollout::begun().after(1000).ready("c").with_counts(1, 0).after(3400).ready("d").with_counts(2, 0);
    let lines: Vec<String> = steps(&slow.0.inferred()).into_iter().map(str::to_owned).collect();
    assert!(lines.contains(&"- advance: {to: 2s, since: step2}".to_owned()), "{lines:?}");
}
