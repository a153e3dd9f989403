//! Judges a recording: its trouble, the invariants, and how it compares with what was expected.
//!
//! Where upstream itself does several things, a subject is conformant if one of the outcomes fits
//! it as a whole; pieces of two do not make a third. One that fits none is compared with the
//! *nearest*, the one with which it agrees longest. Only a case that says `expectation: outcomes`
//! has more than one: any other is compared with the first, whatever files lie beside it.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::account::Account;
use super::compare::{BothIdle, Comparison, Difference, Place, compare, compare_live};
use super::evidence::{At, Evidence};
use super::judgement::{Blessing, Finding, Judgement, Nearest, What};
use crate::case::Case;
use crate::outcome::Verdict;
use crate::recording::{Blame, Recording, SubjectKind, Trouble};
use crate::rules::Expectation;
use crate::timeline::{Golden, Metrics, StepId, Timeline, wrote};
use crate::versions::{as_told_by, is_overlay, words_of};

/// Judge a recording of a case by what is golden of it and by its rules, or by the invariants alone
/// if there is neither.
#[must_use]
pub fn judge(case: &Arc<Case>, recording: &Recording, golden: Option<&Golden>) -> Judgement {
    let account = Account::of(case, recording);
    let Some(golden) = golden else { return judged(case, &account, None) };
    if golden.count() == 1 || case.expectation != Expectation::Outcomes {
        return judged(case, &account, Some(golden.first()));
    }
    let judged_by = (1..).zip(golden.outcomes()).map(|(number, outcome)| {
        let judgement = judged(case, &account, Some(outcome));
        Judgement { nearest: Some(Nearest { number, of: golden.count() }), ..judgement }
    });
    // There is a first outcome always.
    judged_by.min_by_key(distance).unwrap_or_else(|| judged(case, &account, Some(golden.first())))
}

/// How far a recording is from an outcome: nothing where it fits; else the later they part, the
/// nearer. An outcome of another version of the case goes before all: then nothing else can be
/// said.
fn distance(judgement: &Judgement) -> (u8, Reverse<(Place, usize)>) {
    let class = match (&judgement.blessing, judgement.verdict) {
        (Blessing::Changed(_), _) => 0,
        (_, Verdict::Conformant) => 1,
        _ => 2,
    };
    let parting = judgement.findings.iter().find_map(|finding| match &finding.what {
        What::Divergence(difference) => Some((difference.place, difference.at)),
        _ => None,
    });
    (class, Reverse(parting.unwrap_or((Place::Events, usize::MAX))))
}

/// Judged by one golden timeline.
fn judged(case: &Arc<Case>, account: &Account<'_>, golden: Option<&Timeline>) -> Judgement {
    let by_rules = case.expectation == Expectation::Rules;
    // A golden timeline is of runs that went through; of a case without upstream its rules say that
    // it can be.
    let possible = |step| golden.map_or(by_rules, |golden| golden.step(step).is_some());
    let settles = |step| golden.is_some_and(|golden| golden.step(step).is_some_and(|step| !step.checkpoint.is_empty()));
    let evidence = Evidence::of(account.recording, &account.unearned, possible, settles);
    let mut findings = troubles(&evidence);
    let mut blessing = match golden {
        Some(golden) => Blessing::Golden(golden.provenance.clone()),
        None if by_rules => Blessing::Rules,
        None => Blessing::Unblessed,
    };
    let mut comparison = None;
    match golden.map(|golden| compare(golden, &account.timeline)) {
        None => {}
        Some(Err(BothIdle)) => findings.push(idle()),
        Some(Ok(found)) => {
            if found.relabelled.is_some() || golden.is_some_and(|golden| is_of_another_case(golden, &account.timeline))
            {
                blessing = Blessing::Changed(found.relabelled);
            } else {
                findings.extend(divergences(&found, &evidence));
                comparison = Some(found);
            }
        }
    }
    let exceptions = if matches!(blessing, Blessing::Changed(_)) { None } else { golden };
    findings.extend(breaches(&account.timeline, exceptions, &evidence));
    if !golden.is_some_and(is_overlay) {
        findings.extend(unexpected(account, &evidence));
        findings.extend(rules(account, &evidence));
    }
    finish(case, account, Weighed { blessing, findings, comparison })
}

/// Judge a recording by another run of the same case: strictly, resizes that were merely split
/// differently aside. Where the other run's test environment broke, what comes after is not held
/// against anybody.
#[must_use]
pub fn judge_live(case: &Arc<Case>, recording: &Recording, other: &Recording) -> Judgement {
    weighed_live(case, Account::of(case, recording), Account::of(case, other))
}

