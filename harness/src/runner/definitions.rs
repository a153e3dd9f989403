//! The custom resources that cases bring are there before the case begins, and go when the session
//! ends, where the cluster outlives it.
//!
//! Several cases at once may need the same one, so none is removed while the session plays. One
//! that the cluster had before is left as it is. A kind that timelines show is watched from when it
//! is served until then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::Value;
use tokio::sync::Mutex;

use super::environment::EnvironmentError;
use crate::clock;
use crate::observe::{self, Kind, Watches, World};

/// How long a definition may take until its kind is served.
const PATIENCE: Duration = Duration::from_secs(30);

/// What this session has created, and what it watches of that.
#[derive(Debug, Default)]
pub(super) struct Definitions(Mutex<Brought>);

#[derive(Debug, Default)]
struct Brought {
    /// By name.
    created: BTreeMap<String, Value>,
    kinds: BTreeSet<Kind>,
    watches: Vec<Watches>,
}

fn api(client: &kube::Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(client.clone(), &ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions"))
}

/// Warns of definitions with rules in CEL, which a simulated server does not evaluate.
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
    /// Has these definitions served, and watches what timelines show of them; whether one of them
    /// was not there before.
    ///
    /// # Errors
    /// The server refuses one, or does not serve it in time.
    pub(super) async fn bring(
        &self,
        client: &kube::Client,
        world: &Arc<World>,
        wanted: &[Value],
    ) -> Result<bool, EnvironmentError> {
        let (api, mut brought, mut new) = (api(client), self.0.lock().await, false);
        let Brought { created: known, kinds, watches } = &mut *brought;
        for manifest in wanted {
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            let refused = |why: String| EnvironmentError::CustomResource { name: name.clone(), why };
            let mut object: DynamicObject =
                serde_json::from_value(manifest.clone()).map_err(|error| refused(error.to_string()))?;
            let there = api.get_opt(&name).await.map_err(|error| refused(error.to_string()))?;
            let written = match (there, known.get(&name)) {
                (None, _) => {
                    new = true;
                    known.insert(name.clone(), manifest.clone());
                    api.create(&PostParams::default(), &object).await.map(drop)
                }
                (Some(there), Some(made)) if made != manifest => {
                    new = true;
                    known.insert(name.clone(), manifest.clone());
                    object.metadata.resource_version = there.metadata.resource_version;
                    api.replace(&name, &PostParams::default(), &object).await.map(drop)
                }
                _ => Ok(()),
            };
            written.map_err(|error| refused(error.to_string()))?;
            let since = clock::instant();
            while !is_established(&api, &name).await.map_err(|error| refused(error.to_string()))? {
                if since.elapsed() > PATIENCE {
                    return Err(refused(format!("it was not established within {} s", PATIENCE.as_secs())));
                }
                clock::pause(Duration::from_millis(50)).await;
            }
            if let Some(kind) = Kind::defined_by(&name).filter(|kind| !kinds.contains(kind)) {
                watches.push(watched(client, world, kind).await?);
                kinds.insert(kind);
            }
        }
        Ok(new)
    }

    /// Removes what this session has created, with all objects.
    pub(super) async fn remove(&self, client: &kube::Client) {
        let api = api(client);
        let Brought { created, watches, .. } = std::mem::take(&mut *self.0.lock().await);
        drop(watches);
        for name in created.into_keys() {
            if let Err(error) = api.delete(&name, &DeleteParams::default()).await {
                tracing::debug!(definition = name, %error, "definition not deleted");
            }
        }
    }
}

/// The watch of a kind; a server may take a moment longer to serve it than to say that it is
/// established.
async fn watched(client: &kube::Client, world: &Arc<World>, kind: Kind) -> Result<Watches, EnvironmentError> {
    let since = clock::instant();
    loop {
        match observe::open_those(client, world, [kind].into_iter()).await {
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
