//! Marks the steps of an inferred case in its recording, as if the case had been run, and with the
//! case's revisions.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use lockstep_case::Case;
use lockstep_case::model::{Step as CaseStep, label};
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{
    ChangeType, FOREIGN_WRITER, ObjectVersion, Recording, RecordingEnd, RecordingEntry, Settling, StepMark, WriterRole,
};
use serde_json::Value;

use super::live::{self, POD, Revisions, is_deleting};
use super::steps::InferredStep;

pub(super) struct Marking<'a> {
    pub(super) case: &'a Case,
    /// Its steps, and the entries with which they begin.
    pub(super) steps: &'a [InferredStep],
    /// Entries that no controller wrote.
    pub(super) foreign_entries: &'a BTreeSet<usize>,
    /// Translates the cluster's revisions into the case's.
    pub(super) revisions: &'a Revisions,
    /// Whether the end of a deletion is a step of its own; otherwise a pod is gone as soon as its
    /// deletion begins.
    pub(super) terminates: bool,
    /// Whether the controllers had settled in the end.
    pub(super) is_settled: bool,
}

/// Mark a recording whose first `stage` entries are the initial objects.
pub(super) fn mark_recording(recording: &Recording, stage: usize, marking: &Marking<'_>) -> Recording {
    let mut entries = Vec::new();
    let parts = (1..).zip(&marking.case.given);
    entries.extend(
        parts.flat_map(|(part, step)| [RecordingEntry::Step(mark(marking.case, step, (0, part), 0)), settled(0)]),
    );
    // The last of these entries contains the initial objects.
    entries.pop();
    let there = there_after(&recording.entries[..stage]).into_iter();
    entries.extend(there.filter_map(|version| normal(version, marking).map(RecordingEntry::Object)));
    let mut begins = StepStarts::of(marking);
    let (mut gone, mut deleted) = (BTreeSet::new(), BTreeSet::new());
    let mut now = 0;
    if !marking.case.given.is_empty() {
        entries.push(settled(now));
    }
    for (number, entry) in recording.entries.iter().enumerate().skip(stage) {
        entries.extend(begins.marks_before(number, now));
        let RecordingEntry::Object(version) = entry else {
            entries.extend(
                matches!(entry, RecordingEntry::Trouble(_) | RecordingEntry::Request(_)).then(|| entry.clone()),
            );
            continue;
        };
        now = version.at;
        let uid = live::uid(&version.object);
        // Who began a deletion also ends it, though the garbage collector takes the finalizer off.
        let is_foreign = marking.foreign_entries.contains(&number)
            || version.change == ChangeType::Deleted && version.kind != POD && deleted.contains(uid);
        if is_foreign && is_deleting(&version.object) {
            deleted.insert(uid);
        }
        let by = if is_foreign { WriterRole::Driver } else { WriterRole::Other };
        let Some(version) = normal(ObjectVersion { by, ..version.clone() }, marking) else { continue };
        if version.kind == POD
            && version.change == ChangeType::Deleted
            && !gone.insert(live::uid(&version.object).to_owned())
        {
            continue;
        }
        entries.push(RecordingEntry::Object(version));
    }
    entries.push(settled(now));
    let mut header = recording.header.clone();
    header.case.clone_from(&marking.case.name);
    header.path.clone_from(&marking.case.path);
    header.source.clone_from(&marking.case.source);
    header.controllers.clone_from(&marking.case.controllers);
    // Requests are unknown, so none of them is expected.
    header.under_test = ControllerSet::from_iter([]);
    let end = RecordingEnd { completed: true, events_complete: false, at: now, diagnosis: None };
    Recording { header, entries, end: Some(end) }
}

/// The recording as it is, with a mark at each step, for people to read.
pub(super) fn annotate_recording(recording: &Recording, stage: usize, marking: &Marking<'_>) -> Recording {
    let by_others = |version: &ObjectVersion| {
        let author = version.author.clone().or_else(|| Some(FOREIGN_WRITER.to_owned()));
        RecordingEntry::Object(ObjectVersion { by: WriterRole::Driver, author, ..version.clone() })
    };
    let mut entries = Vec::new();
    let (there, rest) = recording.entries.split_at(stage);
    if stage > 0 {
        let (label, at) = ("what was there".to_owned(), 0);
        let none = StepMark {
            index: 0,
            part: 0,
            label,
            line: 0,
            user: false,
            together: false,
            stale: false,
            expect: None,
            at,
        };
        entries.push(RecordingEntry::Step(none));
        entries.extend(there.iter().map(|entry| match entry {
            RecordingEntry::Object(version) if version.kind != "Event" => by_others(version),
            _ => entry.clone(),
        }));
    }
    let mut begins = StepStarts::of(marking);
    let mut now = 0;
    for (number, entry) in (stage..).zip(rest) {
        entries.extend(begins.marks_before(number, now));
        match entry {
            RecordingEntry::Object(version) => {
                now = version.at;
                let is_moved = marking.foreign_entries.contains(&number);
                entries.push(if is_moved { by_others(version) } else { entry.clone() });
            }
            _ => entries.push(entry.clone()),
        }
    }
    if marking.is_settled {
        entries.push(settled(now));
    }
    // The inferred case has no file.
    for entry in &mut entries {
        if let RecordingEntry::Step(mark) = entry {
            mark.line = 0;
        }
    }
    Recording { header: recording.header.clone(), entries, end: recording.end.clone() }
}

