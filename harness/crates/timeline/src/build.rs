//! Builds the timeline of a recording, frame by frame.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use lockstep_recording::controllers::Controller;
use lockstep_recording::{ObjectVersion, PodExpectation, Recording, RecordingEntry, StepMark, WriterRole};
use serde_json::{Map, Value};

use super::checkpoint::Checkpoint;
use super::invariants::{self, silence_breach};
use super::model::{
    Decision, DecisionAction, Invariant, InvariantBreach, KeyValue, StepId, Timeline, TimelineEvents, TimelineStep,
};
use super::names::NormalizedNames;
use super::order::{self, OrderedDecision, RecordedLine, RecordedOrder};
use super::recorded_objects::RecordedObjects;
use super::replay::{BeforeVersion, Frame, FrameReader, replay};
use super::spec::SpecChanges;
use super::text::digest_of_case;
use super::{decide, events, pods};

impl Timeline {
    /// The normalised timeline of a recording. For a recording that was cut off, it ends there.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let names = NormalizedNames::of(recording);
        let mut build = TimelineBuilder::of(recording, &names);
        replay(recording, &names, &mut [&mut build]);
        build.finish()
    }
}

/// Builds a timeline while the recording is replayed.
pub struct TimelineBuilder<'a> {
    recording: &'a Recording,
    names: &'a NormalizedNames,
    /// The Deployments that the next operation affects, and their bounds that were broken before
    /// it.
    affected: BTreeSet<String>,
    broken: BTreeSet<(String, Invariant)>,
    watch: invariants::InvariantState,
    /// `None` where they are not judged.
    spec_changes: Option<SpecChanges>,
    checkpoint: Checkpoint<'a>,
    drafts: Vec<StepDraft>,
    /// Whether changes of pods are judged.
    judges_pods: bool,
    /// Named pods whose fate the case leaves to chance.
    uncertain: BTreeSet<String>,
    /// Recognises times that a config-restart controller writes; only if the case judges one.
    times: Option<WriteTimes>,
}

/// A step that is being built.
struct StepDraft {
    id: StepId,
    labels: Vec<String>,
    /// Whether the last part of the step is a burst.
    together: bool,
    injections: Vec<String>,
    decisions: Vec<OrderedDecision>,
    /// The decisions about ReplicaSets and the breaches, in the recording's order.
    sequence: Vec<RecordedLine>,
    pods: pods::PodChanges,
    uncertain: BTreeSet<String>,
    breaches: Vec<InvariantBreach>,
    checkpoint: Vec<Arc<super::State>>,
}

impl<'a> TimelineBuilder<'a> {
    /// A builder for this recording, whose objects have these names.
    pub fn of(recording: &'a Recording, names: &'a NormalizedNames) -> Self {
        Self {
            recording,
            names,
            affected: BTreeSet::new(),
            broken: BTreeSet::new(),
            watch: recording
                .header
                .workload
                .as_deref()
                .map(invariants::InvariantState::for_workload)
                .unwrap_or_default(),
            spec_changes: SpecChanges::of(&recording.header),
            checkpoint: Checkpoint::default(),
            drafts: Vec::new(),
            judges_pods: recording.header.controllers.has(Controller::ReplicaSet),
            uncertain: BTreeSet::new(),
            times: Some(&recording.header)
                .filter(|header| header.controllers.has(Controller::ConfigRestart))
                .and_then(|header| header.started.parse().ok())
                .map(WriteTimes::since),
        }
    }

    /// Returns the timeline.
    pub(crate) fn finish(self) -> Timeline {
        self.finish_with_orders().0
    }

