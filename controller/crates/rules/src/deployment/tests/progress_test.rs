//! progress_test.go.

#![allow(clippy::too_many_arguments, reason = "the columns of a table")]

use std::time::Duration;

use rollout_model::{Condition, DeploymentStatus};
use rstest::rstest;
use serde_json::{Value, json};

use super::fixtures::{TestDeployment, TestReplicaSet, now, written_status};
use crate::RuleSettings;
use crate::deployment::plan;
use crate::deployment::sync::DeploymentSync;

const STUCK: &str = "2017-02-15T18:49:00Z";

fn condition(status: &str, reason: &str, time: &str) -> Value {
    json!({"type": "Progressing", "status": status, "reason": reason, "lastUpdateTime": time, "lastTransitionTime": time})
}

/// TestRequeueStuckDeployment. `upstream_delay` is in whole seconds: −1 for never, 0 for at once.
#[rstest]
#[case::nil_deadline(None, 4, 3, 2, None, "18:50:00", -1)]
#[case::infinite_deadline(Some(i32::MAX), 4, 3, 2, None, "18:50:00", -1)]
#[case::no_progressing_condition(Some(60), 4, 3, 2, None, "18:50:00", -1)]
#[case::complete(Some(60), 3, 3, 3, None, "18:50:00", -1)]
#[case::already_failed(Some(60), 3, 3, 0, Some(("False", "ProgressDeadlineExceeded")), "18:50:00", -1)]
#[case::stuck_30s(Some(60), 3, 3, 1, Some(("True", "")), "18:49:30", 30)]
#[case::stuck_1s(Some(60), 3, 3, 1, Some(("True", "")), "18:49:59", 1)]
#[case::less_than_a_second(Some(60), 3, 3, 1, Some(("True", "")), "18:49:59.000000001", 0)]
#[case::now(Some(60), 3, 3, 1, Some(("True", "")), "18:50:00", 0)]
#[case::one_second_after(Some(60), 3, 3, 1, Some(("True", "")), "18:50:01", 0)]
#[case::sixty_seconds_after(Some(60), 3, 3, 1, Some(("True", "")), "18:51:00", 0)]
#[case::complete_but_a_pod_was_lost_before(Some(60), 3, 3, 1, Some(("True", "NewReplicaSetAvailable")), "18:49:30", 30)]
// Different from upstream, which requeues in a tight loop although no deadline can be exceeded any
// more.
#[case::complete_but_a_pod_was_lost(Some(60), 3, 3, 1, Some(("True", "NewReplicaSetAvailable")), "18:51:00", -1)]
fn requeue_stuck_deployment(
    #[case] deadline: Option<i32>,
    #[case] replicas: i32,
    #[case] updated: i32,
    #[case] available: i32,
    #[case] progressing: Option<(&str, &str)>,
    #[case] time: &str,
    #[case] upstream_delay: i64,
) {
    let conditions: Vec<_> = progressing.iter().map(|(status, reason)| condition(status, reason, STUCK)).collect();
    let fixture = TestDeployment::new(replicas)
        .recreate()
        .spec("progressDeadlineSeconds", deadline)
        .status(json!({"conditions": conditions, "observedGeneration": 1}));
    let (observed, settings) = (fixture.observe(), RuleSettings::default());
    let sync = DeploymentSync::new(&observed, format!("2017-02-15T{time}Z").parse().unwrap(), &settings);
    let status = DeploymentStatus {
        observed_generation: 1,
        replicas: updated,
        updated_replicas: updated,
        available_replicas: available,
        ..Default::default()
    };
    let wait = sync.requeue_delay(&status);
    match upstream_delay {
        -1 => assert_eq!(wait, None),
        // Shortly after the deadline.
        0 => assert!(wait.unwrap() <= Duration::from_millis(1001)),
        seconds => assert_eq!(wait, Some(Duration::from_secs(seconds as u64 + 1))),
    }
}

#[derive(Debug)]
enum Times {
    New,
    OnlyTransitionKept,
    Kept,
}

/// TestSyncRolloutStatus. `counts` are the desired, previous and previously available replicas; old
/// and new ReplicaSets are (spec, existing and available).
#[rstest]
#[case::removed_without_deadline(None, [3, 2, 2], Some(("True", "ReplicaSetUpdated")), Some((0, 1)), Some((3, 2)), None)]
#[case::one_active_is_not_estimated(
    Some(60), [3, 3, 3], Some(("True", "NewReplicaSetAvailable")), Some((3, 3)), None,
    Some(("True", "NewReplicaSetAvailable", Times::Kept)))]
#[case::no_rollout_is_not_estimated(
    Some(60), [3, 3, 3], Some(("True", "NewReplicaSetAvailable")), None, Some((3, 1)),
    Some(("True", "NewReplicaSetAvailable", Times::Kept)))]
#[case::a_pod_that_comes_back_is_no_rollout(
    Some(60), [3, 3, 1], Some(("True", "NewReplicaSetAvailable")), None, Some((3, 2)),
    Some(("True", "NewReplicaSetAvailable", Times::Kept)))]
#[case::progressing_keeps_transition_if_true(
    Some(60), [3, 2, 2], Some(("True", "ReplicaSetUpdated")), Some((0, 1)), Some((3, 2)),
    Some(("True", "ReplicaSetUpdated", Times::OnlyTransitionKept)))]
