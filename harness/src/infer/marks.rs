//! The recording that a case was inferred from, as if the case had been played: with a mark at each
//! step, and in the numbers of the case.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use serde_json::Value;

use super::live::{self, POD, is_deleting};
use super::revisions::Revisions;
use super::steps::Step;
use crate::case::Case;
use crate::case::model::{Step as CaseStep, label};
use crate::controllers::Controllers;
use crate::recording::{Change, End, Entry, Recording, Settling, StepMark, Version, Writer};

/// What the marks are made from.
pub(super) struct Marking<'a> {
    /// The case.
    pub(super) case: &'a Case,
    /// Its steps, and the entries with which they begin.
    pub(super) steps: &'a [Step],
    /// Entries that no controller wrote.
    pub(super) moved: &'a BTreeSet<usize>,
    /// How the cluster's numbers become the case's.
    pub(super) revisions: &'a Revisions,
    /// Whether the end of a deletion is a step of its own; else a pod is gone as soon as its
    /// deletion begins.
    pub(super) terminates: bool,
    /// Whether the controllers had settled in the end.
    pub(super) is_settled: bool,
}

/// Mark a recording whose first `stage` entries are what was there at the beginning.
pub(super) fn marked(recording: &Recording, stage: usize, marking: &Marking<'_>) -> Recording {
    let mut entries = Vec::new();
    let parts = (1..).zip(&marking.case.given);
    entries.extend(parts.flat_map(|(part, step)| [Entry::Step(mark(marking.case, step, (0, part), 0)), settled(0)]));
    // What is there stands in the last of them.
    entries.pop();
    let there = there_after(&recording.entries[..stage]).into_iter();
    entries.extend(there.filter_map(|version| normal(version, marking).map(Entry::Object)));
    let mut begins = Begins::of(marking);
    let mut gone = BTreeSet::new();
    let mut now = 0;
    if !marking.case.given.is_empty() {
        entries.push(settled(now));
    }
    for (number, entry) in recording.entries.iter().enumerate().skip(stage) {
        entries.extend(begins.at(number, now));
        let Entry::Object(version) = entry else {
            entries.extend(matches!(entry, Entry::Trouble(_) | Entry::Request(_)).then(|| entry.clone()));
            continue;
        };
        now = version.at;
        let by = if marking.moved.contains(&number) { Writer::Driver } else { Writer::Other };
        let Some(version) = normal(Version { by, ..version.clone() }, marking) else { continue };
        if version.kind == POD
            && version.change == Change::Deleted
            && !gone.insert(live::uid(&version.object).to_owned())
        {
            continue;
        }
        entries.push(Entry::Object(version));
    }
    entries.push(settled(now));
    let mut header = recording.header.clone();
    header.case.clone_from(&marking.case.name);
    header.path.clone_from(&marking.case.path);
    header.source.clone_from(&marking.case.source);
    header.judged.clone_from(&marking.case.controllers);
    // Nothing is known of requests, so none of them is missed.
    header.under_test = Controllers::from_iter([]);
    let end = End { completed: true, events_complete: false, at: now, diagnosis: None };
    Recording { header, entries, end: Some(end) }
}

/// Who wrote what no controller can have written, if the recording does not name the program.
pub const OTHERS: &str = "others";

/// The recording as it is, with a mark at each step: for people who look at it.
pub(super) fn annotated(recording: &Recording, stage: usize, marking: &Marking<'_>) -> Recording {
    let by_others = |version: &Version| {
        let author = version.author.clone().or_else(|| Some(OTHERS.to_owned()));
        Entry::Object(Version { by: Writer::Driver, author, ..version.clone() })
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
        entries.push(Entry::Step(none));
        entries.extend(there.iter().map(|entry| match entry {
            Entry::Object(version) if version.kind != "Event" => by_others(version),
            _ => entry.clone(),
        }));
    }
    let mut begins = Begins::of(marking);
    let mut now = 0;
    for (number, entry) in (stage..).zip(rest) {
        entries.extend(begins.at(number, now));
        match entry {
            Entry::Object(version) => {
                now = version.at;
                let is_moved = marking.moved.contains(&number);
                entries.push(if is_moved { by_others(version) } else { entry.clone() });
            }
            _ => entries.push(entry.clone()),
        }
    }
    if marking.is_settled {
        entries.push(settled(now));
    }
    // The inferred case is in no file.
    for entry in &mut entries {
        if let Entry::Step(mark) = entry {
            mark.line = 0;
        }
    }
    Recording { header: recording.header.clone(), entries, end: recording.end.clone() }
}

