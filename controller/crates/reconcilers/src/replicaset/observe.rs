//! Collects the objects that one sync reads from the caches, without a request and without waiting.

use std::collections::BTreeSet;

use controller_client::api::{Cache, NamespacedName};
use rollout_model::{Meta, Pod, PodCount};

use crate::decisions::rollouts::replicaset::ObservedReplicaSet;

/// With fewer pods than this, only pods on the nodes of the ReplicaSet's own pods are collected as
/// neighbours; pods on other nodes do not affect the rank.
const NODE_LOOKUP_LIMIT: usize = 100;

/// One ReplicaSet with counts of its pods. `None` if individual pods are needed, because of
/// `minReadySeconds` or because orphaned pods could be adopted.
pub(crate) fn observe_counts(
    cache: &Cache,
    key: &NamespacedName,
    outstanding: Option<&str>,
) -> Option<ObservedReplicaSet> {
    let replica_set = cache.replica_set(key)?;
    let meta = &replica_set.meta;
    if replica_set.spec.min_ready_seconds != 0 || cache.pod_counts_of(&key.namespace, "").next().is_some() {
        return None;
    }
    let owned = cache.pod_counts_of(&key.namespace, &meta.uid).filter(|counted| is_owned_by_name(&counted.pod, meta));
    let pods = owned.cloned().collect();
    let can_manage_pods = outstanding != Some(meta.uid.as_str());
    Some(ObservedReplicaSet { replica_set, pods, siblings: Vec::new(), neighbours: Vec::new(), can_manage_pods })
}

/// One ReplicaSet with its pods, siblings and neighbours; `None` if the cache does not have it.
/// `outstanding` is the UID of the ReplicaSet of this name with unfulfilled expectations.
pub(crate) fn observe(cache: &Cache, key: &NamespacedName, outstanding: Option<&str>) -> Option<ObservedReplicaSet> {
    let replica_set = cache.replica_set(key)?;
    let (namespace, meta) = (key.namespace.as_str(), &replica_set.meta);
    let can_manage_pods = outstanding != Some(meta.uid.as_str());
    let owned = cache.pods_of(namespace, &meta.uid).filter(|pod| is_owned_by_name(pod, meta));
    let pods: Vec<PodCount> = owned.chain(cache.pods_of(namespace, "")).cloned().map(PodCount::from).collect();
    let (mut siblings, mut neighbours) = (Vec::new(), Vec::new());
    // Ranks matter only if some pods, but not all, are deleted; and there can be very many
    // neighbours.
    let wanted = usize::try_from(replica_set.spec.replicas).unwrap_or(0);
    if can_manage_pods
        && wanted > 0
        && pods.len() > wanted
        && PodCount::count_where(&pods, Pod::is_active) > wanted
        && let Some(owner) = meta.controller()
    {
        siblings = cache.replica_sets_owned_by(namespace, &owner.uid);
        neighbours = if pods.len() < NODE_LOOKUP_LIMIT {
            let nodes: BTreeSet<&str> = pods.iter().map(|counted| counted.pod.traits().node.as_str()).collect();
            nodes.into_iter().flat_map(|node| cache.pods_on(namespace, node)).cloned().collect()
        } else {
            cache.pods_on_shared_nodes(namespace).cloned().collect()
        };
    }
    Some(ObservedReplicaSet { replica_set, pods, siblings, neighbours, can_manage_pods })
}

fn is_owned_by_name(pod: &Pod, rs: &Meta) -> bool {
    pod.controller.as_ref().is_some_and(|owner| owner.kind == "ReplicaSet" && owner.name == rs.name)
}
