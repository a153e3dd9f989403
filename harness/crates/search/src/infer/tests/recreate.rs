//! Rollouts of strategy Recreate, which wait for pods to end.

use super::*;

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
