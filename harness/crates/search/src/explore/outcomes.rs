//! Groups the results: two that differ only in the delays are one outcome. The server's states are
//! compared by fingerprints that are independent of names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_recording::{Blame, ChangeType, Recording, RecordingEntry, Trouble};
use lockstep_support::fingerprint::fingerprint;
use lockstep_timeline::Timeline;
use lockstep_verdict::{Difference, FindingKind, compare, compare_live, judge};
use serde_json::Value;

use super::Delay;

/// The outcomes, starting with the one without delays.
#[derive(Debug, Default)]
pub struct Outcomes {
    classes: Vec<OutcomeClass>,
}

/// Orders that lead to the same timeline and the same breaches.
#[derive(Debug)]
pub struct OutcomeClass {
    /// The timeline of one such run, without the delays.
    pub timeline: Timeline,
    /// The shortest order that leads to it.
    pub order: Vec<Delay>,
    /// How many orders lead to it.
    pub orders: usize,
    /// Why the run was aborted, if it was.
    pub stopped: Option<Stop>,
    /// What it breaks: invariants, rules of the case, and pods that should be alive.
    pub broken: Vec<String>,
}

/// Why a run was aborted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// In words.
    pub why: String,
    /// What aborted it.
    pub cause: StopCause,
}

/// What aborts a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// The subject.
    Subject,
    /// The test environment: the run proves nothing.
    Environment,
    /// A step that could not be performed. The order of the events may be the reason, unless
    /// another controller can perform it in every order.
    ImpossibleStep,
}

impl Stop {
    /// What aborted a run with this trouble.
    fn of(trouble: Trouble, recording: &Recording) -> Self {
        let is_impossible = |entry: &RecordingEntry| matches!(entry, RecordingEntry::Impossible(_));
        let is_of_environment = |entry: &RecordingEntry| match entry {
            RecordingEntry::Trouble(trouble) => trouble.blame == Blame::Environment,
            RecordingEntry::Settled(settling) => {
                settling.unsettled.as_ref().is_some_and(|trouble| trouble.blame == Blame::Environment)
            }
            _ => false,
        };
        let cause = if trouble.blame == Blame::Subject {
            StopCause::Subject
        } else if recording.entries.iter().any(is_impossible) && !recording.entries.iter().any(is_of_environment) {
            StopCause::ImpossibleStep
        } else {
            StopCause::Environment
        };
        Self { why: trouble.why, cause }
    }
}

impl Outcomes {
    /// Add a run of the case.
    pub fn add(&mut self, case: &Arc<Case>, recording: &Recording, order: &[Delay]) {
        let run = OutcomeClass::of(case, recording, order);
        match self.classes.iter_mut().find(|kind| kind.equals(&run)) {
            Some(kind) => {
                kind.orders += 1;
                let shorter =
                    (order.len(), total_overtakers(order)) < (kind.order.len(), total_overtakers(&kind.order));
                if shorter {
                    kind.order = order.to_vec();
                }
            }
            None => self.classes.push(run),
        }
    }

    /// The outcomes in the order in which they were first seen.
    #[must_use]
    pub fn classes(&self) -> &[OutcomeClass] {
        &self.classes
    }

    /// Whether this outcome is among them.
    #[must_use]
    pub fn have(&self, one: &OutcomeClass) -> bool {
        self.classes.iter().any(|kind| kind.equals(one))
    }
}

