//! Whose work a recording shows. Versions do not say who wrote them, but the gate counts the subject's requests: where
//! ReplicaSets were decided about and the subject wrote none, somebody else decided.
//!
//! The border: this counts by edge and does not pair requests with versions, because a `create` carries no name. Who is
//! to blame is `verdict`'s to say.

use std::collections::BTreeMap;

use super::build::is_collected;
use super::decide;
use super::laws::is_write;
use super::model::{Action, EdgeId};
use super::names::Names;
use super::object;
use super::world::{REPLICA_SET, World};
use crate::recording::{Entry, Recording, Request, Version, Writer};

/// The edges at which somebody decided about ReplicaSets and the subject wrote none, in order.
pub(crate) fn unearned(recording: &Recording) -> Vec<EdgeId> {
    let names = Names::of(recording);
    let mut world = World::default();
    let mut edges: BTreeMap<EdgeId, Tally> = BTreeMap::new();
    let mut now = None;
    for entry in &recording.entries {
        match entry {
            Entry::Edge(mark) => now = Some(EdgeId::of(mark)),
            Entry::Object(version) => {
                let decided = is_decision(version, &mut world, &names);
                if let Some(edge) = now.filter(|_| decided) {
                    edges.entry(edge).or_default().decided = true;
                }
            }
            Entry::Request(request) => {
                if let Some(edge) = now.filter(|_| writes_replica_sets(request)) {
                    edges.entry(edge).or_default().written = true;
                }
            }
            Entry::Header(_)
            | Entry::Settled(_)
            | Entry::Met(_)
            | Entry::Trouble(_)
            | Entry::Impossible(_)
            | Entry::End(_) => {}
        }
    }
    edges.into_iter().filter(|(_, tally)| tally.decided && !tally.written).map(|(edge, _)| edge).collect()
}

/// Whether the subject wrote anything at all, Events aside, and was not refused.
pub(crate) fn wrote(recording: &Recording) -> bool {
    recording.entries.iter().any(|entry| matches!(entry, Entry::Request(request) if is_write(request)))
}

/// What is known about one edge.
#[derive(Debug, Default)]
struct Tally {
    /// Somebody decided about a ReplicaSet: neither the driver nor the garbage collector.
    decided: bool,
    /// The subject wrote a ReplicaSet.
    written: bool,
}

/// Apply a version, and say whether a Deployment controller must have written it.
fn is_decision<'a>(version: &'a Version, world: &mut World<'a>, names: &Names) -> bool {
    let before = world.apply(version);
    if version.kind != REPLICA_SET || version.by == Writer::Driver {
        return false;
    }
    let Some(decision) = decide::replica_set(before, version, world, names) else { return false };
    // A deletion that waited for finalizers was begun by somebody, and is finished by the garbage collector.
    let finished = decision.action == Action::Deleted && before.is_some_and(object::deleting);
    !finished && !is_collected(&decision, before, world)
}

fn writes_replica_sets(request: &Request) -> bool {
    is_write(request) && request.resource == "replicasets" && request.subresource.is_empty()
}
