//! Judges a recording: its trouble, the invariants, and how it compares with what was expected.
//!
//! If upstream itself has several outcomes, a subject is conformant if one of them matches
//! completely; parts of two do not count. Otherwise it is compared with the *nearest* outcome,
//! which is the one that differs last. Only a case with `expectation: outcomes` has more than one:
//! any other is compared with the first, whatever files are beside it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_case::rules::{Expectation, RuleEvaluator};
use lockstep_recording::{Blame, Header, Identity, ImpossibleStep, Recording, SubjectKind, Trouble};
use lockstep_support::outcome::Verdict;
use lockstep_timeline::versions::{Minor, as_reported_by, is_overlay, wording_of};
use lockstep_timeline::{
    Attribution, ExpectationCheck, GoldenOutcomes, NormalizedNames, RecordedOrder, RunMetrics, StepId, Timeline,
    TimelineBuilder, WritesBeside, replay, subject_wrote,
};
use lockstep_workload::Claim;

use super::compare::{BothIdle, Difference, TimelineComparison, TimelineLocation, compare, compare_live};
use super::evidence::{DECIDED_BESIDE, LocatedTrouble, RunEvidence, UNCLAIMED_SIZES, UNPROVED};
use super::judgement::{ComparisonBasis, FindingKind, Judgement, NearestOutcome, VerdictFinding};
use super::overrun::with_overrun;

/// Everything that a recording shows about its subject, read in a single replay, however many
/// golden outcomes or other runs it is compared with.
pub(super) struct RecordingAnalysis<'a> {
    pub(super) recording: &'a Recording,
    pub(super) names: NormalizedNames,
    /// What the subject decided.
    pub(super) timeline: Timeline,
    /// The recording's order of steps whose timeline has another.
    orders: Vec<RecordedOrder>,
    /// The steps at which another writer did what only the subject may do.
    unattributed: Vec<StepId>,
    /// What the controller beside the subject did.
    beside: WritesBeside,
    /// The steps after which other named pods are alive than the case expects, with descriptions.
    wrong_pods: Vec<(StepId, String)>,
    /// The case's rules, evaluated at every frame.
    rules: RuleEvaluator<'a>,
}

impl<'a> RecordingAnalysis<'a> {
    /// Replays a recording of this case.
    pub(super) fn of(case: &'a Case, recording: &'a Recording) -> Self {
        let names = NormalizedNames::of(recording);
        let mut timeline = TimelineBuilder::of(recording, &names);
        let (mut credit, mut expected) = (Attribution::of(recording), ExpectationCheck::default());
        let mut rules = RuleEvaluator::of(&case.rules);
        let mut beside = WritesBeside::default();
        replay(recording, &names, &mut [&mut timeline, &mut credit, &mut expected, &mut rules, &mut beside]);
        let (timeline, orders) = timeline.finish_with_orders();
        let (unearned, unexpected) = (credit.unattributed_steps(), expected.into_mismatches());
        Self { recording, names, timeline, orders, unattributed: unearned, beside, wrong_pods: unexpected, rules }
    }

    /// Whether the subject claims this. A Deployment's controller claims everything.
    fn claims(&self, claim: Claim) -> bool {
        self.recording.header.workload.as_deref().is_none_or(|workload| workload.has_claimed(claim))
    }

    /// The finding about a difference: against the subject, unless the controller beside it wrote
    /// the line that differs.
    fn finding_about(&self, difference: &Difference) -> FindingKind {
        let step = match difference.place {
            TimelineLocation::Step(step) => Some(step),
            TimelineLocation::Events => None,
        };
        let wrote = |line| self.beside.has(step, line);
        let identity = self.recording.header.beside.as_ref();
        match identity.filter(|_| !difference.is_left_out() && difference.actual_line().is_some_and(wrote)) {
            Some(identity) => FindingKind::WrittenBeside(difference.clone(), identity.name.clone()),
            None => FindingKind::Divergence(difference.clone()),
        }
    }

