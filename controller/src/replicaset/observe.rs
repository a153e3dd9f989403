//! Takes from the caches what one sync looks at: no request, no waiting.

use std::collections::BTreeSet;

use super::plan::Observed;
use crate::api::{Cache, Key};
use crate::model::{Meta, Pod, PodCount};

/// A ReplicaSet of fewer pods asks for the pods on its own nodes alone, as those of other nodes do
/// not count.
const MANY: usize = 100;

/// One ReplicaSet with the counts of its pods; `None` where each pod has to be looked at, because
/// of minReadySeconds or because pods without an owner could be adopted.
pub(crate) fn observe_counts(cache: &Cache, key: &Key, outstanding: Option<&str>) -> Option<Observed> {
    let replica_set = cache.replica_set(key)?;
    let meta = &replica_set.meta;
    if replica_set.spec.min_ready_seconds != 0 || cache.counts_of(&key.namespace, "").next().is_some() {
        return None;
    }
    let own = cache.counts_of(&key.namespace, &meta.uid).filter(|counted| names_it(&counted.pod, meta));
    let pods = own.cloned().collect();
    let may_manage = outstanding != Some(meta.uid.as_str());
    Some(Observed { replica_set, pods, siblings: Vec::new(), neighbours: Vec::new(), may_manage })
}

/// One ReplicaSet with its surroundings; `None` if the cache does not have it. `outstanding` is the
/// UID of the one of this name whose expectations are not met.
pub(crate) fn observe(cache: &Cache, key: &Key, outstanding: Option<&str>) -> Option<Observed> {
    let replica_set = cache.replica_set(key)?;
    let (namespace, meta) = (key.namespace.as_str(), &replica_set.meta);
    let may_manage = outstanding != Some(meta.uid.as_str());
    let own = cache.pods_of(namespace, &meta.uid).filter(|pod| names_it(pod, meta));
    let pods: Vec<PodCount> = own.chain(cache.pods_of(namespace, "")).cloned().map(PodCount::from).collect();
    let (mut siblings, mut neighbours) = (Vec::new(), Vec::new());
    // Who is crowded matters only where some, not all, must go; and there can be very many around.
    let wanted = usize::try_from(replica_set.spec.replicas).unwrap_or(0);
    if may_manage
        && wanted > 0
        && pods.len() > wanted
        && PodCount::of(&pods, Pod::is_active) > wanted
        && let Some(owner) = meta.controller()
    {
        siblings = cache.owned_by(namespace, &owner.uid);
        neighbours = if pods.len() < MANY {
            let nodes: BTreeSet<&str> = pods.iter().map(|counted| counted.pod.traits().node.as_str()).collect();
            nodes.into_iter().flat_map(|node| cache.pods_on(namespace, node)).cloned().collect()
        } else {
            cache.pods_on_shared_nodes(namespace).cloned().collect()
        };
    }
    Some(Observed { replica_set, pods, siblings, neighbours, may_manage })
}

fn names_it(pod: &Pod, rs: &Meta) -> bool {
    pod.controller.as_ref().is_some_and(|owner| owner.kind == "ReplicaSet" && owner.name == rs.name)
}
