//! How crowded the nodes are.
//!
//! Upstream: `getIndirectlyRelatedPods`, `getPodsRankedByRelatedPodsOnSameNode`. Counted are active
//! pods that the selector of any sibling matches, whoever owns them, ready or not: in a rollout the
//! old pod beside a new one goes first.
//!
//! Cases: `kill-order/rank`, `kill-order/rank-counts-unready-pods`,
//! `kill-order/rank-not-of-strangers`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::alike::Alike;
use crate::model::{Pod, ReplicaSet};

/// Pods by node; those without a node count as on one.
pub(super) fn crowds<'a>(siblings: &[Arc<ReplicaSet>], neighbours: &'a [Arc<Pod>]) -> BTreeMap<&'a str, usize> {
    let (mut crowds, alike) = (BTreeMap::new(), Alike::default());
    let selected = |pod: &Pod| siblings.iter().any(|rs| rs.selects(&pod.traits().labels).unwrap_or(false));
    let related = |pod: &Pod| alike.holds(pod, || selected(pod));
    for pod in neighbours.iter().filter(|pod| pod.is_active() && related(pod)) {
        *crowds.entry(pod.traits().node.as_str()).or_default() += 1;
    }
    crowds
}
