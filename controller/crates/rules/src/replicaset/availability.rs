//! `spec.minReadySeconds`: when a ready pod is available, and when to sync again for one that is
//! not available yet.
//!
//! Upstream: `IsPodAvailable`, `nextPodAvailabilityCheck`, `FindMinNextPodAvailabilityCheck`
//! (#132121).
//!
//! Case: `replicaset/min-ready-seconds`.

use std::time::Duration;

use jiff::Timestamp;
use rollout_model::{Pod, PodCount, ReplicaSetStatus};

/// Whether a pod has been ready for `seconds`.
pub(super) fn is_available(pod: &Pod, seconds: i32, now: Timestamp) -> bool {
    let traits = pod.traits();
    traits.ready
        && (seconds == 0 || traits.ready_since.is_some_and(|since| remaining_nanoseconds(since, seconds, now) <= 0))
}

/// When to sync a ReplicaSet with this `minReadySeconds` and status again.
///
/// `status_time` is the time for which the status was computed, `now` is a little later. A pod that
/// has become available in between requires a sync at once.
pub fn requeue_after(
    active: &[PodCount],
    seconds: i32,
    status: &ReplicaSetStatus,
    status_time: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    if seconds <= 0 || status.ready_replicas == status.available_replicas {
        return None;
    }
    // If no pod has a known time, the whole `minReadySeconds` is waited for.
    let fallback = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(next_availability_check(active, seconds, status_time, now).unwrap_or(fallback))
}

/// How long after `now` the next pod becomes available, of those not available at `status_time`.
pub(super) fn next_availability_check(
    pods: &[PodCount],
    seconds: i32,
    status_time: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    let (_, since) = pods.iter().filter_map(|counted| remaining_wait(&counted.pod, seconds, status_time)).min()?;
    Some(Duration::from_nanos(u64::try_from(remaining_nanoseconds(since, seconds, now)).unwrap_or(0)))
}

/// For a pod that is ready and not yet available: the remaining time, and since when it is ready.
fn remaining_wait(pod: &Pod, seconds: i32, now: Timestamp) -> Option<(i128, Timestamp)> {
    let since = ready_since(pod, seconds)?;
    let remaining = remaining_nanoseconds(since, seconds, now);
    (remaining > 0).then_some((remaining, since))
}

/// Since when a pod is ready, if `minReadySeconds` applies.
fn ready_since(pod: &Pod, seconds: i32) -> Option<Timestamp> {
    let traits = pod.traits();
    traits.ready_since.filter(|_| traits.ready && seconds > 0)
}

fn remaining_nanoseconds(since: Timestamp, seconds: i32, now: Timestamp) -> i128 {
    since.as_nanosecond() + i128::from(seconds) * 1_000_000_000 - now.as_nanosecond()
}