    /// The claims of the subject that the controller beside it has fulfilled alone.
    fn unearned_claims(&self) -> Vec<VerdictFinding> {
        let Header { beside: Some(beside), workload: Some(workload), .. } = &self.recording.header else {
            return Vec::new();
        };
        let unearned = self.beside.unearned(&workload.claims()).into_iter();
        let at_end = |area| VerdictFinding {
            place: TimelineLocation::Events,
            label: String::new(),
            line: None,
            kind: FindingKind::Unearned(area, beside.name.clone()),
        };
        unearned.map(at_end).collect()
    }

    /// Whether the subject is at fault for a step that could not be performed, and why not.
    fn possible(&self, step: StepId, is_shown: bool) -> Result<(), &'static str> {
        match is_shown {
            _ if self.beside.has_decision(step) => Err(DECIDED_BESIDE),
            _ if !self.claims(Claim::Sizes) => Err(UNCLAIMED_SIZES),
            true => Ok(()),
            false => Err(UNPROVED),
        }
    }
}

/// A run by which other runs of its case are judged, read once for all of them.
#[derive(Debug, Clone)]
pub(super) struct RunBaseline {
    subject: Identity,
    timeline: Timeline,
    evidence: RunEvidence,
    /// The same run with the trouble of its first overrun, if it has one.
    overrun: Option<Box<Self>>,
}

impl RunBaseline {
    /// The run that was recorded.
    pub(super) fn of(case: &Case, analysis: &RecordingAnalysis<'_>) -> Self {
        let overrun = with_overrun(case, analysis.recording);
        let overrun = overrun.map(|slow| Box::new(Self::as_recorded(&RecordingAnalysis::of(case, &slow))));
        Self { overrun, ..Self::as_recorded(analysis) }
    }

    fn as_recorded(analysis: &RecordingAnalysis<'_>) -> Self {
        let RecordingAnalysis { recording, timeline, unattributed, .. } = analysis;
        let evidence = RunEvidence::of(recording, unattributed, |_, _| Err(UNPROVED), |_| false);
        let subject = recording.header.subject.clone();
        Self { subject, timeline: timeline.clone(), evidence, overrun: None }
    }

    /// The subject's timeline.
    pub(super) const fn timeline(&self) -> &Timeline {
        &self.timeline
    }
}

/// Judges a recording of a case by its golden outcomes and its rules, or by the invariants alone if
/// there are neither.
#[must_use]
pub fn judge(case: &Arc<Case>, recording: &Recording, golden: Option<&GoldenOutcomes>) -> Judgement {
    let judgement = judge_as_recorded(case, recording, golden);
    if judgement.verdict == Verdict::NonConformant
        && let Some(recording) = with_overrun(case, recording)
    {
        return judge_as_recorded(case, &recording, golden);
    }
    judgement
}

fn judge_as_recorded(case: &Arc<Case>, recording: &Recording, golden: Option<&GoldenOutcomes>) -> Judgement {
    let account = RecordingAnalysis::of(case, recording);
    let Some(golden) = golden else { return judge_against_golden(case, &account, None) };
    if golden.count() == 1 || case.expectation != Expectation::Outcomes {
        return judge_against_golden(case, &account, Some(golden.first()));
    }
    let judged_by = (1..).zip(golden.outcomes()).map(|(number, outcome)| {
        let judgement = judge_against_golden(case, &account, Some(outcome));
        Judgement { nearest: Some(NearestOutcome { number, total: golden.count() }), ..judgement }
    });
    // There is always a first outcome.
    judged_by.min_by_key(distance).unwrap_or_else(|| judge_against_golden(case, &account, Some(golden.first())))
}

