//! One case that did not pass: what went wrong first, in the lines of the timeline and of the case
//! file.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::again::Again;
use super::conduct::conduct;
use super::hint::hints;
use super::paint::Paint;
use super::rows::{Row, in_short, rows, what_differs};
use super::staircase::staircase;
use crate::controllers::Controllers;
use crate::course::Course;
use crate::outcome::{Outcome, Verdict};
use crate::plain;
use crate::recording::{Blame, Trouble};
use crate::rules::Broken;
use crate::timeline::fold::Shown;
use crate::timeline::{Line, Metrics, State, StepId};
use crate::verdict::{Blessing, Difference, Finding, Judgement, Nearest, Place, What};

/// Everything a reader needs to see what went wrong, and the commands that explain the case and run
/// it again.
#[must_use]
pub fn failure(judgement: &Judgement, again: &Again, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut out = vec![heading(judgement, paint)];
    let decisive = judgement.decisive();
    if let Some(finding) = decisive {
        out.push(String::new());
        out.extend(place(judgement, finding, paint));
        out.push(String::new());
        out.extend(explain(judgement, finding, paint));
    } else if judgement.outcome() == Outcome::Unblessed {
        out.push(String::new());
        out.extend(unblessed(judgement, again));
    }
    let others: Vec<&Finding> = judgement.findings.iter().filter(|it| decisive.is_none_or(|one| *it != one)).collect();
    if !others.is_empty() {
        out.push(String::new());
        out.extend(others.into_iter().map(|finding| format!("  also: {}", brief(finding))));
    }
    out.extend(recorded_orders(judgement));
    out.extend(conduct(judgement));
    out.extend(refused(judgement));
    out.extend(unevaluated(judgement));
    out.extend(advice(judgement));
    out.extend(later_differences(judgement));
    if !again.repeat.is_empty() {
        out.push(String::new());
        if judgement.outcome() == Outcome::NonConformant {
            out.push(format!(
                "  why:    {}",
                paint.strong(&plain::line(&again.explain(&judgement.definition.argument())))
            ));
        }
        out.push(format!("  repeat: {}", paint.strong(&plain::line(&again.repeat))));
    }
    out.join("\n") + "\n"
}

/// The recording's order of the steps with a finding; of all steps where there is none.
fn recorded_orders(judgement: &Judgement) -> Vec<String> {
    let has_finding = |step: StepId| judgement.findings.iter().any(|finding| finding.place == Place::Step(step));
    let shown = judgement.orders.iter().filter(|order| judgement.findings.is_empty() || has_finding(order.step));
    let lines: Vec<String> = shown.map(|order| format!("  {}", plain::line(&order.to_string()))).collect();
    if lines.is_empty() { lines } else { [vec![String::new()], lines].concat() }
}

/// The outcome and what decided it, in one line: `non-conformant: step 1 (set image=app:2): rs1 10
/// -> 8 instead of …`.
#[must_use]
pub fn headline(judgement: &Judgement) -> String {
    let why = match (judgement.outcome(), &judgement.blessing) {
        (Outcome::Unblessed, Blessing::Changed(_)) => Some("the case has changed since it was blessed".to_owned()),
        (Outcome::Unblessed, _) => Some("it has no golden timeline".to_owned()),
        _ => judgement.decisive().map(brief),
    };
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("{}{why}", judgement.outcome().name())
}

/// Which of upstream's outcomes it is: `outcome 2 of 3, upstream's in 5 of 20`; `None` where there
/// is one.
#[must_use]
pub fn outcome(judgement: &Judgement) -> Option<String> {
    let Nearest { number, of } = judgement.nearest?;
    let from = match &judgement.blessing {
        Blessing::Golden(from) => from.as_ref(),
        _ => None,
    };
    let seen = from.and_then(|from| Some(format!(", upstream's in {} of {}", from.seen?, from.recordings)));
    Some(format!("outcome {number} of {of}{}", seen.unwrap_or_default()))
}

