//! Decides whether a subject tolerates a fault, by comparing a run with the fault to a run of the
//! same case without it.
//!
//! The runs may differ on the way: a crash leads to a conflict, and a lagging view to a detour.
//! They must agree in the final state, the ReplicaSets that were created and their revisions; the
//! invariants must hold at every frame, and the namespace must settle at the end. Where restarts
//! are judged, the number of a Deployment's generation may differ: annotations count in it, and a
//! controller whose write is refused handles another workload first, which is then annotated once
//! more or less. An additional restart shows as an additional ReplicaSet and revision, and rules
//! count restarts. The case's rules must hold, too; except, for a config-restart controller, those
//! that depend on the step, because it waits before it acts, and waits again after a crash.

use std::sync::Arc;

use lockstep_case::Case;
use lockstep_recording::controllers::Controller;
use lockstep_recording::{Blame, Recording, RecordingEntry};
use lockstep_timeline::{DecisionAction, State, Timeline};

use super::judge::judge_live;
use super::judgement::FindingKind;

/// The most additional or missing ReplicaSets that are listed by name.
const MAX_NAMED: usize = 6;

/// The result of one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultOutcome {
    /// The subject ended in the same state as without the fault.
    Tolerated,
    /// It did not; how it differs.
    Failed(Vec<String>),
    /// The point of the fault was never reached.
    NotReached,
    /// The test environment failed; why.
    Unknown(String),
}

/// Compares a run of this case, which has the fault, with a run of the same case without it.
#[must_use]
pub fn fault_outcome(case: &Arc<Case>, reference: &Recording, faulted: &Recording) -> FaultOutcome {
    // How often a status is written differs from run to run.
    if faulted
        .entries
        .iter()
        .any(|entry| matches!(entry, RecordingEntry::Impossible(impossible) if impossible.never_came))
    {
        return FaultOutcome::NotReached;
    }
    let judgement = judge_live(case, faulted, reference);
    let restarts = faulted.header.controllers.has(Controller::ConfigRestart);
    let mut failures = Vec::new();
    for finding in &judgement.findings {
        let place = finding.place;
        match &finding.kind {
            FindingKind::OtherRun(why) => return FaultOutcome::Unknown(format!("{place}: {why}")),
            FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) if trouble.blame == Blame::Environment => {
                return FaultOutcome::Unknown(format!("{place}: {}", trouble.why));
            }
            FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) => {
                failures.push(format!("{place}: {}", trouble.why));
            }
            FindingKind::Breach(breach) => failures.push(format!("{place}: invariant broken: {breach}")),
            FindingKind::Unexpected(why) => failures.push(format!("{place}: {why}")),
            // A fault takes time: a rule about when something happens applies to a run without one.
            FindingKind::Rule(broken) if restarts && broken.rule.depends_on_step() => {}
            FindingKind::Rule(broken) => failures.push(format!("{place}: {broken}")),
            FindingKind::Divergence(_) | FindingKind::BothIdle => {}
        }
    }
    if failures.is_empty() {
        let expected = Timeline::from_recording(reference);
        failures.extend(end_differences(&expected, &judgement.timeline, restarts));
        failures.extend(creation_differences(&expected, &judgement.timeline));
    }
    if failures.is_empty() { FaultOutcome::Tolerated } else { FaultOutcome::Failed(failures) }
}

