//! rank: how many related pods run on the node of each pod; of two pods that may be deleted, the
//! one with the higher rank goes first.
//!
//! Upstream: `getIndirectlyRelatedPods`, `getPodsRankedByRelatedPodsOnSameNode`. Active pods that
//! the selector of any sibling ReplicaSet matches are counted, whether owned or not and whether
//! ready or not. So in a rollout, an old pod beside a new one is deleted first.
//!
//! Cases: `kill-order/rank`, `kill-order/rank-counts-unready-pods`,
//! `kill-order/rank-not-of-strangers`.

use std::collections::BTreeMap;
use std::sync::Arc;

use rollout_model::{Pod, ReplicaSet};

use super::label_match_cache::LabelMatchCache;

/// The number of related pods on each node. Pods without a node count as on one node.
pub(super) fn node_ranks<'a>(siblings: &[Arc<ReplicaSet>], neighbours: &'a [Arc<Pod>]) -> BTreeMap<&'a str, usize> {
    let (mut node_ranks, label_matches) = (BTreeMap::new(), LabelMatchCache::default());
    let selected = |pod: &Pod| siblings.iter().any(|rs| rs.selects(&pod.traits().labels).unwrap_or(false));
    let related = |pod: &Pod| label_matches.get_or_insert_with(pod, || selected(pod));
    for pod in neighbours.iter().filter(|pod| pod.is_active() && related(pod)) {
        *node_ranks.entry(pod.traits().node.as_str()).or_default() += 1;
    }
    node_ranks
}
