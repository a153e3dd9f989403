//! Whose work a recording shows. Versions do not say who wrote them, but the interceptor counts the
//! subject's requests: where ReplicaSets were decided about and the subject wrote none, somebody
//! else decided. Where the subject brings the Deployment controller that is so; where it brings the
//! ReplicaSet controller the same holds of pods. What the test environment's own controllers decide
//! needs no request of the subject's.
//!
//! A write that went out and was never answered counts as well: a subject that is killed while one
//! of its controllers waits at the interceptor leaves what the others had asked for on its way, and
//! the server does it all the same.
//!
//! The border: this counts by step and does not pair requests with versions, because a `create`
//! carries no name. Who is to blame is `verdict`'s to say.

use std::collections::BTreeMap;

use super::build::is_collected;
use super::invariants::is_write;
use super::model::{Action, StepId};
use super::replay::{Frame, Reader};
use super::world::REPLICA_SET;
use super::{object, pods};
use crate::controllers::{Controller, Controllers};
use crate::recording::{Entry, Recording, Request, Version};

/// Counts, step by step, what was decided and what the subject wrote.
#[derive(Debug)]
pub(crate) struct Credit<'a> {
    under_test: &'a Controllers,
    steps: BTreeMap<(StepId, Controller), Tally>,
    /// Whether a step has begun.
    begun: bool,
}

impl<'a> Credit<'a> {
    /// Of this recording.
    pub(crate) fn of(recording: &'a Recording) -> Self {
        Self { under_test: &recording.header.under_test, steps: BTreeMap::new(), begun: false }
    }

    /// The steps at which somebody decided what only the subject may, and the subject wrote nothing
    /// of the kind, in order.
    pub(crate) fn unearned(self) -> Vec<StepId> {
        let Self { under_test, steps, .. } = self;
        let unearned =
            steps.into_iter().filter(|((_, by), tally)| under_test.has(*by) && tally.decided && !tally.written);
        let mut unearned: Vec<StepId> = unearned.map(|((step, _), _)| step).collect();
        unearned.dedup();
        unearned
    }

    fn tally(&mut self, step: StepId, by: Option<Controller>) -> Option<&mut Tally> {
        let by = by.filter(|_| self.begun)?;
        Some(self.steps.entry((step, by)).or_default())
    }
}

impl<'a> Reader<'a> for Credit<'a> {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            Entry::Step(_) => self.begun = true,
            Entry::Object(_) => {
                let decided = frame.version.and_then(|version| decided_by(version, frame));
                self.tally(frame.step, decided).into_iter().for_each(|tally| tally.decided = true);
            }
            Entry::Request(request) => {
                let written = written_by(request);
                self.tally(frame.step, written).into_iter().for_each(|tally| tally.written = true);
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

/// Which controller must have written a version, if one must.
fn decided_by(version: &Version, frame: &Frame<'_, '_>) -> Option<Controller> {
    let Frame { before, world, .. } = *frame;
    if pods::is_move(before, version, world) {
        return Some(Controller::ReplicaSet);
    }
    let made = frame.made.filter(|_| version.kind == REPLICA_SET)?;
    // A deletion that waited for finalizers was begun by somebody, and is finished by the garbage
    // collector.
    let finished = made.decision.action == Action::Deleted && before.is_some_and(object::deleting);
    (!finished && !is_collected(&made.decision, before, world)).then_some(Controller::Deployment)
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

/// Whether a request was to change something, and nobody knows what came of it: its client went
/// away first.
fn is_unanswered(request: &Request) -> bool {
    request.status == 0 && is_write(&Request { status: 200, ..request.clone() })
}
