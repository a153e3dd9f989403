//! controller_utils_test.go: TestNextPodAvailabilityCheck, TestFindMinNextPodAvailability…;
//! replica_set_test.go: TestReplicaSetAvailabilityCheck.

use std::time::Duration;

use jiff::SignedDuration;
use rollout_model::ReplicaSetStatus;
use rstest::rstest;

use super::fixtures::{TestPod, ago, now, pod};
use crate::replicaset::availability::{next_availability_check, requeue_after};

fn ready(seconds: i64) -> TestPod {
    pod(&seconds.to_string()).ready(ago(seconds))
}

fn unready() -> TestPod {
    pod("unready").with(|traits| traits.ready_since = ago(0))
}

fn seconds(seconds: u64) -> Option<Duration> {
    Some(Duration::from_secs(seconds))
}

#[rstest]
#[case::not_ready(unready(), 0, None)]
#[case::no_min_ready_seconds_defined(ready(0), 0, None)]
#[case::last_transition_time_is_zero(pod("a").ready(None), 1, None)]
#[case::just_became_ready(ready(0), 1, seconds(1))]
#[case::ready_for_20s(ready(20), 30, seconds(10))]
#[case::available(ready(51), 50, None)]
fn next_pod_availability_check(#[case] pod: TestPod, #[case] min_ready: i32, #[case] expected: Option<Duration>) {
    assert_eq!(next_availability_check(&[pod.arc().into()], min_ready, now(), now()), expected);
}

/// `delay` is the time in seconds between the status and the check.
#[rstest]
#[case::no_pods(vec![], 0, 0, None)]
#[case::unready_pods(vec![unready(), unready()], 0, 0, None)]
#[case::ready_pods_with_no_min_ready_seconds(vec![ready(0), ready(0)], 0, 0, None)]
#[case::unready_and_ready_pods(vec![unready(), ready(2), ready(0), ready(4), unready()], 10, 0, seconds(6))]
#[case::unready_and_available_pods(vec![unready(), ready(15), ready(11), ready(10), unready()], 10, 0, None)]
#[case::delay(vec![unready(), ready(2), ready(0), ready(4), unready()], 10, 2, seconds(4))]
#[case::delay_longer_than_min_ready(vec![unready(), ready(2), ready(0), ready(4), unready()], 10, 7, seconds(0))]
fn find_min_next_pod_availability(
    #[case] pods: Vec<TestPod>,
    #[case] min_ready: i32,
    #[case] delay: i64,
    #[case] expected: Option<Duration>,
) {
    let pods: Vec<_> = pods.into_iter().map(|pod| pod.arc().into()).collect();
    assert_eq!(next_availability_check(&pods, min_ready, now(), now() + SignedDuration::from_secs(delay)), expected);
}

/// TestReplicaSetAvailabilityCheck: requeued for the time at which the first pod becomes available,
/// to the nanosecond.
#[test]
fn requeues_at_the_exact_time_of_availability() {
    let soonest = pod("soonest").ready(Some(now() - SignedDuration::from_millis(4300)));
    let pods = [unready(), ready(0), ready(2), soonest].map(|pod| pod.arc().into());
    let status = ReplicaSetStatus { ready_replicas: 3, ..Default::default() };
    assert_eq!(requeue_after(&pods, 5, &status, now(), now()), Some(Duration::from_millis(700)));
    assert_eq!(requeue_after(&pods, 0, &status, now(), now()), None);
    let all = ReplicaSetStatus { ready_replicas: 3, available_replicas: 3, ..Default::default() };
    assert_eq!(requeue_after(&pods, 5, &all, now(), now()), None);
    // Ready since an unknown time: the whole minReadySeconds is waited for.
    let timeless = [pod("a").ready(None).arc().into()];
    assert_eq!(requeue_after(&timeless, 5, &status, now(), now()), seconds(5));
}
