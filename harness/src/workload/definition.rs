//! CustomResourceDefinitions of a workload, where a cluster has none: of any content, with a status
//! and a scale.

use std::time::Duration;

use hyper::Request;
use serde_json::{Value, json};

use super::table::{Definition, Workload};
use crate::clock;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// How long a server may take to serve what it was told to.
const PATIENCE: Duration = Duration::from_secs(20);

/// A workload's kind is not to be had.
#[derive(Debug, thiserror::Error)]
#[error("the cluster does not serve {plural}.{group}: {why}")]
pub struct DefinitionError {
    plural: String,
    group: String,
    why: String,
}

/// Define the workload's kind, and what its controller waits for, unless the cluster has them.
///
/// # Errors
/// When the server refuses, or does not serve them in time.
pub async fn define(client: &kube::Client, workload: &Workload) -> Result<(), DefinitionError> {
    let own = Definition { kind: workload.kind.clone(), plural: workload.plural.clone(), cluster_scoped: false };
    let (group, version) = workload.group_version();
    let all = || std::iter::once(&own).chain(&workload.definitions);
    let failed = |definition: &Definition, why: String| DefinitionError {
        plural: definition.plural.clone(),
        group: group.to_owned(),
        why,
    };
    for definition in all() {
        if served(client, workload, definition).await.map_err(|error| failed(definition, error.to_string()))? {
            continue;
        }
        let body = body(group, version, definition).to_string().into_bytes();
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
        while !served(client, workload, definition).await.map_err(|error| failed(definition, error.to_string()))? {
            if since.elapsed() > PATIENCE {
                return Err(failed(definition, format!("it was defined {PATIENCE:?} ago")));
            }
            clock::pause(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn served(client: &kube::Client, workload: &Workload, definition: &Definition) -> Result<bool, kube::Error> {
    let path = format!("/apis/{}/{}?limit=1", workload.api_version, definition.plural);
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

fn body(group: &str, version: &str, definition: &Definition) -> Value {
    let Definition { kind, plural, cluster_scoped } = definition;
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
