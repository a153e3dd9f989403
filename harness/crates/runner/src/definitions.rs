//! Creates the custom resource definitions of a case before the case begins, and deletes them when
//! the session ends, if the cluster outlives it.
//!
//! Several concurrent cases may need the same definition, so none is deleted while the session
//! runs. A definition that existed before is left as it is. A kind that timelines show is watched
//! from the time it is served until then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use lockstep_support::clock;
use serde_json::Value;
use tokio::sync::Mutex;

use super::environment::EnvironmentError;
use crate::observe::{self, WatchCache, WatchTasks, WatchedKind};

/// How long a definition may take until its kind is served.
const PATIENCE: Duration = Duration::from_secs(30);

/// The definitions that this session has created, and the watches of their kinds.
#[derive(Debug, Default)]
pub(super) struct Definitions(Mutex<DefinitionSet>);

#[derive(Debug, Default)]
struct DefinitionSet {
    /// By name.
    created: BTreeMap<String, Value>,
    kinds: BTreeSet<WatchedKind>,
    watches: Vec<WatchTasks>,
}

fn api(client: &kube::Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions"))
}

/// Warn about definitions with CEL rules, which a simulated server does not evaluate.
pub(super) fn warn_of_rules(definitions: &[Value]) {
    for definition in definitions.iter().filter(|definition| has_rules(definition)) {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        tracing::warn!(
            definition = name,
            "the simulated server does not evaluate the rules of x-kubernetes-validations: it accepts resources that break them"
        );
    }
}

/// Whether `x-kubernetes-validations` is anywhere in a definition.
pub(super) fn has_rules(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("x-kubernetes-validations") || fields.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

impl Definitions {
    /// Create these definitions, wait until they are served, and watch the kinds that timelines
    /// show. Returns whether any of them is new.
    ///
    /// # Errors
    /// The server refuses one, or does not serve it in time.
    pub(super) async fn ensure_served(
        &self,
        client: &kube::Client,
        cache: &Arc<WatchCache>,
        manifests: &[Value],
    ) -> Result<bool, EnvironmentError> {
        let (api, mut set, mut new) = (api(client), self.0.lock().await, false);
        let DefinitionSet { created: known, kinds, watches } = &mut *set;
        for manifest in manifests {
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let refused = |why: String| EnvironmentError::CustomResource { name: name.clone(), why };
            let mut object: DynamicObject =
                serde_json::from_value(manifest.clone()).map_err(|error| refused(error.to_string()))?;
            let there = api.get_opt(&name).await.map_err(|error| refused(error.to_string()))?;
            let written = match (there, known.get(&name)) {
                (None, _) => Some(api.create(&PostParams::default(), &object).await),
                (Some(there), Some(made)) if made != manifest => {
                    object.metadata.resource_version = there.metadata.resource_version;
                    Some(api.replace(&name, &PostParams::default(), &object).await)
                }
                _ => None,
            };
            if let Some(written) = written {
                written.map_err(|error| refused(error.to_string()))?;
                known.insert(name.clone(), manifest.clone());
                new = true;
            }
            let since = clock::instant();
            while !is_established(&api, &name).await.map_err(|error| refused(error.to_string()))? {
                if since.elapsed() > PATIENCE {
                    return Err(refused(format!("it was not established within {} s", PATIENCE.as_secs())));
                }
                clock::pause(Duration::from_millis(50)).await;
            }
            if let Some(kind) = WatchedKind::defined_by(&name).filter(|kind| !kinds.contains(kind)) {
                watches.push(open_watch(client, cache, kind).await?);
                kinds.insert(kind);
            }
        }
        Ok(new)
    }

    /// Delete the definitions that this session has created, and with them their objects.
    pub(super) async fn remove(&self, client: &kube::Client) {
        let api = api(client);
        let DefinitionSet { created, watches, .. } = std::mem::take(&mut *self.0.lock().await);
        drop(watches);
        for name in created.into_keys() {
            if let Err(error) = api.delete(&name, &DeleteParams::default()).await {
                tracing::debug!(definition = name, %error, "definition not deleted");
            }
        }
    }
}

/// Open the watch of a kind. A server may take a moment longer to serve the kind than to report
/// that it is established.
async fn open_watch(
    client: &kube::Client,
    cache: &Arc<WatchCache>,
    kind: WatchedKind,
) -> Result<WatchTasks, EnvironmentError> {
    let since = clock::instant();
    loop {
        match observe::open_kinds(client, cache, [kind].into_iter()).await {
            Ok(watches) => return Ok(watches),
            Err(error) if since.elapsed() > PATIENCE => return Err(error.into()),
            Err(_) => clock::pause(Duration::from_millis(50)).await,
        }
    }
}

async fn is_established(api: &Api<DynamicObject>, name: &str) -> Result<bool, kube::Error> {
    let found = api.get(name).await?;
    let conditions = found.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    Ok(conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::has_rules;

    #[test]
    fn finds_rules_at_any_depth_of_a_definition() {
        let definition = |schema| json!({"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}});
        assert!(!has_rules(&definition(json!({"properties": {"spec": {"type": "object"}}}))));
        let rules = json!({"properties": {"spec": {"x-kubernetes-validations": [{"rule": "true"}]}}});
        assert!(has_rules(&definition(rules)));
    }
}
