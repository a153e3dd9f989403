//! Collects the objects that one sync reads from the caches, without a request and without waiting.

use controller_client::api::{Cache, NamespacedName};
use rollout_model::Pod;

use crate::decisions::rollouts::deployment::ObservedDeployment;

/// The Deployment with its ReplicaSets and pods; `None` if the cache does not have it any more.
pub(crate) fn observe(cache: &Cache, key: &NamespacedName) -> Option<ObservedDeployment> {
    let deployment = cache.deployment(key)?;
    let replica_sets = cache.claimable(&key.namespace, &deployment.meta.uid);
    let mut pods = Vec::new();
    // Only Recreate reads pods, and there can be very many.
    if deployment.spec.strategy.is_recreate() {
        for rs in &replica_sets {
            pods.extend(cache.pods_of(&key.namespace, &rs.meta.uid).map(|pod| Pod::clone(pod)));
        }
    }
    Some(ObservedDeployment { deployment, replica_sets, pods })
}
