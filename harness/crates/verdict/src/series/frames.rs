//! Converts a recording to numbers, frame by frame, for people who step through it.
//!
//! A [`Snapshot`] is the state after one version of one object, or a settled state; a [`StepTrace`]
//! is a step of the case with the requests that the API server received meanwhile. A recording
//! without a case is one step. All texts are sanitized: they cannot control a terminal.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_recording::{ObjectVersion, Recording, RecordingEntry, StepMark, SubjectRequest};
use lockstep_support::pointer::JsonPointer;
use lockstep_support::sanitize::{line, truncate_middle};
use lockstep_timeline::{Frame, FrameReader, NormalizedNames, StepId, replay};
use serde_json::Value;

use super::{ReplicaSetSize, RolloutSeries, StepTotals, total};

const DEPLOYMENT: &str = "Deployment";
const REPLICA_SET: &str = "ReplicaSet";

/// A recording in numbers, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordingTrace {
    /// The steps; `given` is the first.
    pub steps: Vec<StepTrace>,
    /// The states.
    pub snapshots: Vec<Snapshot>,
}

/// A step of the case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepTrace {
    /// Its number in the case, and the sub-step.
    pub id: StepId,
    /// What the step does.
    pub label: String,
    /// The line of the case file; 0 where there is no case.
    pub line: usize,
    /// When it began, in milliseconds of the recording.
    pub from: u64,
    /// When its last version was recorded.
    pub to: u64,
    /// The subject's requests.
    pub requests: Vec<RequestTrace>,
    /// What was injected between the requests, and what went wrong.
    pub remarks: Vec<String>,
}

/// A request of the subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTrace {
    /// When it was answered, in milliseconds of the recording.
    pub at: u64,
    /// The request: `update replicasets web-1`.
    pub request: String,
    /// The HTTP status of the answer; 0 if there was none.
    pub status: u16,
    /// The patch that it sent, on one line.
    pub patch: Option<String>,
}

/// The state after one version, or once the namespace had settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The index of its step.
    pub step: usize,
    /// The number of the version within the step, from 1; `None` for a settled state.
    pub version: Option<u32>,
    /// When it was recorded, in milliseconds of the recording.
    pub at: u64,
    /// The version that led to it, in words.
    pub cause: String,
    /// The programs that wrote the version, if the recording names them.
    pub author: Option<String>,
    /// The decision in the version, unless the driver wrote it.
    pub decision: Option<String>,
    /// The sizes and bounds.
    pub totals: Arc<StepTotals>,
    /// The status of each Deployment.
    pub summaries: Arc<Vec<DeploymentSummary>>,
}

/// The status of a Deployment, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeploymentSummary {
    /// Its name.
    pub deployment: String,
    /// `10 replicas, 3 updated, 8 ready, 8 available, generation 2 of 2`.
    pub counts: String,
    /// `Progressing=True(ReplicaSetUpdated)`, with the message.
    pub conditions: Vec<(String, String)>,
}

impl StepTrace {
    /// `step 2.1`, `given`; empty for a recording without steps.
    #[must_use]
    pub fn title(&self) -> String {
        if self.is_whole_recording() { String::new() } else { self.id.to_string() }
    }

    /// Whether it is a recording without a case.
    const fn is_whole_recording(&self) -> bool {
        self.line == 0 && self.label.is_empty()
    }
}

impl RecordingTrace {
    /// Converts a whole recording.
    #[must_use]
    pub fn of(recording: &Recording) -> Self {
        let names = NormalizedNames::of(recording);
        let mut making = TraceBuilder::default();
        replay(recording, &names, &mut [&mut making]);
        making.trace
    }

    /// The step of a snapshot.
    #[must_use]
    pub fn step_of(&self, snapshot: &Snapshot) -> &StepTrace {
        &self.steps[snapshot.step]
    }

    /// The snapshots of a step, each with its index.
    pub fn snapshots_in(&self, step: usize) -> impl Iterator<Item = (usize, &Snapshot)> {
        let first = self.snapshots.partition_point(|snapshot| snapshot.step < step);
        (first..).zip(&self.snapshots[first..]).take_while(move |(_, snapshot)| snapshot.step == step)
    }

