//! `metadata.ownerReferences`: adopts orphaned pods that match `spec.selector` and releases owned
//! ones that no longer match.
//!
//! Upstream: `FilterPodsByOwner`, `FilterActivePods`, `ClaimPods`, `FilterClaimedPods`. Pods that
//! have ended or are terminating are left as they are, whether they are owned or not.
//!
//! Cases: `replicaset/release-by-label`, `replicaset/adopt-orphan`, `replicaset/pod-failed`,
//! `replicaset/terminating`.

use std::collections::BTreeMap;

use rollout_model::{ModelError, Pod, PodCount, ReplicaSet};

use super::label_match_cache::LabelMatchCache;
use crate::OwnershipChange;

/// The changes of ownership, and the pods that count as replicas after them.
pub(super) fn claim(rs: &ReplicaSet, pods: &[PodCount]) -> Result<(Vec<OwnershipChange>, Vec<PodCount>), ModelError> {
    // An invalid selector ends the sync even if there is no pod.
    rs.selects(&BTreeMap::new())?;
    let (mut claims, mut active, label_matches) = (Vec::new(), Vec::new(), LabelMatchCache::default());
    let counts = |pod: &Pod| !pod.has_ended() && !pod.traits().deleting;
    for counted in pods.iter().filter(|counted| counts(&counted.pod)) {
        let pod = &counted.pod;
        let traits = pod.traits();
        let place = || (pod.name.clone(), traits.uid.clone());
        let matches = label_matches.try_get_or_insert_with(pod, || rs.selects(&traits.labels))?;
        match &pod.controller {
            Some(owner) if owner.uid != rs.meta.uid => {}
            Some(_) if matches => active.push(counted.clone()),
            Some(_) if rs.meta.is_deleting() => {}
            Some(_) => {
                let (name, uid) = place();
                claims.push(OwnershipChange::Release { name, uid });
            }
            None if !matches || rs.meta.is_deleting() => {}
            None => {
                let (name, uid) = place();
                claims.push(OwnershipChange::Adopt { name, uid });
                active.push(counted.clone());
            }
        }
    }
    Ok((claims, active))
}

/// The number of owned pods that match and are terminating.
pub(super) fn terminating(rs: &ReplicaSet, pods: &[PodCount]) -> usize {
    let is_owned = |pod: &Pod| pod.controller.as_ref().is_some_and(|owner| owner.uid == rs.meta.uid);
    let label_matches = LabelMatchCache::default();
    let matches =
        |pod: &Pod| label_matches.try_get_or_insert_with(pod, || rs.selects(&pod.traits().labels)).unwrap_or(false);
    PodCount::count_where(pods, |pod| pod.is_terminating() && is_owned(pod) && matches(pod))
}
