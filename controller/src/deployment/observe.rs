//! Takes from the caches what one sync looks at: no request, no waiting.

use super::plan::Observed;
use crate::api::{Cache, Key};
use crate::model::Pod;

/// One Deployment with its surroundings; `None` if the cache knows it no more.
pub(crate) fn observe(cache: &Cache, key: &Key) -> Option<Observed> {
    let deployment = cache.deployment(key)?;
    let replica_sets = cache.claimable(&key.namespace, &deployment.meta.uid);
    let mut pods = Vec::new();
    // Only Recreate asks for pods, and there can be very many.
    if deployment.spec.strategy.is_recreate() {
        for rs in &replica_sets {
            pods.extend(cache.pods_of(&key.namespace, &rs.meta.uid).map(|pod| Pod::clone(pod)));
        }
    }
    Some(Observed { deployment, replica_sets, pods })
}
