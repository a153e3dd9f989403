//! Creates CustomResourceDefinitions of a workload if a cluster has none: they accept any fields,
//! and have a status and a scale.

use std::time::Duration;

use hyper::Request;
use lockstep_support::clock;
use lockstep_workload::Workload;
use lockstep_workload::table::CustomResource;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long a server may take until it serves a new resource.
const PATIENCE: Duration = Duration::from_secs(20);

/// The cluster does not serve a workload's kind.
#[derive(Debug, thiserror::Error)]
#[error("the cluster does not serve {plural}.{group}: {why}")]
pub struct DefinitionError {
    plural: String,
    group: String,
    why: String,
}

/// Defines the workload's kind, and the resources that its controller waits for, unless the cluster
/// has them.
///
/// # Errors
/// The server refuses, or does not serve them in time.
pub(crate) async fn define(client: &kube::Client, workload: &Workload) -> Result<(), DefinitionError> {
    let own = CustomResource { kind: workload.kind.clone(), plural: workload.plural.clone(), cluster_scoped: false };
    let (group, version) = workload.group_version();
    let all = || std::iter::once(&own).chain(&workload.definitions);
    let failed = |definition: &CustomResource, why: String| DefinitionError {
        plural: definition.plural.clone(),
        group: group.to_owned(),
        why,
    };
    for definition in all() {
        if is_served(client, workload, definition).await.map_err(|error| failed(definition, error.to_string()))? {
            continue;
        }
        let body = manifest(group, version, definition).to_string().into_bytes();
        let request = Request::post(DEFINITIONS).header("content-type", "application/json").body(body);
        let request = request.map_err(|error| failed(definition, error.to_string()))?;
        match client.request::<Value>(request).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(failed(definition, error.to_string())),
        }
    }
    let since = clock::instant();
    for definition in all() {
        while !is_served(client, workload, definition).await.map_err(|error| failed(definition, error.to_string()))? {
            if since.elapsed() > PATIENCE {
                return Err(failed(definition, format!("it was defined {PATIENCE:?} ago")));
            }
            clock::pause(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn is_served(
    client: &kube::Client,
    workload: &Workload,
    definition: &CustomResource,
) -> Result<bool, kube::Error> {
    let path = format!("/apis/{}/{}?limit=1", workload.api_version, definition.plural);
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

fn manifest(group: &str, version: &str, definition: &CustomResource) -> Value {
    let CustomResource { kind, plural, cluster_scoped } = definition;
    let scope = if *cluster_scoped { "Cluster" } else { "Namespaced" };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
                },
            }],
        },
    })
}
