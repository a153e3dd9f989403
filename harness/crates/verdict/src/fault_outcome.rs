//! Decides whether a subject tolerates a fault, by comparing a run with the fault to a run of the
//! same case without it; and whether two subjects tolerate a handover, by comparing a run with one
//! to the runs with each subject alone.
//!
//! The runs may differ on the way: a crash leads to a conflict, and a lagging view to a detour.
//! They must agree in the final state, the ReplicaSets that were created and their revisions; the
//! invariants must hold at every frame, and the namespace must settle at the end. Where restarts
//! are judged, the number of a Deployment's generation may differ: annotations count in it, and a
//! controller whose write is refused handles another workload first, which is then annotated once
//! more or less. An additional restart shows as an additional ReplicaSet and revision, and rules
//! count restarts. The case's rules must hold, too; except, for a config-restart controller, those
//! that depend on the step, because it waits before it acts, and waits again after a crash.
//!
//! After a handover no pod may be replaced, and no template have a hash, as with neither subject
//! alone. Where the subjects alone end differently, what differs may be as with either.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_recording::controllers::Controller;
use lockstep_recording::{Blame, Recording, RecordingEntry, Trouble};
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::Timeline;

use super::judge::{RecordingAnalysis, RunBaseline, judge_by_baseline};
use super::judgement::FindingKind;
use super::run_end::{EndComparison, RunEnd};

/// The result of one fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultOutcome {
    /// The subject ended in the same state as without the fault.
    Tolerated,
    /// After a handover: the two subjects differ in this case without one, and it ended otherwise
    /// than with the second alone, within that difference.
    SubjectsDiffer,
    /// After a handover: it ended as with neither, in a case that the two are known to decide
    /// differently; how it differs.
    KnownChange(Vec<String>),
    /// It did not; how it differs.
    Failed(Vec<String>),
    /// The point of the fault was never reached.
    NotReached,
    /// The test environment failed; why.
    Unknown(String),
}

impl From<&FaultOutcome> for RunOutcome {
    fn from(outcome: &FaultOutcome) -> Self {
        match outcome {
            FaultOutcome::Failed(_) => Self::NonConformant,
            FaultOutcome::Unknown(_) => Self::Inconclusive,
            FaultOutcome::Tolerated
            | FaultOutcome::SubjectsDiffer
            | FaultOutcome::KnownChange(_)
            | FaultOutcome::NotReached => Self::Conformant,
        }
    }
}

/// A run without the fault, or with one of two subjects alone: what other runs of the case are
/// compared with, read once for all of them.
#[derive(Debug, Clone)]
pub struct ReferenceRun {
    baseline: RunBaseline,
    end: RunEnd,
    /// The expectations of the case that it does not meet: rules, and pods that should be alive.
    /// They describe the default version of upstream.
    unmet: BTreeSet<String>,
    trouble: Option<Trouble>,
}

impl ReferenceRun {
    /// A run of this case without the fault.
    #[must_use]
    pub fn of(case: &Arc<Case>, recording: &Recording) -> Self {
        Self::from_analysis(case, &RecordingAnalysis::of(case, recording))
    }

    /// A run of this case with one of two subjects alone. What it does not meet of what the case
    /// expects, a run with a handover need not meet either.
    #[must_use]
    pub fn alone(case: &Arc<Case>, recording: &Recording) -> Self {
        let analysis = RecordingAnalysis::of(case, recording);
        let reference = Self::from_analysis(case, &analysis);
        let judgement = judge_by_baseline(case, &analysis, &reference.baseline);
        let unmet = judgement.findings.iter().filter_map(|finding| match &finding.kind {
            FindingKind::Rule(broken) => Some(broken.rule.text.clone()),
            FindingKind::Unexpected(why) => Some(why.clone()),
            _ => None,
        });
        Self { unmet: unmet.collect(), ..reference }
    }

    fn from_analysis(case: &Case, analysis: &RecordingAnalysis<'_>) -> Self {
        Self {
            baseline: RunBaseline::of(case, analysis),
            end: RunEnd::of(analysis),
            unmet: BTreeSet::new(),
            trouble: first_trouble(analysis.recording),
        }
    }

    /// Whether both end in the same way.
    #[must_use]
    pub fn ends_like(&self, other: &Self) -> bool {
        self.end == other.end
    }

    /// Its timeline.
    #[must_use]
    pub const fn timeline(&self) -> &Timeline {
        self.baseline.timeline()
    }

    /// Why nothing can be compared with it, if it did not get to the end of the case.
    #[must_use]
    pub const fn trouble(&self) -> Option<&Trouble> {
        self.trouble.as_ref()
    }
}

