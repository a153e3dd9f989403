//! From a recording to its timeline, frame by frame.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::checkpoint::Checkpoint;
use super::model::{Action, Decision, Events, Invariant, Step, StepId, Timeline};
use super::names::Names;
use super::object;
use super::order::{self, Made};
use super::recorded_order::{Recorded, RecordedOrder};
use super::replay::{BeforeVersion, Frame, Reader, replay};
use super::silence::silence;
use super::times::Times;
use super::world::{CRON_JOB, DAEMON_SET, DEPLOYMENT, JOB, REPLICA_SET, ROLLOUT, STATEFUL_SET, World};
use super::{decide, digest, events, invariants, pods};
use crate::controllers::Controller;
use crate::expect::Expect;
use crate::recording::{Entry, Recording, StepMark, Version, Writer};

impl Timeline {
    /// What a recording shows, normalised. A recording that was cut off gives the timeline up to
    /// there.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let names = Names::of(recording);
        let mut build = Build::of(recording, &names);
        replay(recording, &names, &mut [&mut build]);
        build.finish()
    }
}

/// The timeline in the making.
pub(crate) struct Build<'a> {
    recording: &'a Recording,
    names: &'a Names,
    /// The Deployments that the operation which comes next concerns, and their bounds that were
    /// broken before it.
    concerned: BTreeSet<String>,
    broken: BTreeSet<(String, Invariant)>,
    watch: invariants::Watch,
    checkpoint: Checkpoint<'a>,
    drafts: Vec<Draft>,
    /// Whether what becomes of pods is judged.
    judges_pods: bool,
    /// Named pods whose fate the case has left to chance.
    uncertain: BTreeSet<String>,
    /// Recognises times that a controller of restarts notes, where one is judged.
    times: Option<Times>,
}

/// A step in the making.
struct Draft {
    id: StepId,
    labels: Vec<String>,
    /// Whether its last part is a burst.
    together: bool,
    meetings: Vec<String>,
    made: Vec<Made>,
    /// The decisions about ReplicaSets and the broken invariants, in the recording's order.
    sequence: Vec<Recorded>,
    pods: pods::Moves,
    uncertain: BTreeSet<String>,
    breaches: Vec<super::Breach>,
    checkpoint: Vec<Arc<super::State>>,
}

impl<'a> Build<'a> {
    /// Of this recording, whose objects have these names.
    pub(crate) fn of(recording: &'a Recording, names: &'a Names) -> Self {
        Self {
            recording,
            names,
            concerned: BTreeSet::new(),
            broken: BTreeSet::new(),
            watch: recording.header.workload.as_deref().map(invariants::Watch::of).unwrap_or_default(),
            checkpoint: Checkpoint::default(),
            drafts: Vec::new(),
            judges_pods: recording.header.judged.has(Controller::ReplicaSet),
            uncertain: BTreeSet::new(),
            times: Some(&recording.header)
                .filter(|header| header.judged.has(Controller::ConfigRestart))
                .and_then(|header| header.started.parse().ok())
                .map(Times::since),
        }
    }

    /// What was shown.
    pub(crate) fn finish(self) -> Timeline {
        self.finish_with_orders().0
    }

    /// What was shown, and the steps whose lines do not stand in the recording's order.
    pub(crate) fn finish_with_orders(self) -> (Timeline, Vec<RecordedOrder>) {
        let Self { recording, names, mut drafts, watch, .. } = self;
        let sequences: Vec<Vec<Recorded>> =
            drafts.iter_mut().map(|draft| std::mem::take(&mut draft.sequence)).collect();
        let is_split = drafts.iter().any(Draft::has_split_resizes);
        let mut steps: Vec<Step> = drafts.into_iter().map(|draft| draft.finish(names)).collect();
        let breach = silence(recording).filter(|breach| watch.judges(breach.invariant));
        if let (Some(step), Some(breach)) = (steps.last_mut(), breach) {
            step.breaches.push(breach);
        }
        let case = Some(digest::digest(&recording.header.source));
        let events = if is_split { Events::NotCompared(BURST.to_owned()) } else { events::take(recording, names) };
        let timeline = Timeline { provenance: None, case, steps, events };
        // Checksums name their configs with the namespace.
        let timeline = match recording.header.judged.has(Controller::ConfigRestart) {
            true => timeline.in_any_namespace(&recording.header.namespace),
            false => timeline,
        }
        .plain();
        let timeline = match &recording.header.workload {
            Some(workload) => timeline.shared_with(workload),
            None => timeline,
        };
        let orders = timeline.steps.iter().zip(sequences).filter_map(|(step, all)| RecordedOrder::of(step, all));
        let orders = orders.collect();
        (timeline, orders)
    }

    /// The parts of `given` are one block; every other step is one of its own.
    fn step(&mut self, mark: &StepMark) {
        let id = StepId::of(mark);
        let label = one_line(&mark.label);
        self.uncertain.extend(mark.expect.iter().flat_map(Expect::uncertain));
        match self.drafts.last_mut() {
            Some(draft) if draft.id == id => {
                draft.labels.push(label);
                draft.together = mark.together;
            }
            _ => self.drafts.push(Draft {
                id,
                labels: vec![label],
                together: mark.together,
                meetings: Vec::new(),
                made: Vec::new(),
                sequence: Vec::new(),
                pods: pods::Moves::default(),
                uncertain: self.uncertain.clone(),
                breaches: Vec::new(),
                checkpoint: Vec::new(),
            }),
        }
        self.watch.step(mark);
    }

