//! Whose work a recording shows. Versions do not say who wrote them, but the interceptor counts the subject's requests: where
//! ReplicaSets were decided about and the subject wrote none, somebody else decided. Where the subject brings the Deployment controller
//! that is so; where it brings the ReplicaSet controller the same holds of pods. What the test environment's own controllers decide needs no
//! request of the subject's.
//!
//! A write that went out and was never answered counts as well: a subject that is killed while one of its controllers waits at the interceptor
//! leaves what the others had asked for on its way, and the server does it all the same.
//!
//! The border: this counts by step and does not pair requests with versions, because a `create` carries no name. Who is
//! to blame is `verdict`'s to say.

use std::collections::BTreeMap;

use super::build::is_collected;
use super::decide;
use super::invariants::is_write;
use super::model::{Action, StepId};
use super::names::Names;
use super::world::{REPLICA_SET, World};
use super::{object, pods};
use crate::controllers::Controller;
use crate::recording::{Entry, Recording, Request, Version, Writer};

/// The steps at which somebody decided what only the subject may, and the subject wrote nothing of the kind, in order.
pub(crate) fn unearned(recording: &Recording) -> Vec<StepId> {
    let names = Names::of(recording);
    let mut world = World::default();
    let under_test = &recording.header.under_test;
    let mut steps: BTreeMap<(StepId, Controller), Tally> = BTreeMap::new();
    let mut now = None;
    for entry in &recording.entries {
        match entry {
            Entry::Step(mark) => now = Some(StepId::of(mark)),
            Entry::Object(version) => {
                let decided = decided_by(version, &mut world, &names);
                if let (Some(step), Some(controller)) = (now, decided) {
                    steps.entry((step, controller)).or_default().decided = true;
                }
            }
            Entry::Request(request) => {
                if let (Some(step), Some(controller)) = (now, written_by(request)) {
                    steps.entry((step, controller)).or_default().written = true;
                }
            }
            Entry::Header(_)
            | Entry::Named(_)
            | Entry::Settled(_)
            | Entry::Met(_)
            | Entry::Trouble(_)
            | Entry::Impossible(_)
            | Entry::End(_) => {}
        }
    }
    let unearned = steps.into_iter().filter(|((_, by), tally)| under_test.has(*by) && tally.decided && !tally.written);
    let mut unearned: Vec<StepId> = unearned.map(|((step, _), _)| step).collect();
    unearned.dedup();
    unearned
}

/// Whether the subject wrote anything at all, Events aside, and was not refused.
pub(crate) fn wrote(recording: &Recording) -> bool {
    recording.entries.iter().any(|entry| matches!(entry, Entry::Request(request) if is_write(request)))
}

/// What is known about one step and the objects that one controller decides about.
#[derive(Debug, Default)]
struct Tally {
    /// Somebody decided: neither the driver nor the garbage collector.
    decided: bool,
    /// The subject wrote such an object.
    written: bool,
}

/// Apply a version, and say which controller must have written it, if one must.
fn decided_by<'a>(version: &'a Version, world: &mut World<'a>, names: &Names) -> Option<Controller> {
    let before = world.apply(version);
    if pods::is_move(before, version, world) {
        return Some(Controller::ReplicaSet);
    }
    if version.kind != REPLICA_SET || version.by == Writer::Driver {
        return None;
    }
    let decision = decide::replica_set(before, version, world, names)?;
    // A deletion that waited for finalizers was begun by somebody, and is finished by the garbage collector.
    let finished = decision.action == Action::Deleted && before.is_some_and(object::deleting);
    (!finished && !is_collected(&decision, before, world)).then_some(Controller::Deployment)
}

fn written_by(request: &Request) -> Option<Controller> {
    let resource = request.resource.as_str();
    match resource {
        _ if !(is_write(request) || is_unanswered(request)) || !request.subresource.is_empty() => None,
        "replicasets" => Some(Controller::Deployment),
        "pods" => Some(Controller::ReplicaSet),
        _ => None,
    }
}

/// Whether a request was to change something, and nobody knows what came of it: its client went away first.
fn is_unanswered(request: &Request) -> bool {
    request.status == 0 && is_write(&Request { status: 200, ..request.clone() })
}
