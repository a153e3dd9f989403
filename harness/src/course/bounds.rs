//! What each Deployment's strategy allows, step by step, read from the case alone: its manifests,
//! and what later steps make of them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::case::Case;
use crate::case::model::{Change, PatchKind, Step};
use crate::pointer::At;
use crate::timeline::Bounds;

/// What a Deployment's strategy allows, and the words that it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// How many replicas it wants.
    pub replicas: i64,
    /// The bounds.
    pub bounds: Bounds,
    /// `maxSurge` as it is written, `25%` where nothing is; nothing with Recreate.
    pub surge: Option<String>,
    /// `maxUnavailable` in the same way.
    pub unavailable: Option<String>,
    /// Whether no rollout starts.
    pub paused: bool,
}

/// By step: 0 for `given` as a whole, then each step; by Deployment.
#[must_use]
pub fn allowed(case: &Case) -> Vec<BTreeMap<String, Allowed>> {
    let mut deployments = BTreeMap::new();
    case.given.iter().for_each(|step| follow(step, &mut deployments));
    let mut all = vec![of_each(&deployments)];
    for step in &case.steps {
        follow(step, &mut deployments);
        all.push(of_each(&deployments));
    }
    all
}

fn of_each(deployments: &BTreeMap<String, Value>) -> BTreeMap<String, Allowed> {
    deployments.iter().map(|(name, deployment)| (name.clone(), of(deployment))).collect()
}

/// What this Deployment's strategy allows.
pub(super) fn of(deployment: &Value) -> Allowed {
    let spec = |pointer: &str| deployment.at(&format!("/spec/{pointer}"));
    let recreate = spec("strategy/type").and_then(Value::as_str) == Some("Recreate");
    let share = |field: &str| {
        let value = spec(&format!("strategy/rollingUpdate/{field}"));
        (!recreate)
            .then(|| value.map_or_else(|| "25%".to_owned(), |value| value.to_string().trim_matches('"').to_owned()))
    };
    Allowed {
        replicas: spec("replicas").and_then(Value::as_i64).unwrap_or(1),
        bounds: Bounds::of(deployment),
        surge: share("maxSurge"),
        unavailable: share("maxUnavailable"),
        paused: spec("paused").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// What a step makes of the Deployments. What the server refuses changes nothing.
fn follow(step: &Step, deployments: &mut BTreeMap<String, Value>) {
    if step.refused.is_some() {
        return;
    }
    let spec = |deployments: &mut BTreeMap<String, Value>, name: &str, field: &str, value: Value| {
        if let Some(deployment) = deployments.get_mut(name) {
            deployment["spec"][field] = value;
        }
    };
    match step.operation.change() {
        Change::Object(manifest) if manifest["kind"] == "Deployment" => {
            let name = manifest["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            deployments.insert(name, manifest.clone());
        }
        Change::Scale(target, replicas) if target.kind == "deployment" => {
            spec(deployments, &target.name, "replicas", replicas.into());
        }
        Change::Paused(name, paused) => spec(deployments, name, "paused", paused.into()),
        Change::Patch(target, kind, patch) if target.kind == "deployment" => {
            if let Some(deployment) = deployments.get_mut(&target.name) {
                match kind {
                    // Strategies hold no lists, so both kinds of merge are one to them.
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
    step.operation.inner().iter().for_each(|step| follow(step, deployments));
    step.during.iter().flat_map(|during| &during.steps).for_each(|step| follow(step, deployments));
}
