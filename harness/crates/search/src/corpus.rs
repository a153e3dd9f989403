//! The programs that had new behaviour. The next program is a mutation of one of them, or a random
//! one.
//!
//! The behaviour in a timeline is a set of keys: a program is new if it has a key that no earlier
//! program had. The key of a step names the operation, the phase of the rollout, and the kinds of
//! decisions, with sizes only as classes: none, one, several, all. Numbers are left out, otherwise
//! every program would be new.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube_apimachinery::SeededRng;
use lockstep_timeline::{Decision, DecisionAction, State, Timeline, TimelineStep};

use super::area::Areas;
use super::generate::generate;
use super::initial::Focus;
use super::mutate::{Decisions, mutate};
use super::program::CaseProgram;
use super::random::{index, one_in};

/// The keys of a timeline.
#[must_use]
pub(crate) fn behaviour(timeline: &Timeline) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut before = ("start".to_owned(), String::new());
    for step in &timeline.steps {
        let operation = step.label.split([' ', ';']).next().unwrap_or_default().to_owned();
        let shapes = shapes(step);
        keys.insert(format!("{operation} in {} does {}", before.1, shapes.join(" ")));
        keys.insert(format!("{operation} after {}", before.0));
        keys.extend(shapes.windows(2).map(|pair| format!("{} then {}", pair[0], pair[1])));
        keys.extend(step.breaches.iter().map(|breach| format!("breaks {}", breach.invariant)));
        if !step.injections.is_empty() {
            let what = step.injections.iter().map(|met| met.split(' ').next().unwrap_or_default());
            let what: BTreeSet<&str> = what.collect();
            keys.insert(format!("{operation} met {what:?} in the middle, {}", shapes.join(" ")));
        }
        before = (operation, phase(&step.checkpoint));
    }
    keys
}

/// The decisions of each step of a program, as `during` writes them.
#[must_use]
pub(crate) fn decisions(program: &CaseProgram, timeline: &Timeline) -> Vec<Vec<String>> {
    let of = |number: u32| {
        let steps = timeline.steps.iter().filter(|step| step.id.index == number);
        let decisions = steps.flat_map(|step| &step.decisions);
        let known = decisions.filter(|decision| {
            matches!(
                decision.action,
                DecisionAction::Created(_) | DecisionAction::Resized { .. } | DecisionAction::Deleted
            )
        });
        known.map(|decision| format!("{}{}", decision.object, decision.action)).collect()
    };
    program.numbers().into_iter().map(of).collect()
}

/// The kinds of a step's decisions, without repetitions.
fn shapes(step: &TimelineStep) -> Vec<String> {
    let mut shapes: Vec<String> = step.decisions.iter().map(shape).collect();
    shapes.dedup();
    shapes
}

fn shape(decision: &Decision) -> String {
    let mut keys: Vec<&str> = decision.details.iter().map(|field| field.key.as_str()).collect();
    keys.sort_unstable();
    let what = match decision.action {
        DecisionAction::Created(0) => "created empty".to_owned(),
        DecisionAction::Created(_) => "created".to_owned(),
        DecisionAction::Resized { from, to } => {
            let by = if from.abs_diff(to) == 1 { "one" } else { "several" };
            let end = if to == 0 { " to none" } else { "" };
            format!("{} {by}{end}", if to > from { "up" } else { "down" })
        }
        other => format!("{other:?}"),
    };
    format!("{what}[{}]", keys.join(","))
}

/// The phase of the rollouts: how many ReplicaSets want pods, how many of the desired pods exist,
/// are ready and available, and what the conditions say.
fn phase(checkpoint: &[Arc<State>]) -> String {
    let states = checkpoint.iter().map(Arc::as_ref);
    let (sets, others): (Vec<&State>, Vec<&State>) = states.partition(|state| state.is_replica_set());
    let with_pods = sets.iter().filter(|set| !set.size.starts_with("0/")).count();
    let conditions = others.iter().flat_map(|state| &state.fields);
    let conditions =
        conditions.filter(|field| matches!(field.key.as_str(), "Available" | "Progressing" | "ReplicaFailure"));
    let conditions: Vec<&str> = conditions.map(|field| field.value.as_str()).collect();
    let sizes: Vec<String> = sets.iter().filter_map(|set| size(set)).collect();
    format!("{} of {} sets, {}, {}", with_pods.min(3), sets.len().min(4), sizes.join(" "), conditions.join("/"))
}