/// Why a run did not get to the end of the case, if it did not.
fn first_trouble(recording: &Recording) -> Option<Trouble> {
    let trouble = recording.entries.iter().find_map(|entry| match entry {
        RecordingEntry::Trouble(trouble) => Some(trouble.clone()),
        RecordingEntry::Impossible(impossible) => Some(Trouble::new(Blame::Subject, &*impossible.why)),
        RecordingEntry::Settled(settling) => settling.unsettled.clone(),
        _ => None,
    });
    let cut_off = || Trouble::new(Blame::Environment, "the run did not get to the end of the case");
    trouble.or_else(|| (!recording.end.as_ref().is_some_and(|end| end.completed)).then(cut_off))
}

/// Compares a run of this case, which has the fault, with a run of the same case without it.
#[must_use]
pub fn fault_outcome(case: &Arc<Case>, reference: &ReferenceRun, faulted: &Recording) -> FaultOutcome {
    if !is_reached(faulted) {
        return FaultOutcome::NotReached;
    }
    let analysis = RecordingAnalysis::of(case, faulted);
    let failures = match find_failures(case, &analysis, reference, &reference.unmet) {
        Ok(failures) => failures,
        Err(outcome) => return outcome,
    };
    let failures = match failures.is_empty() {
        true => RunEnd::of(&analysis).compare(&[&reference.end]).differences,
        false => failures,
    };
    if failures.is_empty() { FaultOutcome::Tolerated } else { FaultOutcome::Failed(failures) }
}

/// Compares a run of this case with a handover with runs of the same case with each subject alone:
/// first those of the subject that ends it. There may be several of a subject that leaves something
/// to chance. If the two are known to decide this case differently, it may end as with neither, but
/// no pod may be replaced and no template have another hash.
#[must_use]
pub fn handover_outcome<R: Borrow<ReferenceRun>>(
    case: &Arc<Case>,
    alone: [&[R]; 2],
    played: &Recording,
    is_known: bool,
) -> FaultOutcome {
    if !is_reached(played) {
        return FaultOutcome::NotReached;
    }
    let ends = alone.map(|runs| runs.iter().map(|run| &run.borrow().end).collect::<Vec<_>>());
    let alone: Vec<&ReferenceRun> = alone.into_iter().flatten().map(Borrow::borrow).collect();
    let analysis = RecordingAnalysis::of(case, played);
    let unmet = alone.iter().flat_map(|reference| &reference.unmet).cloned().collect();
    let mut failures: Option<Vec<String>> = None;
    for reference in &alone {
        match find_failures(case, &analysis, reference, &unmet) {
            // What one of them does alone as well does not follow from the handover.
            Ok(found) => failures = Some(failures.map_or(found.clone(), |all| intersection(all, &found))),
            Err(outcome) => return outcome,
        }
        if failures.as_ref().is_some_and(Vec::is_empty) {
            break;
        }
    }
    let failures = failures.unwrap_or_default();
    if !failures.is_empty() {
        return FaultOutcome::Failed(failures);
    }
    let end = RunEnd::of(&analysis);
    let EndComparison { mut differences, is_as_first } = end.compare(&ends.concat());
    let additions = end.additions([&ends[0], &ends[1]]);
    match (differences.is_empty(), additions.is_empty()) {
        (true, true) if is_as_first => FaultOutcome::Tolerated,
        (true, true) => FaultOutcome::SubjectsDiffer,
        (false, true) if is_known => FaultOutcome::KnownChange(differences),
        _ => {
            differences.extend(additions);
            FaultOutcome::Failed(differences)
        }
    }
}

/// Whether the request came at which the fault was to happen. How often a status is written differs
/// from run to run.
fn is_reached(played: &Recording) -> bool {
    let never_came = |entry: &RecordingEntry| matches!(entry, RecordingEntry::Impossible(why) if why.never_came);
    !played.entries.iter().any(never_came)
}

fn intersection(mut one: Vec<String>, other: &[String]) -> Vec<String> {
    one.retain(|failure| other.contains(failure));
    one
}

