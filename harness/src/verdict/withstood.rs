//! Whether a subject withstood a fault: the same case without it is what it is held against.
//!
//! How it got there may differ, as a crash costs a conflict and a lagging view a detour. What must
//! be the same is where it ends, which ReplicaSets it made, and under which revisions; and the
//! invariants must hold at every frame, and rest come at the end. Where restarts are judged, the
//! number of a Deployment's generation is part of how it got there: annotations count in it, and a
//! controller whose write is refused lets another workload go first, which is annotated once more
//! or less for it. A restart too many is a ReplicaSet and a revision too many, and rules count
//! restarts. A case's rules must hold as well; of a config-restart controller, which waits before
//! it acts and after a crash waits again, all but those that say at which step.

use std::sync::Arc;

use super::judge::judge_live;
use super::judgement::What;
use crate::case::Case;
use crate::controllers::Controller;
use crate::recording::{Blame, Entry, Recording};
use crate::timeline::{Action, State, Timeline};

/// So many ReplicaSets that should not be, or should, are named; of the rest their number.
const FEW: usize = 6;

/// What came of one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withstood {
    /// It ended as without the fault.
    Yes,
    /// It did not; how.
    No(Vec<String>),
    /// The fault's place never came.
    NotReached,
    /// The test environment broke; why.
    Unknown(String),
}

/// Compare a run of this case, which has the fault, with one of the same case without.
#[must_use]
pub fn withstood(case: &Arc<Case>, reference: &Recording, faulted: &Recording) -> Withstood {
    // How often a status is written is not the same from run to run.
    if faulted.entries.iter().any(|entry| matches!(entry, Entry::Impossible(impossible) if impossible.never_came)) {
        return Withstood::NotReached;
    }
    let judgement = judge_live(case, faulted, reference);
    let restarts = faulted.header.judged.has(Controller::ConfigRestart);
    let mut failures = Vec::new();
    for finding in &judgement.findings {
        let place = finding.place;
        match &finding.what {
            What::OtherRun(why) => return Withstood::Unknown(format!("{place}: {why}")),
            What::Unsettled(trouble) | What::Trouble(trouble) if trouble.blame == Blame::Environment => {
                return Withstood::Unknown(format!("{place}: {}", trouble.why));
            }
            What::Unsettled(trouble) | What::Trouble(trouble) => failures.push(format!("{place}: {}", trouble.why)),
            What::Breach(breach) => failures.push(format!("{place}: invariant broken: {breach}")),
            What::Unexpected(why) => failures.push(format!("{place}: {why}")),
            // A fault takes time: a rule that says by when is for a run without one.
            What::Rule(broken) if restarts && broken.rule.says_when() => {}
            What::Rule(broken) => failures.push(format!("{place}: {broken}")),
            What::Divergence(_) | What::BothIdle => {}
        }
    }
    if failures.is_empty() {
        let expected = Timeline::from_recording(reference);
        failures.extend(ends(&expected, &judgement.timeline, restarts));
        failures.extend(made(&expected, &judgement.timeline));
    }
    if failures.is_empty() { Withstood::Yes } else { Withstood::No(failures) }
}

/// Where the last checkpoints differ.
fn ends(expected: &Timeline, actual: &Timeline, restarts: bool) -> Vec<String> {
    let last = |timeline: &Timeline| {
        let step = timeline.steps.last();
        let states = step.into_iter().flat_map(|step| &step.checkpoint);
        states.map(|state| if restarts { without_generation(state) } else { state.to_string() }).collect::<Vec<_>>()
    };
    let (expected, actual) = (last(expected), last(actual));
    let missing = expected.iter().filter(|line| !actual.contains(line)).map(|line| format!("at the end not `{line}`"));
    let instead = actual.iter().filter(|line| !expected.contains(line)).map(|line| format!("at the end `{line}`"));
    missing.chain(instead).collect()
}

/// A state with, in place of a generation that has been observed, that it has.
fn without_generation(state: &State) -> String {
    let mut state = state.clone();
    for field in state.fields.iter_mut().filter(|field| field.key == "generation") {
        if field.value.split_once('/').is_some_and(|(observed, latest)| observed == latest) {
            "observed".clone_into(&mut field.value);
        }
    }
    state.to_string()
}

/// Which ReplicaSets were made, and which revisions they ever had.
fn made(expected: &Timeline, actual: &Timeline) -> Vec<String> {
    let summary = |timeline: &Timeline| {
        let decisions = timeline.steps.iter().flat_map(|step| &step.decisions);
        let mut lines: Vec<String> = decisions
            .filter_map(|decision| {
                let revision = decision.details.iter().find(|field| field.key == "revision");
                let revision = revision.map_or_else(String::new, |field| format!(" {field}"));
                match decision.action {
                    Action::Created(_) => Some(format!("{} created{revision}", decision.object)),
                    Action::Deleted => Some(format!("{} deleted", decision.object)),
                    _ if !revision.is_empty() => Some(format!("{}{revision}", decision.object)),
                    _ => None,
                }
            })
            .collect();
        lines.sort();
        lines
    };
    let (expected, actual) = (summary(expected), summary(actual));
    let more = beyond(&actual, &expected).map(|what| format!("besides: {what}"));
    let less = beyond(&expected, &actual).map(|what| format!("never: {what}"));
    more.into_iter().chain(less).collect()
}