/// How many of a ReplicaSet's pods exist, are ready and available: all, some or none.
fn size(set: &State) -> Option<String> {
    let (wanted, there) = set.size.split_once('/')?;
    let number = |text: &str| text.parse::<i64>().ok();
    let wanted = number(wanted)?;
    let of = |count: i64| match count {
        0 => "none",
        count if count < wanted => "some",
        count if count == wanted => "all",
        _ => "more",
    };
    let field = |key: &str| set.fields.iter().find(|field| field.key == key).and_then(|field| number(&field.value));
    let (ready, available) = (field("ready").unwrap_or(0), field("available").unwrap_or(0));
    let there = number(there)?;
    (wanted > 0).then(|| format!("{}+{}+{}", of(there), of(ready), of(available)))
}

/// One of this many programs is random.
const NEW: u64 = 4;
/// The same for programs in which a controller chooses pods: traits and choices of pods are not
/// part of the behaviour, so it does not show which programs are worth mutating.
const NEW_CHOICES: u64 = 2;

/// Programs with one focus, and all behaviour so far.
#[derive(Debug)]
pub(crate) struct Corpus {
    focus: Focus,
    areas: Areas,
    programs: Vec<(CaseProgram, Decisions)>,
    known_behaviour: BTreeSet<String>,
}

impl Corpus {
    /// An empty corpus.
    #[must_use]
    pub(crate) fn new(focus: Focus, areas: Areas) -> Self {
        Self { focus, areas, programs: Vec::new(), known_behaviour: BTreeSet::new() }
    }

    /// The next program to run.
    pub(crate) fn next(&self, chance: &mut SeededRng) -> CaseProgram {
        let new = if self.focus == Focus::Deployment { NEW } else { NEW_CHOICES };
        if self.programs.is_empty() || one_in(chance, new) {
            return generate(self.focus, &self.areas, chance);
        }
        // The younger half twice as often: rare behaviour is found late.
        let from = if one_in(chance, 3) { 0 } else { self.programs.len() / 2 };
        let (one, decisions) = &self.programs[from + index(chance, self.programs.len() - from)];
        let (other, _) = &self.programs[index(chance, self.programs.len())];
        let changed = mutate((one, decisions), other, &self.areas, chance);
        changed.unwrap_or_else(|| generate(self.focus, &self.areas, chance))
    }

    /// Add the program if it had new behaviour; returns how many of its keys are new.
    pub(crate) fn take(&mut self, program: &CaseProgram, behaviour: BTreeSet<String>, decisions: Decisions) -> usize {
        let before = self.known_behaviour.len();
        self.known_behaviour.extend(behaviour);
        let new = self.known_behaviour.len() - before;
        if new > 0 {
            self.programs.push((program.clone(), decisions));
        }
        new
    }

    /// The number of programs, and the number of known keys.
    #[must_use]
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.programs.len(), self.known_behaviour.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_programs_with_new_behaviour() {
        let mut corpus = Corpus::new(Focus::Deployment, Areas::only(&[]));
        let program = generate(Focus::Deployment, &Areas::only(&[]), &mut SeededRng::new(1));
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(corpus.take(&program, keys(&["a", "b"]), Vec::new()), 2);
        assert_eq!(corpus.take(&program, keys(&["b"]), Vec::new()), 0);
        assert_eq!(corpus.take(&program, keys(&["b", "c"]), Vec::new()), 1);
        assert_eq!(corpus.size(), (2, 3));
    }

    fn keys(text: &str) -> BTreeSet<String> {
        behaviour(&Timeline::parse(text).expect("a timeline"))
    }

    #[test]
    fn sizes_alone_are_not_new_behaviour() {
        let of = |small: u32, large: u32| {
            keys(&format!(
                "step 1  scale {large}\n        rs1 {small} -> {large}\n      = rs1 {large}/{large}\nevents  none\n"
            ))
        };
        assert_eq!(of(2, 5), of(3, 9));
        assert_ne!(of(2, 3), of(2, 5), "one more is not several more");
    }
}