/// The distance between a recording and an outcome: none if it matches; otherwise the later they
/// differ, the nearer. An outcome of another version of the case comes first, because then nothing
/// else can be said.
fn distance(judgement: &Judgement) -> (u8, Reverse<(TimelineLocation, usize)>) {
    let class = match (&judgement.basis, judgement.verdict) {
        (ComparisonBasis::Changed(_), _) => 0,
        (_, Verdict::Conformant) => 1,
        _ => 2,
    };
    let parting = judgement.findings.iter().find_map(|finding| match &finding.kind {
        FindingKind::Divergence(difference) => Some((difference.place, difference.at)),
        _ => None,
    });
    (class, Reverse(parting.unwrap_or((TimelineLocation::Events, usize::MAX))))
}

/// Judges by one golden timeline.
fn judge_against_golden(case: &Arc<Case>, account: &RecordingAnalysis<'_>, golden: Option<&Timeline>) -> Judgement {
    let by_rules = case.expectation == Expectation::Rules;
    // A golden timeline comes from completed runs. In a case without upstream, the rules imply that
    // the steps are possible, but not how many writes the subject needs, which decision it makes,
    // or how a step is refused.
    let possible = |step: StepId, impossible: &ImpossibleStep| {
        let says_more = case.step(step.index).is_some_and(|step| step.during.is_some() || step.refused.is_some());
        let by_rules = by_rules && !impossible.never_came && !says_more;
        account.possible(step, golden.map_or(by_rules, |golden| golden.step(step).is_some()))
    };
    let settles = |step| golden.is_some_and(|golden| golden.step(step).is_some_and(|step| !step.checkpoint.is_empty()));
    let evidence = RunEvidence::of(account.recording, &account.unattributed, possible, settles);
    let mut findings = troubles(&evidence);
    let mut blessing = match golden {
        Some(golden) => ComparisonBasis::Golden(golden.provenance.clone()),
        None if by_rules => ComparisonBasis::Rules,
        None => ComparisonBasis::Unblessed,
    };
    let mut comparison = None;
    match golden.map(|golden| compare(golden, &account.timeline)) {
        None => {}
        Some(Err(BothIdle)) => findings.push(idle()),
        Some(Ok(found)) => {
            if found.label_mismatch.is_some()
                || golden.is_some_and(|golden| is_of_another_case(golden, &account.timeline))
            {
                blessing = ComparisonBasis::Changed(found.label_mismatch);
            } else {
                // Without sizes, a step is compared with the sub-steps that follow it, which
                // were perhaps not performed.
                if account.claims(Claim::Sizes) || evidence.environment_trouble().is_none() {
                    findings.extend(divergences(account, &found, &evidence));
                }
                comparison = Some(found);
            }
        }
    }
    let exceptions = if matches!(blessing, ComparisonBasis::Changed(_)) { None } else { golden };
    findings.extend(breaches(&account.timeline, exceptions, &evidence));
    if !golden.is_some_and(is_overlay) {
        findings.extend(expectations(account, &evidence));
    }
    finish(case, account, PendingJudgement { blessing, findings, comparison })
}

/// Judges a recording by another run of the same case: strictly, except that resizes may be split
/// differently. Steps after a failure of the other run's test environment are not compared.
#[must_use]
pub fn judge_live(case: &Arc<Case>, recording: &Recording, other: &Recording) -> Judgement {
    let baseline = RunBaseline::of(case, &RecordingAnalysis::of(case, other));
    judge_by_baseline(case, &RecordingAnalysis::of(case, recording), &baseline)
}

/// Judges a run of a case by another one, as [`judge_live`] does.
pub(super) fn judge_by_baseline(
    case: &Arc<Case>,
    analysis: &RecordingAnalysis<'_>,
    baseline: &RunBaseline,
) -> Judgement {
    let judgement = judge_against_run(case, analysis, baseline);
    if judgement.verdict == Verdict::NonConformant {
        let overrun = with_overrun(case, analysis.recording);
        let slow = baseline.overrun.as_deref();
        if let Some(overrun) = &overrun {
            return judge_against_run(case, &RecordingAnalysis::of(case, overrun), slow.unwrap_or(baseline));
        }
        if let Some(slow) = slow {
            return judge_against_run(case, analysis, slow);
        }
    }
    judgement
}