/// A finding in one line: `step 2.3 (ready 1): rs2 7 -> 9 instead of rs2 7 -> 8`.
pub(super) fn brief(finding: &Finding) -> String {
    // The parts of the given state would hide what is wrong.
    let named = !finding.label.is_empty() && finding.place != Place::Step(StepId::GIVEN);
    let label = if named { format!(" ({})", finding.label) } else { String::new() };
    format!("{}{label}: {}", finding.place, sentence(&finding.what))
}

/// What is wrong, in a few words.
pub(super) fn sentence(what: &What) -> String {
    match what {
        What::Divergence(difference) => in_short(difference),
        What::Unsettled(trouble) | What::Trouble(trouble) if trouble.ended => trouble.why.clone(),
        What::Unsettled(Trouble { blame, why, .. }) => match blame {
            Blame::Environment => format!("it cannot be said whether the namespace settled: {why}"),
            Blame::Subject => format!("the namespace did not settle: {why}"),
        },
        What::Trouble(Trouble { blame, why, .. }) => match blame {
            Blame::Environment => format!("the test environment failed: {why}"),
            Blame::Subject => format!("the subject left this step impossible: {why}"),
        },
        What::Breach(breach) => format!("invariant `{}` broken: {}", breach.invariant, breach.detail),
        What::Unexpected(what) => what.clone(),
        What::Rule(broken) => broken.to_string(),
        What::OtherRun(why) => format!("the run that this one is compared with failed: {why}"),
        What::BothIdle => "neither side acted; nothing to compare".to_owned(),
    }
}

/// `NON-CONFORMANT  rolling/quarter-on-ten  ours (rollout-controller 0.1.0) on control-plane
/// (kube-apiserver v1.36.3)`.
fn heading(judgement: &Judgement, paint: Paint) -> String {
    let word = match judgement.outcome() {
        Outcome::Unblessed if matches!(judgement.blessing, Blessing::Changed(_)) => "CHANGED".to_owned(),
        Outcome::Unblessed => "UNBLESSED".to_owned(),
        Outcome::BadInput => "BAD CASE".to_owned(),
        _ => judgement.verdict.name().to_uppercase(),
    };
    let word = paint.outcome(judgement.outcome(), &word);
    let who = format!("{} on {}", judgement.subject, cluster(judgement));
    format!("{word}  {}  {}", paint.strong(&judgement.case), paint.faint(&who))
}

/// Where it ran: `control-plane (kube-apiserver v1.36.3)`, `kind (kube-apiserver v1.36.3, real
/// pods)`, `sim (simulated v1.36.3, controllers of kube-controller-manager v1.36.3)`.
pub(super) fn cluster(judgement: &Judgement) -> String {
    let cluster = &judgement.cluster;
    let pods = if judgement.real_pods { ", real pods" } else { "" };
    let controllers = judgement.cluster_controllers.as_ref();
    let controllers = controllers.map_or_else(String::new, |them| format!(", controllers of {}", them.title()));
    format!("{} ({}{pods}{controllers})", cluster.name, cluster.title())
}

/// Where: the step, and the line of the case file with its text.
fn place(judgement: &Judgement, finding: &Finding, paint: Paint) -> Vec<String> {
    let mut out = vec![format!("  {}  {}", paint.strong(&finding.place.to_string()), finding.label)];
    if let Some(line) = finding.line {
        let text = judgement
            .definition
            .source
            .lines()
            .nth(line - 1)
            .map(|text| format!("  |  {}", plain::line(text.trim_end())));
        out.push(paint.faint(&format!("  {}:{line}{}", judgement.path, text.unwrap_or_default())));
    }
    out
}

/// What is wrong there, at length.
fn explain(judgement: &Judgement, finding: &Finding, paint: Paint) -> Vec<String> {
    match &finding.what {
        What::Divergence(difference) => {
            let mut out = diff(difference, paint);
            out.push(String::new());
            out.extend(sides(judgement, paint));
            let none = Vec::new();
            let (expected, actual) = (difference.expected.as_ref(), difference.actual.as_ref());
            let hints = hints(expected.unwrap_or(&none), actual.unwrap_or(&none));
            out.extend(hints.into_iter().map(|hint| format!("  hint: {hint}")));
            out.extend(settled(judgement, difference, paint));
            out
        }
        What::Breach(breach) => {
            let mut out = vec![format!("  {}", paint.bad(&sentence(&finding.what)))];
            out.push(format!("  the invariant: {}", breach.invariant.says()));
            if let Place::Step(id) = finding.place
                && let Some(step) = judgement.timeline.step(id)
            {
                out.push(String::new());
                out.extend(step.lines().into_iter().map(|line| format!("  {}", line.indented())));
            }
            out
        }
        What::Rule(broken) => rule(judgement, broken, paint),
        what => {
            let text = sentence(what);
            let text = if what.blame() == Blame::Subject { paint.bad(&text) } else { paint.doubtful(&text) };
            vec![format!("  {text}")]
        }
    }
}

