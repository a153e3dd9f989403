//! The case's own word on its named pods, held against what is there once a step has settled.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model::StepId;
use super::object;
use super::world::{POD, World};
use crate::expect::list;
use crate::recording::{Entry, Recording};

/// The steps after which other named pods are alive than the case says, and what is wrong.
pub(crate) fn unexpected(recording: &Recording) -> Vec<(StepId, String)> {
    let mut world = World::default();
    let mut named: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut now, mut found) = (None, Vec::new());
    for entry in &recording.entries {
        match entry {
            Entry::Step(mark) => now = mark.expect.as_ref().map(|expect| (StepId::of(mark), expect)),
            Entry::Named(names) => named.extend(names.iter().map(|(name, real)| (name.as_str(), real.as_str()))),
            Entry::Object(version) => drop(world.apply(version)),
            Entry::Settled(settling) if settling.unsettled.is_none() => {
                let Some((step, expect)) = now.take() else { continue };
                let alive: BTreeSet<&str> = world.all(POD).filter(|pod| alive(pod)).map(object::name).collect();
                let alive = named.iter().filter(|(_, real)| alive.contains(*real)).map(|(name, _)| (*name).to_owned());
                let alive: BTreeSet<String> = alive.collect();
                if !expect.holds(&alive) {
                    found.push((step, format!("the case expects {expect} to be alive, and it is {}", list(&alive))));
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a ReplicaSet counts it: neither being deleted nor at its end.
pub(super) fn alive(pod: &Value) -> bool {
    let ended = matches!(object::text(pod, "/status/phase"), Some("Failed" | "Succeeded"));
    !object::deleting(pod) && !ended
}
