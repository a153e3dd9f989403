//! Waits until the watches have delivered the server's current state: what a subject has just
//! written may not have arrived yet.

use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams};

use super::watch::{newest, resource};
use super::{WatchCache, WatchedKind};

/// Wait until the watches have delivered the Deployments and ReplicaSets of a namespace as the
/// server has them now, or newer. Returns whether they did within the budget.
///
/// # Errors
/// The server cannot be read.
pub(crate) async fn catch_up(
    cache: &WatchCache,
    client: &kube::Client,
    namespace: &str,
    budget: Duration,
) -> Result<bool, kube::Error> {
    for kind in [WatchedKind::Deployment, WatchedKind::ReplicaSet] {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource(kind));
        let list = api.list(&ListParams::default()).await?;
        let latest = newest(&list.items);
        if !cache.until(budget, || cache.gap().is_some() || cache.has_seen(kind, latest)).await {
            return Ok(false);
        }
    }
    Ok(true)
}
