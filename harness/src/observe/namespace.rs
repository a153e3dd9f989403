//! The harness's own namespaces: made ready for pods, removed with them, and found again when a harness was killed.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use serde_json::json;

use crate::clock;

/// The label of every namespace that the harness makes.
const OURS: &str = "app.kubernetes.io/managed-by";

/// Create a namespace and wait for its default ServiceAccount: before that, pods are refused.
///
/// # Errors
/// When the API server refuses.
pub async fn make_namespace(client: &kube::Client, name: &str) -> Result<(), kube::Error> {
    let labels = json!({"metadata": {"name": name, "labels": {OURS: "lockstep"}}});
    let namespace: Namespace = serde_json::from_value(labels).expect("a literal of the right shape");
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), name);
    let since = clock::instant();
    loop {
        match accounts.get_opt("default").await? {
            Some(_) => return Ok(()),
            // Pods will then be refused, and that is said where it happens.
            None if since.elapsed() > Duration::from_secs(10) => return Ok(()),
            None => clock::pause(Duration::from_millis(10)).await,
        }
    }
}

/// Remove what a harness that was killed has left on a cluster that outlives it. Only for who acts on it alone.
///
/// # Errors
/// When the namespaces cannot be listed.
pub async fn remove_leftovers(client: &kube::Client) -> Result<(), kube::Error> {
    let ours = ListParams::default().labels(&format!("{OURS}=lockstep"));
    for namespace in Api::<Namespace>::all(client.clone()).list(&ours).await? {
        if let (Some(name), None) = (&namespace.metadata.name, &namespace.metadata.deletion_timestamp) {
            tracing::info!(namespace = name, "removing what an earlier run has left");
            remove_namespace(client, name).await;
        }
    }
    Ok(())
}

/// Delete a namespace and, at once, its pods, which no kubelet would finish; does not wait.
pub async fn remove_namespace(client: &kube::Client, name: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    if let Err(error) = namespaces.delete(name, &DeleteParams::background()).await {
        tracing::debug!(namespace = name, %error, "namespace not deleted");
    }
    let pods: Api<Pod> = Api::namespaced(client.clone(), name);
    let now = DeleteParams::default().grace_period(0);
    if let Err(error) = pods.delete_collection(&now, &ListParams::default()).await {
        tracing::debug!(namespace = name, %error, "pods not deleted");
    }
}
