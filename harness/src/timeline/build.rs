//! From a recording to its timeline: one pass over the entries.

use std::collections::BTreeSet;

use serde_json::Value;

use super::model::{Action, Decision, Step, StepId, Timeline};
use super::names::Names;
use super::object;
use super::order::{self, Made};
use super::world::{DEPLOYMENT, REPLICA_SET, World};
use super::{checkpoint, decide, digest, events, invariants, pods};
use crate::controllers::Controller;
use crate::expect::Expect;
use crate::recording::{Entry, Recording, StepMark, Version, Writer};

impl Timeline {
    /// What a recording shows, normalised. A recording that was cut off gives the timeline up to there.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let names = Names::of(recording);
        let mut build = Build {
            names: &names,
            world: World::default(),
            watch: invariants::Watch::default(),
            drafts: vec![],
            judges_pods: recording.header.judged.has(Controller::ReplicaSet),
            uncertain: BTreeSet::new(),
        };
        for entry in &recording.entries {
            match entry {
                Entry::Step(mark) => build.step(mark),
                Entry::Object(version) => build.version(version),
                Entry::Settled(_) => build.settled(),
                Entry::Met(meeting) => build.drafts.last_mut().into_iter().for_each(|draft| {
                    draft.meetings.push(one_line(&meeting.what));
                }),
                Entry::Header(_)
                | Entry::Named(_)
                | Entry::Request(_)
                | Entry::Trouble(_)
                | Entry::Impossible(_)
                | Entry::End(_) => {}
            }
        }
        let mut steps: Vec<Step> = build.drafts.into_iter().map(|draft| draft.finish(&names)).collect();
        if let (Some(step), Some(breach)) = (steps.last_mut(), invariants::silence(recording)) {
            step.breaches.push(breach);
        }
        let case = Some(digest::digest(&recording.header.source));
        Self { provenance: None, case, steps, events: events::take(recording, &names) }.plain()
    }
}

/// The pass.
struct Build<'a> {
    names: &'a Names,
    world: World<'a>,
    watch: invariants::Watch,
    drafts: Vec<Draft>,
    /// Whether what becomes of pods is judged.
    judges_pods: bool,
    /// Named pods whose fate the case has left to chance.
    uncertain: BTreeSet<String>,
}

/// A step in the making.
struct Draft {
    id: StepId,
    labels: Vec<String>,
    meetings: Vec<String>,
    made: Vec<Made>,
    pods: pods::Moves,
    uncertain: BTreeSet<String>,
    breaches: Vec<super::Breach>,
    checkpoint: Vec<super::State>,
}

impl<'a> Build<'a> {
    /// The parts of `given` are one block; every other step is one of its own.
    fn step(&mut self, mark: &StepMark) {
        let id = StepId::of(mark);
        let label = one_line(&mark.label);
        self.uncertain.extend(mark.expect.iter().flat_map(Expect::uncertain));
        match self.drafts.last_mut() {
            Some(draft) if draft.id == id => draft.labels.push(label),
            _ => self.drafts.push(Draft {
                id,
                labels: vec![label],
                meetings: Vec::new(),
                made: Vec::new(),
                pods: pods::Moves::default(),
                uncertain: self.uncertain.clone(),
                breaches: Vec::new(),
                checkpoint: Vec::new(),
            }),
        }
        self.watch.step(mark.user, &self.world);
    }

    fn version(&mut self, version: &'a Version) {
        let broken = if invariants::by_driver(version) { invariants::broken(&self.world) } else { Default::default() };
        let before = self.world.apply(version);
        if invariants::by_driver(version) {
            self.watch.driver(&broken, &self.world);
        }
        if version.by == Writer::Driver {
            return;
        }
        let Some(draft) = self.drafts.last_mut() else { return };
        let frame = invariants::Frame { world: &self.world, before, version, names: self.names };
        for breach in self.watch.judge(&frame) {
            if !draft.breaches.contains(&breach) {
                draft.breaches.push(breach);
            }
        }
        if self.judges_pods {
            draft.pods.take(before, version, &self.world, self.names);
        }
        draft.made.extend(made(before, version, &self.world, self.names));
    }

    fn settled(&mut self) {
        self.watch.settled();
        if let Some(draft) = self.drafts.last_mut() {
            draft.checkpoint = checkpoint::take(&self.world, self.names, &self.uncertain);
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
            Some(Made { deployment: deployment.map(str::to_owned), own: false, collected, decision })
        }
        DEPLOYMENT => {
            let decision = decide::deployment(before, version)?;
            Some(Made { deployment: Some(version.name.clone()), own: true, collected: None, decision })
        }
        _ => None,
    }
}

/// Whether the garbage collector did this: the ReplicaSet goes or is let go, and its Deployment is going or gone.
pub(super) fn is_collected(decision: &Decision, before: Option<&Value>, world: &World<'_>) -> bool {
    let gone = before
        .is_some_and(|set| object::controller(set).is_some() && world.deployment_of(set).is_none_or(object::deleting));
    gone && matches!(decision.action, Action::Deleted | Action::Released)
}

impl Draft {
    fn finish(self, names: &Names) -> Step {
        let label = repeated(&self.labels);
        let decisions = order::canonical(self.made);
        let mut decisions = if order::is_together(&label) { order::net(decisions) } else { decisions };
        decisions.extend(self.pods.decisions(names, &self.uncertain));
        let Self { id, meetings, breaches, checkpoint, .. } = self;
        Step { id, label, joined: false, meetings, decisions, breaches, checkpoint }
    }
}

/// A label's blanks and line breaks, each run as one blank: it must fit on a line and survive being read back.
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