#[case::progressing_updates_all_if_false(
    Some(60), [3, 2, 2], Some(("False", "ProgressDeadlineExceeded")), Some((0, 1)), Some((3, 2)),
    Some(("True", "ReplicaSetUpdated", Times::New)))]
#[case::progressing_creates(
    Some(60), [3, 2, 2], None, Some((0, 1)), Some((3, 2)), Some(("True", "ReplicaSetUpdated", Times::New)))]
#[case::complete_keeps_transition_if_true(
    Some(60), [3, 3, 3], Some(("True", "ReplicaSetUpdated")), None, Some((3, 3)),
    Some(("True", "NewReplicaSetAvailable", Times::OnlyTransitionKept)))]
#[case::complete_updates_all_if_false(
    Some(60), [3, 3, 3], Some(("False", "ProgressDeadlineExceeded")), None, Some((3, 3)),
    Some(("True", "NewReplicaSetAvailable", Times::New)))]
#[case::complete_creates(
    Some(60), [3, 3, 3], None, None, Some((3, 3)), Some(("True", "NewReplicaSetAvailable", Times::New)))]
#[case::complete_without_a_new_rs(
    Some(60), [0, 3, 3], Some(("True", "ReplicaSetUpdated")), Some((0, 0)), None,
    Some(("True", "NewReplicaSetAvailable", Times::OnlyTransitionKept)))]
#[case::times_out(
    Some(50), [3, 2, 2], Some(("True", "ReplicaSetUpdated")), None, Some((3, 2)),
    Some(("False", "ProgressDeadlineExceeded", Times::New)))]
#[case::what_was_complete_has_no_deadline(
    Some(50), [3, 3, 3], Some(("True", "NewReplicaSetAvailable")), Some((1, 1)), Some((2, 2)),
    Some(("True", "NewReplicaSetAvailable", Times::Kept)))]
#[case::timed_out_before(
    Some(50), [3, 2, 2], Some(("False", "ProgressDeadlineExceeded")), None, Some((3, 2)),
    Some(("False", "ProgressDeadlineExceeded", Times::Kept)))]
fn sync_rollout_status(
    #[case] deadline: Option<i32>,
    #[case] counts: [i32; 3],
    #[case] progressing: Option<(&str, &str)>,
    #[case] old: Option<(i32, i32)>,
    #[case] new: Option<(i32, i32)>,
    #[case] expected: Option<(&str, &str, Times)>,
) {
    let conditions: Vec<_> = progressing.iter().map(|(status, reason)| condition(status, reason, STUCK)).collect();
    let [replicas, before, available_before] = counts;
    let mut fixture = TestDeployment::new(replicas).recreate().spec("progressDeadlineSeconds", deadline).status(json!({
        "replicas": before, "updatedReplicas": before, "availableReplicas": available_before, "readyReplicas": available_before,
        "observedGeneration": 1, "conditions": conditions,
    }));
    for (name, set) in [("old", old), ("new", new)] {
        if let Some((spec, count)) = set {
            let set = TestReplicaSet::new(name, spec, 1).status("replicas", count);
            fixture = fixture.with(set.status("readyReplicas", count).status("availableReplicas", count));
        }
    }
    let (result, plan) = fixture.run_rule(new.map(|_| "new"), |sync, sets| sync.update_rollout_status(sets));
    result.unwrap();
    let written = written_status(&plan).expect("the counts or conditions differ");
    let condition = Condition::find(&written.conditions, "Progressing");
    let Some((status, reason, times)) = expected else {
        return assert_eq!(condition, None);
    };
    let condition = condition.unwrap();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), (status, reason));
    let before = Some(STUCK.parse().unwrap());
    let (transition, update) = match times {
        Times::New => (Some(now()), Some(now())),
        Times::OnlyTransitionKept => (before, Some(now())),
        Times::Kept => (before, before),
    };
    assert_eq!((condition.last_transition_time, condition.last_update_time), (transition, update));
}

/// The deadline counts from the last update, and is exceeded only after it.
#[rstest]
#[case("18:50:00", false)]
#[case("18:50:00.000000001", true)]
fn the_deadline_is_exceeded_only_after_it(#[case] time: &str, #[case] timed_out: bool) {
    let fixture = TestDeployment::new(1)
        .bounds(1, 0)
        .spec("progressDeadlineSeconds", 60)
        .annotate(rollout_model::names::REVISION, "1")
        .with(TestReplicaSet::new("new", 1, 1).current().revision(1).sized_for(1, 2).healthy(0))
        .status(json!({
            "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "unavailableReplicas": 1, "terminatingReplicas": 0,
            "conditions": [
                condition("True", "ReplicaSetUpdated", STUCK),
                {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable",
                 "message": "Deployment does not have minimum availability."},
            ],
        }));
    let plan = plan(&fixture.observe(), format!("2017-02-15T{time}Z").parse().unwrap(), &RuleSettings::default());
    assert_eq!(written_status(&plan).is_some(), timed_out);
    assert_eq!(plan.requeue.is_some(), !timed_out);
    if let Some(status) = written_status(&plan) {
        let condition = Condition::find(&status.conditions, "Progressing").unwrap();
        assert_eq!(condition.message, "ReplicaSet \"new\" has timed out progressing.");
    }
}
