//! A case told as a story: what happens at each step, what upstream's controller made of it, and
//! why, as far as numbers say.

use std::fmt::Write;

use super::paint::Paint;
use super::staircase::staircase;
use crate::case::Case;
use crate::course::{Allowed, Course, Stop, Total, reasons};
use crate::coverage::Requirement;
use crate::plain;
use crate::timeline::{Action, Decision, Events, Step, StepId, Timeline, fold};

/// What is known of a case besides what it says itself.
#[derive(Debug, Clone, Copy)]
pub enum Said<'a> {
    /// No timeline is there.
    Nothing,
    /// A golden timeline.
    Golden(&'a Timeline),
    /// What a subject did just now, and who it was, on what.
    Live(&'a Timeline, &'a str),
}

/// The story of a case, which pins these requirements, and of a timeline; without one, what the
/// case says alone.
#[must_use]
pub fn story(case: &Case, said: Said<'_>, pins: &[Requirement], colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut out = format!("{}\n{}\n", paint.strong(&case.name), case.description);
    let from = match said {
        Said::Nothing => "no timeline is blessed yet; this is what the case says".to_owned(),
        Said::Live(_, who) => format!("what {who} did just now"),
        Said::Golden(timeline) => timeline.provenance.as_ref().map_or_else(String::new, |from| {
            let times = match from.seen {
                None => format!("{} times the same", from.recordings),
                Some(seen) => format!("{seen} times of {}", from.recordings),
            };
            format!("what {} on {} did, {times}", from.controller, from.server)
        }),
    };
    let _ = writeln!(out, "{}", paint.faint(&format!("{}: {from}", case.path)));
    let _ = writeln!(out, "{}", paint.faint(&who(case)));
    for Requirement { id, says, source, level, .. } in pins {
        let _ = writeln!(out, "pins: {says} {}", paint.faint(&format!("({id}: {}, {source})", level.name())));
    }
    match said {
        Said::Golden(timeline) | Said::Live(timeline, _) => timeline_steps(&mut out, case, timeline, paint),
        Said::Nothing => steps(&mut out, case),
    }
    out
}

/// What is judged, and who moves what.
fn who(case: &Case) -> String {
    use crate::case::model::{Bindings, Terminations};
    let mut says = vec![format!("judged: {}", case.controllers)];
    if case.terminations == Terminations::Held {
        says.push("deletions finish only where the case says so".to_owned());
    }
    if case.bindings == Bindings::Held {
        says.push("pods get a node only where the case says so".to_owned());
    }
    says.join("; ")
}

/// Without a timeline: the steps alone.
fn steps(out: &mut String, case: &Case) {
    let lines: Vec<&str> = case.source.lines().collect();
    for (title, steps) in [("before the first step", &case.given), ("steps", &case.steps)] {
        let _ = writeln!(out, "\n{title}");
        for step in steps {
            let text = lines.get(step.line.saturating_sub(1)).copied().unwrap_or_default();
            let _ = writeln!(out, "  line {:<3} {}", step.line, plain::line(text.trim().trim_start_matches("- ")));
        }
    }
}

fn timeline_steps(out: &mut String, case: &Case, timeline: &Timeline, paint: Paint) {
    let course = Course::of(timeline, case);
    let mut before: Option<&Stop> = None;
    let mut stops = course.stops.iter();
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
        for text in new_facts(before, stop) {
            let _ = writeln!(out, "    {text}");
        }
        for meeting in &step.meetings {
            let _ = writeln!(out, "  ~ in the middle of it: {meeting}");
        }
        if step.decisions.is_empty() {
            let _ = writeln!(out, "  . nothing is decided{}", idle(step, stop));
        }
        // The heading of a run says what is decided each time.
        let decided = if run.len() == 1 { step.decisions.as_slice() } else { &[] };
        for (decision, why) in decided.iter().zip(reasons(step, before, stop)) {
            let why = why.map_or_else(String::new, |why| paint.faint(&format!(": {why}")));
            let _ = writeln!(out, "  > {}{why}", told(decision));
        }
        for breach in &step.breaches {
            let _ = writeln!(out, "  ! upstream itself breaks an invariant here: {breach}");
        }
        for text in staircase(&course, stop) {
            let _ = writeln!(out, "      {text}");
        }
        for text in conditions(step) {
            let _ = writeln!(out, "      {}", paint.faint(&text));
        }
        before = Some(stop);
    }
    match &timeline.events {
        Events::All(all) if !all.is_empty() => {
            let _ = writeln!(out, "\n{}", paint.strong("what it reported, as events"));
            all.iter().for_each(|event| {
                let _ = writeln!(out, "  {event}");
            });
        }
        _ => {}
    }
}

/// What a strategy allows, where that is new.
fn new_facts(before: Option<&Stop>, stop: &Stop) -> Vec<String> {
    let new = stop
        .allowed
        .iter()
        .filter(|(name, allowed)| before.and_then(|before| before.allowed.get(*name)) != Some(*allowed));
    new.map(|(name, allowed)| allows(name, allowed)).collect()
}

/// `web wants 10 pods: at most 13 (maxSurge 25%), at least 8 available (maxUnavailable 25%)`.
fn allows(name: &str, allowed: &Allowed) -> String {
    let Allowed { replicas, bounds, surge, unavailable, paused } = allowed;
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

/// Why nothing may have been decided.
fn idle(step: &Step, stop: &Stop) -> String {
    let stuck = |(name, total): (&String, &Total)| {
        let allowed = stop.allowed.get(name)?;
        match allowed.bounds.least {
            None => (total.wanted == 0 && allowed.replicas > 0).then(|| {
                format!(": {name}'s old pods are not all gone yet, and with Recreate no new one comes before")
            }),
            Some(least) => (total.wanted >= allowed.bounds.most && total.available <= least).then(|| {
                format!(
                    ": {name} has as many pods as may be ({}), and no more available ones than must be ({least})",
                    total.wanted
                )
            }),
        }
    };
    let paused = stop.allowed.values().any(|allowed| allowed.paused);
    match stop.totals.iter().find_map(stuck) {
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

/// A decision as a sentence.
fn told(decision: &Decision) -> String {
    let details: Vec<String> = decision.details.iter().map(ToString::to_string).collect();
    let with = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
    let object = &decision.object;
    match decision.action {
        Action::Created(replicas) => format!("{object} is created with {}{with}", pods(replicas.into())),
        Action::Resized { from, to } if to > from => format!("{object} grows from {from} to {to}{with}"),
        Action::Resized { from, to } => format!("{object} shrinks from {from} to {to}{with}"),
        Action::Deleted => format!("{object} is deleted{with}"),
        Action::Adopted => format!("{object} is adopted{with}"),
        Action::Released => format!("{object} is released{with}"),
        Action::Annotated => format!("{object} gets annotations{with}"),
        Action::Changed => format!("{object} is written{with}"),
        Action::Pods => format!("pods of {object} change{with}"),
    }
}

/// What the Deployments say of themselves.
fn conditions(step: &Step) -> Vec<String> {
    let deployments = step.checkpoint.iter().filter(|state| !state.is_replica_set());
    deployments
        .filter_map(|state| {
            let says = state.fields.iter().filter(|field| field.value.ends_with(')') && field.value.contains('('));
            let says: Vec<String> = says.map(ToString::to_string).collect();
            (!says.is_empty()).then(|| format!("{} says {}", state.object, says.join(" ")))
        })
        .collect()
}
