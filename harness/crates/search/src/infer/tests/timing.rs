//! Deadlines and minReadySeconds.

use super::*;

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
struct Slow(Reel);

impl Slow {
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
    let slow = Slow::begun().after(1000).ready("c").ready("d").ready("e").with_counts(3, 0);
    let inferred = slow.after(4000).with_counts(3, 1).with_counts(3, 3).0.inferred();
    let lines: Vec<&str> = steps(&inferred).into_iter().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["- set: {image: \"app:8\"}", "- ready: {pods: 3, atomic: true}"]);
    let cut = Slow::begun().after(1000).ready("c").ready("d").ready("e").with_counts(3, 0).0.inferred();
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
    let slow = Slow::begun().after(1000).ready("c").with_counts(1, 0).after(100).ready("d").with_counts(2, 0);
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