    /// The last snapshot of each step that has any; in a recording without steps, the snapshots
    /// with a decision.
    #[must_use]
    pub fn step_ends(&self) -> Vec<usize> {
        let all = self.snapshots.iter().enumerate();
        let is_last =
            |at: usize, snapshot: &Snapshot| self.snapshots.get(at + 1).is_none_or(|next| next.step != snapshot.step);
        let has_steps = self.steps.len() > 1;
        let ends = all.filter(|(at, snapshot)| is_last(*at, snapshot) || !has_steps && snapshot.decision.is_some());
        ends.map(|(at, _)| at).collect()
    }

    /// Every ReplicaSet and Deployment of the recording in one series. A lane of the chart is the
    /// position that an object has in it, so lanes stay the same from frame to frame.
    #[must_use]
    pub fn lanes(&self) -> RolloutSeries {
        let mut all = StepTotals {
            id: StepId::GIVEN,
            label: String::new(),
            line: None,
            replica_sets: BTreeMap::new(),
            deployments: BTreeMap::new(),
            bounds: BTreeMap::new(),
        };
        for snapshot in &self.snapshots {
            let StepTotals { replica_sets: sets, deployments: totals, .. } = &*snapshot.totals;
            if !sets.keys().all(|name| all.replica_sets.contains_key(name)) {
                all.replica_sets.extend(sets.clone());
            }
            if !totals.keys().all(|name| all.deployments.contains_key(name)) {
                all.deployments.extend(totals.clone());
            }
        }
        RolloutSeries { steps: vec![all] }
    }
}

/// Builds the trace while the recording is replayed.
#[derive(Default)]
struct TraceBuilder {
    trace: RecordingTrace,
}

impl TraceBuilder {
    fn add_step(&mut self, mark: &StepMark) {
        let id = StepId::of(mark);
        let label = line(&mark.label).into_owned();
        match self.trace.steps.last_mut() {
            // The parts of `given` are one step.
            Some(step) if step.id == id => step.remarks.push(format!("{label}, from line {}", mark.line)),
            _ => self.trace.steps.push(StepTrace {
                id,
                label,
                line: mark.line,
                from: mark.at,
                to: mark.at,
                ..StepTrace::default()
            }),
        }
    }

    /// The current step; versions before the first step belong to `given`.
    fn current_step(&mut self) -> &mut StepTrace {
        if self.trace.steps.is_empty() {
            self.trace.steps.push(StepTrace::default());
        }
        self.trace.steps.last_mut().expect("one was just put there if there was none")
    }

    fn add_snapshot(&mut self, frame: &Frame<'_, '_>, at: u64) {
        let step = self.current_step();
        step.to = step.to.max(at);
        let place = self.trace.steps.len() - 1;
        let kind = frame.version.map(|version| version.kind.as_str());
        let last = self.trace.snapshots.last();
        let (stop, statuses) = match last {
            // Pods and Events change neither sizes nor the status of a Deployment.
            Some(last) if kind.is_some_and(|kind| kind != DEPLOYMENT && kind != REPLICA_SET) => {
                (Arc::clone(&last.totals), Arc::clone(&last.summaries))
            }
            last => {
                let (stop, statuses) = (totals(frame), summaries(frame));
                let same = |last: &&Snapshot| {
                    last.totals.replica_sets == stop.replica_sets && last.totals.bounds == stop.bounds
                };
                let shared = last.filter(same).map(|last| Arc::clone(&last.totals));
                let unchanged = last.filter(|last| *last.summaries == statuses).map(|last| Arc::clone(&last.summaries));
                (shared.unwrap_or_else(|| Arc::new(stop)), unchanged.unwrap_or_else(|| Arc::new(statuses)))
            }
        };
        self.trace.snapshots.push(Snapshot {
            step: place,
            version: frame.version.map(|_| frame.number),
            at,
            cause: cause(frame),
            author: frame.version.and_then(|version| Some(line(version.author.as_deref()?).into_owned())),
            decision: frame.decision().map(|decision| line(&decision.to_string()).into_owned()),
            totals: stop,
            summaries: statuses,
        });
    }
}

