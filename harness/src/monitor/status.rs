//! Whether a status sums up what it is about, asked of objects on which nothing has changed for
//! some time.

use std::sync::Arc;

use serde_json::Value;

use super::estate::Estate;
use super::facts;
use crate::observe::{Object, deployment_status, replica_set_status};
use crate::timeline::object::deleting;
use crate::workload::Claims;

/// What is wrong with the status of the Deployment or ReplicaSet with this UID.
pub(super) fn wrong(estate: &Estate, uid: &str) -> Option<String> {
    match estate.groups.get(uid) {
        Some(group) => {
            let sets: Vec<Object> = estate.sets_of(uid, group).map(object).collect();
            deployment_status(&object(group.deployment.now()?), &sets.iter(), Claims::default())
        }
        None => {
            let set = estate.sets.get(uid)?.now().filter(|set| !deleting(set))?;
            let deployment = estate.groups.get(facts::owner(set)?)?.deployment.now()?;
            if deleting(deployment) {
                return None;
            }
            let pods = estate.pods.get(uid).into_iter().flatten().map(|(_, pod)| object(pod));
            replica_set_status(&object(set), pods)
        }
    }
}

fn object(value: &Arc<Value>) -> Object {
    Object { name: crate::timeline::object::name(value).to_owned(), first: 0, value: Arc::clone(value) }
}
