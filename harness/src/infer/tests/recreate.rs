//! Rollouts of strategy Recreate, which wait for pods to end.

use super::*;

fn recreate(image: &str, generation: (i64, i64)) -> Value {
    with("Recreate", 0, image, generation, BEGAN)
}

/// A user writes a new template.
fn begun() -> Reel {
    begun_with(&recreate("app:7", (9, 9))).version(DEPLOYMENT, Change::Modified, &recreate("app:8", (10, 9)))
}

/// Both pods are deleted, and have ended somewhat later.
fn ended() -> Reel {
    begun()
        .set("new", 7, "app:7", (0, 2, 2))
        .ending("a", "new", "Running", Change::Modified)
        .ending("b", "new", "Running", Change::Modified)
        .after(900)
        .ending("a", "new", "Succeeded", Change::Modified)
        .ending("b", "new", "Failed", Change::Modified)
}

/// kubelet removes a pod some time after its containers have ended; upstream's Recreate does not
/// wait for that.
#[test]
fn a_recreate_goes_on_once_the_pods_have_ended() {
    let inferred = ended()
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
    let inferred = begun().set("new", 7, "app:7", (0, 2, 2)).ending("a", "new", "Running", Change::Modified).inferred();
    assert!(inferred.case.source.contains("terminations: held"), "{}", inferred.case.source);
}

/// Where pods of a Recreate go at once, their end is no step, and none is given.
#[test]
fn what_was_recreated_before_the_beginning_went_at_once() {
    let inferred = begun().inferred();
    assert!(!inferred.case.source.contains("terminat"), "{}", inferred.case.source);
}

/// Pods of a Recreate may end before a status says that they are on their way: what was there in
/// between is not known.
#[test]
fn pods_that_end_before_the_controllers_settle_leave_a_step() {
    let inferred = ended().inferred();
    assert_eq!(inferred.left.iter().map(|step| step.index).collect::<Vec<_>>(), [1]);
    assert_eq!(inferred.cut.map(|step| step.index), Some(2), "no status counts them");
}
