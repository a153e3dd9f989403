//! A recording replayed, once, for everything that reads it: the timeline, who did the work, what
//! the case expects of its pods, and its rules.
//!
//! Each entry is one [`Frame`]: the state after it, and how it came about. A [`Reader`] sees all of
//! them in their order. That is the only place where a recording's versions are applied; whoever
//! needs the state of the recorded world reads frames.

use serde_json::Value;

use super::build::made;
use super::model::{Decision, StepId};
use super::names::Names;
use super::object;
use super::order::Made;
use super::world::{Held, POD, REPLICA_SET, World};
use crate::pointer::At;
use crate::recording::{Change, Entry, Recording, Version, Writer};

/// One entry of a recording and the recorded world after it.
pub(crate) struct Frame<'f, 'a> {
    /// The entry.
    pub(crate) entry: &'a Entry,
    /// The step that it belongs to.
    pub(crate) step: StepId,
    /// Which version of its step it is, from 1.
    pub(crate) number: u32,
    /// The version that led to it, if one did. It is parsed, where the one of the entry may be
    /// packed.
    pub(crate) version: Option<&'f Version>,
    /// Whether all of `given` has settled.
    pub(crate) staged: bool,
    /// What was decided in that version, by somebody other than the driver.
    pub(super) made: Option<&'f Made>,
    /// The object before that version.
    pub(super) before: Option<&'f Value>,
    /// The state after it.
    pub(super) world: &'f World<'a>,
    /// The names that two runs share.
    pub(super) names: &'f Names,
}

/// Reads a recording frame by frame.
pub(crate) trait Reader<'a> {
    /// A version is about to be applied to this world.
    fn before(&mut self, version: &Version, world: &BeforeVersion<'_, 'a>) {
        let _ = (version, world);
    }

    /// The next frame.
    fn read(&mut self, frame: &Frame<'_, 'a>);
}

/// The recorded world before a version, for readers of this module's own.
pub(crate) struct BeforeVersion<'w, 'a>(pub(super) &'w World<'a>);

/// Show every entry to each of the readers, in order.
pub(crate) fn replay<'a>(recording: &'a Recording, names: &Names, readers: &mut [&mut dyn Reader<'a>]) {
    let mut world = World::default();
    let (mut step, mut number) = (StepId::GIVEN, 0);
    let entries = &recording.entries;
    let stage = staged_from(entries);
    for (at, entry) in entries.iter().enumerate() {
        let (unpacked, mut version, mut before, mut decided);
        (version, before, decided) = (None, None, None);
        match entry {
            Entry::Step(mark) if StepId::of(mark) != step => (step, number) = (StepId::of(mark), 0),
            Entry::Object(recorded) => {
                unpacked = recorded.unpacked();
                let now = unpacked.as_ref().unwrap_or(recorded);
                readers.iter_mut().for_each(|reader| reader.before(now, &BeforeVersion(&world)));
                let object = match &unpacked {
                    Some(unpacked) => Held::Parsed(unpacked.object.value()),
                    None => Held::Recorded(&recorded.object),
                };
                (version, before, number) = (Some(now), world.apply(recorded, object), number + 1);
                if now.by == Writer::Other {
                    decided = made(before.as_deref(), now, &world, names);
                }
            }
            _ => {}
        }
        let (staged, made, before) = (at >= stage, decided.as_ref(), before.as_deref());
        let frame = Frame { entry, step, number, version, staged, made, before, world: &world, names };
        readers.iter_mut().for_each(|reader| reader.read(&frame));
    }
}

/// `given` settles object by object; the last time counts.
fn staged_from(entries: &[Entry]) -> usize {
    let first = entries.iter().position(|entry| matches!(entry, Entry::Step(mark) if mark.index > 0));
    let given = &entries[..first.unwrap_or(entries.len())];
    given.iter().rposition(|entry| matches!(entry, Entry::Settled(_))).unwrap_or(given.len())
}

impl<'f> Frame<'f, '_> {
    /// Whether it shows a state: the one after a version, or the one that has settled.
    pub(crate) fn is_state(&self) -> bool {
        self.version.is_some() || self.settled()
    }

    /// Whether nothing more happens before the next step.
    pub(crate) fn settled(&self) -> bool {
        matches!(self.entry, Entry::Settled(_))
    }

    /// What was decided in its version, by somebody other than the driver.
    pub(crate) fn decision(&self) -> Option<&Decision> {
        self.made.map(|made| &made.decision)
    }

    /// The objects of a kind, each with the name that another run shares; ReplicaSets in the order
    /// of their numbers.
    pub(crate) fn all(&self, kind: &'static str) -> Vec<(String, &'f Value)> {
        let mut all: Vec<&'f Value> = self.world.all(kind).collect();
        if kind == REPLICA_SET {
            all.sort_by_key(|set| self.names.rank(set));
        }
        all.into_iter().map(|object| (self.name(kind, object), object)).collect()
    }

    /// The workload whose pod template, or time of a restart (`spec.restartAt`), somebody other
    /// than the driver changed in this frame, as `kind/name`.
    pub(crate) fn restarted(&self, kinds: &[&str]) -> Option<String> {
        let version = self.version.filter(|it| it.by == Writer::Other && it.change != Change::Deleted)?;
        let asked = |object: &'f Value| ["/spec/template", "/spec/restartAt"].map(|field| object.at(field));
        let changed = asked(self.before?) != asked(&version.object);
        (kinds.contains(&version.kind.as_str()) && changed)
            .then(|| format!("{}/{}", version.kind.to_lowercase(), version.name))
    }

    /// What led to this frame, in a few words.
    pub(crate) fn how(&self) -> String {
        match self.event() {
            Some(event) => format!("after {event}, version {} of this step", self.number),
            None => "once it had settled".to_owned(),
        }
    }

    /// What became of which object in its version, and what was decided: `ReplicaSet rs1 was
    /// written (rs1 5 -> 4)`.
    pub(crate) fn event(&self) -> Option<String> {
        let version = self.version?;
        let verb = match version.change {
            Change::Added => "was created",
            Change::Modified => "was written",
            Change::Deleted => "was deleted",
        };
        let whose = match &version.author {
            Some(author) => format!(" by {author}"),
            None if version.by == Writer::Driver => " by the case".to_owned(),
            None => String::new(),
        };
        let name = self.name(&version.kind, &version.object);
        let decided = self.decision().map(|decision| format!(" ({decision})")).unwrap_or_default();
        Some(format!("{} {name} {verb}{whose}{decided}", version.kind))
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
