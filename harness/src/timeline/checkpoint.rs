//! The objects once the namespace has settled, as lines of numbers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::decide;
use super::expected::alive;
use super::model::{Field, State};
use super::names::Names;
use super::object;
use super::pods::crowd;
use super::world::{DEPLOYMENT, POD, REPLICA_SET, World};
use crate::pointer::At;

/// Reasons of Progressing that mean "on its way". Which of them is written depends on a race between upstream's own status
/// writes, so they are one class while the Deployment is not complete.
const ON_ITS_WAY: [&str; 4] =
    ["NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable"];

/// Every ReplicaSet and Deployment that exists: by Deployment its ReplicaSets, then itself.
/// Named pods are told by name, except the `uncertain` ones.
pub(super) fn take(world: &World<'_>, names: &Names, uncertain: &BTreeSet<String>) -> Vec<State> {
    let mut sets: Vec<&Value> = world.all(REPLICA_SET).collect();
    sets.sort_by_key(|set| names.rank(set));
    let owners = sets.iter().map(|set| names.rank(set).0);
    let groups: BTreeSet<Option<&str>> =
        owners.chain(world.all(DEPLOYMENT).map(|deployment| Some(object::name(deployment)))).collect();
    let mut states = Vec::new();
    for group in groups {
        let own = sets.iter().filter(|set| names.rank(set).0 == group);
        states.extend(own.map(|set| replica_set(set, world, names, uncertain)));
        let deployment = world.all(DEPLOYMENT).find(|deployment| Some(object::name(deployment)) == group);
        states.extend(deployment.map(deployment_state));
    }
    states
}

fn replica_set(set: &Value, world: &World<'_>, names: &Names, uncertain: &BTreeSet<String>) -> State {
    let replicas = object::count(set, "/status/replicas");
    let labelled = object::count(set, "/status/fullyLabeledReplicas");
    let mut fields = Vec::new();
    if labelled != replicas {
        fields.push(Field::number("fullyLabeled", labelled));
    }
    fields.push(Field::number("ready", object::count(set, "/status/readyReplicas")));
    fields.push(Field::number("available", object::count(set, "/status/availableReplicas")));
    fields.extend(unless_zero("terminating", object::count(set, "/status/terminatingReplicas")));
    fields.extend(decide::own_annotations(None, set));
    fields.extend(decide::min_ready_seconds(set));
    let (alive, terminating) = pods(set, world);
    fields.push(Field::new("pods", &crowd(alive.into_iter().map(object::name), names, uncertain)));
    fields.extend(unless_zero("terminatingPods", terminating));
    let is_owned = object::controller(set).is_some();
    fields.extend((names.rank(set).0.is_some() && !is_owned).then(|| Field::new("owner", "none")));
    fields.extend(object::deleting(set).then(|| Field::new("deleting", "true")));
    fields.extend(conditions(set, |_, _| false));
    State { object: names.replica_set(set), size: format!("{}/{replicas}", object::replicas(set)), fields }
}

fn deployment_state(deployment: &Value) -> State {
    let status = |field: &str| object::count(deployment, &format!("/status/{field}"));
    let mut fields = vec![
        Field::number("updated", status("updatedReplicas")),
        Field::number("ready", status("readyReplicas")),
        Field::number("available", status("availableReplicas")),
    ];
    fields.extend(unless_zero("unavailable", status("unavailableReplicas")));
    fields.extend(unless_zero("terminating", status("terminatingReplicas")));
    let generation = object::count(deployment, "/metadata/generation");
    fields.push(Field::new("generation", &format!("{}/{generation}", status("observedGeneration"))));
    fields.extend(decide::revision(deployment));
    fields.extend(paused(deployment).then(|| Field::new("paused", "true")));
    fields.extend(decide::collision_count(deployment).and_then(|n| unless_zero("collisionCount", n)));
    fields.extend(object::deleting(deployment).then(|| Field::new("deleting", "true")));
    let incomplete = !complete(deployment);
    fields.extend(conditions(deployment, |kind, reason| {
        incomplete && kind == "Progressing" && ON_ITS_WAY.contains(&reason)
    }));
    State { object: object::name(deployment).to_owned(), size: status("replicas").to_string(), fields }
}

/// Whether `spec.paused` is set.
pub(super) fn paused(deployment: &Value) -> bool {
    deployment.at("/spec/paused") == Some(&Value::Bool(true))
}

/// Whether the status says that the rollout is done: as many updated, available and in total as wanted, and the status is
/// about this generation. Source: `kubectl rollout status` and the API's documentation of Progressing.
fn complete(deployment: &Value) -> bool {
    let status = |field: &str| object::count(deployment, &format!("/status/{field}"));
    let wanted = i64::from(object::replicas(deployment));
    status("updatedReplicas") == wanted
        && status("replicas") == wanted
        && status("availableReplicas") == wanted
        && status("observedGeneration") >= object::count(deployment, "/metadata/generation")
}

/// Conditions by type: `Available=True(MinimumReplicasAvailable)`; the reason is `incomplete` where `on_its_way` says so.
fn conditions(object: &Value, on_its_way: impl Fn(&str, &str) -> bool) -> Vec<Field> {
    let all = object.at("/status/conditions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = |condition: &Value| {
        let text = |key: &str| object::text(condition, key).unwrap_or_default().to_owned();
        let (kind, reason) = (text("/type"), text("/reason"));
        let reason = if on_its_way(&kind, &reason) { "incomplete" } else { &reason };
        Field::new(&kind, &format!("{}({reason})", text("/status")))
    };
    let mut fields: Vec<Field> = all.iter().map(field).collect();
    fields.sort();
    fields
}

/// A ReplicaSet's pods: alive (neither being deleted nor at their end), and being deleted.
fn pods<'a>(set: &Value, world: &World<'a>) -> (Vec<&'a Value>, i64) {
    let pods: Vec<&Value> = world.controlled(POD, set).collect();
    let terminating = pods.iter().filter(|pod| object::deleting(pod)).count();
    (pods.into_iter().filter(|pod| alive(pod)).collect(), i64::try_from(terminating).unwrap_or(i64::MAX))
}

fn unless_zero(key: &str, number: i64) -> Option<Field> {
    (number != 0).then(|| Field::number(key, number))
}
