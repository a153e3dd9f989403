//! What became of a ReplicaSet's pods in a step, where its controller is judged: how many it made,
//! deleted, adopted and released.
//!
//! One line a ReplicaSet and a step, without an order: a controller makes and deletes pods in
//! parallel, and what of that a watch shows first is not repeatable. Pods that the case knows by
//! name are named, unless the case leaves to chance what becomes of them. What the garbage
//! collector does to the pods of a ReplicaSet that is going is not its controller's.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model::{Action, Decision, Field};
use super::names::Names;
use super::object;
use super::world::{POD, REPLICA_SET, World};
use crate::pointer::At;
use crate::recording::{Change, Version, Writer};

/// The pods that moved, by how, and what is odd about the new ones; by the rank and the name of
/// their ReplicaSet.
#[derive(Debug, Default)]
pub(super) struct Moves {
    sets: BTreeMap<Set, Moved>,
    odd: BTreeMap<String, BTreeSet<&'static str>>,
}

/// What stands for the ReplicaSet of a pod that has none.
const NOBODYS: &str = "-";

/// A ReplicaSet by its Deployment, its number and its name: in that order they are told.
type Set = (Option<String>, u32, String);
/// Pods by what was done to them.
type Moved = BTreeMap<Move, BTreeSet<String>>;

/// What a ReplicaSet controller does to a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Move {
    Created,
    Deleted,
    Adopted,
    Released,
}

impl Moves {
    /// Take a version in; `world` holds it already.
    pub(super) fn take(&mut self, before: Option<&Value>, version: &Version, world: &World<'_>, names: &Names) {
        let Some((how, set)) = moved(before, version, world) else { return };
        let name = set.map_or_else(|| NOBODYS.to_owned(), |set| names.replica_set(set));
        if let (Move::Created, Some(set)) = (how, set) {
            self.odd.entry(name.clone()).or_default().extend(odd(&version.object, set));
        }
        let (deployment, number) = set.map_or((None, u32::MAX), |set| names.rank(set));
        let set = self.sets.entry((deployment.map(str::to_owned), number, name)).or_default();
        set.entry(how).or_default().insert(version.name.clone());
    }

    /// The lines, by Deployment and ReplicaSet. `uncertain` are names that are not told.
    pub(super) fn decisions(self, names: &Names, uncertain: &BTreeSet<String>) -> Vec<Decision> {
        let line = |((_, _, object), moves): (Set, Moved)| {
            let field = |(how, pods): (Move, BTreeSet<String>)| {
                let key = match how {
                    // A new pod gets its name from the case later on.
                    Move::Created => return Field::number("created", i64::try_from(pods.len()).unwrap_or(i64::MAX)),
                    Move::Deleted => "deleted",
                    Move::Adopted => "adopted",
                    Move::Released => "released",
                };
                Field::new(key, &crowd(pods.iter().map(String::as_str), 0, names, uncertain))
            };
            let odd = self.odd.get(&object).filter(|odd| !odd.is_empty());
            let odd = odd.map(|odd| Field::new("odd", &odd.iter().copied().collect::<Vec<_>>().join(",")));
            let details = moves.into_iter().map(field).chain(odd).collect();
            Decision { object, action: Action::Pods, details }
        };
        self.sets.into_iter().map(line).collect()
    }
}

/// Pods as a number, or by the names that the case has given them and how many there are besides:
/// `3`, `a,b`, `a,+2`. `others` are pods besides that have no name.
pub(super) fn crowd<'a>(
    pods: impl Iterator<Item = &'a str>,
    mut others: usize,
    names: &Names,
    uncertain: &BTreeSet<String>,
) -> String {
    let mut called = BTreeSet::new();
    for pod in pods {
        match names.pod(pod).filter(|name| !uncertain.contains(*name)) {
            Some(name) => drop(called.insert(name)),
            None => others += 1,
        }
    }
    let called = called.into_iter().collect::<Vec<_>>().join(",");
    match (called.is_empty(), others) {
        (true, others) => others.to_string(),
        (false, 0) => called,
        (false, others) => format!("{called},+{others}"),
    }
}

/// Whether a version is a ReplicaSet controller's doing, and about which ReplicaSet.
pub(super) fn is_move(before: Option<&Value>, version: &Version, world: &World<'_>) -> bool {
    moved(before, version, world).is_some_and(|(_, set)| set.is_some())
}

/// What was done and to whose pod. A pod without an owner counts only when it is deleted, which no
/// ReplicaSet controller should do.
fn moved<'a>(before: Option<&Value>, version: &Version, world: &'a World<'_>) -> Option<(Move, Option<&'a Value>)> {
    if version.kind != POD || version.by == Writer::Driver {
        return None;
    }
    let after = &version.object;
    let owner = |pod: &Value| object::controller_uid(pod).map(str::to_owned);
    let begins = before.is_some_and(|before| !object::deleting(before))
        && (version.change == Change::Deleted || object::deleting(after));
    let of_a_set = |pod: &Value| object::controller(pod).is_some_and(|owner| owner["kind"] == REPLICA_SET);
    if begins && before.is_some_and(|before| !of_a_set(before)) {
        return Some((Move::Deleted, None));
    }
    let (how, uid) = match (version.change, before) {
        (_, Some(before)) if begins => (Move::Deleted, owner(before)?),
        (Change::Deleted, _) => return None,
        (_, None) => (Move::Created, owner(after)?),
        (_, Some(before)) => match (owner(before), owner(after)) {
            (Some(old), None) => (Move::Released, old),
            (None, Some(new)) => (Move::Adopted, new),
            _ => return None,
        },
    };
    let set = world.with_uid(REPLICA_SET, &uid).find(|set| !object::deleting(set))?;
    Some((how, Some(set)))
}

/// Every way in which a new pod is not of its ReplicaSet's template.
/// Source: the API's documentation of ReplicaSet's `template`, and of controller references.
fn odd(pod: &Value, set: &Value) -> Vec<&'static str> {
    let template = |pointer: &str| set.at(&format!("/spec/template{pointer}")).cloned().unwrap_or(Value::Null);
    let has = |pointer: &str| pod.at(pointer).cloned().unwrap_or(Value::Null);
    let strings =
        |pointer: &str| object::strings(pod, pointer) == object::strings(set, &format!("/spec/template{pointer}"));
    let images = |spec: Value| {
        let containers = spec.get("containers").and_then(Value::as_array).cloned().unwrap_or_default();
        containers.iter().map(|one| (one["name"].clone(), one["image"].clone())).collect::<Vec<_>>()
    };
    let blocks = object::controller(pod).is_some_and(|owner| owner["blockOwnerDeletion"] == true);
    let prefix = format!("{}-", object::name(set));
    let named = object::name(pod).starts_with(&prefix) && has("/metadata/generateName") == prefix.as_str();
    let checks = [
        ("name", named),
        ("owner", blocks),
        ("labels", strings("/metadata/labels")),
        ("annotations", strings("/metadata/annotations")),
        ("finalizers", has("/metadata/finalizers") == template("/metadata/finalizers")),
        ("containers", images(has("/spec")) == images(template("/spec"))),
    ];
    checks.into_iter().filter(|(_, right)| !right).map(|(what, _)| what).collect()
}
