//! Parses the text of a timeline, the counterpart of `text`.

use super::digest;
use super::model::{
    Decision, DecisionAction, EventLine, Invariant, InvariantBreach, KeyValue, Provenance, State, StepId, Timeline,
    TimelineEvents, TimelineStep,
};
use super::text::{JOINED, WRITTEN_BY};
use super::token::words;

/// Why a file is not a timeline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}; bless the case again instead of editing its timeline")]
pub struct TimelineError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub why: String,
}

impl Timeline {
    /// Parses what `Display` wrote.
    ///
    /// # Errors
    /// The first line that `Display` never writes.
    pub fn parse(text: &str) -> Result<Self, TimelineError> {
        let mut timeline = Self {
            provenance: None,
            case: None,
            steps: Vec::new(),
            events: TimelineEvents::NotCompared("not recorded".to_owned()),
        };
        let mut in_events = false;
        for (number, line) in text.lines().enumerate() {
            let wrong = |why: String| TimelineError { line: number + 1, why };
            let content = line.trim();
            if content.is_empty() {
                continue;
            } else if let Some(comment) = content.strip_prefix('#') {
                timeline.provenance = timeline.provenance.or_else(|| provenance(comment));
                timeline.case = timeline.case.or_else(|| digest::parse(comment));
            } else if !line.starts_with(' ') {
                in_events = content.split(' ').next() == Some("events");
                if in_events {
                    timeline.events = events_heading(content).map_err(wrong)?;
                } else {
                    timeline.steps.push(heading(content).map_err(wrong)?);
                }
            } else if in_events {
                let TimelineEvents::All(all) = &mut timeline.events else {
                    return Err(wrong("an event where events are not compared".to_owned()));
                };
                all.push(event(content).map_err(wrong)?);
            } else {
                let step = timeline.steps.last_mut().ok_or_else(|| wrong("nothing stands above it".to_owned()))?;
                step_line(step, content).map_err(wrong)?;
            }
        }
        Ok(timeline)
    }
}

/// Parses a line under a step: `= state`, `! breach`, `~ injection`, or a decision.
fn step_line(step: &mut TimelineStep, content: &str) -> Result<(), String> {
    if let Some(rest) = content.strip_prefix("= ") {
        step.checkpoint.push(state(rest)?.into());
    } else if let Some(rest) = content.strip_prefix("! ") {
        step.breaches.push(breach(rest)?);
    } else if let Some(rest) = content.strip_prefix("~ ") {
        step.injections.push(rest.to_owned());
    } else {
        step.decisions.push(decision(content)?);
    }
    Ok(())
}

/// Parses `# upstream: kube-controller-manager v1.36.3 on kube-apiserver v1.36.3; 5 recordings, 2
/// boots. Written by …`; returns `None` for other comments.
fn provenance(comment: &str) -> Option<Provenance> {
    let (name, rest) = comment.trim().strip_suffix(WRITTEN_BY)?.split_once(": ")?;
    let (programs, counts) = rest.trim().strip_suffix('.')?.rsplit_once("; ")?;
    let (controller, server) = programs.split_once(" on ")?;
    let (recordings, boots) = counts.split_once(", ")?;
    let count = |text: &str| text.split(' ').next()?.parse().ok();
    let (seen, recordings) = match recordings.strip_prefix("seen ").and_then(|rest| rest.split_once(" of ")) {
        Some((seen, recordings)) => (Some(count(seen)?), recordings),
        None => (None, recordings),
    };
    Some(Provenance {
        name: name.to_owned(),
        controller: controller.to_owned(),
        server: server.to_owned(),
        recordings: count(recordings)?,
        times_seen: seen,
        boots: count(boots)?,
    })
}

