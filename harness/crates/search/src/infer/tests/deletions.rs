//! Deletions that wait for something else, and what follows from them.

use super::*;

/// This object, deleted, with this finalizer.
fn hold(mut object: Value, finalizer: &str) -> Value {
    object["metadata"]["deletionTimestamp"] = json!("2026-11-24T00:00:09Z");
    object["metadata"]["finalizers"] = json!([finalizer]);
    object
}

fn set() -> Value {
    json!({
        "metadata": {"name": "web-new", "uid": "new", "generation": 1, "ownerReferences": [{"controller": true, "uid": "d"}],
            "annotations": {"deployment.kubernetes.io/revision": "7"}},
        "spec": {"replicas": 2, "template": template("app:7")},
        "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    })
}

/// The garbage collector ends what another client began.
#[test]
fn pods_of_a_deleted_replica_set_may_stay() {
    let going = hold(set(), "orphan");
    let inferred = Reel::begun()
        .version("ReplicaSet", ChangeType::Modified, &going)
        .version("ReplicaSet", ChangeType::Deleted, &going)
        .inferred();
    assert_eq!(steps(&inferred)[1], "- delete: {target: replicaset/rs2, cascade: orphan}");
    let last = inferred.recording.entries.iter().rev().find_map(|entry| match entry {
        RecordingEntry::Object(version) => Some((version.change, version.by)),
        _ => None,
    });
    assert_eq!(last, Some((ChangeType::Deleted, lockstep_recording::WriterRole::Driver)));
}

/// The statuses count the pods that are left, and upstream writes them until the end.
#[test]
fn pods_that_end_before_the_statuses_count_them_are_one_step() {
    let going = hold(with("RollingUpdate", 0, "app:7", (10, 9), BEGAN), "foregroundDeletion");
    let inferred = Reel::begun()
        .version(DEPLOYMENT, ChangeType::Modified, &going)
        .version("ReplicaSet", ChangeType::Modified, &hold(set(), "foregroundDeletion"))
        .ending("a", "new", "Running", ChangeType::Modified)
        .ending("b", "new", "Running", ChangeType::Modified)
        .after(1000)
        .ending("a", "new", "Running", ChangeType::Deleted)
        .ending("b", "new", "Running", ChangeType::Deleted)
        .inferred();
    let ended = "{terminate: {pods: 1, of: {replicaset: rs2}}}";
    assert_eq!(steps(&inferred).last(), Some(&format!("- together: [{ended}, {ended}]").as_str()));
}

/// No step can name the ReplicaSet of pods that outlive it.
#[test]
fn pods_without_their_replica_set_end_unnoticed() {
    let recreate = with("Recreate", 0, "app:7", (9, 9), BEGAN);
    let inferred = begun_with(&recreate)
        .version(DEPLOYMENT, ChangeType::Deleted, &recreate)
        .version("ReplicaSet", ChangeType::Deleted, &set())
        .ending("a", "new", "Running", ChangeType::Modified)
        .after(1000)
        .ending("a", "new", "Running", ChangeType::Deleted)
        .inferred();
    assert_eq!(steps(&inferred), ["- delete: deployment/web"]);
}

/// Where the end of a deletion is a step of its own, that of `kubectl delete --force` is one too.
#[test]
fn a_pod_that_is_gone_at_once_has_ended() {
    let gone = json!({"metadata": {"name": "a", "uid": "a", "ownerReferences": [{"controller": true, "uid": "new"}]},
        "status": {"phase": "Running"}});
    let inferred = begun_with(&with("Recreate", 0, "app:7", (9, 9), BEGAN))
        .ending("b", "new", "Running", ChangeType::Modified)
        .version("Pod", ChangeType::Deleted, &gone)
        .inferred();
    let lines: Vec<&str> = steps(&inferred).into_iter().filter(|line| !line.starts_with('#')).collect();
    let deleted = "- together: [{delete: pod/rs2.2}, {delete: pod/rs2.1}]";
    assert_eq!(lines, [deleted, "- terminate: {pods: 1, of: {replicaset: rs2}}"]);
}
