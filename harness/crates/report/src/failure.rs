//! The report of a case that is not conformant: what went wrong first, with the lines of the
//! timeline and of the case file.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_case::RestartProfile;
use lockstep_case::rules::BrokenRule;
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{Blame, Trouble};
use lockstep_support::outcome::{RunOutcome, Verdict};
use lockstep_support::sanitize;
use lockstep_support::sanitize::quote;
use lockstep_timeline::fold::TimelineText;
use lockstep_timeline::{RunMetrics, State, StepId, TimelineLine, TimelineStep};
use lockstep_verdict::series::RolloutSeries;
use lockstep_verdict::{
    ComparisonBasis, Difference, FindingKind, Judgement, NearestOutcome, TimelineLocation, VerdictFinding,
};

use super::ascii_chart::ascii_chart;
use super::diagnosis::{diagnosis, expected_by, hints};
use super::paint::Paint;
use super::rows::{DiffRow, differing_long_words, in_short, rows};

/// The words before the commands at the end of a report.
pub(super) const WHY: &str = "why:";
pub(super) const REPEAT: &str = "repeat:";

/// The report of what went wrong, with the commands that explain and repeat the case.
#[must_use]
pub fn failure(judgement: &Judgement, rerun: &RerunCommands, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut out = vec![heading(judgement, paint)];
    let mut main_findings = Vec::new();
    if let Some(finding) = judgement.headline() {
        main_findings.push(finding);
        if let FindingKind::Breach(breach) = &finding.kind {
            out.push(format!("\n  {}", paint.bad(&sentence(&finding.kind))));
            out.push(paint.faint(&format!("  the invariant: {}", breach.invariant.description())));
        }
        out.push(String::new());
        out.extend(place(judgement, finding, paint));
        out.push(String::new());
        if matches!(finding.kind, FindingKind::Breach(_)) {
            let difference = first_difference(judgement);
            // The lines of the step are in its difference.
            if difference.is_none_or(|it| it.place != finding.place) {
                out.extend(lines_of_step(judgement, finding));
            }
            if let Some(it) = difference {
                if it.place != finding.place {
                    out.push("\n  the first difference:\n".to_owned());
                    out.extend(place(judgement, it, paint));
                    out.push(String::new());
                }
                out.extend(explain(judgement, it, paint));
                main_findings.push(it);
            }
        } else {
            out.extend(explain(judgement, finding, paint));
        }
    } else if judgement.outcome() == RunOutcome::Unblessed {
        out.push(String::new());
        out.extend(unblessed(judgement, rerun));
    }
    let is_shown = |it: &VerdictFinding| main_findings.iter().any(|main| *main == it || main.is_same_breach(it));
    let further: Vec<&VerdictFinding> = judgement.findings.iter().filter(|it| !is_shown(it)).collect();
    if !further.is_empty() {
        out.push(String::new());
        out.extend(further.into_iter().map(|finding| format!("  also: {}", brief(finding))));
    }
    out.extend(recorded_orders(judgement));
    out.extend(diagnosis(judgement));
    out.extend(refused(judgement));
    out.extend(unevaluated(judgement));
    out.extend(advice(judgement));
    out.extend(later_differences(judgement));
    if !rerun.repeat.is_empty() {
        out.push(String::new());
        if judgement.outcome() == RunOutcome::NonConformant {
            out.push(format!(
                "  {WHY}    {}",
                paint.strong(&sanitize::line(&rerun.explain(&judgement.definition.argument())))
            ));
        }
        out.push(format!("  {REPEAT} {}", paint.strong(&sanitize::line(&rerun.repeat))));
    }
    out.extend(judgement.quirks.iter().map(|quirk| format!("  quirk:  {}", quirk_sentence(quirk))));
    out.join("\n") + "\n"
}

/// A quirk in a report, on one line.
pub(super) fn quirk_sentence(quirk: &str) -> String {
    format!("it looks like a mistake, but is what upstream does: {}", sanitize::line(quirk))
}

