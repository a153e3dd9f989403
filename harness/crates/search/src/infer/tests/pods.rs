//! Which pod of the case stands for one of the recording.

use super::*;

/// A pod of the current ReplicaSet with this change.
fn pod(name: &str, change: &Value) -> Value {
    let ready = json!([{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-24T00:00:00Z"}]);
    let mut pod = json!({"metadata": {"name": name, "uid": name, "ownerReferences": [{"controller": true, "uid": "new"}]},
        "status": {"phase": "Running", "conditions": ready}});
    json_patch::merge(&mut pod, change);
    pod
}

/// `unready` takes the oldest ready pod, so that one stands for the pod which is deleted.
#[test]
fn deletes_the_pod_that_the_case_made_unready() {
    let inferred = Reel::begun().pod("b", "new", false).ending("b", "new", "Pending", ChangeType::Modified).inferred();
    let moved = "- together: [{unready: {pods: 1, of: {replicaset: rs2}}}, {delete: pod/rs2.1}]";
    assert_eq!(steps(&inferred).last(), Some(&moved));
}

#[rstest]
#[case::the_unready_one("b", false)]
#[case::the_ready_one("a", true)]
fn a_case_cannot_fail_a_ready_pod_if_an_older_one_is_not(#[case] name: &str, #[case] is_unknown: bool) {
    let failed = pod(name, &json!({"status": {"phase": "Failed"}}));
    let inferred = Reel::begun().pod("b", "new", false).version("Pod", ChangeType::Modified, &failed).inferred();
    assert_eq!(inferred.unknown.is_some(), is_unknown, "{}", inferred.case.source);
}