    /// Returns the timeline, and the steps whose lines are not in the recording's order.
    pub fn finish_with_orders(self) -> (Timeline, Vec<RecordedOrder>) {
        let Self { recording, names, mut drafts, watch, .. } = self;
        let sequences: Vec<Vec<RecordedLine>> =
            drafts.iter_mut().map(|draft| std::mem::take(&mut draft.sequence)).collect();
        let is_split = drafts.iter().any(StepDraft::has_split_resizes);
        let mut steps: Vec<TimelineStep> = drafts.into_iter().map(|draft| draft.finish(names)).collect();
        let breach = silence_breach(recording).filter(|breach| watch.judges(breach.invariant));
        if let (Some(step), Some(breach)) = (steps.last_mut(), breach) {
            step.breaches.push(breach);
        }
        let case = Some(digest_of_case(&recording.header.source));
        let events =
            if is_split { TimelineEvents::NotCompared(BURST.to_owned()) } else { events::collect(recording, names) };
        let timeline = Timeline { provenance: None, case, steps, events };
        // Checksums include the namespace in the names of their configs.
        let timeline = match recording.header.controllers.has(Controller::ConfigRestart) {
            true => timeline.without_namespace(&recording.header.namespace),
            false => timeline,
        }
        .sanitize();
        let timeline = match &recording.header.workload {
            Some(workload) => timeline.comparable_with(workload),
            None => timeline,
        };
        let orders = timeline.steps.iter().zip(sequences).filter_map(|(step, all)| RecordedOrder::of(step, all));
        let orders = orders.collect();
        (timeline, orders)
    }

    /// The parts of `given` are one block; every other step is a block of its own.
    fn step(&mut self, mark: &StepMark) {
        let id = StepId::of(mark);
        let label = one_line(&mark.label);
        self.uncertain.extend(mark.expect.iter().flat_map(PodExpectation::uncertain_names));
        match self.drafts.last_mut() {
            Some(draft) if draft.id == id => {
                draft.labels.push(label);
                draft.together = mark.together;
            }
            _ => self.drafts.push(StepDraft {
                id,
                labels: vec![label],
                together: mark.together,
                injections: Vec::new(),
                decisions: Vec::new(),
                sequence: Vec::new(),
                pods: pods::PodChanges::default(),
                uncertain: self.uncertain.clone(),
                breaches: Vec::new(),
                checkpoint: Vec::new(),
            }),
        }
        self.watch.begin_step(mark);
    }

    fn version(&mut self, version: &ObjectVersion, frame: &Frame<'_, 'a>) {
        if invariants::is_operation(version, frame.before) {
            self.watch.record_operation((version, frame.before), &self.affected, &self.broken, frame.objects);
        }
        if version.by == WriterRole::Driver {
            return;
        }
        let Some(draft) = self.drafts.last_mut() else { return };
        let Frame { before, objects: world, names, .. } = *frame;
        let state = invariants::WriteContext { world, before, version, names };
        // What the controller beside the subject breaks is not the subject's breach.
        let mut breaches = if version.by == WriterRole::Beside { Vec::new() } else { self.watch.find_breaches(&state) };
        if let Some(changes) = self.spec_changes.as_mut().filter(|_| version.by == WriterRole::Other) {
            breaches.extend(changes.record_version(version, before));
        }
        if self.judges_pods {
            draft.pods.record(before, version, world, names);
        }
        let of_set = frame.ordered_decision.filter(|made| !made.is_of_deployment);
        draft.sequence.extend(of_set.map(|made| RecordedLine::Decision(made.decision.clone())));
        breaches.into_iter().for_each(|breach| draft.add_breach(breach));
        let burst = draft.together.then(|| u32::try_from(draft.labels.len()).unwrap_or(u32::MAX));
        draft.decisions.extend(frame.ordered_decision.cloned().map(|made| match &mut self.times {
            Some(times) => OrderedDecision { decision: times.normalize(made.decision, version.at), burst, ..made },
            None => OrderedDecision { burst, ..made },
        }));
    }

    fn add_checkpoint(&mut self, world: &RecordedObjects<'a>) {
        self.watch.reset();
        self.spec_changes.iter_mut().for_each(SpecChanges::reset);
        if let Some(draft) = self.drafts.last_mut() {
            draft.checkpoint = self.checkpoint.states(world, self.names, &self.uncertain);
        }
    }
}

