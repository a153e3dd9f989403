//! `controller.kubernetes.io/pod-deletion-cost`, rank and the other rules that decide which of two
//! pods is deleted first.
//!
//! Upstream: `ActivePodsWithRanks.Less`. There are eight rules; the first in which two pods differ
//! decides. Deleted first is:
//!
//! 1. a pod without a node;
//! 2. by phase: pending and unknown values, then Unknown, then Running;
//! 3. a pod that is not ready;
//! 4. the pod with the lower deletion cost;
//! 5. the pod on the more crowded node: see [`RankedPod::rank`];
//! 6. of two ready pods the one that has been ready for less time, on a logarithmic scale (base 2);
//! 7. the pod with more restarts of a container, and then of a sidecar;
//! 8. the younger pod, on the same scale.
//!
//! # The comparison is not a total order
//!
//! The scale puts times into buckets. Two *unequal* times in the same bucket are decided by UID,
//! and no later rule applies. Two *equal* times go on to the later rules. Take three pods that
//! became ready within one bucket, A and B in the same second and C in another. A can come before B
//! for its restarts, and B before C and C before A for their UIDs: a cycle. Creation times only
//! cause a tie that is not transitive, because no rule follows them.
//!
//! The result of sorting a cycle depends on the initial order. Upstream starts with the order of a
//! hash map, which is different each time. Upstream itself has no defined answer for such pods, and
//! no case may require one: give ready times that are all equal, or all in different buckets, or
//! all different with UIDs that the case does not depend on. Sorting always terminates, and its
//! result is one of upstream's possible results as long as there are at most twelve pods, which
//! upstream's sort inserts one by one.
//!
//! Cases: `kill-order/node`, `kill-order/phase`, `kill-order/ready`, `kill-order/deletion-cost`,
//! `kill-order/rank`, `kill-order/ready-time`, `kill-order/ready-time-unknown`,
//! `kill-order/ready-time-in-the-future`, `kill-order/restarts`, `kill-order/restarts-of-sidecars`,
//! `kill-order/scale-of-nanoseconds`.

use std::cmp::Ordering;

use jiff::Timestamp;
use rollout_model::{Pod, PodTraits};

/// A pod that may have to be deleted, with its rank.
#[derive(Debug, Clone, Copy)]
pub struct RankedPod<'a> {
    /// The pod, with its traits.
    pub pod: &'a Pod,
    /// How many active pods on its node any ReplicaSet of the same owner selects, itself included.
    /// If the ReplicaSet has no owner, the rank is the same for all pods.
    pub rank: usize,
}

/// Returns `Less` if `a` is deleted first. The comparison is antisymmetric but not transitive, see
/// above.
pub fn compare(a: RankedPod<'_>, b: RankedPod<'_>, now: Timestamp) -> Ordering {
    let (first, second) = (a.pod.traits(), b.pod.traits());
    let has_node = |traits: &PodTraits| !traits.node.is_empty();
    let order = has_node(first)
        .cmp(&has_node(second))
        .then(phase_order(&a.pod.phase).cmp(&phase_order(&b.pod.phase)))
        .then(first.ready.cmp(&second.ready))
        .then(first.deletion_cost.cmp(&second.deletion_cost))
        .then(b.rank.cmp(&a.rank));
    if order.is_ne() {
        return order;
    }
    let ages = |a: Option<Timestamp>, b| younger_first(a, b, (&first.uid, &second.uid), now);
    if both_ready(first, second) && first.ready_since != second.ready_since {
        return ages(first.ready_since, second.ready_since);
    }
    let by_restarts = second.restarts.cmp(&first.restarts).then(second.sidecar_restarts.cmp(&first.sidecar_restarts));
    if by_restarts.is_eq() && first.created != second.created {
        return ages(first.created, second.created);
    }
    by_restarts
}

fn both_ready(first: &PodTraits, second: &PodTraits) -> bool {
    first.ready && second.ready
}

/// A phase that upstream does not know ranks as Pending.
fn phase_order(phase: &str) -> u8 {
    match phase {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

/// Compares two unequal times: a missing time comes first, then the younger bucket, and within one
/// bucket the smaller UID.
fn younger_first(a: Option<Timestamp>, b: Option<Timestamp>, uids: (&str, &str), now: Timestamp) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return a.cmp(&b) };
    age_bucket(a, now).cmp(&age_bucket(b, now)).then_with(|| uids.0.cmp(uids.1))
}

/// The bucket of an age: the integer part of the binary logarithm of its nanoseconds; −1 for a time
/// in the future (upstream: `logarithmicRankDiff`).
///
/// It uses the same floating point operations as Go, so that the last nanoseconds before a boundary
/// fall into the same bucket.
pub(super) fn age_bucket(time: Timestamp, now: Timestamp) -> i64 {
    // Go's durations are limited to some 292 years.
    let age = i64::try_from(now.as_nanosecond() - time.as_nanosecond()).unwrap_or(i64::MAX);
    if age <= 0 {
        return -1;
    }
    // The age as a fraction from 0.5 up to 1 and a power of two.
    const MANTISSA: u32 = 52;
    let bits = (age as f64).to_bits();
    let exponent = ((bits >> MANTISSA) & 0x7ff) as i64 - 1022;
    let fraction = f64::from_bits((bits & ((1 << MANTISSA) - 1)) | (1022 << MANTISSA));
    if fraction == 0.5 {
        return exponent - 1;
    }
    (fraction.ln() * std::f64::consts::LOG2_E + exponent as f64) as i64
}
