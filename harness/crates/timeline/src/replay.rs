//! Replays a recording once for all its readers: the timeline, the attribution of decisions, the
//! expectation of named pods, and rules.
//!
//! Each entry is one [`Frame`]: the state after it, and what led to it. A [`FrameReader`] receives
//! all frames in order. Versions are applied nowhere else; code that needs the recorded state reads
//! frames.

use lockstep_recording::{ChangeType, ObjectVersion, Recording, RecordingEntry, WriterRole};
use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::decide::decision_in;
use super::model::{Decision, StepId};
use super::names::NormalizedNames;
use super::object;
use super::order::OrderedDecision;
use super::recorded_objects::{POD, REPLICA_SET, RecordedObject, RecordedObjects};

/// An entry of a recording, and the recorded state after it.
pub struct Frame<'f, 'a> {
    /// As it stands in the recording; its version may be packed.
    pub entry: &'a RecordingEntry,
    /// The step of the entry.
    pub step: StepId,
    /// The number of the version within its step, from 1.
    pub number: u32,
    /// The version that led to the state, if one did. It is parsed, although that of the entry may
    /// The version that led to the state, if one did; never packed.
    pub version: Option<&'f ObjectVersion>,
    /// Whether all of `given` has settled.
    pub given_settled: bool,
    /// Whether it shows the last settled state of the recording.
    pub is_end: bool,
    /// The decision in that version, if another writer than the driver wrote it.
    pub(super) ordered_decision: Option<&'f OrderedDecision>,
    /// The object before that version.
    pub(super) before: Option<&'f Value>,
    /// The state after it.
    pub(super) objects: &'f RecordedObjects<'a>,
    /// The names that are the same in every run.
    pub(super) names: &'f NormalizedNames,
}

/// Reads a recording frame by frame.
pub trait FrameReader<'a> {
    /// Called before a version is applied.
    fn before(&mut self, version: &ObjectVersion, world: &BeforeVersion<'_, 'a>) {
        let _ = (version, world);
    }

    /// Called for each frame.
    fn read(&mut self, frame: &Frame<'_, 'a>);
}

/// The recorded state before a version, for readers of this module.
pub struct BeforeVersion<'w, 'a>(pub(super) &'w RecordedObjects<'a>);

/// Passes every entry to each of the readers, in order.
pub fn replay<'a>(recording: &'a Recording, names: &NormalizedNames, readers: &mut [&mut dyn FrameReader<'a>]) {
    let mut world = RecordedObjects::default();
    let (mut step, mut number) = (StepId::GIVEN, 0);
    let entries = &recording.entries;
    let stage = given_end(entries);
    let end = entries.iter().rposition(|entry| matches!(entry, RecordingEntry::Settled(_)));
    for (at, entry) in entries.iter().enumerate() {
        let (unpacked, mut version, mut before, mut decided);
        (version, before, decided) = (None, None, None);
        match entry {
            RecordingEntry::Step(mark) if StepId::of(mark) != step => (step, number) = (StepId::of(mark), 0),
            RecordingEntry::Object(recorded) => {
                unpacked = recorded.unpacked();
                let now = unpacked.as_ref().unwrap_or(recorded);
                readers.iter_mut().for_each(|reader| reader.before(now, &BeforeVersion(&world)));
                let object = match &unpacked {
                    Some(unpacked) => RecordedObject::Parsed(unpacked.object.value()),
                    None => RecordedObject::Recorded(&recorded.object),
                };
                (version, before, number) = (Some(now), world.apply(recorded, object), number + 1);
                if now.by != WriterRole::Driver {
                    decided = decision_in(before.as_deref(), now, &world, names);
                }
            }
            _ => {}
        }
        let (staged, made, before) = (at >= stage, decided.as_ref(), before.as_deref());
        let frame = Frame {
            entry,
            step,
            number,
            version,
            given_settled: staged,
            is_end: Some(at) == end,
            ordered_decision: made,
            before,
            objects: &world,
            names,
        };
        readers.iter_mut().for_each(|reader| reader.read(&frame));
    }
}

/// The index of the entry after which `given` has settled; it settles several times, and the last
/// one counts.
fn given_end(entries: &[RecordingEntry]) -> usize {
    let first = entries.iter().position(|entry| matches!(entry, RecordingEntry::Step(mark) if mark.index > 0));
    let given = &entries[..first.unwrap_or(entries.len())];
    given.iter().rposition(|entry| matches!(entry, RecordingEntry::Settled(_))).unwrap_or(given.len())
}

impl<'f> Frame<'f, '_> {
    /// Whether the frame shows a state: one after a version, or a settled one.
    pub fn is_state(&self) -> bool {
        self.version.is_some() || self.is_settled()
    }

    /// Whether the frame shows a settled state.
    pub fn is_settled(&self) -> bool {
        matches!(self.entry, RecordingEntry::Settled(_))
    }

    /// The decision in its version, if another writer than the driver wrote it.
    pub fn decision(&self) -> Option<&Decision> {
        self.ordered_decision.map(|made| &made.decision)
    }

    /// The objects of a kind, each with its stable name; ReplicaSets in the order of their numbers.
    pub fn objects_of_kind(&self, kind: &'static str) -> Vec<(String, &'f Value)> {
        let mut all: Vec<&'f Value> = self.objects.of_kind(kind).collect();
        if kind == REPLICA_SET {
            all.sort_by_key(|set| self.names.rank(set));
        }
        all.into_iter().map(|object| (self.name(kind, object), object)).collect()
    }

    /// The workload whose pod template or restart time (`spec.restartAt`) another writer than the
    /// driver changed in this frame, as `kind/name`.
    pub fn restarted_workload(&self, kinds: &[&str]) -> Option<String> {
        let version = self.version.filter(|it| it.by == WriterRole::Other && it.change != ChangeType::Deleted)?;
        let asked = |object: &'f Value| ["/spec/template", "/spec/restartAt"].map(|field| object.at(field));
        let changed = asked(self.before?) != asked(&version.object);
        (kinds.contains(&version.kind.as_str()) && changed)
            .then(|| format!("{}/{}", version.kind.to_lowercase(), version.name))
    }

    /// What led to this frame, in a few words.
    pub fn describe(&self) -> String {
        match self.describe_version() {
            Some(event) => format!("after {event}, version {} of this step", self.number),
            None => "once it had settled".to_owned(),
        }
    }

    /// The change of an object in its version, and the decision: `ReplicaSet rs1 was written (rs1 5
    /// -> 4)`.
    pub fn describe_version(&self) -> Option<String> {
        let version = self.version?;
        let verb = match version.change {
            ChangeType::Added => "was created",
            ChangeType::Modified => "was written",
            ChangeType::Deleted => "was deleted",
        };
        let whose = match &version.author {
            Some(author) => format!(" by {author}"),
            None if version.by == WriterRole::Driver => " by the case".to_owned(),
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