impl<'a> FrameReader<'a> for TimelineBuilder<'a> {
    fn before(&mut self, version: &ObjectVersion, world: &BeforeVersion<'_, 'a>) {
        if invariants::is_operation(version, world.0.get(&version.kind, &version.name)) {
            self.affected = invariants::affected_deployments(world.0, version);
            self.broken = invariants::broken_in(world.0, &self.affected);
        }
    }

    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            RecordingEntry::Step(mark) => self.step(mark),
            RecordingEntry::Object(recorded) => {
                self.checkpoint.apply(recorded, frame.before, frame.objects, frame.names);
                if let Some(version) = frame.version {
                    self.watch.record_version(version);
                    self.version(version, frame);
                }
            }
            RecordingEntry::Settled(_) => self.add_checkpoint(frame.objects),
            RecordingEntry::Injected(meeting) => {
                self.watch.record_injection();
                let draft = self.drafts.last_mut();
                draft.into_iter().for_each(|draft| draft.injections.push(one_line(&meeting.description)));
            }
            RecordingEntry::Request(request) => {
                let breach = self.spec_changes.as_mut().and_then(|changes| changes.record_request(request));
                if let (Some(draft), Some(breach)) = (self.drafts.last_mut(), breach) {
                    draft.add_breach(breach);
                }
                if let (Some(draft), Some(text)) = (self.drafts.last_mut(), request.webhook_message()) {
                    draft.decisions.push(OrderedDecision::without_deployment(decide::webhook_decision(text)));
                }
            }
            RecordingEntry::Header(_)
            | RecordingEntry::PodNames(_)
            | RecordingEntry::Trouble(_)
            | RecordingEntry::Impossible(_)
            | RecordingEntry::End(_) => {}
        }
    }
}

/// Why Events are not compared if a burst led to resizes: each Event reports sizes.
const BURST: &str = "how a burst of changes splits a resize is chance";

impl StepDraft {
    /// Adds a breach, unless the step has the same one.
    fn add_breach(&mut self, breach: InvariantBreach) {
        if !self.breaches.contains(&breach) {
            self.sequence.push(RecordedLine::Breach(breach.clone()));
            self.breaches.push(breach);
        }
    }

    /// Whether it has resizes that upstream may make in more or fewer writes.
    fn has_split_resizes(&self) -> bool {
        let is_size = |made: &OrderedDecision| {
            matches!(made.decision.action, DecisionAction::Resized { .. } | DecisionAction::Created(_))
        };
        self.decisions.iter().any(|made| made.burst.is_some() && is_size(made))
    }

    fn finish(self, names: &NormalizedNames) -> TimelineStep {
        let label = repeated(&self.labels);
        let mut decisions = order::canonical_order(self.decisions);
        decisions.extend(self.pods.decisions(names, &self.uncertain));
        let Self { id, injections: meetings, breaches, checkpoint, .. } = self;
        TimelineStep { id, label, joined: false, injections: meetings, decisions, breaches, checkpoint }
    }
}

