//! The objects once the namespace has settled, as lines of numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_recording::ObjectVersion;
use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::model::{KeyValue, State};
use super::names::NormalizedNames;
use super::pods::{describe_pods, is_alive};
use super::recorded_objects::{DEPLOYMENT, POD, REPLICA_SET, RecordedObjects};
use super::{decide, object};

/// Reasons of Progressing that mean that the rollout is in progress. Which one is written depends
/// on a race between upstream's own status writes, so they are equivalent while the Deployment is
/// incomplete.
const IN_PROGRESS_REASONS: [&str; 4] =
    ["NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable"];

/// Tracks every ReplicaSet and Deployment while versions are applied; by Deployment its ReplicaSets
/// first, then itself.
///
/// When the namespace has settled, only objects that the step has changed are read again. So the
/// cost of a step depends on its changes, not on the number of objects.
#[derive(Debug, Default)]
pub(super) struct Checkpoint<'a> {
    states: BTreeMap<Rank, Arc<State>>,
    ranks: BTreeMap<(&'a str, &'a str), Rank>,
    /// Kind and name of objects that must be read again.
    changed: BTreeSet<(&'a str, &'a str)>,
    /// Pods by the UID of their controller.
    pods: BTreeMap<String, PodCounts>,
    /// The named pods that are not listed by name.
    uncertain: BTreeSet<String>,
}

/// Orders the objects of a checkpoint: by Deployment, ReplicaSets first, by number.
type Rank = (Option<String>, bool, u32, String);

/// The pods of one controller.
#[derive(Debug, Default)]
struct PodCounts {
    /// The number of pods that are alive: neither being deleted nor finished.
    alive: usize,
    /// The named pods among them.
    names: BTreeSet<String>,
    /// The number of pods that are being deleted.
    terminating: i64,
}

