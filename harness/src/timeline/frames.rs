//! A recording frame by frame, for whoever asks something of every one of them: the state after each version that anybody wrote, and
//! once more as it was when it settled.

use serde_json::Value;

use super::build::made;
use super::model::{Decision, StepId};
use super::names::Names;
use super::object;
use super::world::{POD, REPLICA_SET, World};
use crate::pointer::At;
use crate::recording::{Change, Entry, Recording, Version, Writer};

/// One state of the recorded world, and how it came about.
pub(crate) struct Frame<'f, 'a> {
    /// The step that it belongs to.
    pub(crate) step: StepId,
    /// Which version of its step it is, from 1.
    pub(crate) number: u32,
    /// The version that led to it; `None` where it has settled.
    pub(crate) version: Option<&'a Version>,
    /// Whether all of `given` has settled.
    pub(crate) staged: bool,
    /// What was decided in that version.
    pub(crate) decision: Option<Decision>,
    before: Option<&'a Value>,
    world: &'f World<'a>,
    names: &'f Names,
}

/// Show every frame from the first step mark on, in order.
pub(crate) fn frames(recording: &Recording, mut show: impl FnMut(&Frame<'_, '_>)) {
    let names = Names::of(recording);
    let mut world = World::default();
    let (mut step, mut number) = (StepId::GIVEN, 0);
    let entries = &recording.entries;
    let first = entries.iter().position(|entry| matches!(entry, Entry::Step(mark) if mark.index > 0));
    let given = &entries[..first.unwrap_or(entries.len())];
    // `given` settles object by object; the last time counts.
    let stage = given.iter().rposition(|entry| matches!(entry, Entry::Settled(_))).unwrap_or(given.len());
    for (at, entry) in entries.iter().enumerate() {
        let (version, before) = match entry {
            Entry::Step(mark) => {
                if StepId::of(mark) != step {
                    (step, number) = (StepId::of(mark), 0);
                }
                continue;
            }
            Entry::Object(version) => (Some(version), world.apply(version)),
            Entry::Settled(_) => (None, None),
            _ => continue,
        };
        number += u32::from(version.is_some());
        let subjects = version.filter(|version| version.by == Writer::Other);
        let decision = subjects.and_then(|version| made(before, version, &world, &names)).map(|made| made.decision);
        show(&Frame { step, number, version, staged: at >= stage, decision, before, world: &world, names: &names });
    }
}

impl<'a> Frame<'_, 'a> {
    /// Whether nothing more happens before the next step.
    pub(crate) fn settled(&self) -> bool {
        self.version.is_none()
    }

    /// The objects of a kind, each with the name that another run shares; ReplicaSets in the order of their numbers.
    pub(crate) fn all(&self, kind: &'static str) -> Vec<(String, &'a Value)> {
        let mut all: Vec<&'a Value> = self.world.all(kind).collect();
        if kind == REPLICA_SET {
            all.sort_by_key(|set| self.names.rank(set));
        }
        all.into_iter().map(|object| (self.name(kind, object), object)).collect()
    }

    /// The workload whose pod template somebody other than the driver changed in this frame, as `kind/name`.
    pub(crate) fn restarted(&self, kinds: &[&str]) -> Option<String> {
        let version = self.version.filter(|it| it.by == Writer::Other && it.change != Change::Deleted)?;
        let template = |object: &'a Value| object.at("/spec/template");
        let changed = template(self.before?) != template(&version.object);
        (kinds.contains(&version.kind.as_str()) && changed)
            .then(|| format!("{}/{}", version.kind.to_lowercase(), version.name))
    }

    /// What led to this frame, in a few words.
    pub(crate) fn how(&self) -> String {
        let Some(version) = self.version else { return "once it had settled".to_owned() };
        let verb = match version.change {
            Change::Added => "was created",
            Change::Modified => "was written",
            Change::Deleted => "was deleted",
        };
        let whose = if version.by == Writer::Driver { " by the case" } else { "" };
        let name = self.name(&version.kind, &version.object);
        let decided = self.decision.as_ref().map(|decision| format!(" ({decision})")).unwrap_or_default();
        format!("after {} {name} {verb}{whose}{decided}, version {} of this step", version.kind, self.number)
    }

    fn name(&self, kind: &str, object: &Value) -> String {
        let real = object::name(object);
        match kind {
            REPLICA_SET => self.names.replica_set(object),
            POD => self.names.pod(real).unwrap_or(real).to_owned(),
            _ => real.to_owned(),
        }
    }
}
