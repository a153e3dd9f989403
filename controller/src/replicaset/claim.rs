//! Whose pods these are: adoption of orphans, release of those that match no more.
//!
//! Upstream: `FilterPodsByOwner`, `FilterActivePods`, `ClaimPods`, `FilterClaimedPods`. Pods that
//! have ended or are on their way out are left as they are, whoever's they are.
//!
//! Cases: `replicaset/release-by-label`, `replicaset/adopt-orphan`, `replicaset/pod-failed`,
//! `replicaset/terminating`.

use std::collections::BTreeMap;

use super::Claim;
use super::alike::Alike;
use crate::model::{ModelError, Pod, PodCount, ReplicaSet};

/// Changes of ownership, and the pods that count as replicas after them.
pub(super) fn claim(rs: &ReplicaSet, pods: &[PodCount]) -> Result<(Vec<Claim>, Vec<PodCount>), ModelError> {
    // A selector without meaning ends the sync even where there is nothing to select from.
    rs.selects(&BTreeMap::new())?;
    let (mut claims, mut active, alike) = (Vec::new(), Vec::new(), Alike::default());
    let counts = |pod: &Pod| !pod.has_ended() && !pod.traits().deleting;
    for counted in pods.iter().filter(|counted| counts(&counted.pod)) {
        let pod = &counted.pod;
        let traits = pod.traits();
        let place = || (pod.name.clone(), traits.uid.clone());
        let matches = alike.ask(pod, || rs.selects(&traits.labels))?;
        match &pod.controller {
            Some(owner) if owner.uid != rs.meta.uid => {}
            Some(_) if matches => active.push(counted.clone()),
            Some(_) if rs.meta.is_deleting() => {}
            Some(_) => {
                let (name, uid) = place();
                claims.push(Claim::Release { name, uid });
            }
            None if !matches || rs.meta.is_deleting() => {}
            None => {
                let (name, uid) = place();
                claims.push(Claim::Adopt { name, uid });
                active.push(counted.clone());
            }
        }
    }
    Ok((claims, active))
}

/// Its own pods that match and are on their way out.
pub(super) fn terminating(rs: &ReplicaSet, pods: &[PodCount]) -> usize {
    let own = |pod: &Pod| pod.controller.as_ref().is_some_and(|owner| owner.uid == rs.meta.uid);
    let alike = Alike::default();
    let matches = |pod: &Pod| alike.ask(pod, || rs.selects(&pod.traits().labels)).unwrap_or(false);
    PodCount::of(pods, |pod| pod.is_terminating() && own(pod) && matches(pod))
}