/// A recording of a case, with what `given` came to in place of how: what is compared with a
/// recording that begins there.
#[must_use]
pub fn staged(recording: &Recording) -> Recording {
    let first = recording.entries.iter().position(|entry| matches!(entry, Entry::Step(mark) if mark.index > 0));
    let (given, rest) = recording.entries.split_at(first.unwrap_or(recording.entries.len()));
    let is_kept = |entry: &&Entry| matches!(entry, Entry::Step(_) | Entry::Settled(_) | Entry::Trouble(_));
    let mut entries: Vec<Entry> = given.iter().filter(is_kept).cloned().collect();
    let end_of_given = entries.pop_if(|entry| matches!(entry, Entry::Settled(_)));
    entries.extend(there_after(given).into_iter().map(Entry::Object));
    entries.extend(end_of_given);
    entries.extend_from_slice(rest);
    let end = recording.end.clone().map(|end| End { events_complete: false, ..end });
    let mut header = recording.header.clone();
    header.under_test = Controllers::from_iter([]);
    Recording { header, entries, end }
}

/// The entry before which a step or sub-step begins, and its numbers.
type Begin<'a> = (usize, &'a CaseStep, (u32, u32));

/// The steps and sub-steps that have yet to begin.
struct Begins<'a> {
    case: &'a Case,
    left: Peekable<std::vec::IntoIter<Begin<'a>>>,
    is_first: bool,
}

impl<'a> Begins<'a> {
    fn of(marking: &Marking<'a>) -> Self {
        let mut all = Vec::new();
        for (index, (step, of_case)) in (1..).zip(marking.steps.iter().zip(&marking.case.steps)) {
            let several = step.entries.len() > 1;
            for (part, entry) in (1..).zip(&step.entries) {
                all.push((*entry, of_case, (index, if several { part } else { 0 })));
            }
        }
        Self { case: marking.case, left: all.into_iter().peekable(), is_first: true }
    }

    /// The marks before the entry with this number: the step before has settled, and another one
    /// begins.
    fn at(&mut self, number: usize, now: u64) -> Vec<Entry> {
        let mut marks = Vec::new();
        while let Some((_, step, id)) = self.left.next_if(|(at, ..)| *at == number) {
            if !std::mem::take(&mut self.is_first) {
                marks.push(settled(now));
            }
            marks.push(Entry::Step(mark(self.case, step, id, now)));
        }
        marks
    }
}

fn mark(case: &Case, step: &CaseStep, (index, part): (u32, u32), at: u64) -> StepMark {
    let is_sub_step = index > 0 && part > 0;
    let label = if is_sub_step { label(case, &step.operation.part(part)) } else { label(case, &step.operation) };
    let together = !step.operation.inner().is_empty();
    let user = step.operation.by_user();
    StepMark { index, part, label, line: step.line, user, together, stale: false, expect: None, at }
}

/// The version as the case counts revisions, without what a case has not; `None` where nothing is
/// left of it.
fn normal(version: Version, marking: &Marking<'_>) -> Option<Version> {
    let mut change = version.change;
    let is_over = !marking.terminates || live::has_ended(&version.object);
    if is_over && version.kind == POD && is_deleting(&version.object) {
        if change == Change::Added {
            return None;
        }
        change = Change::Deleted;
    }
    let mut object = Value::clone(&version.object);
    marking.revisions.apply(&version.kind, &mut object);
    if !marking.terminates
        && let Some(status) = object.pointer_mut("/status").and_then(Value::as_object_mut)
    {
        status.remove("terminatingReplicas");
    }
    Some(Version { change, object: object.into(), ..version })
}

/// What exists after these entries, Events aside, as if the case had put it there: then no
/// controller decided about it. Only pods are another's, as one that a case makes is called by its
/// name. ReplicaSets stand in the order of their revisions, in which the case makes them.
fn there_after(entries: &[Entry]) -> Vec<Version> {
    let mut last: BTreeMap<(&str, &str), &Version> = BTreeMap::new();
    for entry in entries {
        let Entry::Object(version) = entry else { continue };
        let key = (version.kind.as_str(), version.name.as_str());
        match version.change {
            Change::Deleted => drop(last.remove(&key)),
            Change::Added | Change::Modified => drop(last.insert(key, version)),
        }
    }
    let mut there: Vec<&Version> = last.into_values().filter(|version| version.kind != "Event").collect();
    there.sort_by_key(|version| (&version.kind, live::revision(&version.object), version.rv));
    let by = |kind: &str| if kind == POD { Writer::Other } else { Writer::Driver };
    there
        .into_iter()
        .map(|version| Version { change: Change::Added, by: by(&version.kind), ..version.clone() })
        .collect()
}

fn settled(at: u64) -> Entry {
    Entry::Settled(Settling { unsettled: None, rounds: 0, took: 0, at })
}