/// A recording of a case that begins with the objects that `given` created, so that it can be
/// compared with a recording that begins there.
#[must_use]
pub fn staged(recording: &Recording) -> Recording {
    let first =
        recording.entries.iter().position(|entry| matches!(entry, RecordingEntry::Step(mark) if mark.index > 0));
    let (given, rest) = recording.entries.split_at(first.unwrap_or(recording.entries.len()));
    let is_kept = |entry: &&RecordingEntry| {
        matches!(entry, RecordingEntry::Step(_) | RecordingEntry::Settled(_) | RecordingEntry::Trouble(_))
    };
    let mut entries: Vec<RecordingEntry> = given.iter().filter(is_kept).cloned().collect();
    let end_of_given = entries.pop_if(|entry| matches!(entry, RecordingEntry::Settled(_)));
    entries.extend(there_after(given).into_iter().map(RecordingEntry::Object));
    entries.extend(end_of_given);
    entries.extend_from_slice(rest);
    let end = recording.end.clone().map(|end| RecordingEnd { events_complete: false, ..end });
    let mut header = recording.header.clone();
    header.under_test = ControllerSet::from_iter([]);
    Recording { header, entries, end }
}

/// The entry before which a step or sub-step begins, and its numbers.
type StepStart<'a> = (usize, &'a CaseStep, (u32, u32));

/// The steps and sub-steps that have not begun yet.
struct StepStarts<'a> {
    case: &'a Case,
    remaining: Peekable<std::vec::IntoIter<StepStart<'a>>>,
    is_first: bool,
}

impl<'a> StepStarts<'a> {
    fn of(marking: &Marking<'a>) -> Self {
        let mut all = Vec::new();
        for (index, (step, of_case)) in (1..).zip(marking.steps.iter().zip(&marking.case.steps)) {
            let several = step.entries.len() > 1;
            for (part, entry) in (1..).zip(&step.entries) {
                all.push((*entry, of_case, (index, if several { part } else { 0 })));
            }
        }
        Self { case: marking.case, remaining: all.into_iter().peekable(), is_first: true }
    }

    /// The marks before the entry with this number: the previous step has settled, and another one
    /// begins.
    fn marks_before(&mut self, number: usize, now: u64) -> Vec<RecordingEntry> {
        let mut marks = Vec::new();
        while let Some((_, step, id)) = self.remaining.next_if(|(at, ..)| *at == number) {
            if !std::mem::take(&mut self.is_first) {
                marks.push(settled(now));
            }
            marks.push(RecordingEntry::Step(mark(self.case, step, id, now)));
        }
        marks
    }
}

fn mark(case: &Case, step: &CaseStep, (index, part): (u32, u32), at: u64) -> StepMark {
    let is_sub_step = index > 0 && part > 0;
    let label = if is_sub_step { label(case, &step.operation.for_pod(part)) } else { label(case, &step.operation) };
    let together = !step.operation.nested_steps().is_empty();
    let user = step.operation.is_by_user();
    StepMark { index, part, label, line: step.line, user, together, stale: false, expect: None, at }
}

/// The version with the case's revisions, and without what a case lacks; `None` if nothing is left
/// of it.
fn normal(version: ObjectVersion, marking: &Marking<'_>) -> Option<ObjectVersion> {
    let mut change = version.change;
    let is_over = !marking.terminates || live::has_ended(&version.object);
    if is_over && version.kind == POD && is_deleting(&version.object) {
        if change == ChangeType::Added {
            return None;
        }
        change = ChangeType::Deleted;
    }
    let mut object = Value::clone(&version.object);
    marking.revisions.apply(&version.kind, &mut object);
    if !marking.terminates
        && let Some(status) = object.pointer_mut("/status").and_then(Value::as_object_mut)
    {
        status.remove("terminatingReplicas");
    }
    Some(ObjectVersion { change, object: object.into(), ..version })
}

/// The objects after these entries, except Events, as if the case had created them, so that no
/// controller decided about them. Only pods are attributed to another client, as a pod that a case
/// creates is identified by its name. ReplicaSets are ordered by revision, as the case creates
/// them.
fn there_after(entries: &[RecordingEntry]) -> Vec<ObjectVersion> {
    let mut last: BTreeMap<(&str, &str), &ObjectVersion> = BTreeMap::new();
    for entry in entries {
        let RecordingEntry::Object(version) = entry else { continue };
        let key = (version.kind.as_str(), version.name.as_str());
        match version.change {
            ChangeType::Deleted => drop(last.remove(&key)),
            ChangeType::Added | ChangeType::Modified => drop(last.insert(key, version)),
        }
    }
    let mut there: Vec<&ObjectVersion> = last.into_values().filter(|version| version.kind != "Event").collect();
    there.sort_by_key(|version| (&version.kind, live::revision(&version.object), version.rv));
    let by = |kind: &str| if kind == POD { WriterRole::Other } else { WriterRole::Driver };
    there
        .into_iter()
        .map(|version| ObjectVersion { change: ChangeType::Added, by: by(&version.kind), ..version.clone() })
        .collect()
}

fn settled(at: u64) -> RecordingEntry {
    RecordingEntry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at })
}
