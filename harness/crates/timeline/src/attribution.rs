//! Finds decisions that another controller must have made. Versions do not say who wrote them, but
//! the interceptor records the subject's requests: if ReplicaSets changed and the subject wrote
//! none, another controller changed them, provided that the subject brings the Deployment
//! controller. The same holds for pods if the subject brings the ReplicaSet controller. Decisions
//! of the test environment's own controllers need no request of the subject.
//!
//! A write that was never answered counts as well: if a subject is killed while one of its
//! controllers waits at the interceptor, requests of the others may still be on their way, and the
//! server processes them.
//!
//! This counts by step and does not pair requests with versions, because a `create` has no name.
//! `verdict` decides who is to blame.

use std::collections::BTreeMap;

use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{ObjectVersion, Recording, RecordingEntry, SubjectRequest};

use super::decide::is_garbage_collected;
use super::invariants::is_write;
use super::model::{DecisionAction, StepId};
use super::recorded_objects::REPLICA_SET;
use super::replay::{Frame, FrameReader};
use super::{object, pods};

/// Records, step by step, what was decided and what the subject wrote.
#[derive(Debug)]
pub struct Attribution<'a> {
    under_test: &'a ControllerSet,
    steps: BTreeMap<(StepId, Controller), StepAttribution>,
    /// Whether a step has begun.
    has_begun: bool,
}

impl<'a> Attribution<'a> {
    /// Attributes the decisions of a recording, once it has been replayed.
    pub fn of(recording: &'a Recording) -> Self {
        Self { under_test: &recording.header.under_test, steps: BTreeMap::new(), has_begun: false }
    }

    /// The steps, in order, at which something was decided that only the subject may decide,
    /// although the subject wrote nothing of the kind.
    pub fn unattributed_steps(self) -> Vec<StepId> {
        let Self { under_test, steps, .. } = self;
        let unearned = steps
            .into_iter()
            .filter(|((_, by), tally)| under_test.has(*by) && tally.has_decision && !tally.subject_wrote);
        let mut unearned: Vec<StepId> = unearned.map(|((step, _), _)| step).collect();
        unearned.dedup();
        unearned
    }

    fn attribution(&mut self, step: StepId, by: Option<Controller>) -> Option<&mut StepAttribution> {
        let by = by.filter(|_| self.has_begun)?;
        Some(self.steps.entry((step, by)).or_default())
    }
}

impl<'a> FrameReader<'a> for Attribution<'a> {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            RecordingEntry::Step(_) => self.has_begun = true,
            RecordingEntry::Object(_) => {
                let decided = frame.version.and_then(|version| deciding_controller(version, frame));
                self.attribution(frame.step, decided).into_iter().for_each(|tally| tally.has_decision = true);
            }
            RecordingEntry::Request(request) => {
                let written = writing_controller(request);
                self.attribution(frame.step, written).into_iter().for_each(|tally| tally.subject_wrote = true);
            }
            RecordingEntry::Header(_)
            | RecordingEntry::PodNames(_)
            | RecordingEntry::Settled(_)
            | RecordingEntry::Injected(_)
            | RecordingEntry::Trouble(_)
            | RecordingEntry::Impossible(_)
            | RecordingEntry::End(_) => {}
        }
    }
}

/// Whether the subject wrote anything successfully, Events aside.
pub fn subject_wrote(recording: &Recording) -> bool {
    recording.entries.iter().any(|entry| matches!(entry, RecordingEntry::Request(request) if is_write(request)))
}

/// One step and the objects that one controller decides about.
#[derive(Debug, Default)]
struct StepAttribution {
    /// There is a decision that neither the driver nor the garbage collector made.
    has_decision: bool,
    /// The subject wrote such an object.
    subject_wrote: bool,
}

/// The controller that must have written a version, if only one controller may.
fn deciding_controller(version: &ObjectVersion, frame: &Frame<'_, '_>) -> Option<Controller> {
    let Frame { before, objects: world, .. } = *frame;
    if pods::is_pod_change(before, version, world) {
        return Some(Controller::ReplicaSet);
    }
    let made = frame.ordered_decision.filter(|_| version.kind == REPLICA_SET)?;
    // A deletion that waited for finalizers was requested before; the garbage collector finishes
    // it.
    let finished = made.decision.action == DecisionAction::Deleted && before.is_some_and(object::deleting);
    (!finished && !is_garbage_collected(&made.decision, before, world)).then_some(Controller::Deployment)
}

fn writing_controller(request: &SubjectRequest) -> Option<Controller> {
    let resource = request.resource.as_str();
    match resource {
        _ if !(is_write(request) || is_unanswered(request)) || !request.subresource.is_empty() => None,
        "replicasets" => Some(Controller::Deployment),
        "pods" => Some(Controller::ReplicaSet),
        _ => None,
    }
}

/// Whether a write has an unknown result, because its client disconnected first.
fn is_unanswered(request: &SubjectRequest) -> bool {
    request.status == 0 && is_write(&SubjectRequest { status: 200, ..request.clone() })
}