/// What a run shows to be wrong on the way, compared with another run of the case. The expectations
/// in `unmet` need not be met.
///
/// # Errors
/// The outcome, if the run shows nothing.
fn find_failures(
    case: &Arc<Case>,
    analysis: &RecordingAnalysis<'_>,
    reference: &ReferenceRun,
    unmet: &BTreeSet<String>,
) -> Result<Vec<String>, FaultOutcome> {
    let judgement = judge_by_baseline(case, analysis, &reference.baseline);
    let restarts = analysis.recording.header.controllers.has(Controller::ConfigRestart);
    let mut failures = Vec::new();
    for finding in &judgement.findings {
        let place = finding.place;
        match &finding.kind {
            FindingKind::OtherRun(why) => return Err(FaultOutcome::Unknown(format!("{place}: {why}"))),
            FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) if trouble.blame == Blame::Environment => {
                return Err(FaultOutcome::Unknown(format!("{place}: {}", trouble.why)));
            }
            FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) => {
                failures.push(format!("{place}: {}", trouble.why));
            }
            FindingKind::Breach(breach) => failures.push(format!("{place}: invariant broken: {breach}")),
            FindingKind::Unexpected(why) if unmet.contains(why) => {}
            FindingKind::Unexpected(why) => failures.push(format!("{place}: {why}")),
            FindingKind::Rule(broken) if broken.is_unevaluable => {
                return Err(FaultOutcome::Unknown(format!("{place}: {broken}")));
            }
            // A fault takes time: a rule about when something happens applies to a run without one.
            FindingKind::Rule(broken) if restarts && broken.rule.depends_on_step() => {}
            FindingKind::Rule(broken) if unmet.contains(&broken.rule.text) => {}
            FindingKind::Rule(broken) => failures.push(format!("{place}: {broken}")),
            FindingKind::Divergence(_)
            | FindingKind::WrittenBeside(..)
            | FindingKind::Unearned(..)
            | FindingKind::BothIdle => {}
        }
    }
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::{RecordingBuilder, deployment, of_case, owned_set, ready, revision, with_patch};
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::testing::case_of;

    fn withstood_of(reference: &Recording, faulted: &Recording) -> FaultOutcome {
        fault_outcome(&case_of(faulted), &reference_of(reference), faulted)
    }

    fn reference_of(recording: &Recording) -> ReferenceRun {
        ReferenceRun::of(&case_of(recording), recording)
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
        let bad_rule = |recording| of_case("rules: {always: [\"replicaSets[5].spec.replicas > 3\"]}\n", recording);
        let unevaluable = withstood_of(&bad_rule(reference()), &bad_rule(reference()));
        assert!(
            matches!(&unevaluable, FaultOutcome::Unknown(why) if why.contains("cannot be evaluated")),
            "{unevaluable:?}"
        );
    }

    /// A run of the case with rs1 of this hash, which ends at this size and has made so many pods.
    fn handed_over(hash: &str, size: i32, pods: u32, status: &serde_json::Value) -> Recording {
        let made = with_patch(
            &owned_set(&web(5), "1", "app:1", size),
            &serde_json::json!({"status": status, "spec": {"template": {"metadata": {"labels": {"pod-template-hash": hash}}}}}),
        );
        let pod = |number: u32| {
            serde_json::json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("rs1-{number}"),
                "uid": format!("pod-{number}"), "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet",
                "name": made["metadata"]["name"], "uid": made["metadata"]["uid"], "controller": true}]}})
        };
        let builder = builder().driver_write(&web(5)).injection("x").subject_write(&made);
        (0..pods).fold(builder, |builder, number| builder.foreign_create(&pod(number))).settled().end()
    }

    #[rstest]
    #[case::as_with_both(("a", 5, 5), "", "as the second")]
    #[case::as_with_the_first(("b", 4, 5), "", "as either")]
    #[case::as_with_neither(("a", 3, 5), "", "at the end not `rs1 5/5")]
    #[case::with_another_hash(("c", 5, 5), "", "has the hash c")]
    #[case::with_a_replaced_pod(("a", 5, 6), "", "6 pods were made for rs1, and 5")]
    #[case::with_an_unknown_field(("a", 5, 5), "terminatingReplicas", "terminating=2")]
    fn after_a_handover_all_is_as_with_either_subject(
        #[case] (hash, size, pods): (&str, i32, u32),
        #[case] field: &str,
        #[case] expected: &str,
    ) {
        let mut status = ready(size);
        if !field.is_empty() {
            status[field] = 2.into();
        }
        let alone =
            [handed_over("a", 5, 5, &ready(5)), handed_over("b", 4, 5, &ready(4))].map(|run| reference_of(&run));
        let played = handed_over(hash, size, pods, &status);
        match handover_outcome(&case_of(&played), [&alone[..1], &alone[1..]], &played, false) {
            FaultOutcome::Tolerated => assert_eq!(expected, "as the second"),
            FaultOutcome::SubjectsDiffer => assert_eq!(expected, "as either"),
            FaultOutcome::Failed(why) => assert!(why.join("; ").contains(expected), "{why:?}"),
            other => panic!("{other:?}"),
        }
    }

    #[rstest]
    #[case::another_end(("a", 3, 5), "at the end not `rs1 5/5")]
    #[case::another_hash(("c", 3, 5), "")]
    #[case::a_replaced_pod(("a", 3, 6), "")]
    fn known_change_excuses_an_end_and_no_replaced_pod(
        #[case] (hash, size, pods): (&str, i32, u32),
        #[case] expected: &str,
    ) {
        let alone = ["a", "b"].map(|hash| reference_of(&handed_over(hash, 5, 5, &ready(5))));
        let played = handed_over(hash, size, pods, &ready(size));
        let outcome = |is_known| handover_outcome(&case_of(&played), [&alone[..1], &alone[1..]], &played, is_known);
        match outcome(true) {
            FaultOutcome::KnownChange(why) => {
                assert!(!expected.is_empty() && why.join("; ").contains(expected), "{why:?}");
            }
            FaultOutcome::Failed(why) => assert!(expected.is_empty() && why.len() > 1, "{why:?}"),
            other => panic!("{other:?}"),
        }
        assert!(matches!(outcome(false), FaultOutcome::Failed(_)));
    }

    /// Two versions hash the restarted template differently, and the second restarts it a second
    /// later when it is alone.
    #[rstest]
    #[case::that_only_one_has_had(["a", "b"], ["1", "2"], true)]
    #[case::that_both_have_had(["a", "b"], ["1", "1"], false)]
    fn hash_is_compared_for_a_template_that_both_subjects_have_had(
        #[case] hashes: [&str; 2],
        #[case] times: [&str; 2],
        #[case] stands: bool,
    ) {
        let restarted = |hash: &str, time: &str| {
            let mut recording = handed_over(hash, 5, 5, &ready(5));
            for entry in &mut recording.entries {
                if let RecordingEntry::Object(version) = entry
                    && version.kind == "ReplicaSet"
                {
                    version.object.change()["spec"]["template"]["metadata"]["annotations"] =
                        json!({"restartedAt": time});
                }
            }
            recording
        };
        let [first, second] = [0, 1].map(|one| [reference_of(&restarted(hashes[one], times[one]))]);
        let played = restarted("c", "1");
        let outcome = handover_outcome(&case_of(&played), [&second, &first], &played, false);
        assert_eq!(outcome == FaultOutcome::Tolerated, stands, "{outcome:?}");
    }

    /// One subject alone restarts it three times, and the other once.
    #[rstest]
    #[case::between_both("config-restart", 2, true)]
    #[case::more_often_than_both("config-restart", 4, false)]
    #[case::rollouts_between_both("deployment", 2, false)]
    fn after_a_handover_there_may_be_some_of_the_restarts(
        #[case] judged: &str,
        #[case] times: u32,
        #[case] stands: bool,
    ) {
        let restarted = |times: u32| {
            let builder = builder().driver_write(&web(5)).injection("x").subject_write(&set(5));
            let builder = (2..=times + 1).fold(builder, |builder, n| {
                let restarted = owned_set(&web(5), &n.to_string(), &format!("app:{n}"), 0);
                builder.subject_write(&restarted).subject_write(&with_patch(&web(5), &revision(n)))
            });
            let mut recording = builder.settled().end();
            recording.header.controllers = judged.parse().unwrap();
            recording
        };
        let [first, second] = [3, 1].map(|times| [reference_of(&restarted(times))]);
        let played = restarted(times);
        let outcome = handover_outcome(&case_of(&played), [&second, &first], &played, false);
        assert_eq!(outcome == FaultOutcome::SubjectsDiffer, stands, "{outcome:?}");
    }

    #[test]
    fn rule_that_one_subject_breaks_alone_is_excused() {
        let with_rule = |size: i32| {
            of_case(
                "rules: {finally: [\"replicaSets[0].spec.replicas == 5\"]}\n",
                handed_over("a", size, 5, &ready(size)),
            )
        };
        let played = with_rule(4);
        let case = case_of(&played);
        let outcome = |sizes: [i32; 2]| {
            let alone = sizes.map(|size| ReferenceRun::alone(&case, &with_rule(size)));
            handover_outcome(&case, [&alone[..1], &alone[1..]], &played, false)
        };
        assert_eq!(outcome([5, 4]), FaultOutcome::SubjectsDiffer);
        assert!(matches!(outcome([5, 5]), FaultOutcome::Failed(why) if why[0].contains("spec.replicas == 5")));
    }

    #[test]
    fn run_that_stopped_is_no_reference() {
        let stopped = builder().driver_write(&web(5)).unsettled(Blame::Subject, "never stopped").aborted();
        assert_eq!(reference_of(&stopped).trouble(), Some(&Trouble::new(Blame::Subject, "never stopped")));
        assert_eq!(reference_of(&reference()).trouble(), None);
    }
}