/// The recorded order of concurrent changes, for steps with a finding, or for all steps if there is
/// no finding.
fn recorded_orders(judgement: &Judgement) -> Vec<String> {
    let has_finding =
        |step: StepId| judgement.findings.iter().any(|finding| finding.place == TimelineLocation::Step(step));
    let orders = judgement.orders.iter().filter(|order| judgement.findings.is_empty() || has_finding(order.step));
    let lines: Vec<String> = orders.map(|order| format!("  {}", sanitize::line(&order.to_string()))).collect();
    if lines.is_empty() { lines } else { [vec![String::new()], lines].concat() }
}

/// The outcome and what decided it, in one line: `non-conformant: step 1 (set image=app:2): rs1 10
/// -> 8 instead of …`.
#[must_use]
pub fn headline(judgement: &Judgement) -> String {
    let why = match (judgement.outcome(), &judgement.basis) {
        (RunOutcome::Unblessed, ComparisonBasis::Changed(_)) => {
            Some("the case has changed since it was blessed".to_owned())
        }
        (RunOutcome::Unblessed, _) => Some("it has no golden timeline".to_owned()),
        _ => judgement.headline().map(brief),
    };
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("{}{why}", judgement.outcome().name())
}

/// Which of upstream's outcomes the subject reached: `outcome 2 of 3, upstream's in 5 of 20`.
/// `None` if there is only one.
#[must_use]
pub fn outcome(judgement: &Judgement) -> Option<String> {
    let NearestOutcome { number, total: of } = judgement.nearest?;
    let from = match &judgement.basis {
        ComparisonBasis::Golden(from) => from.as_ref(),
        _ => None,
    };
    let frequency = from.and_then(|from| Some(format!(", upstream's in {} of {}", from.times_seen?, from.recordings)));
    Some(format!("outcome {number} of {of}{}", frequency.unwrap_or_default()))
}

/// A finding in one line: `step 2.3 (ready 1): rs2 7 -> 9 instead of rs2 7 -> 8`.
pub(super) fn brief(finding: &VerdictFinding) -> String {
    // The label of `given` is long and would hide what is wrong.
    let has_label = !finding.label.is_empty() && finding.place != TimelineLocation::Step(StepId::GIVEN);
    let label = if has_label { format!(" ({})", finding.label) } else { String::new() };
    format!("{}{label}: {}", finding.place, sentence(&finding.kind))
}

/// A finding in a few words.
pub(super) fn sentence(finding: &FindingKind) -> String {
    match finding {
        FindingKind::Divergence(difference) => in_short(difference),
        FindingKind::WrittenBeside(difference, name) => {
            format!("{name}, beside the subject, wrote what was not expected: {}", in_short(difference))
        }
        FindingKind::Unearned(area, name) => format!(
            "the description claims `{area}`, of which only {name}, beside the subject, wrote anything; leave it out, with \
             `unclaimed: [{area}]`"
        ),
        FindingKind::Unsettled(trouble) | FindingKind::Trouble(trouble) if trouble.ended => trouble.why.clone(),
        FindingKind::Unsettled(Trouble { blame, why, .. }) => match blame {
            Blame::Environment => format!("it cannot be said whether the namespace settled: {why}"),
            Blame::Subject => format!("the namespace did not settle: {why}"),
        },
        FindingKind::Trouble(Trouble { blame, why, .. }) => match blame {
            Blame::Environment => format!("no verdict: {why}"),
            Blame::Subject => {
                let why = why.strip_prefix("the step is impossible: ").unwrap_or(why);
                format!("the subject left this step impossible: {why}")
            }
        },
        FindingKind::Breach(breach) => format!("invariant `{}` broken: {}", breach.invariant, breach.detail),
        FindingKind::Unexpected(text) => text.clone(),
        FindingKind::Rule(broken) => broken.to_string(),
        FindingKind::OtherRun(why) => format!("the run that this one is compared with failed: {why}"),
        FindingKind::BothIdle => "neither side acted; nothing to compare".to_owned(),
    }
}

