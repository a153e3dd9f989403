//! A timeline as numbers, step by step, with what the Deployments' strategies allow.
//!
//! A timeline says what was decided, and the state once the namespace had settled. To explain or to
//! draw it, one also needs to know how many pods are allowed and how many must be available at each
//! step: [`RolloutBounds`], which follow from the manifests of the case and the changes of later
//! steps. `frames` does the same for each frame of a recording. `reason` explains a decision if the
//! numbers leave no doubt.
//!
//! Pure, and for people only: no verdict depends on it.

mod frames;
mod reason;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use frames::{RecordingTrace, Snapshot, StepTrace};
use lockstep_case::Case;
use lockstep_case::model::{DeclaredChange, PatchKind, Step};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::{Bounds, State, StepId, Timeline, TimelineStep};
pub use reason::reasons;
use serde_json::Value;

/// A timeline in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutSeries {
    /// The steps in order; `given` is the first.
    pub steps: Vec<StepTotals>,
}

/// The sizes once one step had settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTotals {
    /// Its number in the case, and the sub-step.
    pub id: StepId,
    /// What the step does.
    pub label: String,
    /// The line of the case file.
    pub line: Option<usize>,
    /// The ReplicaSets by the names that timelines give them.
    pub replica_sets: BTreeMap<String, ReplicaSetSize>,
    /// The Deployments by name.
    pub deployments: BTreeMap<String, DeploymentSize>,
    /// What each Deployment's strategy allows during this step; empty if the case cannot be read.
    pub bounds: BTreeMap<String, RolloutBounds>,
}

/// The size of a settled ReplicaSet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplicaSetSize {
    /// How many pods it should have.
    pub desired: i64,
    /// How many of its pods are ready.
    pub ready: i64,
    /// How many of them are available.
    pub available: i64,
}

/// The size of a settled Deployment, as the sum of its ReplicaSets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeploymentSize {
    /// How many pods its ReplicaSets should have together.
    pub desired: i64,
    /// How many are ready.
    pub ready: i64,
    /// How many are available.
    pub available: i64,
}

impl RolloutSeries {
    /// The series of a timeline of this case.
    #[must_use]
    pub fn of(timeline: &Timeline, case: &Case) -> Self {
        let bounds = rollout_bounds(case);
        let stop = |step: &TimelineStep| step_totals(step.id, &step.label, &step.checkpoint, (case, &bounds));
        Self { steps: timeline.steps.iter().map(stop).collect() }
    }

    /// A single step of this case with these settled states.
    #[must_use]
    pub fn of_states(id: StepId, states: &[Arc<State>], case: &Case) -> Self {
        Self { steps: vec![step_totals(id, "", states, (case, &rollout_bounds(case)))] }
    }

    /// The step with this id.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<&StepTotals> {
        self.steps.iter().find(|stop| stop.id == id)
    }

    /// The names of all ReplicaSets of the series in order, `rs2` before `rs10`.
    #[must_use]
    pub fn replica_sets(&self) -> Vec<&str> {
        names(self.steps.iter().flat_map(|stop| stop.replica_sets.keys()))
    }

    /// The names of all Deployments of the series.
    #[must_use]
    pub fn deployments(&self) -> Vec<&str> {
        names(self.steps.iter().flat_map(|stop| stop.deployments.keys()))
    }
}

fn step_totals(
    id: StepId,
    label: &str,
    states: &[Arc<State>],
    (case, bounds): (&Case, &[BTreeMap<String, RolloutBounds>]),
) -> StepTotals {
    let sets: BTreeMap<String, ReplicaSetSize> =
        states.iter().filter(|state| state.is_replica_set()).map(|state| (state.object.clone(), size(state))).collect();
    let deployments = states.iter().filter(|state| !state.is_replica_set());
    let totals = deployments.map(|state| (state.object.clone(), total(&state.object, &sets))).collect();
    let index = usize::try_from(id.index).unwrap_or(usize::MAX);
    let steps = if index == 0 { &case.given } else { &case.steps };
    let line = steps.get(index.saturating_sub(1)).map(|step| step.line);
    let bounds = bounds.get(index).cloned().unwrap_or_default();
    StepTotals { id, label: label.to_owned(), line, replica_sets: sets, deployments: totals, bounds }
}

/// Removes duplicates, and sorts by stem and number.
fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut names: Vec<&str> = all.map(String::as_str).collect();
    names.sort_by_key(|name| {
        let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (stem, number) = name.split_at(name.len() - digits);
        (stem, number.parse::<u64>().unwrap_or(0))
    });
    names.dedup();
    names
}

/// Whether a ReplicaSet belongs to a Deployment: `web/rs1` to `web`, `rs1` to the only one.
/// ReplicaSets without an owner are `-/rs1`.
#[must_use]
pub fn belongs_to(set: &str, deployment: &str) -> bool {
    set.split_once('/').is_none_or(|(owner, _)| owner == deployment)
}

fn size(state: &State) -> ReplicaSetSize {
    let wanted = state.size.split('/').next().and_then(count).unwrap_or(0);
    ReplicaSetSize { desired: wanted, ready: number(state, "ready"), available: number(state, "available") }
}

fn total(deployment: &str, sets: &BTreeMap<String, ReplicaSetSize>) -> DeploymentSize {
    let own = sets.iter().filter(|(name, _)| belongs_to(name, deployment)).map(|(_, size)| size);
    own.fold(DeploymentSize::default(), |sum, size| DeploymentSize {
        desired: sum.desired + size.desired,
        ready: sum.ready + size.ready,
        available: sum.available + size.available,
    })
}

/// Reads a number of a checkpoint's line; a missing number is 0.
fn number(state: &State, key: &str) -> i64 {
    state.fields.iter().find(|field| field.key == key).and_then(|field| count(&field.value)).unwrap_or(0)
}

/// Parses a number of pods. The API has 32 bits; the clamp prevents sums from overflowing.
fn count(text: &str) -> Option<i64> {
    text.parse::<i64>().ok().map(|count| count.clamp(i32::MIN.into(), i32::MAX.into()))
}

/// What a Deployment's strategy allows, and the values that determine it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RolloutBounds {
    /// The number of desired replicas.
    pub replicas: i64,
    /// The numbers of pods that these allow.
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

fn bounds_of(deployment: &Value) -> RolloutBounds {
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