impl<'a> FrameReader<'a> for TraceBuilder {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            RecordingEntry::Step(mark) => self.add_step(mark),
            RecordingEntry::Object(version) => self.add_snapshot(frame, version.at),
            RecordingEntry::Settled(settling) => {
                let unsettled = settling.unsettled.as_ref();
                let remark = unsettled.map(|trouble| format!("it did not settle: {}", line(&trouble.why)));
                self.current_step().remarks.extend(remark);
                self.add_snapshot(frame, settling.at);
            }
            RecordingEntry::Request(request) => self.current_step().requests.push(request_trace(request)),
            RecordingEntry::Injected(meeting) => {
                self.current_step().remarks.push(format!("in the middle: {}", line(&meeting.description)));
            }
            RecordingEntry::Trouble(trouble) => self.current_step().remarks.push(line(&trouble.why).into_owned()),
            RecordingEntry::Impossible(impossible) => {
                self.current_step().remarks.push(format!("the step could not be made: {}", line(&impossible.why)));
            }
            RecordingEntry::Header(_) | RecordingEntry::PodNames(_) | RecordingEntry::End(_) => {}
        }
    }
}

/// The most characters of a patch that are shown.
const LONGEST_PATCH: usize = 400;

fn request_trace(request: &SubjectRequest) -> RequestTrace {
    let what = format!("{request} {}", request.name);
    let said = request.message.as_ref().map_or_else(String::new, |message| format!(": {}", line(message)));
    let patch = request.patch.as_deref().map(|patch| truncate_middle(&line(patch), LONGEST_PATCH).into_owned());
    RequestTrace { at: request.at, request: format!("{}{said}", line(what.trim())), status: request.status, patch }
}

/// What led to a frame; for a pod or an Event with its state or message.
fn cause(frame: &Frame<'_, '_>) -> String {
    let Some((version, event)) = frame.version.zip(frame.describe_version()) else { return "settled".to_owned() };
    let text = |pointer: &str| version.object.at(pointer).and_then(Value::as_str).unwrap_or_default();
    let said = match version.kind.as_str() {
        "Pod" => describe_pod(version),
        "Event" => format!(": {} {}", text("/reason"), text("/message")),
        _ => String::new(),
    };
    line(&format!("{event}{said}")).into_owned()
}

/// Formats the state of a pod: `: Running, ready`.
fn describe_pod(version: &ObjectVersion) -> String {
    let phase = version.object.at("/status/phase").and_then(Value::as_str).unwrap_or("no phase yet");
    let is_ready = conditions(&version.object).any(|(kind, status, ..)| kind == "Ready" && status == "True");
    let deleting = version.object.at("/metadata/deletionTimestamp").is_some_and(|stamp| !stamp.is_null());
    let (ready, deleting) =
        (if is_ready { ", ready" } else { ", not ready" }, if deleting { ", being deleted" } else { "" });
    format!(": {phase}{ready}{deleting}")
}

fn number(object: &Value, pointer: &str) -> i64 {
    object.at(pointer).and_then(Value::as_i64).unwrap_or(0)
}

fn totals(frame: &Frame<'_, '_>) -> StepTotals {
    let size = |set: &Value| ReplicaSetSize {
        // 1 is the server's default.
        desired: set.at("/spec/replicas").and_then(Value::as_i64).unwrap_or(1),
        ready: number(set, "/status/readyReplicas"),
        available: number(set, "/status/availableReplicas"),
    };
    let sets: BTreeMap<String, ReplicaSetSize> = frame
        .objects_of_kind(REPLICA_SET)
        .into_iter()
        .map(|(name, set)| (line(&name).into_owned(), size(set)))
        .collect();
    let deployments = frame.objects_of_kind(DEPLOYMENT);
    let named = || deployments.iter().map(|(name, deployment)| (line(name).into_owned(), *deployment));
    let totals = named().map(|(name, _)| (name.clone(), total(&name, &sets))).collect();
    let allowed = named().map(|(name, deployment)| (name, super::bounds_of(deployment))).collect();
    StepTotals {
        id: frame.step,
        label: String::new(),
        line: None,
        replica_sets: sets,
        deployments: totals,
        bounds: allowed,
    }
}