/// `NON-CONFORMANT  rolling/quarter-on-ten  ours (rollout-controller 0.1.0) on control-plane
/// (kube-apiserver v1.36.3)`.
fn heading(judgement: &Judgement, paint: Paint) -> String {
    let word = match judgement.outcome() {
        RunOutcome::Unblessed if matches!(judgement.basis, ComparisonBasis::Changed(_)) => "CHANGED".to_owned(),
        RunOutcome::Unblessed => "UNBLESSED".to_owned(),
        RunOutcome::BadInput => "BAD CASE".to_owned(),
        _ => judgement.verdict.name().to_uppercase(),
    };
    let word = paint.outcome(judgement.outcome(), &word);
    let who = format!("{} on {}", subject(judgement), cluster(judgement));
    format!("{word}  {}  {}", paint.strong(&judgement.case), paint.faint(&who))
}

/// Who was judged: `ours (rollout-controller 0.1.0)`, and the controller beside it, if there was
/// one.
pub(super) fn subject(judgement: &Judgement) -> String {
    let beside = judgement.beside.as_ref().map_or_else(String::new, |beside| format!(" beside {beside}"));
    format!("{}{beside}", judgement.subject)
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

/// The lines for the step and for its line of the case file.
fn place(judgement: &Judgement, finding: &VerdictFinding, paint: Paint) -> Vec<String> {
    let mut out = vec![format!("  {}  {}", paint.strong(&finding.place.to_string()), finding.label)];
    if let Some(line) = finding.line {
        let text = judgement
            .definition
            .source
            .lines()
            .nth(line - 1)
            .map(|text| format!("  |  {}", sanitize::line(text.trim_end())));
        out.push(paint.faint(&format!("  {}:{line}{}", judgement.path, text.unwrap_or_default())));
    }
    out
}

/// The lines that explain the finding.
fn explain(judgement: &Judgement, finding: &VerdictFinding, paint: Paint) -> Vec<String> {
    match &finding.kind {
        FindingKind::Divergence(difference) | FindingKind::WrittenBeside(difference, _) => {
            let mut out = diff(difference, paint);
            out.push(String::new());
            if let FindingKind::WrittenBeside(..) = finding.kind {
                out.push(format!("  {}", paint.doubtful(&sentence(&finding.kind))));
            }
            out.extend(sides(judgement, paint));
            let none = Vec::new();
            let (expected, actual) = (difference.expected.as_ref(), difference.actual.as_ref());
            let hints = hints(expected.unwrap_or(&none), actual.unwrap_or(&none), expected_by(judgement));
            out.extend(hints.into_iter().map(|hint| format!("  hint: {hint}")));
            out.extend(charts(judgement, difference, paint));
            out
        }
        FindingKind::Rule(broken) => rule(judgement, broken, paint),
        what => {
            let text = sentence(what);
            let text = if what.blame() == Blame::Subject { paint.bad(&text) } else { paint.doubtful(&text) };
            vec![format!("  {text}")]
        }
    }
}

/// The first difference from what was expected.
pub(super) fn first_difference(judgement: &Judgement) -> Option<&VerdictFinding> {
    judgement.findings.iter().find(|finding| matches!(finding.kind, FindingKind::Divergence(_)))
}

/// The lines of the step of a finding, without comparison.
fn lines_of_step(judgement: &Judgement, finding: &VerdictFinding) -> Vec<String> {
    let TimelineLocation::Step(id) = finding.place else { return Vec::new() };
    let step = judgement.timeline.step(id);
    abridge(
        step.map_or_else(Vec::new, TimelineStep::lines).iter().map(|line| format!("  {}", line.indented())).collect(),
    )
}

/// The most lines of a step, or of its chart.
const MOST_LINES: usize = 100;
/// How many of them are from its end.
const LAST_LINES: usize = 20;

/// The first and the last lines, if there are very many: a subject that writes without end makes
/// thousands. The page of `--html` has them all.
fn abridge(mut lines: Vec<String>) -> Vec<String> {
    let left_out = lines.len().saturating_sub(MOST_LINES);
    if left_out > 0 {
        let first = MOST_LINES - LAST_LINES;
        lines.splice(first..first + left_out, [format!("    ... {left_out} lines are left out here")]);
    }
    lines
}

/// The lines for a broken rule: its location, the frame, and the values of its operands there.
fn rule(judgement: &Judgement, broken: &BrokenRule, paint: Paint) -> Vec<String> {
    let BrokenRule { rule, frame, why, is_unevaluable: unfit, values } = broken;
    let problem = if *unfit { "cannot be evaluated" } else { "does not hold" };
    let mut out = vec![format!("  {}", paint.bad(&format!("the rule {problem} {frame}: {why}")))];
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

/// The lines of the step, with `-` for expected lines and `+` for what happened instead.
pub(super) fn diff(difference: &Difference, paint: Paint) -> Vec<String> {
    let none = Vec::new();
    let (expected, actual) = (difference.expected.as_ref(), difference.actual.as_ref());
    let minus = |line: &str| paint.minus(&format!("  - {line}"));
    let plus = |line: &str| paint.plus(&format!("  + {line}"));
    let mut out = Vec::new();
    for row in rows(expected.unwrap_or(&none), actual.unwrap_or(&none)) {
        match row {
            DiffRow::Same(line) => out.push(format!("    {line}")),
            DiffRow::Expected(line) => out.push(minus(&line)),
            DiffRow::Actual(line) => out.push(plus(&line)),
            DiffRow::Changed(expected, actual) => {
                out.push(minus(&expected));
                out.push(plus(&actual));
                out.extend(
                    differing_long_words(&expected, &actual)
                        .map(|words| paint.strong(&format!("            ^ {words}"))),
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
    abridge(out)
}

/// The lines that say what `-` and `+` stand for.
fn sides(judgement: &Judgement, paint: Paint) -> Vec<String> {
    let expected = match &judgement.basis {
        ComparisonBasis::Golden(Some(from)) => format!("{} on {}", from.controller, from.server),
        ComparisonBasis::Live(other) => other.to_string(),
        ComparisonBasis::Golden(None)
        | ComparisonBasis::Unblessed
        | ComparisonBasis::Rules
        | ComparisonBasis::Changed(_) => "the golden timeline".to_owned(),
    };
    let actual = subject(judgement);
    let expected = match (outcome(judgement), judgement.nearest) {
        (Some(which), Some(NearestOutcome { total: of, .. })) => {
            format!("{expected}\n    none of its {of} outcomes fits; this is the nearest: {which}")
        }
        _ => expected,
    };
    vec![paint.minus(&format!("  - expected: {expected}")), paint.plus(&format!("  + happened: {actual}"))]
}

/// The charts of both settled states; empty if there is no ReplicaSet.
fn charts(judgement: &Judgement, difference: &Difference, paint: Paint) -> Vec<String> {
    let TimelineLocation::Step(id) = difference.place else { return Vec::new() };
    let series = |lines: &Option<Vec<TimelineLine>>| {
        let states = lines.as_ref()?.iter().filter_map(TimelineLine::state).cloned().map(Arc::new);
        let states: Vec<Arc<State>> = states.collect();
        Some(RolloutSeries::of_states(id, &states, &judgement.definition))
    };
    let sides = [("expected", series(&difference.expected)), ("happened", series(&difference.actual))];
    let mut out = Vec::new();
    for (side, series) in sides {
        let Some((series, stop)) = series.as_ref().and_then(|series| Some((series, series.steps.first()?))) else {
            continue;
        };
        if stop.replica_sets.is_empty() || stop.bounds.is_empty() {
            continue;
        }
        out.push(format!("\n  {side}, settled"));
        let line = |line: String| if side == "expected" { paint.minus(&line) } else { paint.plus(&line) };
        out.extend(abridge(ascii_chart(series, stop)).into_iter().map(|text| line(format!("    {text}"))));
    }
    out
}

/// The lines that explain an unblessed case.
fn unblessed(judgement: &Judgement, rerun: &RerunCommands) -> Vec<String> {
    let bless = rerun.bless(&judgement.path);
    match &judgement.basis {
        ComparisonBasis::Changed(None) => vec![
            "  the case has changed since it was blessed; bless it again".to_owned(),
            format!("  record it from upstream: {bless}"),
        ],
        ComparisonBasis::Changed(Some(changed)) => vec![
            format!("  the case has changed since it was blessed: {} is now", changed.step),
            format!("    {}", changed.actual),
            "  and was".to_owned(),
            format!("    {}", changed.expected),
            format!("  record it from upstream again: {bless}"),
        ],
        _ => {
            let TimelineText { text, is_abridged: left_out } = TimelineText::of(&judgement.timeline);
            let left_out = if left_out { " (what a step leaves as it was is left out)" } else { "" };
            let mut out = vec![format!("  what {} did{left_out}:", subject(judgement)), String::new()];
            out.extend(text.lines().map(|line| format!("    {line}").trim_end().to_owned()));
            out.extend([
                String::new(),
                "  no invariant was broken, but there is no golden timeline to compare with".to_owned(),
            ]);
            let profile = judgement.definition.restart.profile;
            if profile == RestartProfile::Safe {
                out.push(format!("  record one from upstream: {bless}"));
                out.push(format!("  or see upstream's first, in virtual time: {bless} --preview"));
                out.push(
                    "  or judge it without upstream: `expectation: rules`, and what must hold under `rules:`"
                        .to_owned(),
                );
            } else {
                // Such a case is compared with the other project's controller, rules or not.
                out.push(format!("  record one from {profile}'s own controller: {bless} --subject {profile}:PATH"));
            }
            out
        }
    }
}

/// The requests that the server refused for lack of rights, a possible cause of the failure.
fn refused(judgement: &Judgement) -> Option<String> {
    let refused = &judgement.metrics.refused;
    let list: Vec<_> = refused.iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
    (!list.is_empty()).then(|| format!("\n  the API server refused the subject (401, 403): {}", list.join(", ")))
}

/// The definitions whose CEL rules the server did not evaluate.
fn unevaluated(judgement: &Judgement) -> Option<String> {
    let names = &judgement.unevaluated;
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        format!(
            "\n  the simulated server does not evaluate rules in CEL, and accepts objects that break those of {names}"
        )
    })
}

/// Hints from the subject's requests about usual mistakes in how it is written or started.
fn advice(judgement: &Judgement) -> Vec<String> {
    let counts = |times: &BTreeMap<String, u64>| {
        let list: Vec<_> = times.iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
        list.join(", ")
    };
    let mut out = Vec::new();
    let RunMetrics { ignored_status, undeclared, .. } = &judgement.metrics;
    if !ignored_status.is_empty() {
        out.push(format!(
            "\n  hint: the subject wrote status with the object itself: {}; a server ignores that: write to the subresource, …/status",
            counts(ignored_status)
        ));
    }
    let under_test = judgement.under_test.iter().chain(undeclared.keys().copied());
    let controllers = ControllerSet::from_iter(under_test);
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

/// The number of steps that differ after the first, usually as a consequence.
fn later_differences(judgement: &Judgement) -> Option<String> {
    let differences = judgement.comparison.as_ref()?.differences.len();
    let has_divergence = judgement.findings.iter().any(|finding| matches!(finding.kind, FindingKind::Divergence(_)));
    let later = differences.checked_sub(1).filter(|later| *later > 0 && has_divergence)?;
    let place = if judgement.verdict == Verdict::NonConformant { "later" } else { "other" };
    Some(match later {
        1 => format!("\n  one {place} step differs as well"),
        _ => format!("\n  {later} {place} steps differ as well"),
    })
}

/// How the user calls the program, and the command that repeats a play.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RerunCommands {
    /// `cargo lockstep`, `lockstep`, or a path.
    pub program: String,
    /// The command that repeats the play; empty if there is none.
    pub repeat: String,
}

impl RerunCommands {
    /// The command that explains a case.
    pub(super) fn explain(&self, path: &str) -> String {
        format!("{} explain {}", self.program, quote(path))
    }

    /// The command that blesses a case.
    pub(super) fn bless(&self, path: &str) -> String {
        format!("{} bless {}", self.program, quote(path))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lockstep_recording::TroubleTopic;
    use lockstep_recording::testing::{RecordingBuilder, deployment, owned_set, revision, scaled, with_patch};
    use lockstep_timeline::Timeline;
    use lockstep_verdict::testing::judge;

    use super::*;
    use crate::github::{JudgedCase, case_annotation, job_summary};
    use crate::junit::{TimedJudgement, junit};

    #[test]
    fn impossible_step_is_said_once() {
        let why = "the step is impossible: there is no pod".to_owned();
        let about = TroubleTopic::Other;
        let trouble = Trouble { blame: Blame::Subject, why, ended: false, probe_unserved: false, about };
        let text = "the subject left this step impossible: there is no pod";
        assert_eq!(sentence(&FindingKind::Trouble(trouble)), text);
    }

    /// A difference in step 1, and two breaches of an invariant in step 2.
    #[test]
    fn broken_invariant_heads_every_report() {
        let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
        let set = owned_set(&web, "1", "app:1", 10);
        let record = |sizes: [i32; 3]| {
            let [first, second, third] = sizes.map(|size| scaled(&set, size));
            let builder = RecordingBuilder::rolled_out(10).user_step(1, "scale 12").driver_write(&scaled(&web, 12));
            let builder = builder.subject_write(&first).settled().user_step(2, "ready 1");
            builder.subject_write(&second).subject_write(&third).settled().end()
        };
        let expected = Timeline::from_recording(&record([12, 13, 14]));
        let judgement = judge(&record([13, 18, 20]), Some(&expected));
        let what = "invariant `surge` broken: web wants 20 pods in all, at most 15 allowed";
        assert_eq!(headline(&judgement), format!("non-conformant: step 2 (ready 1): {what}"));

        let rerun = RerunCommands::default();
        let text = failure(&judgement, &rerun, false);
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines[1], format!("  {what}"), "{text}");
        assert_eq!(lines[3], "  step 2  ready 1", "{text}");
        let difference = text.find("  the first difference:\n\n  step 1  scale 12\n").unwrap();
        assert!(text[difference..].contains("\n  -         rs1 10 -> 12\n  +         rs1 10 -> 13\n"), "{text}");
        assert!(!text.contains("also:"), "{text}");

        let xml = junit(&[TimedJudgement { judgement: &judgement, rerun: &rerun, took: Duration::ZERO }], 0, None);
        assert!(xml.contains(&format!("message=\"non-conformant: step 2 (ready 1): {what}\"")), "{xml}");
        let annotation = case_annotation(&judgement, &rerun).unwrap();
        assert!(annotation.starts_with("::error file=cases/rolling/x.yaml,line=6,title="), "{annotation}");
        let summary = job_summary(0, &[JudgedCase { judgement: &judgement, rerun: &rerun }], 0, None);
        assert!(summary.contains(&format!("| 6 | step 2 (ready 1): {what} |")), "{summary}");
        assert!(
            summary.contains("\n```diff\nNON-CONFORMANT") && summary.contains("\n-         rs1 10 -> 12\n"),
            "{summary}"
        );
        let json: serde_json::Value = serde_json::from_str(&crate::json(&judgement)).unwrap();
        assert_eq!(json["headline"], headline(&judgement));
    }

    #[test]
    fn of_thousands_of_lines_the_first_and_the_last_are_shown() {
        let lines = abridge((0..1_000).map(|number| number.to_string()).collect());
        assert_eq!((lines.len(), &*lines[79], &*lines[81]), (101, "79", "980"));
        assert_eq!(lines[80].trim(), "... 900 lines are left out here");
    }
}
