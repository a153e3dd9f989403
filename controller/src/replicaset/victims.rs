//! Which pods go, of those that are there.
//!
//! Upstream: `getPodsToDelete`. Where all go there is no order, and none is made up.
//!
//! Cases: `kill-order/deletion-cost-before-ready-time`, `kill-order/several-at-once`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::kill_order::{Contender, compare};
use super::rank::crowds;
use crate::model::{Pod, PodCount, ReplicaSet};

/// Up to so many items are sorted by inserting one after the other, as Go's `sort.Sort` does.
const INSERTED: usize = 12;

/// The rank of a pod that has no neighbours: it counts itself.
const ALONE: usize = 1;

/// So many pods, those that go first first. `neighbours` need not have those pods that are alone on
/// their nodes.
pub(super) fn choose<'a>(
    active: &'a [PodCount],
    siblings: &[Arc<ReplicaSet>],
    neighbours: &[Arc<Pod>],
    count: usize,
    now: Timestamp,
) -> Vec<&'a Pod> {
    if count >= active.len() {
        return active.iter().take(count).map(|counted| counted.pod.as_ref()).collect();
    }
    choose_ranked(active, &crowds(siblings, neighbours), count, now)
}

/// The same where it is known how crowded each node is.
pub(super) fn choose_ranked<'a>(
    active: &'a [PodCount],
    crowds: &BTreeMap<&str, usize>,
    count: usize,
    now: Timestamp,
) -> Vec<&'a Pod> {
    let rank = |pod: &Pod| crowds.get(pod.traits().node.as_str()).copied().unwrap_or(ALONE);
    let contenders = active.iter().map(|counted| Contender { pod: &counted.pod, rank: rank(&counted.pod) });
    let less = |a: &Contender<'_>, b: &Contender<'_>| compare(*a, *b, now);
    // A rollout deletes few of many at a time.
    let chosen = if active.len() > INSERTED && count <= INSERTED {
        first(contenders, count, less)
    } else {
        sorted(contenders.collect(), less)
    };
    chosen.into_iter().take(count).map(|contender| contender.pod).collect()
}

/// The first so many of what [`sorted`] gives, where the comparison is an order.
pub(super) fn first<T>(items: impl Iterator<Item = T>, count: usize, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut chosen: Vec<T> = Vec::with_capacity(count + 1);
    for item in items {
        let place = chosen.iter().rposition(|one| !compare(&item, one).is_lt()).map_or(0, |last| last + 1);
        if place < count {
            chosen.insert(place, item);
            chosen.truncate(count);
        }
    }
    chosen
}

/// Sorts by a comparison that need not be an order. The standard library's sorts may panic on such
/// a one; this one only gives a result that means less. Stable, and of the same n·log n
/// comparisons.
pub(super) fn sorted<T>(items: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut runs: Vec<Vec<T>> = Vec::new();
    for item in items {
        match runs.last_mut() {
            Some(run) if run.len() < INSERTED => {
                let mut place = run.len();
                while place > 0 && compare(&item, &run[place - 1]).is_lt() {
                    place -= 1;
                }
                run.insert(place, item);
            }
            _ => runs.push(vec![item]),
        }
    }
    while runs.len() > 1 {
        let mut pairs = std::mem::take(&mut runs).into_iter();
        while let Some(left) = pairs.next() {
            runs.push(match pairs.next() {
                Some(right) => merged(left, right, &compare),
                None => left,
            });
        }
    }
    runs.pop().unwrap_or_default()
}

fn merged<T>(left: Vec<T>, right: Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut all = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare(b, a).is_lt() { right.next() } else { left.next() };
        all.extend(next);
    }
    all.extend(left);
    all.extend(right);
    all
}
