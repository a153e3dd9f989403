//! Moves as steps of a case: those between which the controllers did not settle are one step, and pods that become ready one by one are
//! one step with sub-steps.

use super::moves::{Happening, Move, PodAction, PodMove};
use super::written::Written;

/// A step of the case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What it does, in flow style: `ready: {pods: 3}`.
    pub(super) line: String,
    /// Remarks for the reader.
    pub(super) notes: Vec<String>,
    /// The entry with which it begins, or each of its sub-steps.
    pub(super) entries: Vec<usize>,
}

/// Pods that become ready in their usual order, one by one.
const ONE_READY: &str = "ready: {pods: 1}";

/// The steps, and the time between them where it matters.
pub(super) fn steps(happenings: &[Happening]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut group: Vec<&Happening> = Vec::new();
    for happening in happenings {
        // A pod is gone only after somebody deleted it: that was a step before.
        let ends =
            happening.moves.iter().any(|one| matches!(one, Move::Pod(PodMove { action: PodAction::Terminate, .. })));
        if happening.settled || ends {
            steps.extend(step(&group));
            group.clear();
        }
        if let Some(seconds) = happening.waited {
            let line = format!("advance: {seconds}s");
            steps.push(Step { line, notes: Vec::new(), entries: vec![happening.entry] });
        }
        if !happening.moves.is_empty() {
            group.push(happening);
        }
    }
    steps.extend(step(&group));
    joined(steps)
}

/// One step of these happenings, between which nothing settled.
fn step(group: &[&Happening]) -> Option<Step> {
    let first = group.first()?;
    let moves: Vec<&Move> = group.iter().flat_map(|happening| &happening.moves).collect();
    let mut notes = Vec::new();
    let mut parts: Vec<String> = Vec::new();
    for run in moves.chunk_by(|one, two| is_alike(one, two)) {
        match run {
            [Move::User(Written { step, note })] => {
                parts.push(step.clone());
                notes.extend(note.clone());
            }
            [Move::Pod(one), rest @ ..] => parts.push(pods(one, 1 + rest.len())),
            _ => {}
        }
    }
    let line = match parts.as_slice() {
        [only] => only.clone(),
        several => {
            notes.push(
                "these came before the controllers had settled; in which order they saw them is not known".to_owned(),
            );
            format!("together: [{}]", several.iter().map(|part| format!("{{{part}}}")).collect::<Vec<_>>().join(", "))
        }
    };
    Some(Step { line, notes, entries: vec![first.entry] })
}

/// Whether two moves are the same of two pods, and one operation says both.
fn is_alike(one: &Move, two: &Move) -> bool {
    let (Move::Pod(one), Move::Pod(two)) = (one, two) else { return false };
    one.action == PodAction::Ready && two.action == one.action && (one.set, one.is_next) == (two.set, two.is_next)
}

/// A move of so many pods.
fn pods(one: &PodMove, number: usize) -> String {
    let PodMove { action, set, place, is_next } = *one;
    let of = if is_next { String::new() } else { format!(", of: {{replicaset: rs{set}}}") };
    let atomic = if number > 1 { ", atomic: true" } else { "" };
    match action {
        PodAction::Ready => format!("ready: {{pods: {number}{of}{atomic}}}"),
        PodAction::Unready => format!("unready: {{pods: 1{of}}}"),
        PodAction::Fail => format!("fail: {{pods: 1{of}}}"),
        PodAction::Succeed => format!("succeed: {{pods: 1{of}}}"),
        PodAction::Terminate => format!("terminate: {{pods: 1{of}}}"),
        PodAction::Delete => format!("delete: pod/rs{set}.{place}"),
    }
}

/// Pods that become ready one after the other, as one step.
fn joined(steps: Vec<Step>) -> Vec<Step> {
    let mut all: Vec<Step> = Vec::new();
    for step in steps {
        match all.last_mut() {
            Some(last) if step.line == ONE_READY && last.line.starts_with(ONE_READY) => {
                last.entries.extend(step.entries);
            }
            _ => all.push(step),
        }
    }
    for step in &mut all {
        if step.entries.len() > 1 {
            step.line = format!("ready: {{pods: {}}}", step.entries.len());
        }
    }
    all
}
