//! Determines what each Deployment's strategy allows at each step, from the case alone: from its
//! manifests and the changes of later steps.

use std::collections::BTreeMap;

use lockstep_case::Case;
use lockstep_case::model::{DeclaredChange, PatchKind, Step};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::Bounds;
use serde_json::Value;

/// What a Deployment's strategy allows, and the values that determine it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutBounds {
    /// The number of desired replicas.
    pub replicas: i64,
    /// The bounds.
    pub bounds: Bounds,
    /// `maxSurge` as it is written, by default `25%`; `None` with Recreate.
    pub max_surge: Option<String>,
    /// `maxUnavailable` as it is written, by default `25%`; `None` with Recreate.
    pub max_unavailable: Option<String>,
    /// Whether the Deployment is paused.
    pub paused: bool,
}

/// For each step (0 is all of `given`), the bounds of each Deployment.
#[must_use]
pub(crate) fn rollout_bounds(case: &Case) -> Vec<BTreeMap<String, RolloutBounds>> {
    let mut deployments = BTreeMap::new();
    case.given.iter().for_each(|step| apply_step(step, &mut deployments));
    let mut all = vec![bounds_of_each(&deployments)];
    for step in &case.steps {
        apply_step(step, &mut deployments);
        all.push(bounds_of_each(&deployments));
    }
    all
}

fn bounds_of_each(deployments: &BTreeMap<String, Value>) -> BTreeMap<String, RolloutBounds> {
    deployments.iter().map(|(name, deployment)| (name.clone(), bounds_of(deployment))).collect()
}

/// The bounds of this Deployment.
pub(super) fn bounds_of(deployment: &Value) -> RolloutBounds {
    let spec = |pointer: &str| deployment.at(&format!("/spec/{pointer}"));
    let recreate = spec("strategy/type").and_then(Value::as_str) == Some("Recreate");
    let share = |field: &str| {
        let value = spec(&format!("strategy/rollingUpdate/{field}"));
        (!recreate)
            .then(|| value.map_or_else(|| "25%".to_owned(), |value| value.to_string().trim_matches('"').to_owned()))
    };
    RolloutBounds {
        replicas: spec("replicas").and_then(Value::as_i64).unwrap_or(1),
        bounds: Bounds::of(deployment),
        max_surge: share("maxSurge"),
        max_unavailable: share("maxUnavailable"),
        paused: spec("paused").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// Applies a step to the Deployments. A step that the server refuses changes nothing.
fn apply_step(step: &Step, deployments: &mut BTreeMap<String, Value>) {
    if step.refused.is_some() {
        return;
    }
    let spec = |deployments: &mut BTreeMap<String, Value>, name: &str, field: &str, value: Value| {
        if let Some(deployment) = deployments.get_mut(name) {
            deployment["spec"][field] = value;
        }
    };
    match step.operation.change() {
        DeclaredChange::Object(manifest) if manifest["kind"] == "Deployment" => {
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            deployments.insert(name, manifest.clone());
        }
        DeclaredChange::Scale(target, replicas) if target.kind == "deployment" => {
            spec(deployments, &target.name, "replicas", replicas.into());
        }
        DeclaredChange::Paused(name, paused) => spec(deployments, name, "paused", paused.into()),
        DeclaredChange::Patch(target, kind, patch) if target.kind == "deployment" => {
            if let Some(deployment) = deployments.get_mut(&target.name) {
                match kind {
                    // Strategies have no lists, so both kinds of merge patch have the same effect
                    // on them.
                    PatchKind::Strategic | PatchKind::Merge => json_patch::merge(deployment, patch),
                    PatchKind::Json => {
                        if let Ok(patch) = serde_json::from_value::<json_patch::Patch>(patch.clone()) {
                            json_patch::patch(deployment, &patch).ok();
                        }
                    }
                }
            }
        }
        _ => {}
    }
    step.operation.nested_steps().iter().for_each(|step| apply_step(step, deployments));
    step.during.iter().flat_map(|during| &during.steps).for_each(|step| apply_step(step, deployments));
}
