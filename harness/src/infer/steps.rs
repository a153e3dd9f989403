//! Moves as steps of a case: those between which the controllers did not settle are one step, and pods that become ready one by one are
//! one step with sub-steps.

use super::arrange::{Arrangement, Arrangements};
use super::flow::quoted;
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
    /// What came before the controllers had settled, one by one in flow style; empty where it was one thing.
    pub(super) things: Vec<String>,
}

/// Pods that become ready in their usual order, one by one.
const ONE_READY: &str = "ready: {pods: 1}";

/// The steps, and the time between them where it matters.
pub(super) fn steps(happenings: &[Happening], arranged: &Arrangements) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut group: Vec<&Happening> = Vec::new();
    for happening in happenings {
        // A pod is gone only after somebody deleted it: that was a step before.
        let ends =
            happening.moves.iter().any(|one| matches!(one, Move::Pod(PodMove { action: PodAction::Terminate, .. })));
        if happening.settled || ends {
            add(&mut steps, step(&group));
            group.clear();
        }
        if let Some(seconds) = happening.waited {
            let line = format!("advance: {seconds}s");
            add(&mut steps, Some(Step { line, notes: Vec::new(), entries: vec![happening.entry], things: Vec::new() }));
        }
        if !happening.moves.is_empty() {
            group.push(happening);
        }
    }
    add(&mut steps, step(&group));
    for (number, step) in (1..).zip(&mut steps) {
        if let Some(arrangement) = arranged.get(&number) {
            step.arrange(arrangement);
        }
    }
    steps
}

/// Add a step. Pods that become ready one after the other are one.
fn add(steps: &mut Vec<Step>, step: Option<Step>) {
    let Some(step) = step else { return };
    match steps.last_mut() {
        Some(last) if step.line == ONE_READY && last.is_ready_one_by_one() => {
            last.entries.extend(step.entries);
            last.line = format!("ready: {{pods: {}}}", last.entries.len());
        }
        _ => steps.push(step),
    }
}

impl Step {
    /// Whether several things came before the controllers had settled.
    pub(super) fn is_concurrent(&self) -> bool {
        self.things.len() > 1
    }

    fn is_ready_one_by_one(&self) -> bool {
        self.line == ONE_READY || self.entries.len() > 1
    }

    /// Put its things in another way.
    fn arrange(&mut self, arrangement: &Arrangement) {
        let flow = |thing: &String| format!("{{{thing}}}");
        self.line = match arrangement {
            Arrangement::Order(order) => {
                let parts: Vec<String> = order.iter().filter_map(|at| self.things.get(*at)).map(flow).collect();
                format!("together: [{}]", parts.join(", "))
            }
            Arrangement::During(decision) => {
                let Some((first, rest)) = self.things.split_first() else { return };
                let rest: Vec<String> = rest.iter().map(flow).collect();
                format!("{{{first}, during: {{decision: {}, do: [{}]}}}}", quoted(decision), rest.join(", "))
            }
        };
        self.notes.retain(|note| note != OVERLAPPING);
        self.notes
            .push("these came before the controllers had settled; so arranged, upstream does the same".to_owned());
    }
}

/// What is said of a step with several things.
const OVERLAPPING: &str = "these came before the controllers had settled; in which order they saw them is not known";

/// One step of these happenings, between which nothing settled.
fn step(group: &[&Happening]) -> Option<Step> {
    let first = group.first()?;
    let moves: Vec<&Move> = group.iter().flat_map(|happening| &happening.moves).collect();
    let mut notes: Vec<String> = moves
        .iter()
        .filter_map(|one| if let Move::User(Written { note, .. }) = one { note.clone() } else { None })
        .collect();
    let parts: Vec<String> = moves.chunk_by(|one, two| is_alike(one, two)).map(thing).collect();
    if group.len() > 1 {
        notes.push(OVERLAPPING.to_owned());
    }
    let line = match parts.as_slice() {
        [only] => only.clone(),
        several => {
            format!("together: [{}]", several.iter().map(|part| format!("{{{part}}}")).collect::<Vec<_>>().join(", "))
        }
    };
    let things = moves.iter().map(|one| thing(std::slice::from_ref(one))).collect();
    Some(Step { line, notes, entries: vec![first.entry], things: if group.len() > 1 { things } else { Vec::new() } })
}

/// One operation for moves that are alike.
fn thing(moves: &[&Move]) -> String {
    match moves {
        [Move::User(Written { step, .. }), ..] => step.clone(),
        [Move::Pod(one), ..] => pods(one, moves.len()),
        [] => String::new(),
    }
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