/// Judge the recording of a live cluster by how another controller `played` the case that was
/// inferred from it: that controller's own judgement, and the cluster's. In these `concurrent`
/// steps what was decided on the way is chance: where the two came to the same in one, each has one
/// decision about each object. Those that are `left` end before the cluster's controllers had
/// settled: what was there then is not compared.
#[must_use]
pub fn judge_replay(
    case: &Arc<Case>,
    recording: &Recording,
    played: &Recording,
    concurrent: &BTreeMap<StepId, usize>,
    left: &BTreeSet<StepId>,
) -> [Judgement; 2] {
    let (mut account, mut expected) = (Account::of(case, recording), Account::of(case, played));
    for one in [&mut account, &mut expected] {
        let steps = one.timeline.steps.iter_mut().filter(|step| left.contains(&step.id));
        steps.for_each(|step| step.checkpoint.clear());
    }
    for id in concurrent.keys() {
        let steps = [&mut account, &mut expected].map(|one| one.timeline.steps.iter_mut().find(|step| step.id == *id));
        let [Some(one), Some(two)] = steps else { continue };
        // What was put in the middle of a decision is nothing that the controller did.
        two.meetings.clear();
        if one.decisions != two.decisions && one.checkpoint == two.checkpoint {
            (*one, *two) = (one.to_sum(), two.to_sum());
        }
    }
    let first = judged(case, &expected, None);
    [first, weighed_live(case, account, expected)]
}

fn weighed_live<'a>(case: &Arc<Case>, mut account: Account<'a>, mut expected: Account<'a>) -> Judgement {
    in_words_of_the_older(case, &mut account, &mut expected);
    let (recording, other) = (account.recording, expected.recording);
    let others = Evidence::of(other, &expected.unearned, |_| false, |_| false);
    let evidence = Evidence::of(recording, &account.unearned, |step| others.made(step), |step| others.made(step));
    let mut findings = troubles(&evidence);
    let mut comparison = None;
    // What such a case leaves to chance may differ; its rules say what must not.
    let by_rules = case.expectation == Expectation::Rules;
    match (!by_rules).then(|| compare_live(&expected.timeline, &account.timeline)) {
        None => {}
        Some(Err(BothIdle)) => findings.push(idle()),
        Some(Ok(found)) => {
            let covered = |difference: &Difference| match difference.place {
                Place::Step(step) => others.covers(step) && !after_end(&others, step, difference.expected.is_none()),
                Place::Events => others.environment().is_none() && others.completed,
            };
            let mut found = found;
            found.differences.retain(covered);
            findings.extend(divergences(&found, &evidence));
            comparison = Some(found);
        }
    }
    if let Some(environment) = others.environment() {
        findings.push(finding(environment, What::OtherRun(environment.trouble.why.clone())));
    }
    findings.extend(breaches(&account.timeline, Some(&expected.timeline), &evidence));
    findings.extend(unexpected(&account, &evidence));
    findings.extend(rules(&account, &evidence));
    finish(case, &account, Weighed { blessing: Blessing::Live(other.header.subject.clone()), findings, comparison })
}

/// What versions of upstream report differently in every case is no difference of the two.
fn in_words_of_the_older<'a>(case: &Case, one: &mut Account<'a>, two: &mut Account<'a>) {
    let minor = |account: &Account<'_>| words_of(&account.recording.header.subject);
    let (first, second) = (minor(one), minor(two));
    let newer = match first.cmp(&second) {
        Ordering::Less => two,
        Ordering::Equal => return,
        Ordering::Greater => one,
    };
    newer.timeline = as_told_by(newer.timeline.clone(), first.min(second), &case.controllers);
}

/// What was found, before the verdict.
struct Weighed {
    blessing: Blessing,
    findings: Vec<Finding>,
    comparison: Option<Comparison>,
}

/// Put the findings in order and draw the verdict.
fn finish(case: &Arc<Case>, account: &Account<'_>, weighed: Weighed) -> Judgement {
    let Weighed { blessing, mut findings, comparison } = weighed;
    let recording = account.recording;
    // A recording of a live cluster has no requests.
    let counts_requests = recording.header.kind != SubjectKind::Cluster;
    if findings.is_empty() && counts_requests && !wrote(recording) {
        findings.push(did_nothing());
    }
    findings.sort_by_key(|finding| finding.place);
    let against = |blame| findings.iter().any(|finding| finding.what.blame() == blame);
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
        real_pods: header.real_pods,
        unevaluated: header.unevaluated.clone(),
        verdict,
        blessing,
        nearest: None,
        findings,
        comparison,
        timeline: account.timeline.clone(),
        orders: account.orders.clone(),
        metrics: Metrics::from_recording(recording),
        diagnosis: recording.end.as_ref().and_then(|end| end.diagnosis.clone()),
    }
    .plain()
}

