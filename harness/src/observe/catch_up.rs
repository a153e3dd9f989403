//! Waiting until the test environment has seen what there is: what a subject wrote a moment ago may
//! still be on its way.

use std::time::Duration;

use kube::api::{Api, DynamicObject, ListParams};

use super::watch::{newest, resource};
use super::{Kind, World};

/// Wait until the watches have shown the Deployments and ReplicaSets of a namespace as the server
/// has them now, or newer. Whether they did within the budget.
///
/// # Errors
/// When the server cannot be asked.
pub async fn catch_up(
    world: &World,
    client: &kube::Client,
    namespace: &str,
    budget: Duration,
) -> Result<bool, kube::Error> {
    for kind in [Kind::Deployment, Kind::ReplicaSet] {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource(kind));
        let list = api.list(&ListParams::default()).await?;
        let latest = newest(&list.items);
        if !world.until(budget, || world.gap().is_some() || world.has_seen(kind, latest)).await {
            return Ok(false);
        }
    }
    Ok(true)
}