/// Judges the recording of a live cluster by a run of another controller (`replayed`) with the case
/// that was inferred from it. Returns that controller's own judgement, and the cluster's. In the
/// `concurrent` steps the decisions on the way are left to chance: if both runs have the same
/// result in such a step, each has one decision for each object. The `unsettled` steps end before
/// the cluster's controllers had settled, so their states are not compared.
#[must_use]
pub fn judge_replay(
    case: &Arc<Case>,
    recording: &Recording,
    replayed: &Recording,
    concurrent: &BTreeMap<StepId, usize>,
    unsettled: &BTreeSet<StepId>,
) -> [Judgement; 2] {
    let (mut account, mut expected) = (RecordingAnalysis::of(case, recording), RecordingAnalysis::of(case, replayed));
    for one in [&mut account, &mut expected] {
        let steps = one.timeline.steps.iter_mut().filter(|step| unsettled.contains(&step.id));
        steps.for_each(|step| step.checkpoint.clear());
    }
    for id in concurrent.keys() {
        let steps = [&mut account, &mut expected].map(|one| one.timeline.steps.iter_mut().find(|step| step.id == *id));
        let [Some(one), Some(two)] = steps else { continue };
        // Injections are not the controller's doing.
        two.injections.clear();
        if one.decisions != two.decisions && one.checkpoint == two.checkpoint {
            (*one, *two) = (one.to_sum(), two.to_sum());
        }
    }
    let first = judge_against_golden(case, &expected, None);
    [first, judge_against_run(case, &account, &RunBaseline::as_recorded(&expected))]
}

fn judge_against_run(case: &Arc<Case>, account: &RecordingAnalysis<'_>, baseline: &RunBaseline) -> Judgement {
    let [actual, expected] = in_one_wording(case, account, baseline);
    let others = &baseline.evidence;
    let evidence = RunEvidence::of(
        account.recording,
        &account.unattributed,
        |step, _| account.possible(step, others.got_through(step)),
        |step| others.got_through(step),
    );
    let mut findings = troubles(&evidence);
    let mut comparison = None;
    // What such a case leaves to chance may differ; its rules say what must not.
    let by_rules = case.expectation == Expectation::Rules;
    match (!by_rules).then(|| compare_live(&expected, &actual)) {
        None => {}
        Some(Err(BothIdle)) => findings.push(idle()),
        Some(Ok(mut all)) => {
            let covered = |difference: &Difference| match difference.place {
                TimelineLocation::Step(step) => {
                    others.covers(step) && !after_end(others, step, difference.expected.is_none())
                }
                TimelineLocation::Events => others.environment_trouble().is_none() && others.completed,
            };
            all.differences.retain(covered);
            findings.extend(divergences(account, &all, &evidence));
            comparison = Some(all);
        }
    }
    if let Some(environment) = others.environment_trouble() {
        findings.push(finding(environment, FindingKind::OtherRun(environment.trouble.why.clone())));
    }
    findings.extend(breaches(&actual, Some(&expected), &evidence));
    findings.extend(expectations(account, &evidence));
    let blessing = ComparisonBasis::Live(baseline.subject.clone());
    let judgement = finish(case, account, PendingJudgement { blessing, findings, comparison });
    Judgement { timeline: actual.into_owned(), ..judgement }
}

/// Both timelines without differences in wording: what versions of upstream report differently in
/// every case.
fn in_one_wording<'a>(
    case: &Case,
    account: &'a RecordingAnalysis<'_>,
    baseline: &'a RunBaseline,
) -> [Cow<'a, Timeline>; 2] {
    let minors = [wording_of(&account.recording.header.subject), wording_of(&baseline.subject)];
    let older = minors[0].min(minors[1]);
    let reported = |timeline: &'a Timeline, minor: Minor| match minor == older {
        true => Cow::Borrowed(timeline),
        false => Cow::Owned(as_reported_by(timeline.clone(), older, &case.controllers)),
    };
    [reported(&account.timeline, minors[0]), reported(&baseline.timeline, minors[1])]
}