/// A rule that does not hold: where it stands, at which frame, and what its operands were there.
fn rule(judgement: &Judgement, broken: &Broken, paint: Paint) -> Vec<String> {
    let Broken { rule, frame, why, unfit, values } = broken;
    let what = if *unfit { "cannot be evaluated" } else { "does not hold" };
    let mut out = vec![format!("  {}", paint.bad(&format!("the rule {what} {frame}: {why}")))];
    if *unfit {
        out.push("  the case is bad, not the subject: let the rule test has(…) or size() first".to_owned());
    }
    out.push(String::new());
    out.push(format!("    {}", paint.strong(&rule.to_string())));
    out.push(paint.faint(&format!("    {}:{}", judgement.path, rule.line)));
    let width = values.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    out.extend(values.iter().map(|(name, value)| format!("    {name:width$} = {value}")));
    out
}

/// The lines of the step, expected ones with `-`, those that came instead with `+`.
pub(super) fn diff(difference: &Difference, paint: Paint) -> Vec<String> {
    let none = Vec::new();
    let (expected, actual) = (difference.expected.as_ref(), difference.actual.as_ref());
    let minus = |line: &str| paint.good(&format!("  - {line}"));
    let plus = |line: &str| paint.bad(&format!("  + {line}"));
    let mut out = Vec::new();
    for row in rows(expected.unwrap_or(&none), actual.unwrap_or(&none)) {
        match row {
            Row::Same(line) => out.push(format!("    {line}")),
            Row::Expected(line) => out.push(minus(&line)),
            Row::Actual(line) => out.push(plus(&line)),
            Row::Changed(expected, actual) => {
                out.push(minus(&expected));
                out.push(plus(&actual));
                out.extend(
                    what_differs(&expected, &actual).map(|words| paint.strong(&format!("            ^ {words}"))),
                );
            }
        }
    }
    match (expected, actual) {
        (None, _) => out.push("    the step was not expected at all".to_owned()),
        (_, None) => out.push("    the step was never made".to_owned()),
        _ if out.is_empty() => out.push("    nothing".to_owned()),
        _ => {}
    }
    out
}

/// Who stands behind `-` and `+`.
fn sides(judgement: &Judgement, paint: Paint) -> Vec<String> {
    let expected = match &judgement.blessing {
        Blessing::Golden(Some(from)) => format!("{} on {}", from.controller, from.server),
        Blessing::Live(other) => other.to_string(),
        Blessing::Golden(None) | Blessing::Unblessed | Blessing::Rules | Blessing::Changed(_) => {
            "the golden timeline".to_owned()
        }
    };
    let actual = judgement.subject.to_string();
    let expected = match (outcome(judgement), judgement.nearest) {
        (Some(which), Some(Nearest { of, .. })) => {
            format!("{expected}\n    none of its {of} outcomes fits; this is the nearest: {which}")
        }
        _ => expected,
    };
    vec![paint.good(&format!("  - expected: {expected}")), paint.bad(&format!("  + happened: {actual}"))]
}

