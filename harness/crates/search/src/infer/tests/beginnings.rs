//! What the recording does not show: what was before it, and other objects.

use super::*;

/// `given` rolls each template out once, so that no ReplicaSet has an earlier revision.
#[test]
fn revisions_before_the_recording_are_left_out() {
    let set = |history: &str, revision: &str| {
        json!({"metadata": {"name": "web-new", "uid": "new", "generation": 1, "ownerReferences": [{"controller": true, "uid": "d"}],
            "annotations": {"deployment.kubernetes.io/revision": revision, "deployment.kubernetes.io/revision-history": history}},
            "spec": {"replicas": 2, "template": template("app:7")},
            "status": {"observedGeneration": 1, "replicas": 2, "readyReplicas": 2, "availableReplicas": 2}})
    };
    let inferred = Reel::new()
        .deployment(9, 9, "app:7", (2, 2))
        .version("ReplicaSet", ChangeType::Modified, &set("3", "7"))
        .pod("a", "new", true)
        .pod("b", "new", true)
        .settled()
        .deployment(10, 9, "app:8", (2, 2))
        .version("ReplicaSet", ChangeType::Modified, &set("3,7", "9"))
        .inferred();
    let histories = inferred.recording.entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Object(version) if version.kind == "ReplicaSet" => {
            Some(text(&version.object, "/metadata/annotations/deployment.kubernetes.io~1revision-history").to_owned())
        }
        _ => None,
    });
    assert_eq!(histories.collect::<Vec<_>>(), ["", "1"]);
}

/// The recording has no ReplicaSets of others.
#[test]
fn nothing_is_known_after_a_collision_of_names() {
    let mut collided = with("RollingUpdate", 0, "app:8", (10, 9), BEGAN);
    let begun = begun_with(&with("RollingUpdate", 0, "app:7", (9, 9), BEGAN));
    let asked = begun.version(DEPLOYMENT, ChangeType::Modified, &collided);
    collided["status"]["collisionCount"] = json!(1);
    let inferred = asked.version(DEPLOYMENT, ChangeType::Modified, &collided).inferred();
    let (step, why) = inferred.unknown.unwrap();
    assert_eq!(
        (step.index, why.as_str()),
        (1, "the name of a new ReplicaSet was taken, and a recording does not show by what")
    );
}
