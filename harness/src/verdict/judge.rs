//! Weighs a recording: its trouble, the invariants, and how it compares with what was expected.

use super::compare::{BothIdle, Comparison, Difference, Place, compare, compare_live};
use super::evidence::{At, Evidence};
use super::judgement::{Blessing, Finding, Judgement, What};
use crate::case;
use crate::outcome::Verdict;
use crate::recording::{Blame, Recording};
use crate::rules::{Expectation, Rule, broken};
use crate::timeline::{self, Metrics, StepId, Timeline, wrote};
use crate::versions::is_overlay;

/// Judge a recording by its golden timeline and its case's rules, or by the invariants alone if there is neither.
#[must_use]
pub fn judge(recording: &Recording, blessed: Option<&Timeline>) -> Judgement {
    let timeline = Timeline::from_recording(recording);
    let ruled = ruled(recording);
    let by_rules = matches!(ruled, Ok((_, Expectation::Rules)));
    // A golden timeline is of runs that went through; of a case without upstream its rules say that it can be.
    let possible = |step| blessed.map_or(by_rules, |blessed| blessed.step(step).is_some());
    let evidence = Evidence::of(recording, possible);
    let mut findings = troubles(&evidence);
    let mut blessing = match blessed {
        Some(blessed) => Blessing::Blessed(blessed.provenance.clone()),
        None if by_rules => Blessing::Rules,
        None => Blessing::Unblessed,
    };
    let mut comparison = None;
    match blessed.map(|blessed| compare(blessed, &timeline)) {
        None => {}
        Some(Err(BothIdle)) => findings.push(idle()),
        Some(Ok(found)) => {
            if found.relabelled.is_some() || blessed.is_some_and(|blessed| is_of_another_case(blessed, &timeline)) {
                blessing = Blessing::Changed(found.relabelled);
            } else {
                findings.extend(divergences(&found, &evidence));
                comparison = Some(found);
            }
        }
    }
    let exceptions = if matches!(blessing, Blessing::Changed(_)) { None } else { blessed };
    findings.extend(breaches(&timeline, exceptions, &evidence));
    if !blessed.is_some_and(is_overlay) {
        findings.extend(unexpected(recording, &evidence));
        findings.extend(rules(ruled, recording, &evidence));
    }
    finish(recording, timeline, blessing, findings, comparison)
}

/// Judge a recording by another run of the same case: strictly, resizes that were merely split differently aside.
/// Where the other run's test environment broke, what comes after is not held against anybody.
#[must_use]
pub fn judge_live(recording: &Recording, other: &Recording) -> Judgement {
    let timeline = Timeline::from_recording(recording);
    let expected = Timeline::from_recording(other);
    let others = Evidence::of(other, |_| false);
    let evidence = Evidence::of(recording, |step| others.made(step));
    let mut findings = troubles(&evidence);
    let mut comparison = None;
    match compare_live(&expected, &timeline) {
        Err(BothIdle) => findings.push(idle()),
        Ok(found) => {
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
    findings.extend(breaches(&timeline, Some(&expected), &evidence));
    findings.extend(unexpected(recording, &evidence));
    findings.extend(rules(ruled(recording), recording, &evidence));
    finish(recording, timeline, Blessing::Live(other.header.subject.clone()), findings, comparison)
}

/// Put the findings in order and draw the verdict.
fn finish(
    recording: &Recording,
    timeline: Timeline,
    blessing: Blessing,
    mut findings: Vec<Finding>,
    comparison: Option<Comparison>,
) -> Judgement {
    if findings.is_empty() && !wrote(recording) {
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
        source: header.source.clone(),
        subject: header.subject.clone(),
        cluster: header.cluster.clone(),
        verdict,
        blessing,
        nearest: None,
        findings,
        comparison,
        timeline,
        metrics: Metrics::from_recording(recording),
        diagnosis: recording.end.as_ref().and_then(|end| end.diagnosis.clone()),
    }
    .plain()
}

/// The trouble that counts: the test environment's first, and the subject's before it.
fn troubles(evidence: &Evidence) -> Vec<Finding> {
    let environment = evidence.environment().into_iter();
    let subject = evidence.troubles.iter().filter(|at| at.trouble.blame == Blame::Subject && evidence.covers(at.step));
    let what = |at: &At| match (at.unsettled, at.trouble.blame, at.trouble.why.clone()) {
        (true, blame, why) => What::Unsettled(blame, why),
        (false, blame, why) => What::Trouble(blame, why),
    };
    environment.chain(subject).map(|at| finding(at, what(at))).collect()
}

/// The first difference of the steps, and the events', as far as they are evidence. Later steps follow from the first.
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

/// What the case itself says of its named pods, whatever is blessed: where that differs, nothing else needs to.
fn unexpected(recording: &Recording, evidence: &Evidence) -> Vec<Finding> {
    let found = timeline::unexpected(recording).into_iter().filter(|(step, _)| evidence.covers(*step));
    let finding = |(step, what)| {
        let (label, line) = (evidence.label(step), evidence.line(step));
        Finding { place: Place::Step(step), label, line, what: What::Unexpected(what) }
    };
    found.map(finding).collect()
}

/// The rules of the recorded case and what it is held against, from its text.
fn ruled(recording: &Recording) -> Result<(Vec<Rule>, Expectation), String> {
    case::rules(&recording.header.path, &recording.header.source).map_err(|error| error.to_string())
}

/// What the recorded case is held against, if it can be read.
pub(super) fn expectation(recording: &Recording) -> Option<Expectation> {
    ruled(recording).ok().map(|(_, expectation)| expectation)
}

/// The rules that do not hold, as far as there is evidence. Rules that this build cannot read say nothing about the subject.
fn rules(ruled: Result<(Vec<Rule>, Expectation), String>, recording: &Recording, evidence: &Evidence) -> Vec<Finding> {
    let at = |step, what| {
        let (label, line) = (evidence.label(step), evidence.line(step));
        Finding { place: Place::Step(step), label, line, what }
    };
    match ruled {
        Ok((rules, _)) => {
            let whole = evidence.completed && evidence.environment().is_none();
            let broken = broken(&rules, recording, whole).into_iter().filter(|(step, _)| evidence.covers(*step));
            broken.map(|(step, broken)| at(step, What::Rule(broken))).collect()
        }
        Err(why) => {
            let why = format!("the rules of the recorded case cannot be read: {why}");
            vec![at(StepId::GIVEN, What::Trouble(Blame::Environment, why))]
        }
    }
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
    let why = "the subject wrote nothing at all: whatever was done here, somebody else did it".to_owned();
    Finding { place: Place::Events, label: String::new(), line: None, what: What::Trouble(Blame::Environment, why) }
}