impl<'a> Checkpoint<'a> {
    /// Updates the state after a version was applied.
    pub(super) fn apply(
        &mut self,
        version: &'a ObjectVersion,
        before: Option<&Value>,
        world: &RecordedObjects<'a>,
        names: &NormalizedNames,
    ) {
        let (kind, name) = (version.kind.as_str(), version.name.as_str());
        match kind {
            REPLICA_SET | DEPLOYMENT => drop(self.changed.insert((kind, name))),
            POD => {
                for (pod, comes) in
                    before.map(|pod| (pod, false)).into_iter().chain(world.get(POD, name).map(|pod| (pod, true)))
                {
                    self.count(pod, comes, world, names);
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, pod: &Value, comes: bool, world: &RecordedObjects<'a>, names: &NormalizedNames) {
        let Some(controller) = object::controller_uid(pod) else { return };
        let crowd = match self.pods.get_mut(controller) {
            Some(crowd) => crowd,
            None => self.pods.entry(controller.to_owned()).or_default(),
        };
        if object::deleting(pod) {
            crowd.terminating += if comes { 1 } else { -1 };
        }
        let name = object::name(pod);
        if is_alive(pod) && comes {
            crowd.alive += 1;
            crowd.names.extend(names.pod(name).map(|_| name.to_owned()));
        } else if is_alive(pod) {
            crowd.alive -= 1;
            crowd.names.remove(name);
        }
        self.changed.extend(world.names_with_uid(REPLICA_SET, controller).map(|set| (REPLICA_SET, set)));
    }

    /// The current states. Named pods are listed by name, except the `uncertain` ones.
    pub(super) fn states(
        &mut self,
        world: &RecordedObjects<'a>,
        names: &NormalizedNames,
        uncertain: &BTreeSet<String>,
    ) -> Vec<Arc<State>> {
        if *uncertain != self.uncertain {
            self.uncertain.clone_from(uncertain);
            self.changed.extend(world.names(REPLICA_SET).map(|set| (REPLICA_SET, set)));
        }
        for (kind, name) in std::mem::take(&mut self.changed) {
            if let Some(rank) = self.ranks.remove(&(kind, name)) {
                self.states.remove(&rank);
            }
            let Some(object) = world.get(kind, name) else { continue };
            let (rank, state) = match kind {
                DEPLOYMENT => {
                    let name = object::name(object).to_owned();
                    ((Some(name.clone()), true, 0, name), deployment_state(object))
                }
                _ => {
                    let (deployment, number) = names.rank(object);
                    let crowd = self.pods.get(object::uid(object));
                    let state = replica_set(object, crowd.unwrap_or(&PodCounts::default()), names, uncertain);
                    ((deployment.map(str::to_owned), false, number, name.to_owned()), state)
                }
            };
            self.ranks.insert((kind, name), rank.clone());
            self.states.insert(rank, Arc::new(state));
        }
        self.states.values().cloned().collect()
    }
}

fn replica_set(set: &Value, pods: &PodCounts, names: &NormalizedNames, uncertain: &BTreeSet<String>) -> State {
    let replicas = object::count(set, "/status/replicas");
    let labelled = object::count(set, "/status/fullyLabeledReplicas");
    let mut fields = Vec::new();
    if labelled != replicas {
        fields.push(KeyValue::number("fullyLabeled", labelled));
    }
    fields.push(KeyValue::number("ready", object::count(set, "/status/readyReplicas")));
    fields.push(KeyValue::number("available", object::count(set, "/status/availableReplicas")));
    fields.extend(unless_zero("terminating", object::count(set, "/status/terminatingReplicas")));
    fields.extend(decide::controller_annotations(None, set));
    fields.extend(decide::min_ready_seconds(set));
    let others = pods.alive - pods.names.len();
    fields.push(KeyValue::new("pods", &describe_pods(pods.names.iter().map(String::as_str), others, names, uncertain)));
    fields.extend(unless_zero("terminatingPods", pods.terminating));
    let is_owned = object::controller(set).is_some();
    fields.extend((names.rank(set).0.is_some() && !is_owned).then(|| KeyValue::new("owner", "none")));
    fields.extend(object::deleting(set).then(|| KeyValue::new("deleting", "true")));
    fields.extend(conditions(set, |_, _| false));
    State { object: names.replica_set(set), size: format!("{}/{replicas}", object::replicas(set)), fields }
}

fn deployment_state(deployment: &Value) -> State {
    let status = |field: &str| object::count(deployment, &format!("/status/{field}"));
    let mut fields = vec![
        KeyValue::number("updated", status("updatedReplicas")),
        KeyValue::number("ready", status("readyReplicas")),
        KeyValue::number("available", status("availableReplicas")),
    ];
    fields.extend(unless_zero("unavailable", status("unavailableReplicas")));
    fields.extend(unless_zero("terminating", status("terminatingReplicas")));
    let generation = object::count(deployment, "/metadata/generation");
    fields.push(KeyValue::new("generation", &format!("{}/{generation}", status("observedGeneration"))));
    fields.extend(decide::revision(deployment));
    fields.extend(is_paused(deployment).then(|| KeyValue::new("paused", "true")));
    fields.extend(decide::collision_count(deployment).and_then(|n| unless_zero("collisionCount", n)));
    fields.extend(object::deleting(deployment).then(|| KeyValue::new("deleting", "true")));
    let incomplete = !is_complete(deployment);
    fields.extend(conditions(deployment, |kind, reason| {
        incomplete && kind == "Progressing" && IN_PROGRESS_REASONS.contains(&reason)
    }));
    State { object: object::name(deployment).to_owned(), size: status("replicas").to_string(), fields }
}

/// Whether `spec.paused` is set.
pub(super) fn is_paused(deployment: &Value) -> bool {
    deployment.at("/spec/paused") == Some(&Value::Bool(true))
}

/// Whether the status says that the rollout is complete: as many pods updated, available and in
/// total as desired, and the status is about this generation. Source: `kubectl rollout status` and
/// the API's documentation of Progressing.
pub fn is_complete(deployment: &Value) -> bool {
    let status = |field: &str| object::count(deployment, &format!("/status/{field}"));
    let wanted = i64::from(object::replicas(deployment));
    status("updatedReplicas") == wanted
        && status("replicas") == wanted
        && status("availableReplicas") == wanted
        && observes_generation(deployment)
}

/// Whether the status is about the Deployment's present generation.
pub(super) fn observes_generation(deployment: &Value) -> bool {
    object::count(deployment, "/status/observedGeneration") >= object::count(deployment, "/metadata/generation")
}

/// Whether the condition Progressing says that the newest ReplicaSet is available: the rollout is
/// complete, or was before a change of the size.
pub(super) fn has_available_new_set(deployment: &Value) -> bool {
    object::has_condition_reason(deployment, "NewReplicaSetAvailable")
}

/// Conditions by type: `Available=True(MinimumReplicasAvailable)`; the reason is `incomplete` if
/// `on_its_way` returns true.
fn conditions(object: &Value, on_its_way: impl Fn(&str, &str) -> bool) -> Vec<KeyValue> {
    let all = object.at("/status/conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = |condition: &Value| {
        let text = |key: &str| object::text(condition, key).unwrap_or_default().to_owned();
        let (kind, reason) = (text("/type"), text("/reason"));
        let reason = if on_its_way(&kind, &reason) { "incomplete" } else { &reason };
        KeyValue::new(&kind, &format!("{}({reason})", text("/status")))
    };
    let mut fields: Vec<KeyValue> = all.iter().map(field).collect();
    fields.sort();
    fields
}

fn unless_zero(key: &str, number: i64) -> Option<KeyValue> {
    (number != 0).then(|| KeyValue::number(key, number))
}