fn summaries(frame: &Frame<'_, '_>) -> Vec<DeploymentSummary> {
    let of = |(name, deployment): (String, &Value)| {
        let status = |field: &str| number(deployment, &format!("/status/{field}"));
        let counts = format!(
            "{} replicas, {} updated, {} ready, {} available, generation {} of {}",
            status("replicas"),
            status("updatedReplicas"),
            status("readyReplicas"),
            status("availableReplicas"),
            status("observedGeneration"),
            number(deployment, "/metadata/generation"),
        );
        let said = conditions(deployment).map(|(kind, status, reason, message)| {
            (line(&format!("{kind}={status}({reason})")).into_owned(), line(message).into_owned())
        });
        DeploymentSummary { deployment: line(&name).into_owned(), counts, conditions: said.collect() }
    };
    frame.objects_of_kind(DEPLOYMENT).into_iter().map(of).collect()
}

/// Type, status, reason and message of each condition.
fn conditions(object: &Value) -> impl Iterator<Item = (&str, &str, &str, &str)> {
    let all = object.at("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    all.map(|condition| {
        let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
        (text("type"), text("status"), text("reason"), text("message"))
    })
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, deployment, owned_set, ready, revision, scaled, with_patch};
    use serde_json::json;

    use super::*;

    #[test]
    fn snapshots_have_sizes_and_steps_have_ends() {
        let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
        let set = with_patch(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
        let builder = RecordingBuilder::rolled_out(10)
            .user_step(1, "scale 12")
            .driver_write(&scaled(&web, 12))
            .subject_write(&scaled(&set, 12));
        let builder = builder.request("patch", "deployments", 200).with_patch("{\"status\":\n{}}");
        let frames = RecordingTrace::of(&builder.settled().end());
        assert_eq!(frames.steps.len(), 2);
        assert_eq!((frames.steps[1].title().as_str(), frames.steps[1].label.as_str()), ("step 1", "scale 12"));
        let last: Vec<&Snapshot> = frames.snapshots_in(1).map(|(_, snapshot)| snapshot).collect();
        let sizes: Vec<(&str, i64, i64)> = last
            .iter()
            .map(|it| (it.cause.as_str(), it.totals.bounds["web"].bounds.most, it.totals.replica_sets["rs1"].desired))
            .collect();
        assert_eq!(
            sizes,
            [
                ("Deployment web was written by the case", 15, 10),
                ("ReplicaSet rs1 was written (rs1 10 -> 12)", 15, 12),
                ("settled", 15, 12)
            ]
        );
        assert_eq!(last[1].decision.as_deref(), Some("rs1 10 -> 12"));
        assert_eq!(frames.step_ends(), [5, 8]);
        let requests = frames.steps[1].requests.iter().map(|it| (it.request.as_str(), it.patch.as_deref()));
        let patch = ("patch deployments x", Some("{\"status\":\\n{}}"));
        assert_eq!(requests.collect::<Vec<_>>(), [("update replicasets x", None), patch]);
    }

    #[test]
    fn decisions_are_step_ends_in_recording_without_steps() {
        let web = deployment("web", 2, "app:1");
        let set = owned_set(&web, "1", "app:1", 2);
        let frames = RecordingTrace::of(
            &RecordingBuilder::new().foreign_write(&web).foreign_write(&set).foreign_write(&scaled(&set, 1)).cut_off(),
        );
        assert_eq!((frames.steps.len(), frames.step_ends()), (1, vec![0, 1, 2]));
        assert_eq!((frames.steps[0].title().as_str(), frames.lanes().replica_sets()), ("", vec!["rs1"]));
    }
}
