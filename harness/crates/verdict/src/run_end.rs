//! What a run of a case ends with, and what was made on the way; and how that differs from other
//! runs of the same case.
//!
//! A run may be allowed to end like one of several: after a handover a case ends as it does with
//! either subject alone. Where the two differ from each other, so may what each of them left: a
//! value of an object is then allowed if it is what one of them ends with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_recording::controllers::Controller;
use lockstep_recording::{ChangeType, Recording, RecordingEntry};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::{DecisionAction, NormalizedNames, State, Timeline, object, replica_set_number};
use serde_json::Value;

use super::judge::RecordingAnalysis;

/// The most additional or missing ReplicaSets that are listed by name.
const MAX_NAMED: usize = 6;

/// How often each of several things happened.
type Counts = BTreeMap<String, usize>;

/// What a run ends with, and what was made on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunEnd {
    /// The last checkpoint.
    states: Vec<Arc<State>>,
    /// The ReplicaSets that were created or deleted, and revisions.
    creations: Counts,
    /// The pods that were made for each ReplicaSet.
    pods: Counts,
    /// The template hashes of each pod template.
    hashes: BTreeMap<String, BTreeSet<String>>,
    /// Whether a config-restart controller is judged.
    judges_restarts: bool,
}

/// A comparison with runs that a run may end like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndComparison {
    /// How it differs from what they allow.
    pub(super) differences: Vec<String>,
    /// Whether it ends exactly like the first of them.
    pub(super) is_as_first: bool,
}

impl RunEnd {
    #[must_use]
    pub(super) fn of(analysis: &RecordingAnalysis<'_>) -> Self {
        let RecordingAnalysis { recording, names, timeline, .. } = analysis;
        let judges_restarts = recording.header.controllers.has(Controller::ConfigRestart);
        let states = timeline.steps.last().map(|step| step.checkpoint.clone()).unwrap_or_default();
        let states =
            states.into_iter().map(|state| if judges_restarts { without_generation(state) } else { state }).collect();
        let (pods, hashes) = pods_and_hashes(recording, names);
        Self { states, creations: creations(timeline), pods, hashes, judges_restarts }
    }

    /// Compare it with the runs that it may end like, of which there is at least one.
    pub(super) fn compare(&self, allowed: &[&Self]) -> EndComparison {
        let first = allowed[0];
        let mut differences = self.state_differences(allowed);
        differences.extend(count_differences(&self.creations, &bounds(allowed, |run| &run.creations)));
        let is_as_first = self.states == first.states && self.creations == first.creations;
        EndComparison { differences, is_as_first }
    }

    fn state_differences(&self, allowed: &[&Self]) -> Vec<String> {
        // Of subjects that restart a workload more or less often, one takes over after some of the
        // restarts of the other: their number is then that of neither.
        let restarts = self.judges_restarts && allowed.iter().any(|run| run.creations != allowed[0].creations);
        if allowed.iter().any(|run| run.states == self.states) || self.is_mixture_of(allowed, restarts) {
            return Vec::new();
        }
        let lines = |run: &Self| run.states.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (expected, actual) = (lines(allowed[0]), lines(self));
        let missing = expected.iter().filter(|line| !actual.contains(line));
        let missing = missing.map(|line| format!("at the end not `{line}`"));
        let instead = actual.iter().filter(|line| !expected.contains(line)).map(|line| format!("at the end `{line}`"));
        missing.chain(instead).collect()
    }

    /// Whether each value is what one of the others ends with, apart from what only counts restarts
    /// if their number is free.
    fn is_mixture_of(&self, allowed: &[&Self], restarts_are_free: bool) -> bool {
        let values: Vec<_> = allowed.iter().map(|run| run.values(restarts_are_free)).collect();
        let own = self.values(restarts_are_free);
        let keys: BTreeSet<_> = values.iter().chain([&own]).flat_map(BTreeMap::keys).collect();
        keys.into_iter().all(|key| values.iter().any(|values| values.get(key) == own.get(key)))
    }

    /// Each value by object and field, or those that do not only count restarts.
    fn values(&self, without_restarts: bool) -> BTreeMap<(&str, &str), &str> {
        let all = self.states.iter().flat_map(|state| {
            let object = state.object.as_str();
            let fields = state.fields.iter().map(move |field| ((object, field.key.as_str()), field.value.as_str()));
            fields.chain([((object, ""), state.size.as_str())])
        });
        all.filter(|((object, field), _)| !without_restarts || !counts_restarts(object, field)).collect()
    }

    /// The pods and template hashes that none of these runs makes, which are those of each of two
    /// subjects.
    pub(super) fn additions(&self, allowed: [&[&Self]; 2]) -> Vec<String> {
        let all = allowed.concat();
        let most = bounds(&all, |run| &run.pods);
        let more = self.pods.iter().filter_map(|(set, made)| {
            let most = most.get(set.as_str()).map_or(0, |(_, most)| *most);
            (*made > most).then(|| format!("{made} pods were made for {set}, and {most} without a handover"))
        });
        let hashes = self.hashes.iter().flat_map(|(template, hashes)| {
            let known = allowed.map(|runs| runs.iter().filter_map(|run| run.hashes.get(template)).collect::<Vec<_>>());
            // Versions hash the same template differently, and a template may contain the time of
            // its restart: one that only one of the two has had says nothing about the other.
            let comparable = known.iter().all(|known| !known.is_empty());
            let is_known = move |hash: &String| known.iter().flatten().any(|known| known.contains(hash));
            let new = hashes.iter().filter(move |hash| comparable && !is_known(hash));
            new.map(|hash| format!("a template has the hash {hash}, and another one without a handover"))
        });
        more.chain(hashes).collect()
    }
}