/// The trouble that counts: the test environment's first, and the subject's before it.
fn troubles(evidence: &Evidence) -> Vec<Finding> {
    let environment = evidence.environment().into_iter();
    let subject = evidence.troubles.iter().filter(|at| at.trouble.blame == Blame::Subject && evidence.covers(at.step));
    let what = |at: &At| match at.unsettled {
        true => What::Unsettled(at.trouble.clone()),
        false => What::Trouble(at.trouble.clone()),
    };
    environment.chain(subject).map(|at| finding(at, what(at))).collect()
}

/// The first difference of the steps, and the events', as far as they are evidence. Later steps
/// follow from the first.
fn divergences(comparison: &Comparison, evidence: &Evidence) -> Vec<Finding> {
    let counts = |difference: &&Difference| match difference.place {
        Place::Step(step) => evidence.covers(step) && !after_end(evidence, step, difference.actual.is_none()),
        Place::Events => evidence.environment().is_none() && evidence.completed,
    };
    let first = comparison.differences.iter().find(counts);
    first
        .map(|difference| Finding {
            place: difference.place,
            label: difference.label.clone(),
            line: match difference.place {
                Place::Step(step) => evidence.line(step).or_else(|| line_of_step(evidence, step)),
                Place::Events => None,
            },
            what: What::Divergence(difference.clone()),
        })
        .into_iter()
        .collect()
}

/// Whether the case was edited since; a timeline without a digest does not tell.
fn is_of_another_case(blessed: &Timeline, actual: &Timeline) -> bool {
    matches!((&blessed.case, &actual.case), (Some(then), Some(now)) if then != now)
}

/// Whether a step is missing only because the run had ended before.
fn after_end(evidence: &Evidence, step: StepId, missing: bool) -> bool {
    missing && !evidence.completed && evidence.last().is_none_or(|last| step > last)
}

/// The line of another part of the same step: a part that was never made has no line of its own.
fn line_of_step(evidence: &Evidence, step: StepId) -> Option<usize> {
    (0..=step.part).rev().find_map(|part| evidence.line(StepId { part, ..step }))
}

/// The broken invariants that upstream's recording does not break at the same step.
fn breaches(timeline: &Timeline, blessed: Option<&Timeline>, evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    for step in timeline.steps.iter().filter(|step| evidence.covers(step.id)) {
        let excepted = blessed.and_then(|blessed| blessed.step(step.id)).map(|step| step.breaches.as_slice());
        let unexpected = step.breaches.iter().filter(|breach| !excepted.unwrap_or_default().contains(breach));
        findings.extend(unexpected.map(|breach| Finding {
            place: Place::Step(step.id),
            label: evidence.label(step.id),
            line: evidence.line(step.id),
            what: What::Breach(breach.clone()),
        }));
    }
    findings
}

/// What the case itself says of its named pods, whatever is blessed: where that differs, nothing
/// else needs to.
fn unexpected(account: &Account<'_>, evidence: &Evidence) -> Vec<Finding> {
    let found = account.unexpected.iter().filter(|(step, _)| evidence.covers(*step));
    found.map(|(step, what)| at_step(*step, What::Unexpected(what.clone()), evidence)).collect()
}

/// The rules that do not hold, as far as there is evidence.
fn rules(account: &Account<'_>, evidence: &Evidence) -> Vec<Finding> {
    let whole = evidence.completed && evidence.environment().is_none();
    let broken = account.rules.broken(whole).into_iter().filter(|(step, _)| evidence.covers(*step));
    broken.map(|(step, broken)| at_step(step, What::Rule(broken), evidence)).collect()
}

fn at_step(step: StepId, what: What, evidence: &Evidence) -> Finding {
    Finding { place: Place::Step(step), label: evidence.label(step), line: evidence.line(step), what }
}

fn finding(at: &At, what: What) -> Finding {
    let line = (at.line > 0).then_some(at.line);
    Finding { place: Place::Step(at.step), label: at.label.clone(), line, what }
}

fn idle() -> Finding {
    Finding { place: Place::Events, label: String::new(), line: None, what: What::BothIdle }
}

/// A subject that wrote nothing is never conformant, whatever became of the objects.
fn did_nothing() -> Finding {
    let why = "the subject wrote nothing; another controller did the work".to_owned();
    Finding {
        place: Place::Events,
        label: String::new(),
        line: None,
        what: What::Trouble(Trouble::new(Blame::Environment, why)),
    }
}