    fn version(&mut self, version: &Version, frame: &Frame<'_, 'a>) {
        if invariants::is_operation(version, frame.before) {
            self.watch.operation((version, frame.before), &self.concerned, &self.broken, frame.world);
        }
        if version.by == Writer::Driver {
            return;
        }
        let Some(draft) = self.drafts.last_mut() else { return };
        let Frame { before, world, names, .. } = *frame;
        let state = invariants::Frame { world, before, version, names };
        let mut broken = Vec::new();
        for breach in self.watch.judge(&state) {
            if !draft.breaches.contains(&breach) {
                draft.breaches.push(breach.clone());
                broken.push(breach);
            }
        }
        if self.judges_pods {
            draft.pods.take(before, version, world, names);
        }
        let of_set = frame.made.filter(|made| !made.own);
        draft.sequence.extend(of_set.map(|made| Recorded::Decision(made.decision.clone())));
        draft.sequence.extend(broken.into_iter().map(Recorded::Breach));
        let burst = draft.together.then(|| u32::try_from(draft.labels.len()).unwrap_or(u32::MAX));
        draft.made.extend(frame.made.cloned().map(|made| match &mut self.times {
            Some(times) => Made { decision: times.relative(made.decision, version.at), burst, ..made },
            None => Made { burst, ..made },
        }));
    }

    fn settled(&mut self, world: &World<'a>) {
        self.watch.settled();
        if let Some(draft) = self.drafts.last_mut() {
            draft.checkpoint = self.checkpoint.take(world, self.names, &self.uncertain);
        }
    }
}

impl<'a> Reader<'a> for Build<'a> {
    fn before(&mut self, version: &Version, world: &BeforeVersion<'_, 'a>) {
        if invariants::is_operation(version, world.0.get(&version.kind, &version.name)) {
            self.concerned = invariants::concerned(world.0, version);
            self.broken = invariants::broken(world.0, &self.concerned);
        }
    }

    fn read(&mut self, frame: &Frame<'_, 'a>) {
        match frame.entry {
            Entry::Step(mark) => self.step(mark),
            Entry::Object(recorded) => {
                self.checkpoint.apply(recorded, frame.before, frame.world, frame.names);
                if let Some(version) = frame.version {
                    self.watch.written(version);
                    self.version(version, frame);
                }
            }
            Entry::Settled(_) => self.settled(frame.world),
            Entry::Met(meeting) => {
                self.watch.met();
                let draft = self.drafts.last_mut();
                draft.into_iter().for_each(|draft| draft.meetings.push(one_line(&meeting.what)));
            }
            Entry::Request(request) => {
                if let (Some(draft), Some(text)) = (self.drafts.last_mut(), request.posted()) {
                    draft.made.push(Made::alone(decide::posted(text)));
                }
            }
            Entry::Header(_) | Entry::Named(_) | Entry::Trouble(_) | Entry::Impossible(_) | Entry::End(_) => {}
        }
    }
}

/// The decision in a version, and what orders it.
pub(super) fn made(before: Option<&Value>, version: &Version, world: &World<'_>, names: &Names) -> Option<Made> {
    match version.kind.as_str() {
        REPLICA_SET => {
            let decision = decide::replica_set(before, version, world, names)?;
            let (deployment, number) = names.rank(&version.object);
            let collected = is_collected(&decision, before, world).then_some(number);
            Some(Made { deployment: deployment.map(str::to_owned), own: false, collected, burst: None, decision })
        }
        DEPLOYMENT => {
            let decision = decide::deployment(before, version)?;
            Some(Made { deployment: Some(version.name.clone()), own: true, collected: None, burst: None, decision })
        }
        STATEFUL_SET | DAEMON_SET | CRON_JOB | ROLLOUT => {
            let decision = decide::workload(before?, version)?;
            Some(Made { deployment: Some(decision.object.clone()), own: true, collected: None, burst: None, decision })
        }
        JOB => {
            let decision = decide::job(before, version)?;
            Some(Made { deployment: Some(decision.object.clone()), own: true, collected: None, burst: None, decision })
        }
        _ => None,
    }
}

/// Whether the garbage collector did this: the ReplicaSet goes or is let go, and its Deployment is
/// going or gone.
pub(super) fn is_collected(decision: &Decision, before: Option<&Value>, world: &World<'_>) -> bool {
    let gone = before
        .is_some_and(|set| object::controller(set).is_some() && world.deployment_of(set).is_none_or(object::deleting));
    gone && matches!(decision.action, Action::Deleted | Action::Released)
}

/// Why Events are not compared where a burst led to resizes: each reports its sizes.
const BURST: &str = "how a burst of changes splits a resize is chance";

impl Draft {
    /// Whether it has resizes that upstream may make in more writes, or in fewer.
    fn has_split_resizes(&self) -> bool {
        let is_size = |made: &Made| matches!(made.decision.action, Action::Resized { .. } | Action::Created(_));
        self.made.iter().any(|made| made.burst.is_some() && is_size(made))
    }

    fn finish(self, names: &Names) -> Step {
        let label = repeated(&self.labels);
        let mut decisions = order::canonical(self.made);
        decisions.extend(self.pods.decisions(names, &self.uncertain));
        let Self { id, meetings, breaches, checkpoint, .. } = self;
        Step { id, label, joined: false, meetings, decisions, breaches, checkpoint }
    }
}

/// A label's blanks and line breaks, each run as one blank: it must fit on a line and survive being
/// read back.
fn one_line(label: &str) -> String {
    label.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Labels in a row, equal neighbours counted: `deployment/web; ready 1 ×10`.
fn repeated(labels: &[String]) -> String {
    let runs = labels.chunk_by(|a, b| a == b);
    let run = |run: &[String]| match run {
        [one] => one.clone(),
        many => format!("{} ×{}", many[0], many.len()),
    };
    runs.map(run).filter(|label| !label.is_empty()).collect::<Vec<_>>().join("; ")
}
