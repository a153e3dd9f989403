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
//!
//! A controller that shares the work with the subject (`--beside`) is known: the recording says
//! which versions it wrote. What differs by them is not the subject's ([`WritesBeside`]).

use std::collections::{BTreeMap, BTreeSet};

use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{ObjectVersion, Recording, RecordingEntry, SubjectRequest, WriterRole};

use lockstep_support::pointer::JsonPointer;
use lockstep_workload::{Claims, ReportedCounts};

use super::decide::is_garbage_collected;
use super::model::{DecisionAction, StepId};
use super::recorded_objects::{DEPLOYMENT, EVENT, REPLICA_SET};
use super::replay::{Frame, FrameReader};
use super::text::TimelineLine;
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
                let controller = frame.version.and_then(|version| deciding_controller(version, frame));
                self.attribution(frame.step, controller).into_iter().for_each(|tally| tally.has_decision = true);
            }
            RecordingEntry::Request(request) => {
                let controller = writing_controller(request);
                self.attribution(frame.step, controller).into_iter().for_each(|tally| tally.subject_wrote = true);
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

/// What the controller beside the subject wrote and the subject did not.
#[derive(Debug, Default)]
pub struct WritesBeside {
    /// The decisions of each step by their object and action, and whether the subject wrote one of
    /// them as well.
    decisions: BTreeMap<(StepId, String, DecisionAction), WriterRole>,
    /// Deployments whose last version it wrote, and those at the end of each step.
    last_written: BTreeSet<String>,
    settled: BTreeMap<StepId, BTreeSet<String>>,
    /// Who has changed the status of a Deployment, and who has published Events.
    statuses: Writers,
    events: Writers,
}

/// Which of the two have written something.
#[derive(Debug, Default)]
struct Writers {
    beside: bool,
    subject: bool,
}

impl Writers {
    fn add(&mut self, by: WriterRole) {
        self.beside |= by == WriterRole::Beside;
        self.subject |= by == WriterRole::Other;
    }

    fn are_only_beside(&self) -> bool {
        self.beside && !self.subject
    }
}

impl WritesBeside {
    /// Whether a line of a step's timeline, or of the Events (`None`), is its own.
    pub fn has(&self, step: Option<StepId>, line: &TimelineLine) -> bool {
        match (step, line) {
            (Some(step), TimelineLine::Decision(decision)) => {
                let key = (step, decision.object.clone(), decision.action);
                self.decisions.get(&key) == Some(&WriterRole::Beside)
            }
            (Some(step), TimelineLine::State(state)) => {
                self.settled.get(&step).is_some_and(|names| names.contains(&state.object))
            }
            (None, TimelineLine::Event(_)) => self.events.beside,
            _ => false,
        }
    }

    /// Whether it has decided something in a step.
    pub fn has_decision(&self, step: StepId) -> bool {
        self.decisions.iter().any(|((at, ..), by)| *at == step && *by == WriterRole::Beside)
    }

    /// What this kind's controller claims to write and only the controller beside it has written,
    /// as areas of claims.
    pub fn unearned(&self, claims: &Claims) -> Vec<&'static str> {
        let ReportedCounts { generation, replicas, ready, available } = claims.status;
        let has_status = generation || replicas || ready || available;
        let areas = [
            ("status", has_status && self.statuses.are_only_beside()),
            ("events", claims.events && self.events.are_only_beside()),
        ];
        areas.into_iter().filter_map(|(area, is_unearned)| is_unearned.then_some(area)).collect()
    }
}

impl<'a> FrameReader<'a> for WritesBeside {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        if frame.is_settled() {
            self.settled.insert(frame.step, self.last_written.clone());
        }
        let Some(version) = frame.version.filter(|version| version.by != WriterRole::Driver) else { return };
        let is_its_own = version.by == WriterRole::Beside;
        match version.kind.as_str() {
            EVENT => self.events.add(version.by),
            DEPLOYMENT => {
                if frame.before.is_some_and(|before| before.at("/status") != version.object.at("/status")) {
                    self.statuses.add(version.by);
                }
                match is_its_own {
                    true => self.last_written.insert(version.name.clone()),
                    false => self.last_written.remove(&version.name),
                };
            }
            _ => {}
        }
        let Some(decision) = frame.decision() else { return };
        let key = (frame.step, decision.object.clone(), decision.action);
        let by = self.decisions.entry(key).or_insert(version.by);
        if !is_its_own {
            *by = WriterRole::Other;
        }
    }
}

/// Whether the subject wrote anything successfully, Events aside.
pub fn subject_wrote(recording: &Recording) -> bool {
    let wrote =
        |entry: &RecordingEntry| matches!(entry, RecordingEntry::Request(request) if request.is_successful_write());
    recording.entries.iter().any(wrote)
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
    if version.by == WriterRole::Beside {
        return None;
    }
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
    // Without an answer, because the client disconnected first, the result is unknown.
    let may_have_written = request.is_successful_write() || request.is_write() && request.status == 0;
    if !may_have_written {
        return None;
    }
    match (request.resource.as_str(), request.subresource.as_str()) {
        ("replicasets", "" | "scale") => Some(Controller::Deployment),
        ("pods", "" | "eviction") => Some(Controller::ReplicaSet),
        _ => None,
    }
}