/// Replaces each run of blanks and line breaks by one blank, so that a label fits on a line and can
/// be parsed again.
fn one_line(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Joins labels, and counts equal neighbours: `deployment/web; ready 1 ×10`.
fn repeated(labels: &[String]) -> String {
    let runs = labels.chunk_by(|a, b| a == b);
    let run = |run: &[String]| match run {
        [one] => one.clone(),
        many => format!("{} ×{}", many[0], many.len()),
    };
    runs.map(run).filter(|label| !label.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Replaces the time of the write.
const NOW: &str = "$(NOW)";
/// The key of a decision's annotations.
const ANNOTATIONS: &str = "annotations";
/// The key of the time at which a Rollout restarts its pods.
const RESTART_AT: &str = "spec.restartAt";
/// How much a decision's time may differ from that of the recorded version: such times are whole
/// seconds, and a busy server is late.
const TOLERANCE: Duration = Duration::from_secs(5);

/// Recognises times in annotations of workloads, where restarts are judged: a controller records
/// when it did something. A Rollout's `spec.restartAt` is such a time, too.
///
/// Another recording of the same behaviour has other times. The repeatable part is that the field
/// has the time of its own write, so a timeline replaces such a time by `$(NOW)`. Other times stay
/// as they are.
#[derive(Debug)]
struct WriteTimes {
    start: Timestamp,
    /// Times that were written as the current time; an annotation may be copied later.
    write_times: BTreeSet<String>,
}

impl WriteTimes {
    /// For a recording that began at this time.
    const fn since(began: Timestamp) -> Self {
        Self { start: began, write_times: BTreeSet::new() }
    }

    /// Replaces times of its own in a decision that was recorded this many milliseconds after the
    /// beginning.
    fn normalize(&mut self, mut decision: Decision, at: u64) -> Decision {
        let written = self.start.saturating_add(Duration::from_millis(at)).unwrap_or(self.start);
        for field in &mut decision.details {
            if field.key == RESTART_AT && self.is_now(&field.value, written) {
                *field = KeyValue::new(RESTART_AT, NOW);
            }
            if field.key != ANNOTATIONS {
                continue;
            }
            let Ok(mut all) = serde_json::from_str::<Map<String, Value>>(&field.value) else { continue };
            for value in all.values_mut() {
                if value.as_str().is_some_and(|text| self.is_now(text, written)) {
                    *value = NOW.into();
                }
            }
            *field = KeyValue::json(ANNOTATIONS, &Value::Object(all));
        }
        decision
    }

    /// Whether a text is the time at which it was first written.
    fn is_now(&mut self, text: &str, write_time: Timestamp) -> bool {
        let Ok(time) = text.parse::<Timestamp>() else { return false };
        if write_time.duration_since(time).unsigned_abs() <= TOLERANCE {
            self.write_times.insert(text.to_owned());
        }
        self.write_times.contains(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn own_time_of_write_and_its_copies_are_replaced() {
        let mut times = WriteTimes::since("2026-11-25T10:00:00Z".parse().unwrap());
        let mut at = |time: &str, at: u64| {
            let details = vec![KeyValue::json("annotations", &json!({"at": time, "auto": "true"}))];
            let decision = Decision { object: "web".to_owned(), action: DecisionAction::Changed, details };
            times.normalize(decision, at).details.remove(0).value
        };
        let now = r#"{"at":"$(NOW)","auto":"true"}"#;
        assert_eq!(at("2026-11-25T10:00:12Z", 12_900), now);
        assert_eq!(at("2026-11-25T10:00:12Z", 60_000), now);
        assert_eq!(at("2026-11-25T09:00:00Z", 70_000), r#"{"at":"2026-11-25T09:00:00Z","auto":"true"}"#);
        assert_eq!(at("10", 70_000), r#"{"at":"10","auto":"true"}"#);
    }

    #[test]
    fn restart_time_of_rollout_is_replaced() {
        let mut times = WriteTimes::since("2026-11-25T10:00:00Z".parse().unwrap());
        let mut at = |key: &str, time: &str, at: u64| {
            let details = vec![KeyValue::new(key, time)];
            times
                .normalize(Decision { object: "rollout/web".to_owned(), action: DecisionAction::Changed, details }, at)
                .details
                .remove(0)
                .value
        };
        assert_eq!(at("spec.restartAt", "2026-11-25T10:00:12Z", 12_900), "$(NOW)");
        assert_eq!(at("spec.restartAt", "2026-11-25T09:00:12Z", 12_900), "2026-11-25T09:00:12Z");
        assert_eq!(at("spec.restartAt", "-", 12_900), "-");
        assert_eq!(at("spec.other", "2026-11-25T10:00:12Z", 12_900), "2026-11-25T10:00:12Z");
    }
}