/// Whether a field is the revision of a Deployment, or of one of its ReplicaSets, of which each
/// restart makes another one.
fn counts_restarts(object: &str, field: &str) -> bool {
    field == "revision" || replica_set_number(object).is_some()
}

/// The state with `observed` in place of a generation that has been observed.
fn without_generation(state: Arc<State>) -> Arc<State> {
    let mut state = Arc::unwrap_or_clone(state);
    for field in state.fields.iter_mut().filter(|field| field.key == "generation") {
        if field.value.split_once('/').is_some_and(|(observed, latest)| observed == latest) {
            "observed".clone_into(&mut field.value);
        }
    }
    Arc::new(state)
}

/// The ReplicaSets that were created or deleted, and revisions.
fn creations(timeline: &Timeline) -> Counts {
    let mut counts = Counts::new();
    for decision in timeline.steps.iter().flat_map(|step| &step.decisions) {
        let revision = decision.details.iter().find(|field| field.key == "revision");
        let revision = revision.map_or_else(String::new, |field| format!(" {field}"));
        let line = match decision.action {
            DecisionAction::Created(_) => format!("{} created{revision}", decision.object),
            DecisionAction::Deleted => format!("{} deleted", decision.object),
            _ if !revision.is_empty() => format!("{}{revision}", decision.object),
            _ => continue,
        };
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// The number of pods that were made for each ReplicaSet, and the hashes of each pod template.
fn pods_and_hashes(recording: &Recording, names: &NormalizedNames) -> (Counts, BTreeMap<String, BTreeSet<String>>) {
    let mut sets: BTreeMap<String, String> = BTreeMap::new();
    let (mut pods, mut hashes) = (Counts::new(), BTreeMap::new());
    for entry in &recording.entries {
        let RecordingEntry::Object(version) = entry else { continue };
        match version.kind.as_str() {
            "ReplicaSet" => {
                let set = version.object.value();
                sets.insert(object::uid(&set).to_owned(), names.replica_set(&set));
                if let Some((template, hash)) = template_and_hash(&set) {
                    hashes.entry(template).or_insert_with(BTreeSet::new).insert(hash);
                }
            }
            "Pod" if version.change == ChangeType::Added => {
                let pod = version.object.value();
                if let Some(set) = object::controller_uid(&pod).and_then(|uid| sets.get(uid)) {
                    *pods.entry(set.clone()).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    (pods, hashes)
}

/// A ReplicaSet's template without the hash, and the hash.
fn template_and_hash(set: &Value) -> Option<(String, String)> {
    let mut template = set.at("/spec/template")?.clone();
    let labels = template.pointer_mut("/metadata/labels")?.as_object_mut()?;
    let hash = labels.remove(object::HASH_LABEL)?;
    Some((template.to_string(), hash.as_str()?.to_owned()))
}

/// The least and the most of each count.
fn bounds<'a>(runs: &[&'a RunEnd], counts: impl Fn(&'a RunEnd) -> &'a Counts) -> BTreeMap<&'a str, (usize, usize)> {
    let all: Vec<&Counts> = runs.iter().map(|run| counts(run)).collect();
    let keys: BTreeSet<&String> = all.iter().flat_map(|counts| counts.keys()).collect();
    let range = |key: &String| {
        let of = all.iter().map(|counts| counts.get(key).copied().unwrap_or_default());
        (of.clone().min().unwrap_or_default(), of.max().unwrap_or_default())
    };
    keys.into_iter().map(|key| (key.as_str(), range(key))).collect()
}

/// What was made more often than the most, or less often than the least.
fn count_differences(actual: &Counts, bounds: &BTreeMap<&str, (usize, usize)>) -> Vec<String> {
    let more = actual.iter().flat_map(|(line, count)| {
        let most = bounds.get(line.as_str()).map_or(0, |(_, most)| *most);
        std::iter::repeat_n(line.as_str(), count.saturating_sub(most))
    });
    let less = bounds.iter().flat_map(|(line, (least, _))| {
        std::iter::repeat_n(*line, least.saturating_sub(actual.get(*line).copied().unwrap_or_default()))
    });
    let (more, less) = (few(&more.collect::<Vec<_>>()), few(&less.collect::<Vec<_>>()));
    let more = more.map(|what| format!("besides: {what}"));
    more.into_iter().chain(less.map(|what| format!("never: {what}"))).collect()
}

/// The first few lines, and how many more there are.
fn few(lines: &[&str]) -> Option<String> {
    let (few, rest) = lines.split_at(lines.len().min(MAX_NAMED));
    let rest = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!few.is_empty()).then(|| format!("{}{rest}", few.join(", ")))
}