/// `given   label`, `step 1  label`, `step 2.3  label (joined)`.
fn heading(content: &str) -> Result<TimelineStep, String> {
    let (id, label) = content.split_once("  ").unwrap_or((content, ""));
    let id = step_id(id).ok_or_else(|| match id.strip_prefix("edge ") {
        Some(number) => format!("`edge {number}` is called `step {number}` now"),
        None => format!("neither `given`, `step N` nor `events`: `{id}`"),
    })?;
    let (label, joined) = match label.trim().strip_suffix(JOINED.trim()) {
        Some(label) => (label.trim(), true),
        None => (label.trim(), false),
    };
    let label = label.to_owned();
    let (meetings, decisions, breaches, checkpoint) = Default::default();
    Ok(TimelineStep { id, label, joined, injections: meetings, decisions, breaches, checkpoint })
}

fn step_id(text: &str) -> Option<StepId> {
    if text == "given" {
        return Some(StepId::GIVEN);
    }
    let number = text.strip_prefix("step ")?;
    let (index, part) = number.split_once('.').unwrap_or((number, "0"));
    Some(StepId { index: index.parse().ok()?, part: part.parse().ok()? })
}

/// `rs1 10 -> 8  desired=12 max=15`.
fn decision(content: &str) -> Result<Decision, String> {
    let all = words(content);
    let number = |text: &str| text.parse::<i32>().map_err(|_| format!("`{text}` is not a number of replicas"));
    let (object, action, rest) = match all.as_slice() {
        [object, "created", replicas, rest @ ..] => (object, DecisionAction::Created(number(replicas)?), rest),
        [object, from, "->", to, rest @ ..] => {
            (object, DecisionAction::Resized { from: number(from)?, to: number(to)? }, rest)
        }
        [object, "deleted", rest @ ..] => (object, DecisionAction::Deleted, rest),
        [object, "adopted", rest @ ..] => (object, DecisionAction::Adopted, rest),
        [object, "released", rest @ ..] => (object, DecisionAction::Released, rest),
        [object, "annotated", rest @ ..] => (object, DecisionAction::Annotated, rest),
        [object, "pods", rest @ ..] => (object, DecisionAction::Pods, rest),
        [object, rest @ ..] => (object, DecisionAction::Changed, rest),
        [] => return Err("empty".to_owned()),
    };
    Ok(Decision { object: (*object).to_owned(), action, details: fields(rest)? })
}

/// `rs1 8/8 ready=8 …`.
fn state(content: &str) -> Result<State, String> {
    match words(content).as_slice() {
        [object, size, rest @ ..] => {
            Ok(State { object: (*object).to_owned(), size: (*size).to_owned(), fields: fields(rest)? })
        }
        _ => Err("a checkpoint without numbers".to_owned()),
    }
}

fn fields(words: &[&str]) -> Result<Vec<KeyValue>, String> {
    let field = |word: &&str| {
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not a key=value"))?;
        Ok(KeyValue { key: key.to_owned(), value: value.to_owned() })
    };
    words.iter().map(field).collect()
}

/// `surge: 14 wanted, at most 13 allowed`.
fn breach(content: &str) -> Result<InvariantBreach, String> {
    let (name, detail) = content.split_once(": ").ok_or("a breach without a detail")?;
    let invariant = Invariant::ALL
        .into_iter()
        .find(|invariant| invariant.name() == name)
        .ok_or_else(|| format!("no invariant `{name}`"))?;
    Ok(InvariantBreach { invariant, detail: detail.to_owned() })
}

fn events_heading(content: &str) -> Result<TimelineEvents, String> {
    match content.strip_prefix("events").map(str::trim) {
        Some("" | "none") => Ok(TimelineEvents::All(Vec::new())),
        Some(rest) => match rest.strip_prefix("not compared: ") {
            Some(why) => Ok(TimelineEvents::NotCompared(why.to_owned())),
            None => Err(format!("`{rest}` says nothing about events")),
        },
        None => Err("no events".to_owned()),
    }
}

/// `Normal ScalingReplicaSet "…"  ×1`.
fn event(content: &str) -> Result<EventLine, String> {
    let (text, count) = content.rsplit_once("  ×").ok_or("an event without `×` and how often")?;
    let count = count.parse().map_err(|_| format!("`{count}` is not a count"))?;
    Ok(EventLine { text: text.to_owned(), count })
}
