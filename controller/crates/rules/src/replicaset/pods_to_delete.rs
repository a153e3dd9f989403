//! getPodsToDelete: chooses the pods to delete in kill order.
//!
//! Upstream: `getPodsToDelete`. If all pods are deleted, they are not ordered.
//!
//! Cases: `kill-order/deletion-cost-before-ready-time`, `kill-order/several-at-once`.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rollout_model::{Pod, PodCount, ReplicaSet};

use super::kill_order::{RankedPod, compare};
use super::rank::node_ranks;
use crate::merge_sort::{INSERTION_SORT_LIMIT, merge_sort};

/// The rank of a pod that is alone on its node: it counts itself.
const RANK_ALONE: usize = 1;

/// The first `count` pods in kill order. `neighbours` may lack pods that are alone on their nodes.
pub fn choose<'a>(
    active: &'a [PodCount],
    siblings: &[Arc<ReplicaSet>],
    neighbours: &[Arc<Pod>],
    count: usize,
    now: Timestamp,
) -> Vec<&'a Pod> {
    if count >= active.len() {
        return active.iter().take(count).map(|counted| counted.pod.as_ref()).collect();
    }
    choose_by_rank(active, &node_ranks(siblings, neighbours), count, now)
}

/// Like [`choose`], with known ranks of the nodes.
pub(super) fn choose_by_rank<'a>(
    active: &'a [PodCount],
    node_ranks: &BTreeMap<&str, usize>,
    count: usize,
    now: Timestamp,
) -> Vec<&'a Pod> {
    let rank = |pod: &Pod| node_ranks.get(pod.traits().node.as_str()).copied().unwrap_or(RANK_ALONE);
    let ranked_pods = active.iter().map(|counted| RankedPod { pod: &counted.pod, rank: rank(&counted.pod) });
    let less = |a: &RankedPod<'_>, b: &RankedPod<'_>| compare(*a, *b, now);
    // A rollout deletes few of many pods at a time, which does not need a full sort.
    let chosen = if active.len() > INSERTION_SORT_LIMIT && count <= INSERTION_SORT_LIMIT {
        select_first(ranked_pods, count, less)
    } else {
        merge_sort(ranked_pods.collect(), less)
    };
    chosen.into_iter().take(count).map(|ranked| ranked.pod).collect()
}

/// The first `count` items of [`merge_sort`], if the comparison is a total order.
pub(super) fn select_first<T>(
    items: impl Iterator<Item = T>,
    count: usize,
    compare: impl Fn(&T, &T) -> Ordering,
) -> Vec<T> {
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