/// What these have and those lack, the first few of it; a line that is there twice counts twice.
fn beyond(these: &[String], those: &[String]) -> Option<String> {
    let mut left = those.to_vec();
    let lacks = |line: &&String| match left.iter().position(|other| other == *line) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    let lacking: Vec<&str> = these.iter().filter(lacks).map(String::as_str).collect();
    let (few, rest) = lacking.split_at(lacking.len().min(FEW));
    let rest = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!few.is_empty()).then(|| format!("{}{rest}", few.join(", ")))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::timeline::fixture::{Film, deployment, of_case, owned_set, ready, revision, with};
    use crate::verdict::fixture::case_of;

    fn withstood_of(reference: &Recording, faulted: &Recording) -> Withstood {
        withstood(&case_of(faulted), reference, faulted)
    }

    fn film() -> Film {
        Film::rolled_out(3).user(1, "scale 5")
    }

    fn web(replicas: i32) -> serde_json::Value {
        with(&deployment("web", replicas, "app:1"), &revision(1))
    }

    fn set(replicas: i32) -> serde_json::Value {
        with(&owned_set(&web(5), "1", "app:1", replicas), &serde_json::json!({"status": ready(replicas)}))
    }

    fn reference() -> Recording {
        film().driver(&web(5)).other(&set(5)).settled().end()
    }

    #[rstest]
    #[case::the_same(film().driver(&web(5)).met("x").other(&set(5)).settled().end(), "")]
    #[case::a_detour(film().driver(&web(5)).met("x").other(&set(4)).other(&set(5)).settled().end(), "")]
    #[case::another_end(film().driver(&web(5)).met("x").other(&set(4)).settled().end(), "at the end not `rs1 5/5")]
    #[case::a_twin(
        film().driver(&web(5)).met("x").other(&set(5)).other(&owned_set(&web(5), "2", "app:1", 0)).settled().end(),
        "invariant broken: one-template")]
    #[case::no_rest(film().driver(&web(5)).met("x").unsettled(Blame::Subject, "never stopped").aborted(), "never stopped")]
    #[case::no_pod(film().driver(&web(5)).met("x").impossible("there is no pod").aborted(), "there is no pod")]
    fn held_against_the_same_case_without(#[case] faulted: Recording, #[case] expected: &str) {
        match withstood_of(&reference(), &faulted) {
            Withstood::Yes => assert_eq!(expected, ""),
            Withstood::No(why) => assert!(!expected.is_empty() && why.join("; ").contains(expected), "{why:?}"),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::that_says_when("deployment", "step < 1", false)]
    #[case::that_says_when_of_restarts("config-restart", "step < 1", true)]
    #[case::of_restarts("config-restart", "replicaSets[0].spec.replicas < 5", false)]
    fn a_rule_of_the_case(#[case] judged: &str, #[case] rule: &str, #[case] stands: bool) {
        let with_rule = |mut recording: Recording| {
            recording.header.judged = judged.parse().unwrap();
            of_case(&format!("rules: {{always: [\"{rule}\"]}}\n"), recording)
        };
        let faulted = film().driver(&web(5)).met("x").other(&set(5)).settled().end();
        let found = withstood_of(&with_rule(reference()), &with_rule(faulted));
        assert_eq!(found == Withstood::Yes, stands, "{found:?}");
    }

    #[rstest]
    #[case::an_annotation_more("config-restart", 3, 3, true)]
    #[case::one_not_observed("config-restart", 3, 2, false)]
    #[case::where_no_restarts_are_judged("deployment", 3, 3, false)]
    fn another_generation_at_the_end(
        #[case] judged: &str,
        #[case] latest: i64,
        #[case] observed: i64,
        #[case] stands: bool,
    ) {
        let ends_with = |latest: i64, observed: i64| {
            let of =
                serde_json::json!({"metadata": {"generation": latest}, "status": {"observedGeneration": observed}});
            let mut recording = film().driver(&with(&web(5), &of)).met("x").other(&set(5)).settled().end();
            recording.header.judged = judged.parse().unwrap();
            recording
        };
        let found = withstood_of(&ends_with(2, 2), &ends_with(latest, observed));
        assert_eq!(found == Withstood::Yes, stands, "{found:?}");
    }

    /// A controller that makes the same again and again gets a line that can be read.
    #[test]
    fn what_it_made_besides_is_counted() {
        let twins = (2..=9).map(|n| owned_set(&web(5), &n.to_string(), &format!("app:{n}"), 0));
        let film = twins.fold(film().driver(&web(5)).met("x").other(&set(5)), |film, twin| film.other(&twin));
        let Withstood::No(why) = withstood_of(&reference(), &film.settled().end()) else { panic!("it made more") };
        let last = why.last().map(String::as_str).unwrap_or_default();
        assert!(last.starts_with("besides: rs2 created revision=2, rs3 created"), "{why:?}");
        assert!(last.ends_with(", rs7 created revision=7 and 2 more"), "{why:?}");
    }

    #[test]
    fn a_place_that_never_came_and_a_lab_that_broke_say_nothing() {
        let never =
            film().driver(&web(5)).other(&set(5)).settled().never_came("write 9 of replicasets never came").aborted();
        assert_eq!(withstood_of(&reference(), &never), Withstood::NotReached);
        let after_its_own =
            film().driver(&web(5)).met("rs1 5 -> 4 held: scale 4").never_came("its write 9 of x never came").aborted();
        assert_eq!(withstood_of(&reference(), &after_its_own), Withstood::NotReached);
        let broke = film().driver(&web(5)).met("x").unsettled(Blame::Environment, "dead").aborted();
        assert!(matches!(withstood_of(&reference(), &broke), Withstood::Unknown(why) if why.contains("dead")));
    }
}
