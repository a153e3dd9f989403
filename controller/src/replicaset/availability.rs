//! When a pod is available, and when to look again for one that will be.
//!
//! Upstream: `IsPodAvailable`, `nextPodAvailabilityCheck`, `FindMinNextPodAvailabilityCheck`
//! (#132121).
//!
//! Case: `replicaset/min-ready-seconds`.

use std::time::Duration;

use jiff::Timestamp;

use crate::model::{Pod, PodCount, ReplicaSetStatus};

/// Whether a pod has been ready for so many seconds.
pub(super) fn is_available(pod: &Pod, seconds: i32, now: Timestamp) -> bool {
    let traits = pod.traits();
    traits.ready && (seconds == 0 || traits.ready_since.is_some_and(|since| nanoseconds_left(since, seconds, now) <= 0))
}

/// When to look again at a ReplicaSet that wants its pods ready for so many seconds and has this
/// status.
///
/// `told` is the moment that the status is true of, `now` one a little later: a pod that has become
/// available in between is to be looked at at once.
pub(super) fn look_again(
    active: &[PodCount],
    seconds: i32,
    status: &ReplicaSetStatus,
    told: Timestamp,
    now: Timestamp,
) -> Option<Duration> {
    if seconds <= 0 || status.ready_replicas == status.available_replicas {
        return None;
    }
    // Where no pod says when it will be, the seconds asked for are waited anew.
    let fallback = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Some(next_check(active, seconds, told, now).unwrap_or(fallback))
}

/// How long until the next of these pods becomes available, seen from `told` and counted from
/// `now`.
pub(super) fn next_check(pods: &[PodCount], seconds: i32, told: Timestamp, now: Timestamp) -> Option<Duration> {
    let (_, since) = pods.iter().filter_map(|counted| waits(&counted.pod, seconds, told)).min()?;
    Some(Duration::from_nanos(u64::try_from(nanoseconds_left(since, seconds, now)).unwrap_or(0)))
}

/// For a pod that is ready and not yet available: how long it is not, and since when it is ready.
fn waits(pod: &Pod, seconds: i32, now: Timestamp) -> Option<(i128, Timestamp)> {
    let since = waited_since(pod, seconds)?;
    let left = nanoseconds_left(since, seconds, now);
    (left > 0).then_some((left, since))
}

/// Since when a pod is ready, where it has to be for a time.
fn waited_since(pod: &Pod, seconds: i32) -> Option<Timestamp> {
    let traits = pod.traits();
    traits.ready_since.filter(|_| traits.ready && seconds > 0)
}

fn nanoseconds_left(since: Timestamp, seconds: i32, now: Timestamp) -> i128 {
    since.as_nanosecond() + i128::from(seconds) * 1_000_000_000 - now.as_nanosecond()
}
