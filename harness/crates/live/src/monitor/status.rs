//! Whether a status sums up its objects, checked when nothing has changed for some time.

use std::sync::Arc;

use lockstep_runner::observe::{CachedObject, deployment_status, replica_set_status};
use lockstep_timeline::object::deleting;
use lockstep_workload::Claims;
use serde_json::Value;

use super::cluster_state::ClusterState;
use super::facts;

/// What is wrong with the status of the Deployment or ReplicaSet with this UID.
pub(super) fn wrong(cluster_state: &ClusterState, uid: &str) -> Option<String> {
    match cluster_state.groups.get(uid) {
        Some(group) => {
            let sets: Vec<CachedObject> = cluster_state.sets_of(uid, group).map(object).collect();
            deployment_status(&object(group.deployment.now()?), &sets.iter(), Claims::default())
        }
        None => {
            let set = cluster_state.sets.get(uid)?.now().filter(|set| !deleting(set))?;
            let deployment = cluster_state.groups.get(facts::owner(set)?)?.deployment.now()?;
            if deleting(deployment) {
                return None;
            }
            let pods = cluster_state.pods.get(uid).into_iter().flatten().map(|(_, pod)| object(pod));
            replica_set_status(&object(set), pods)
        }
    }
}

fn object(value: &Arc<Value>) -> CachedObject {
    CachedObject { name: lockstep_timeline::object::name(value).to_owned(), first: 0, value: Arc::clone(value) }
}
