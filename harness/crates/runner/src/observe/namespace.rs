//! The harness's own namespaces: created and prepared for pods, deleted with their pods, and
//! cleaned up after a killed harness.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Api, PostParams};
use lockstep_cluster::{
    delete_namespace, has_lockstep_name, ignore_existing, namespace_labels, own_objects, repeat_while_unreachable,
};
use lockstep_support::clock;
use serde_json::json;

/// The prefix of the names of cases' namespaces.
pub(crate) const CASE_PREFIX: &str = "ls-";
/// The prefix of the names of probes' namespaces.
pub(crate) const PROBE_PREFIX: &str = "lockstep-probe-";

/// Create a namespace and wait for its default ServiceAccount, without which pods are refused.
/// Where the cluster outlives the run, `installation` identifies the owner.
///
/// # Errors
/// The API server refuses.
pub async fn make_namespace(client: &kube::Client, name: &str, installation: Option<&str>) -> Result<(), kube::Error> {
    let labels = json!({"metadata": {"name": name, "labels": namespace_labels(installation)}});
    let namespace: Namespace = serde_json::from_value(labels).expect("a literal of the right shape");
    let namespaces = Api::all(client.clone());
    let mut is_repeated = false;
    repeat_while_unreachable(async || {
        let created = namespaces.create(&PostParams::default(), &namespace).await;
        // The attempt before may have created it without an answer.
        if std::mem::replace(&mut is_repeated, true) { ignore_existing(created) } else { created.map(drop) }
    })
    .await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), name);
    let since = clock::instant();
    loop {
        match repeat_while_unreachable(async || accounts.get_opt("default").await).await? {
            Some(_) => return Ok(()),
            // Pods will be refused then, which is reported where it happens.
            None if since.elapsed() > Duration::from_secs(10) => return Ok(()),
            None => clock::pause(Duration::from_millis(10)).await,
        }
    }
}

/// Delete what a killed harness of this installation has left on a cluster that outlives it. Only
/// for a caller with exclusive access to the cluster.
///
/// # Errors
/// The namespaces cannot be listed.
pub(crate) async fn remove_leftovers(client: &kube::Client) -> Result<(), kube::Error> {
    for namespace in Api::<Namespace>::all(client.clone()).list(&own_objects(false)).await? {
        if let (Some(name), None) = (&namespace.metadata.name, &namespace.metadata.deletion_timestamp)
            && has_lockstep_name(name)
        {
            tracing::info!(namespace = name, "removing what an earlier run has left");
            remove_namespace(client, name).await;
        }
    }
    Ok(())
}

/// Delete a namespace and, without a grace period, its pods, whose deletion no kubelet would
/// finish; does not wait.
pub async fn remove_namespace(client: &kube::Client, name: &str) {
    if let Err(error) = repeat_while_unreachable(async || delete_namespace(client, name).await).await {
        tracing::debug!(namespace = name, %error, "namespace not deleted");
    }
}