impl OutcomeClass {
    fn of(case: &Arc<Case>, recording: &Recording, order: &[Delay]) -> Self {
        let mut timeline = Timeline::from_recording(recording);
        timeline.case = None;
        timeline.steps.iter_mut().for_each(|step| step.injections.clear());
        let (mut stopped, mut broken) = (None, Vec::new());
        for finding in judge(case, recording, None).findings {
            let place = finding.place;
            match finding.kind {
                FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) => {
                    stopped.get_or_insert_with(|| Stop::of(trouble, recording));
                }
                FindingKind::Rule(rule) if rule.is_unevaluable => {
                    stopped.get_or_insert(Stop { why: rule.to_string(), cause: StopCause::Environment });
                }
                FindingKind::Rule(rule) => broken.push(rule.to_string()),
                FindingKind::Unexpected(why) => broken.push(format!("{place}: {why}")),
                FindingKind::Breach(breach) => broken.push(format!("{place}: invariant {breach}")),
                _ => {}
            }
        }
        Self { timeline, order: order.to_vec(), orders: 1, stopped, broken }
    }

    fn equals(&self, other: &Self) -> bool {
        let breaks_alike = self.broken.is_empty() == other.broken.is_empty();
        self.stopped == other.stopped && breaks_alike && difference(&self.timeline, &other.timeline).is_none()
    }

    /// The first difference to another outcome.
    #[must_use]
    pub fn differs_from(&self, peer: &Self) -> Option<Difference> {
        difference(&peer.timeline, &self.timeline)
    }

    /// Whether it equals a golden timeline.
    #[must_use]
    pub fn is_as(&self, golden: &Timeline) -> bool {
        let mut golden = golden.clone();
        golden.steps.iter_mut().for_each(|step| step.injections.clear());
        self.stopped.is_none()
            && compare(&golden, &self.timeline).is_ok_and(|comparison| comparison.differences.is_empty())
    }
}

fn total_overtakers(order: &[Delay]) -> u32 {
    order.iter().map(|late| late.overtaken_by.unwrap_or(u32::MAX / 8)).sum()
}

fn difference(one: &Timeline, two: &Timeline) -> Option<Difference> {
    compare_live(one, two).ok()?.differences.into_iter().next()
}

/// The states of the server in one run.
#[derive(Debug, Default)]
pub struct ServerStates {
    /// All states that it had.
    pub all: BTreeSet<u64>,
    /// The state in which each step settled, including those of `given`.
    pub settled: Vec<u64>,
}

/// The states that a recording shows.
pub fn states(recording: &Recording) -> ServerStates {
    let mut states = ServerStates::default();
    let mut objects: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut line = None;
    for entry in &recording.entries {
        match entry {
            // The parts of a step are on one line, and the last one counts.
            RecordingEntry::Step(mark) if line == Some(mark.line) => drop(states.settled.pop()),
            RecordingEntry::Step(mark) => line = Some(mark.line),
            RecordingEntry::Object(version) if version.kind != "Event" => {
                let key = (version.kind.as_str(), version.name.as_str());
                match version.change {
                    ChangeType::Deleted => drop(objects.remove(&key)),
                    _ => drop(objects.insert(key, fingerprint_of(&version.kind, &version.object))),
                }
                states.all.insert(together(&objects));
            }
            RecordingEntry::Settled(_) => states.settled.push(together(&objects)),
            _ => {}
        }
    }
    states
}

/// One fingerprint for all objects in any order: two pods that swap places are the same state.
fn together(objects: &BTreeMap<(&str, &str), u64>) -> u64 {
    let mut each: Vec<u64> = objects.values().copied().collect();
    each.sort_unstable();
    number(each.iter().flat_map(|one| one.to_be_bytes()))
}

/// The fingerprint of an object without the values that the server chooses.
fn fingerprint_of(kind: &str, object: &Value) -> u64 {
    let mut text = kind.to_owned();
    write(&mut text, object);
    number(text.bytes())
}

fn number(bytes: impl Iterator<Item = u8>) -> u64 {
    u64::from_str_radix(&fingerprint(bytes), 16).expect("a fingerprint is sixteen hexadecimal digits")
}

/// Names, UIDs, versions and times are left out, and so are references to them.
const MADE_UP: [&str; 12] = [
    "name",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastHeartbeatTime",
    "startTime",
    "nodeName",
    "message",
    "generateName",
];

fn write(text: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            for (key, value) in map.iter().filter(|(key, _)| !MADE_UP.contains(&key.as_str())) {
                text.push_str(key);
                text.push('{');
                write(text, value);
                text.push('}');
            }
        }
        Value::Array(items) => {
            for item in items {
                text.push('[');
                write(text, item);
                text.push(']');
            }
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_and_times_do_not_change_the_state() {
        let pod = |name: &str, ready: bool| json!({"metadata": {"name": name, "uid": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}});
        assert_eq!(fingerprint_of("Pod", &pod("a", true)), fingerprint_of("Pod", &pod("b", true)));
        assert_ne!(fingerprint_of("Pod", &pod("a", true)), fingerprint_of("Pod", &pod("a", false)));
    }
}
