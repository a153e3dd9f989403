//! The objects once the namespace has settled, as lines of numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::decide;
use super::expected::alive;
use super::model::{Field, State};
use super::names::Names;
use super::object;
use super::pods::crowd;
use super::world::{DEPLOYMENT, POD, REPLICA_SET, World};
use crate::pointer::At;
use crate::recording::Version;

/// Reasons of Progressing that mean "on its way". Which of them is written depends on a race
/// between upstream's own status writes, so they are one class while the Deployment is not
/// complete.
const ON_ITS_WAY: [&str; 4] =
    ["NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable"];

/// Every ReplicaSet and Deployment that exists, kept with each version: by Deployment its
/// ReplicaSets, then itself.
///
/// Only what a step has changed is read again when it has settled. So a step costs what happened in
/// it, however many objects there are.
#[derive(Debug, Default)]
pub(super) struct Checkpoint<'a> {
    states: BTreeMap<Rank, Arc<State>>,
    ranks: BTreeMap<(&'a str, &'a str), Rank>,
    /// Kind and name of those that are to be read again.
    changed: BTreeSet<(&'a str, &'a str)>,
    /// Pods by the UID of their controller.
    pods: BTreeMap<String, Crowd>,
    /// The named pods that are not told by name.
    uncertain: BTreeSet<String>,
}

/// The place of an object at a checkpoint: by Deployment, ReplicaSets first, by their numbers.
type Rank = (Option<String>, bool, u32, String);

/// The pods of one controller.
#[derive(Debug, Default)]
struct Crowd {
    /// How many are alive: neither being deleted nor at their end.
    alive: usize,
    /// Those of them that the case has named.
    named: BTreeSet<String>,
    /// How many are being deleted.
    terminating: i64,
}

impl<'a> Checkpoint<'a> {
    /// A version was applied to this world.
    pub(super) fn apply(&mut self, version: &'a Version, before: Option<&Value>, world: &World<'a>, names: &Names) {
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

    fn count(&mut self, pod: &Value, comes: bool, world: &World<'a>, names: &Names) {
        let Some(controller) = object::controller_uid(pod) else { return };
        let crowd = match self.pods.get_mut(controller) {
            Some(crowd) => crowd,
            None => self.pods.entry(controller.to_owned()).or_default(),
        };
        if object::deleting(pod) {
            crowd.terminating += if comes { 1 } else { -1 };
        }
        let name = object::name(pod);
        if alive(pod) && comes {
            crowd.alive += 1;
            crowd.named.extend(names.pod(name).map(|_| name.to_owned()));
        } else if alive(pod) {
            crowd.alive -= 1;
            crowd.named.remove(name);
        }
        self.changed.extend(world.names_with_uid(REPLICA_SET, controller).map(|set| (REPLICA_SET, set)));
    }

    /// The states now. Named pods are told by name, except the `uncertain` ones.
    pub(super) fn take(&mut self, world: &World<'a>, names: &Names, uncertain: &BTreeSet<String>) -> Vec<Arc<State>> {
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
                    let state = replica_set(object, crowd.unwrap_or(&Crowd::default()), names, uncertain);
                    ((deployment.map(str::to_owned), false, number, name.to_owned()), state)
                }
            };
            self.ranks.insert((kind, name), rank.clone());
            self.states.insert(rank, Arc::new(state));
        }
        self.states.values().cloned().collect()
    }
}

fn replica_set(set: &Value, pods: &Crowd, names: &Names, uncertain: &BTreeSet<String>) -> State {
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
    let others = pods.alive - pods.named.len();
    fields.push(Field::new("pods", &crowd(pods.named.iter().map(String::as_str), others, names, uncertain)));
    fields.extend(unless_zero("terminatingPods", pods.terminating));
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
    let incomplete = !is_complete(deployment);
    fields.extend(conditions(deployment, |kind, reason| {
        incomplete && kind == "Progressing" && ON_ITS_WAY.contains(&reason)
    }));
    State { object: object::name(deployment).to_owned(), size: status("replicas").to_string(), fields }
}

/// Whether `spec.paused` is set.
pub(super) fn paused(deployment: &Value) -> bool {
    deployment.at("/spec/paused") == Some(&Value::Bool(true))
}

/// Whether the status says that the rollout is done: as many updated, available and in total as
/// wanted, and the status is about this generation. Source: `kubectl rollout status` and the API's
/// documentation of Progressing.
pub(crate) fn is_complete(deployment: &Value) -> bool {
    let status = |field: &str| object::count(deployment, &format!("/status/{field}"));
    let wanted = i64::from(object::replicas(deployment));
    status("updatedReplicas") == wanted
        && status("replicas") == wanted
        && status("availableReplicas") == wanted
        && status("observedGeneration") >= object::count(deployment, "/metadata/generation")
}

/// Conditions by type: `Available=True(MinimumReplicasAvailable)`; the reason is `incomplete` where
/// `on_its_way` says so.
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

fn unless_zero(key: &str, number: i64) -> Option<Field> {
    (number != 0).then(|| Field::number(key, number))
}