/// The findings, before the verdict.
struct PendingJudgement {
    blessing: ComparisonBasis,
    findings: Vec<VerdictFinding>,
    comparison: Option<TimelineComparison>,
}

/// Sorts the findings and decides the verdict.
fn finish(case: &Arc<Case>, account: &RecordingAnalysis<'_>, weighed: PendingJudgement) -> Judgement {
    let PendingJudgement { blessing, mut findings, comparison } = weighed;
    let recording = account.recording;
    // A recording of a live cluster has no requests.
    let counts_requests = recording.header.kind != SubjectKind::Cluster;
    if findings.is_empty() && counts_requests && !subject_wrote(recording) {
        findings.push(did_nothing());
    }
    findings.extend(account.unearned_claims());
    findings.sort_by_key(|finding| finding.place);
    let against = |blame| findings.iter().any(|finding| finding.kind.blame() == blame);
    let verdict = if against(Blame::Subject) {
        Verdict::NonConformant
    } else if against(Blame::Environment) {
        Verdict::Inconclusive
    } else {
        Verdict::Conformant
    };
    let header = &recording.header;
    Judgement {
        case: header.case.clone(),
        path: header.path.clone(),
        definition: Arc::clone(case),
        subject: header.subject.clone(),
        cluster: header.cluster.clone(),
        under_test: header.under_test.clone(),
        cluster_controllers: header.cluster_controllers.as_deref().cloned(),
        beside: header.beside.as_deref().cloned(),
        real_pods: header.real_pods,
        unevaluated: header.unevaluated.clone(),
        verdict,
        basis: blessing,
        nearest: None,
        findings,
        comparison,
        timeline: account.timeline.clone(),
        orders: account.orders.clone(),
        metrics: RunMetrics::from_recording(recording),
        diagnosis: recording.end.as_ref().and_then(|end| end.diagnosis.clone()),
        quirks: Vec::new(),
    }
    .sanitize()
}

/// The trouble that counts: the test environment's first one, and the subject's before it.
fn troubles(evidence: &RunEvidence) -> Vec<VerdictFinding> {
    let environment = evidence.environment_trouble().into_iter();
    let subject = evidence.troubles.iter().filter(|at| at.trouble.blame == Blame::Subject && evidence.covers(at.step));
    let what = |at: &LocatedTrouble| match at.unsettled {
        true => FindingKind::Unsettled(at.trouble.clone()),
        false => FindingKind::Trouble(at.trouble.clone()),
    };
    environment.chain(subject).map(|at| finding(at, what(at))).collect()
}

/// The first difference of the steps, and that of the Events, as far as they are evidence. Later
/// steps follow from the first difference.
fn divergences(
    account: &RecordingAnalysis<'_>,
    comparison: &TimelineComparison,
    evidence: &RunEvidence,
) -> Vec<VerdictFinding> {
    let counts = |difference: &&Difference| match difference.place {
        TimelineLocation::Step(step) => {
            evidence.covers(step) && !after_end(evidence, step, difference.actual.is_none())
        }
        TimelineLocation::Events => evidence.environment_trouble().is_none() && evidence.completed,
    };
    let first = comparison.differences.iter().find(counts);
    first
        .map(|difference| VerdictFinding {
            place: difference.place,
            label: difference.label.clone(),
            line: match difference.place {
                TimelineLocation::Step(step) => evidence.line(step).or_else(|| line_of_step(evidence, step)),
                TimelineLocation::Events => None,
            },
            kind: account.finding_about(difference),
        })
        .into_iter()
        .collect()
}