/// The bounds, and the staircase of both sides; nothing where no ReplicaSet is there.
fn settled(judgement: &Judgement, difference: &Difference, paint: Paint) -> Vec<String> {
    let Place::Step(id) = difference.place else { return Vec::new() };
    let course = |lines: &Option<Vec<Line>>| {
        let states = lines.as_ref()?.iter().filter_map(Line::state).cloned().map(Arc::new);
        let states: Vec<Arc<State>> = states.collect();
        Some(Course::of_states(id, &states, &judgement.definition))
    };
    let sides = [("expected", course(&difference.expected)), ("happened", course(&difference.actual))];
    let mut out = Vec::new();
    for (side, course) in sides {
        let Some((course, stop)) = course.as_ref().and_then(|course| Some((course, course.stops.first()?))) else {
            continue;
        };
        if stop.sets.is_empty() || stop.allowed.is_empty() {
            continue;
        }
        out.push(format!("\n  {side}, settled"));
        let line = |line: String| if side == "expected" { paint.good(&line) } else { paint.bad(&line) };
        out.extend(staircase(course, stop).into_iter().map(|text| line(format!("    {text}"))));
    }
    out
}

/// Why an otherwise good case is not conformant.
fn unblessed(judgement: &Judgement, again: &Again) -> Vec<String> {
    let bless = again.bless(&judgement.path);
    match &judgement.blessing {
        Blessing::Changed(None) => vec![
            "  the case has changed since it was blessed; bless it again".to_owned(),
            format!("  record it from upstream: {bless}"),
        ],
        Blessing::Changed(Some(changed)) => vec![
            format!("  the case has changed since it was blessed: {} is now", changed.step),
            format!("    {}", changed.actual),
            "  and was".to_owned(),
            format!("    {}", changed.expected),
            format!("  record it from upstream again: {bless}"),
        ],
        _ => {
            let Shown { text, left_out } = Shown::of(&judgement.timeline);
            let left_out = if left_out { " (what a step leaves as it was is left out)" } else { "" };
            let mut out = vec![format!("  what {} did{left_out}:", judgement.subject), String::new()];
            out.extend(text.lines().map(|line| format!("    {line}").trim_end().to_owned()));
            out.extend([
                String::new(),
                "  no invariant was broken, but there is no golden timeline to compare with".to_owned(),
                format!("  record one from upstream: {bless}"),
                format!("  or see upstream's first, in virtual time: {bless} --preview"),
            ]);
            out
        }
    }
}

/// What the server refused the subject, which may be why: what it may do is not always what it
/// needs.
fn refused(judgement: &Judgement) -> Option<String> {
    let refused = &judgement.metrics.refused;
    let list: Vec<_> = refused.iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
    (!list.is_empty()).then(|| format!("\n  the API server refused the subject (401, 403): {}", list.join(", ")))
}

/// What the server accepted without a look at the definitions' rules.
fn unevaluated(judgement: &Judgement) -> Option<String> {
    let names = &judgement.unevaluated;
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "\n  the simulated server does not evaluate rules in CEL, and accepts objects that break those of {names}"
        )
    })
}

/// What the subject's requests say of how it was written or started, where that is a usual cause of
/// failures.
fn advice(judgement: &Judgement) -> Vec<String> {
    let counts = |times: &BTreeMap<String, u64>| {
        let list: Vec<_> = times.iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
        list.join(", ")
    };
    let mut out = Vec::new();
    let Metrics { ignored_status, undeclared, .. } = &judgement.metrics;
    if !ignored_status.is_empty() {
        out.push(format!(
            "\n  hint: the subject wrote status with the object itself: {}; a server ignores that: write to the subresource, …/status",
            counts(ignored_status)
        ));
    }
    let under_test = judgement.under_test.iter().chain(undeclared.keys().copied());
    let controllers = Controllers::from_iter(under_test);
    out.extend(undeclared.iter().map(|(controller, times)| {
        format!(
            "\n  hint: the subject also does the work of a {}, which the cluster has here: {}; if it brings that one, add \
             --controllers {controllers}",
            controller.title(),
            counts(times)
        )
    }));
    out
}

/// How many steps differ after the first; they follow from it.
fn later_differences(judgement: &Judgement) -> Option<String> {
    let differences = judgement.comparison.as_ref()?.differences.len();
    let shown = judgement.findings.iter().any(|finding| matches!(finding.what, What::Divergence(_)));
    let later = differences.checked_sub(1).filter(|later| *later > 0 && shown)?;
    let place = if judgement.verdict == Verdict::NonConformant { "later" } else { "other" };
    Some(match later {
        1 => format!("\n  one {place} step differs as well"),
        _ => format!("\n  {later} {place} steps differ as well"),
    })
}
