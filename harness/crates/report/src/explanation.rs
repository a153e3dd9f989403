//! Explains a case step by step: what happens, what upstream's controller decides, and why, as far
//! as the numbers show.

use std::fmt::Write;

use lockstep_case::Case;
use lockstep_case::coverage::RequirementEntry;
use lockstep_support::sanitize;
use lockstep_timeline::{Decision, DecisionAction, StepId, Timeline, TimelineEvents, TimelineStep, fold};
use lockstep_verdict::series::{DeploymentSize, RolloutBounds, RolloutSeries, StepTotals, reasons};

use super::ascii_chart::ascii_chart;
use super::paint::Paint;

/// The timeline that explains a case.
#[derive(Debug, Clone, Copy)]
pub enum ExplainedTimeline<'a> {
    /// There is no timeline.
    Missing,
    /// A golden timeline.
    Golden(&'a Timeline),
    /// The timeline of a subject that has just played the case, and a description of the subject.
    Live(&'a Timeline, &'a str),
}

/// The explanation of a case, which pins these requirements, by a timeline. Without a timeline, the
/// steps of the case only.
#[must_use]
pub fn explanation(case: &Case, timeline: ExplainedTimeline<'_>, pins: &[RequirementEntry], colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut out = format!("{}\n{}\n", paint.strong(&case.name), case.description);
    let from = match timeline {
        ExplainedTimeline::Missing if !case.expectation.is_blessed() => {
            "its rules decide, not a timeline; this is what the case says".to_owned()
        }
        ExplainedTimeline::Missing => "no timeline is blessed yet; this is what the case says".to_owned(),
        ExplainedTimeline::Live(_, who) => format!("what {who} did just now"),
        ExplainedTimeline::Golden(timeline) => timeline.provenance.as_ref().map_or_else(String::new, |from| {
            let times = match from.times_seen {
                None => format!("{} times the same", from.recordings),
                Some(seen) => format!("{seen} times of {}", from.recordings),
            };
            format!("what {} on {} did, {times}", from.controller, from.server)
        }),
    };
    let _ = writeln!(out, "{}", paint.faint(&format!("{}: {from}", case.path)));
    let _ = writeln!(out, "{}", paint.faint(&judged_controllers(case)));
    for RequirementEntry { id, text, source, level, .. } in pins {
        let _ = writeln!(out, "pins: {text} {}", paint.faint(&format!("({id}: {}, {source})", level.name())));
    }
    match timeline {
        ExplainedTimeline::Golden(timeline) | ExplainedTimeline::Live(timeline, _) => {
            timeline_steps(&mut out, case, timeline, paint);
        }
        ExplainedTimeline::Missing => steps(&mut out, case),
    }
    out
}

/// The controllers that are judged, and what the case controls besides pods.
fn judged_controllers(case: &Case) -> String {
    use lockstep_case::model::{Bindings, Terminations};
    let mut parts = vec![format!("judged: {}", case.controllers)];
    if case.terminations == Terminations::Held {
        parts.push("deletions finish only where the case says so".to_owned());
    }
    if case.bindings == Bindings::Held {
        parts.push("pods get a node only where the case says so".to_owned());
    }
    parts.join("; ")
}

/// Writes the steps of a case without a timeline.
fn steps(out: &mut String, case: &Case) {
    let lines: Vec<&str> = case.source.lines().collect();
    for (title, steps) in [("before the first step", &case.given), ("steps", &case.steps)] {
        let _ = writeln!(out, "\n{title}");
        for step in steps {
            let text = lines.get(step.line.saturating_sub(1)).copied().unwrap_or_default();
            let _ = writeln!(out, "  line {:<3} {}", step.line, sanitize::line(text.trim().trim_start_matches("- ")));
        }
    }
}

fn timeline_steps(out: &mut String, case: &Case, timeline: &Timeline, paint: Paint) {
    let course = RolloutSeries::of(timeline, case);
    let mut before: Option<&StepTotals> = None;
    let mut stops = course.steps.iter();
    for run in fold::runs(&timeline.steps) {
        let Some((step, stop)) = run.last().zip(stops.nth(run.len() - 1)) else { return };
        let line = stop.line.map_or_else(String::new, |line| paint.faint(&format!("   {}:{line}", case.path)));
        let (title, label) = match run {
            [one] if one.id == StepId::GIVEN => ("before the first step".to_owned(), one.label.clone()),
            [one] => (one.id.to_string(), one.label.clone()),
            _ => fold::heading(run)
                .split_once("  ")
                .map(|(ids, label)| (ids.to_owned(), label.to_owned()))
                .unwrap_or_default(),
        };
        let _ = writeln!(out, "\n{}  {label}{line}", paint.strong(&title));
        let StepReasons { facts, decisions, idle } = StepReasons::of(step, before, stop);
        for text in facts {
            let _ = writeln!(out, "    {text}");
        }
        for meeting in &step.injections {
            let _ = writeln!(out, "  ~ in the middle of it: {meeting}");
        }
        if let Some(why) = idle {
            let _ = writeln!(out, "  . {why}");
        }
        // The heading of a collapsed run already has its decisions.
        for (decision, why) in decisions.into_iter().filter(|_| run.len() == 1) {
            let why = why.map_or_else(String::new, |why| paint.faint(&format!(": {why}")));
            let _ = writeln!(out, "  > {decision}{why}");
        }
        for breach in &step.breaches {
            let _ = writeln!(out, "  ! upstream itself breaks an invariant here: {breach}");
        }
        for text in ascii_chart(&course, stop) {
            let _ = writeln!(out, "      {text}");
        }
        for text in conditions(step) {
            let _ = writeln!(out, "      {}", paint.faint(&text));
        }
        before = Some(stop);
    }
    match &timeline.events {
        TimelineEvents::All(all) if !all.is_empty() => {
            let _ = writeln!(out, "\n{}", paint.strong("what it reported, as events"));
            all.iter().for_each(|event| {
                let _ = writeln!(out, "  {event}");
            });
        }
        _ => {}
    }
}