/// Whether the case was edited since; unknown for a timeline without a digest.
fn is_of_another_case(blessed: &Timeline, actual: &Timeline) -> bool {
    matches!((&blessed.case, &actual.case), (Some(then), Some(now)) if then != now)
}

/// Whether a step is missing only because the run had ended before.
fn after_end(evidence: &RunEvidence, step: StepId, missing: bool) -> bool {
    missing && !evidence.completed && evidence.last_step().is_none_or(|last| step > last)
}

/// The line of another sub-step of the same step, for a sub-step that was never performed.
fn line_of_step(evidence: &RunEvidence, step: StepId) -> Option<usize> {
    (0..=step.part).rev().find_map(|part| evidence.line(StepId { part, ..step }))
}

/// The broken invariants that upstream's recording does not break at the same step.
fn breaches(timeline: &Timeline, blessed: Option<&Timeline>, evidence: &RunEvidence) -> Vec<VerdictFinding> {
    let mut findings = Vec::new();
    for step in timeline.steps.iter().filter(|step| evidence.covers(step.id)) {
        let excepted = blessed.and_then(|blessed| blessed.step(step.id)).map(|step| step.breaches.as_slice());
        let unexpected = step.breaches.iter().filter(|breach| !excepted.unwrap_or_default().contains(breach));
        findings.extend(unexpected.map(|breach| VerdictFinding {
            place: TimelineLocation::Step(step.id),
            label: evidence.label(step.id),
            line: evidence.line(step.id),
            kind: FindingKind::Breach(breach.clone()),
        }));
    }
    findings
}

/// Where the case's own expectations do not hold, as far as the controller claims to meet them.
fn expectations(account: &RecordingAnalysis<'_>, evidence: &RunEvidence) -> Vec<VerdictFinding> {
    let claims = |claim| account.claims(claim);
    let pods = claims(Claim::ExpectedPods).then(|| unexpected(account, evidence));
    let rules = claims(Claim::Rules).then(|| rules(account, evidence));
    pods.into_iter().chain(rules).flatten().collect()
}

/// The steps that contradict the case's own expectation of its named pods, whatever is blessed.
fn unexpected(account: &RecordingAnalysis<'_>, evidence: &RunEvidence) -> Vec<VerdictFinding> {
    let steps = account.wrong_pods.iter().filter(|(step, _)| evidence.covers(*step));
    steps.map(|(step, what)| at_step(*step, FindingKind::Unexpected(what.clone()), evidence)).collect()
}

/// The rules that do not hold, as far as there is evidence.
fn rules(account: &RecordingAnalysis<'_>, evidence: &RunEvidence) -> Vec<VerdictFinding> {
    let whole = evidence.completed && evidence.environment_trouble().is_none();
    let broken = account.rules.broken_rules(whole).into_iter().filter(|(step, _)| evidence.covers(*step));
    broken.map(|(step, broken)| at_step(step, FindingKind::Rule(broken), evidence)).collect()
}

fn at_step(step: StepId, kind: FindingKind, evidence: &RunEvidence) -> VerdictFinding {
    VerdictFinding { place: TimelineLocation::Step(step), label: evidence.label(step), line: evidence.line(step), kind }
}

fn finding(at: &LocatedTrouble, kind: FindingKind) -> VerdictFinding {
    let line = (at.line > 0).then_some(at.line);
    VerdictFinding { place: TimelineLocation::Step(at.step), label: at.label.clone(), line, kind }
}

fn idle() -> VerdictFinding {
    VerdictFinding { place: TimelineLocation::Events, label: String::new(), line: None, kind: FindingKind::BothIdle }
}

/// A subject that wrote nothing is never conformant, whatever happened to the objects.
fn did_nothing() -> VerdictFinding {
    let why = "the subject wrote nothing; another controller did the work, or there was nothing to do".to_owned();
    VerdictFinding {
        place: TimelineLocation::Events,
        label: String::new(),
        line: None,
        kind: FindingKind::Trouble(Trouble::new(Blame::Environment, why)),
    }
}