/// The differences of the last checkpoints.
fn end_differences(expected: &Timeline, actual: &Timeline, restarts: bool) -> Vec<String> {
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

/// The state with `observed` in place of a generation that has been observed.
fn without_generation(state: &State) -> String {
    let mut state = state.clone();
    for field in state.fields.iter_mut().filter(|field| field.key == "generation") {
        if field.value.split_once('/').is_some_and(|(observed, latest)| observed == latest) {
            "observed".clone_into(&mut field.value);
        }
    }
    state.to_string()
}

/// The differences in created ReplicaSets and in revisions.
fn creation_differences(expected: &Timeline, actual: &Timeline) -> Vec<String> {
    let summary = |timeline: &Timeline| {
        let decisions = timeline.steps.iter().flat_map(|step| &step.decisions);
        let mut lines: Vec<String> = decisions
            .filter_map(|decision| {
                let revision = decision.details.iter().find(|field| field.key == "revision");
                let revision = revision.map_or_else(String::new, |field| format!(" {field}"));
                match decision.action {
                    DecisionAction::Created(_) => Some(format!("{} created{revision}", decision.object)),
                    DecisionAction::Deleted => Some(format!("{} deleted", decision.object)),
                    _ if !revision.is_empty() => Some(format!("{}{revision}", decision.object)),
                    _ => None,
                }
            })
            .collect();
        lines.sort();
        lines
    };
    let (expected, actual) = (summary(expected), summary(actual));
    let more = surplus(&actual, &expected).map(|what| format!("besides: {what}"));
    let less = surplus(&expected, &actual).map(|what| format!("never: {what}"));
    more.into_iter().chain(less).collect()
}

/// The first few lines of `these` that `those` lack; duplicates count.
fn surplus(these: &[String], those: &[String]) -> Option<String> {
    let mut left = those.to_vec();
    let lacks = |line: &&String| match left.iter().position(|other| other == *line) {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    let lacking: Vec<&str> = these.iter().filter(lacks).map(String::as_str).collect();
    let (few, rest) = lacking.split_at(lacking.len().min(MAX_NAMED));
    let rest = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    (!few.is_empty()).then(|| format!("{}{rest}", few.join(", ")))
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, deployment, of_case, owned_set, ready, revision, with_patch};
    use rstest::rstest;

    use super::*;
    use crate::testing::case_of;

    fn withstood_of(reference: &Recording, faulted: &Recording) -> FaultOutcome {
        fault_outcome(&case_of(faulted), reference, faulted)
    }

    fn builder() -> RecordingBuilder {
        RecordingBuilder::rolled_out(3).user_step(1, "scale 5")
    }

    fn web(replicas: i32) -> serde_json::Value {
        with_patch(&deployment("web", replicas, "app:1"), &revision(1))
    }

    fn set(replicas: i32) -> serde_json::Value {
        with_patch(&owned_set(&web(5), "1", "app:1", replicas), &serde_json::json!({"status": ready(replicas)}))
    }

    fn reference() -> Recording {
        builder().driver_write(&web(5)).subject_write(&set(5)).settled().end()
    }

    #[rstest]
    #[case::the_same(builder().driver_write(&web(5)).injection("x").subject_write(&set(5)).settled().end(), "")]
    #[case::a_detour(builder().driver_write(&web(5)).injection("x").subject_write(&set(4)).subject_write(&set(5)).settled().end(), "")]
    #[case::another_end(builder().driver_write(&web(5)).injection("x").subject_write(&set(4)).settled().end(), "at the end not `rs1 5/5")]
    #[case::a_twin(
        builder().driver_write(&web(5)).injection("x").subject_write(&set(5)).subject_write(&owned_set(&web(5), "2", "app:1", 0)).settled().end(),
        "invariant broken: one-template")]
    #[case::no_rest(builder().driver_write(&web(5)).injection("x").unsettled(Blame::Subject, "never stopped").aborted(), "never stopped")]
    #[case::no_pod(builder().driver_write(&web(5)).injection("x").impossible("there is no pod").aborted(), "there is no pod")]
    fn compares_with_run_without_fault(#[case] faulted: Recording, #[case] expected: &str) {
        match withstood_of(&reference(), &faulted) {
            FaultOutcome::Tolerated => assert_eq!(expected, ""),
            FaultOutcome::Failed(why) => assert!(!expected.is_empty() && why.join("; ").contains(expected), "{why:?}"),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::that_says_when("deployment", "step < 1", false)]
    #[case::that_says_when_of_restarts("config-restart", "step < 1", true)]
    #[case::of_restarts("config-restart", "replicaSets[0].spec.replicas < 5", false)]
    fn rule_about_time_is_excused_for_restarts(#[case] controller: &str, #[case] rule: &str, #[case] stands: bool) {
        let with_rule = |mut recording: Recording| {
            recording.header.controllers = controller.parse().unwrap();
            of_case(&format!("rules: {{always: [\"{rule}\"]}}\n"), recording)
        };
        let faulted = builder().driver_write(&web(5)).injection("x").subject_write(&set(5)).settled().end();
        let found = withstood_of(&with_rule(reference()), &with_rule(faulted));
        assert_eq!(found == FaultOutcome::Tolerated, stands, "{found:?}");
    }

    #[rstest]
    #[case::an_annotation_more("config-restart", 3, 3, true)]
    #[case::one_not_observed("config-restart", 3, 2, false)]
    #[case::where_no_restarts_are_judged("deployment", 3, 3, false)]
    fn generation_may_differ_where_restarts_are_judged(
        #[case] judged: &str,
        #[case] latest: i64,
        #[case] observed: i64,
        #[case] stands: bool,
    ) {
        let ends_with = |latest: i64, observed: i64| {
            let of =
                serde_json::json!({"metadata": {"generation": latest}, "status": {"observedGeneration": observed}});
            let mut recording =
                builder().driver_write(&with_patch(&web(5), &of)).injection("x").subject_write(&set(5)).settled().end();
            recording.header.controllers = judged.parse().unwrap();
            recording
        };
        let found = withstood_of(&ends_with(2, 2), &ends_with(latest, observed));
        assert_eq!(found == FaultOutcome::Tolerated, stands, "{found:?}");
    }

    /// The message of a controller that repeats itself endlessly stays readable.
    #[test]
    fn additional_replica_sets_are_counted() {
        let twins = (2..=9).map(|n| owned_set(&web(5), &n.to_string(), &format!("app:{n}"), 0));
        let builder = twins
            .fold(builder().driver_write(&web(5)).injection("x").subject_write(&set(5)), |builder, twin| {
                builder.subject_write(&twin)
            });
        let FaultOutcome::Failed(why) = withstood_of(&reference(), &builder.settled().end()) else {
            panic!("it made more")
        };
        let last = why.last().map(String::as_str).unwrap_or_default();
        assert!(last.starts_with("besides: rs2 created revision=2, rs3 created"), "{why:?}");
        assert!(last.ends_with(", rs7 created revision=7 and 2 more"), "{why:?}");
    }

    #[test]
    fn unreached_fault_and_failed_test_environment_are_inconclusive() {
        let never = builder()
            .driver_write(&web(5))
            .subject_write(&set(5))
            .settled()
            .never_came("write 9 of replicasets never came")
            .aborted();
        assert_eq!(withstood_of(&reference(), &never), FaultOutcome::NotReached);
        let after_its_own = builder()
            .driver_write(&web(5))
            .injection("rs1 5 -> 4 held: scale 4")
            .never_came("its write 9 of x never came")
            .aborted();
        assert_eq!(withstood_of(&reference(), &after_its_own), FaultOutcome::NotReached);
        let broke = builder().driver_write(&web(5)).injection("x").unsettled(Blame::Environment, "dead").aborted();
        assert!(matches!(withstood_of(&reference(), &broke), FaultOutcome::Unknown(why) if why.contains("dead")));
    }
}