/// Why the decisions of a step are made, in sentences.
pub(super) struct StepReasons {
    /// The bounds that are new.
    pub(super) facts: Vec<String>,
    /// The decisions, each with its reason where the numbers leave no doubt.
    pub(super) decisions: Vec<(String, Option<String>)>,
    /// That nothing is decided, and why.
    pub(super) idle: Option<String>,
}

impl StepReasons {
    /// The reasons of a step. `before` is the settled state before it.
    pub(super) fn of(step: &TimelineStep, before: Option<&StepTotals>, stop: &StepTotals) -> Self {
        let decisions = step.decisions.iter().map(decision_sentence).zip(reasons(step, before, stop));
        let idle = step.decisions.is_empty().then(|| format!("nothing is decided{}", idle(step, stop)));
        Self { facts: new_facts(before, stop), decisions: decisions.collect(), idle }
    }
}

/// The bounds that are new since the step before.
fn new_facts(before: Option<&StepTotals>, stop: &StepTotals) -> Vec<String> {
    let new = stop
        .bounds
        .iter()
        .filter(|(name, allowed)| before.and_then(|before| before.bounds.get(*name)) != Some(*allowed));
    new.map(|(name, allowed)| allows(name, allowed)).collect()
}

/// `web wants 10 pods: at most 13 (maxSurge 25%), at least 8 available (maxUnavailable 25%)`.
fn allows(name: &str, allowed: &RolloutBounds) -> String {
    let RolloutBounds { replicas, bounds, max_surge: surge, max_unavailable: unavailable, paused } = allowed;
    let of = |field: &str, value: &Option<String>| {
        value.as_ref().map_or_else(String::new, |value| format!(" ({field} {value})"))
    };
    let least = match bounds.least {
        Some(least) => format!(", at least {least} available{}", of("maxUnavailable", unavailable)),
        None => "; with Recreate the old pods go before the new ones come".to_owned(),
    };
    let paused = if *paused { "; it is paused, so no rollout goes on" } else { "" };
    format!("{name} wants {replicas}: at most {}{}{least}{paused}", pods(bounds.most), of("maxSurge", surge))
}

/// A possible reason why nothing was decided.
fn idle(step: &TimelineStep, stop: &StepTotals) -> String {
    let stuck = |(name, total): (&String, &DeploymentSize)| {
        let allowed = stop.bounds.get(name)?;
        match allowed.bounds.least {
            None => (total.desired == 0 && allowed.replicas > 0).then(|| {
                format!(": {name}'s old pods are not all gone yet, and with Recreate no new one comes before")
            }),
            Some(least) => (total.desired >= allowed.bounds.most && total.available <= least).then(|| {
                format!(
                    ": {name} has as many pods as may be ({}), and no more available ones than must be ({least})",
                    total.desired
                )
            }),
        }
    };
    let paused = stop.bounds.values().any(|allowed| allowed.paused);
    match stop.deployments.iter().find_map(stuck) {
        _ if paused => ": it is paused".to_owned(),
        Some(why) => why,
        None if step
            .checkpoint
            .iter()
            .any(|state| state.fields.iter().any(|field| field.value == "True(NewReplicaSetAvailable)")) =>
        {
            ": the rollout is complete".to_owned()
        }
        None => String::new(),
    }
}

/// `1 pod`, `2 pods`.
fn pods(number: i64) -> String {
    format!("{number} pod{}", if number == 1 { "" } else { "s" })
}

fn decision_sentence(decision: &Decision) -> String {
    let details: Vec<String> = decision.details.iter().map(ToString::to_string).collect();
    let with = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let object = &decision.object;
    match decision.action {
        DecisionAction::Created(replicas) => format!("{object} is created with {}{with}", pods(replicas.into())),
        DecisionAction::Resized { from, to } if to > from => format!("{object} grows from {from} to {to}{with}"),
        DecisionAction::Resized { from, to } => format!("{object} shrinks from {from} to {to}{with}"),
        DecisionAction::Deleted => format!("{object} is deleted{with}"),
        DecisionAction::Adopted => format!("{object} is adopted{with}"),
        DecisionAction::Released => format!("{object} is released{with}"),
        DecisionAction::Annotated => format!("{object} gets annotations{with}"),
        DecisionAction::Changed => format!("{object} is written{with}"),
        DecisionAction::Pods => format!("pods of {object} change{with}"),
    }
}

/// The conditions of the Deployments.
fn conditions(step: &TimelineStep) -> Vec<String> {
    let deployments = step.checkpoint.iter().filter(|state| !state.is_replica_set());
    deployments
        .filter_map(|state| {
            let conditions =
                state.fields.iter().filter(|field| field.value.ends_with(')') && field.value.contains('('));
            let conditions: Vec<String> = conditions.map(ToString::to_string).collect();
            (!conditions.is_empty()).then(|| format!("{} says {}", state.object, conditions.join(" ")))
        })
        .collect()
}
