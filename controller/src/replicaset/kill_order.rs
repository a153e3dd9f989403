//! Which of two pods dies first.
//!
//! Upstream: `ActivePodsWithRanks.Less`. Eight rules, and the first that tells two pods apart
//! decides:
//!
//! 1. one without a node before one with;
//! 2. by phase: pending and anything unheard of, unknown, running;
//! 3. one that is not ready before one that is;
//! 4. the lower deletion cost;
//! 5. the more crowded node: see [`Contender::rank`];
//! 6. of two ready ones the one that is ready for a shorter time, on a scale of powers of two;
//! 7. more restarts of a container, and then of a sidecar;
//! 8. the younger one, on the same scale.
//!
//! # Where it is no order
//!
//! On that scale two times are alike or not, and two alike but *unequal* ones are told apart by
//! UID, there and then: no later rule is asked. Two *equal* ones go on to the later rules. Of three
//! pods that became ready within one step of the scale, A and B in the same second and C in
//! another, A can go before B for its restarts, B before C and C before A for their UIDs: a ring.
//! With creation times it is less bad, a tie that is not transitive, for there is no later rule.
//!
//! What a sort makes of a ring depends on where it begins. Upstream begins with the order of a hash
//! map, which is another each time: among such pods upstream itself has no answer, and no case may
//! ask for one (give ready times that are all equal, or all of different steps, or all different
//! with UIDs that nobody relies on). What is certain is that sorting ends, and that what it gives
//! is one of upstream's answers wherever there are no more pods than upstream's sort inserts one by
//! one (twelve).
//!
//! Cases: `kill-order/node`, `kill-order/phase`, `kill-order/ready`, `kill-order/deletion-cost`,
//! `kill-order/rank`, `kill-order/ready-time`, `kill-order/ready-time-unknown`,
//! `kill-order/ready-time-in-the-future`, `kill-order/restarts`, `kill-order/restarts-of-sidecars`,
//! `kill-order/scale-of-nanoseconds`.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::model::{Pod, PodTraits};

/// A pod among those of which some must go.
#[derive(Debug, Clone, Copy)]
pub struct Contender<'a> {
    /// The pod, with its traits.
    pub pod: &'a Pod,
    /// Active pods on its node that any ReplicaSet of the same owner selects, itself included; the
    /// same for all where the ReplicaSet has no owner.
    pub rank: usize,
}

/// `Less`: the first one dies first. Never `Less` both ways round; but see above, where it is no
/// order.
pub fn compare(a: Contender<'_>, b: Contender<'_>, now: Timestamp) -> Ordering {
    let (left, right) = (a.pod.traits(), b.pod.traits());
    let has_node = |traits: &PodTraits| !traits.node.is_empty();
    let order = has_node(left)
        .cmp(&has_node(right))
        .then(phase_order(&a.pod.phase).cmp(&phase_order(&b.pod.phase)))
        .then(left.ready.cmp(&right.ready))
        .then(left.deletion_cost.cmp(&right.deletion_cost))
        .then(b.rank.cmp(&a.rank));
    if order.is_ne() {
        return order;
    }
    let ages = |a: Option<Timestamp>, b| younger_first(a, b, (&left.uid, &right.uid), now);
    if both_ready(left, right) && left.ready_since != right.ready_since {
        return ages(left.ready_since, right.ready_since);
    }
    let by_restarts = right.restarts.cmp(&left.restarts).then(right.sidecar_restarts.cmp(&left.sidecar_restarts));
    if by_restarts.is_eq() && left.created != right.created {
        return ages(left.created, right.created);
    }
    by_restarts
}

fn both_ready(left: &PodTraits, right: &PodTraits) -> bool {
    left.ready && right.ready
}

/// What upstream does not know ranks with what is pending.
fn phase_order(phase: &str) -> u8 {
    match phase {
        "Unknown" => 1,
        "Running" => 2,
        _ => 0,
    }
}

/// Of two unequal times the one that goes first: none at all, or the lower step, or within one step
/// the smaller UID.
fn younger_first(a: Option<Timestamp>, b: Option<Timestamp>, uids: (&str, &str), now: Timestamp) -> Ordering {
    let (Some(a), Some(b)) = (a, b) else { return a.cmp(&b) };
    step(a, now).cmp(&step(b, now)).then_with(|| uids.0.cmp(uids.1))
}

/// The step that an age is on: the whole part of the binary logarithm of its nanoseconds; −1 for
/// what is yet to come (upstream: `logarithmicRankDiff`).
///
/// The same floating point operations as Go's, so that the last nanoseconds before a step fall to
/// the same side.
pub(super) fn step(time: Timestamp, now: Timestamp) -> i64 {
    // Go's durations end at some 292 years.
    let age = i64::try_from(now.as_nanosecond() - time.as_nanosecond()).unwrap_or(i64::MAX);
    if age <= 0 {
        return -1;
    }
    // As a fraction from 0.5 up to 1 and a power of two.
    const MANTISSA: u32 = 52;
    let bits = (age as f64).to_bits();
    let exponent = ((bits >> MANTISSA) & 0x7ff) as i64 - 1022;
    let fraction = f64::from_bits((bits & ((1 << MANTISSA) - 1)) | (1022 << MANTISSA));
    if fraction == 0.5 {
        return exponent - 1;
    }
    (fraction.ln() * std::f64::consts::LOG2_E + exponent as f64) as i64
}
