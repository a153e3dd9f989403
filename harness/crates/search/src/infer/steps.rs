//! Turns moves into steps of a case: moves between which the controllers did not settle are one
//! step, and pods that become ready one by one are one step with sub-steps.
//!
//! A recording does not show in which order the controllers saw the things that happened before
//! they had settled. An [`Arrangement`] is one of the possible orders; `replay` tries them until
//! one reproduces the recording.

use std::collections::BTreeMap;

use super::moves::{Happening, InferredMove, PodAction, PodMove};
use super::step_text::{StepText, quoted};
use super::timing::TimedWait;

/// A step of the case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InferredStep {
    /// The operation, in flow style: `ready: {pods: 3}`.
    pub(super) line: String,
    /// Notes for the reader.
    pub(super) notes: Vec<String>,
    /// Its label, if a later time counts from it.
    pub(super) label: Option<String>,
    /// The entries with which it or its sub-steps begin.
    pub(super) entries: Vec<usize>,
    /// The entries of everything in it.
    members: Vec<usize>,
    /// Whether several timers end in it at about the same time.
    at_once: bool,
    /// The operation of a sub-step, if those of several pods are one step.
    unit: Option<String>,
    /// What happened before the controllers had settled, one by one in flow style; empty if it was
    /// one thing.
    pub(super) things: Vec<String>,
    /// The same as one operation that waits until the pods that it makes ready are available.
    waiting: Option<String>,
    /// Whether the next step begins before the controllers have settled.
    pub(super) is_left: bool,
}

/// The steps, and the time between them if it matters. With `timed` it matters when each pod became
/// ready.
pub(super) fn steps(happenings: &[Happening], arranged: &Arrangements, timed: bool) -> Vec<InferredStep> {
    let mut steps: Vec<InferredStep> = Vec::new();
    let mut group: Vec<&Happening> = Vec::new();
    for happening in happenings {
        // A pod is gone only after it was deleted, which was an earlier step.
        let ends = terminates(happening) && group.iter().any(|before| !terminates(before));
        if happening.settled || ends || happening.wait.is_some() {
            add(&mut steps, step(&group, timed), timed);
            group.clear();
            if !happening.settled && happening.wait.is_none() {
                steps.last_mut().into_iter().for_each(InferredStep::leave);
            }
        }
        if let Some(wait) = happening.wait.filter(|wait| !waits_itself(&mut steps, *wait, happening)) {
            let line = advance_step(wait, &mut steps);
            let known = wait.since.and_then(|_| steps.iter().position(|step| step.line == line));
            match known {
                // Pods that became ready in one step become available one after the other; this
                // much time has passed already.
                Some(at) => steps[at].at_once |= at + 1 == steps.len(),
                None => {
                    let mut step = InferredStep::plain(line, happening.entry);
                    if !happening.moves.is_empty() {
                        step.members.clear();
                    }
                    steps.push(step);
                }
            }
        }
        if !happening.moves.is_empty() {
            group.push(happening);
        }
    }
    add(&mut steps, step(&group, timed), timed);
    for (number, step) in (1..).zip(&mut steps) {
        if let Some(arrangement) = arranged.get(&number) {
            step.arrange(arrangement);
        }
    }
    steps
}

/// Whether pods have ended.
fn terminates(happening: &Happening) -> bool {
    happening.moves.iter().any(|one| matches!(one, InferredMove::Pod(PodMove { action: PodAction::Terminate, .. })))
}

/// Add a step. Pods that become ready one after the other are merged into one step, and so are pods
/// that end.
fn add(steps: &mut Vec<InferredStep>, step: Option<InferredStep>, timed: bool) {
    let Some(step) = step else { return };
    match steps.last_mut() {
        Some(last) if step.unit.is_some() && last.unit == step.unit && !timed => {
            last.entries.extend(step.entries);
            last.members.extend(step.members);
            last.line = step.line.replacen("pods: 1", &format!("pods: {}", last.entries.len()), 1);
        }
        _ => steps.push(step),
    }
}

/// Whether the last step itself waits until its pods are available, and nothing else happened then.
fn waits_itself(steps: &mut [InferredStep], wait: TimedWait, happening: &Happening) -> bool {
    let since = wait.since.filter(|_| wait.is_ready && happening.moves.is_empty());
    let last = steps.last_mut().filter(|step| since.is_some_and(|entry| step.members.contains(&entry)));
    let Some((step, waiting)) = last.and_then(|step| step.waiting.clone().map(|waiting| (step, waiting))) else {
        return false;
    };
    step.line = waiting;
    true
}

/// The operation that advances the clock; the step from which it counts gets a label.
fn advance_step(wait: TimedWait, steps: &mut [InferredStep]) -> String {
    let TimedWait { seconds, since, .. } = wait;
    let found = since.and_then(|entry| (1..).zip(steps).find(|(_, step)| step.members.contains(&entry)));
    match found {
        None => format!("advance: {seconds}s"),
        Some((number, step)) => {
            let label = step.label.get_or_insert_with(|| format!("step{number}"));
            format!("advance: {{to: {seconds}s, since: {label}}}")
        }
    }
}

impl InferredStep {
    /// One thing that begins with this entry.
    fn plain(line: String, entry: usize) -> Self {
        let (entries, members) = (vec![entry], vec![entry]);
        let (notes, things) = (Vec::new(), Vec::new());
        let (label, unit, waiting) = (None, None, None);
        Self { line, notes, label, entries, members, at_once: false, unit, things, waiting, is_left: false }
    }

    /// The next step begins before the controllers have settled.
    fn leave(&mut self) {
        self.is_left = true;
        self.notes.push(UNSETTLED.to_owned());
    }

    /// Whether it begins with this entry or before.
    pub(super) fn begins_by(&self, entry: usize) -> bool {
        self.entries.first().is_some_and(|first| *first <= entry)
    }

    /// Note what the recording lacks: this step and the following ones may differ because of it.
    pub(super) fn doubt(&mut self, why: &str) {
        self.notes.push(why.to_owned());
    }

    /// Whether several things happened before the controllers had settled.
    pub(super) fn is_concurrent(&self) -> bool {
        self.things.len() > 1 || self.at_once
    }

    /// Rearrange its things.
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

/// The note at a step that ends before the controllers have settled.
const UNSETTLED: &str = "pods had ended before the controllers settled; what was there in between is not compared";
/// The note at a step with several things.
const OVERLAPPING: &str = "these came before the controllers had settled; in which order they saw them is not known";

/// One step of these happenings, between which the controllers did not settle. If pods become
/// available some time after they are ready (`timed`), an operation that makes several ready waits
/// for that; so they become ready one by one.
fn step(group: &[&Happening], timed: bool) -> Option<InferredStep> {
    let first = group.first()?;
    let moves: Vec<&InferredMove> = group.iter().flat_map(|happening| &happening.moves).collect();
    let mut chunks: Vec<&[&InferredMove]> = moves.chunk_by(|one, two| is_alike(one, two)).collect();
    let alone = chunks.len() == 1;
    let waiting = (timed && alone && moves.len() > 1).then(|| thing(chunks[0], true));
    if timed {
        chunks = moves.chunks(1).collect();
    }
    let mut notes: Vec<String> = moves.iter().flat_map(|one| notes_of(one, alone)).collect();
    let parts: Vec<String> = chunks.into_iter().map(|chunk| thing(chunk, alone)).collect();
    if group.len() > 1 {
        notes.push(OVERLAPPING.to_owned());
    }
    let line = match parts.as_slice() {
        [only] => only.clone(),
        several => {
            format!("together: [{}]", several.iter().map(|part| format!("{{{part}}}")).collect::<Vec<_>>().join(", "))
        }
    };
    let things = moves.iter().map(|one| thing(std::slice::from_ref(one), alone)).collect();
    let several = group.len() > 1;
    let unit = (!several && is_mergeable(&moves)).then(|| line.clone());
    let members = group.iter().map(|happening| happening.entry).collect();
    let things = if several { things } else { Vec::new() };
    Some(InferredStep { notes, members, unit, things, waiting, ..InferredStep::plain(line, first.entry) })
}

/// Whether this move and more of its kind are one step with sub-steps.
fn is_mergeable(moves: &[&InferredMove]) -> bool {
    match moves {
        [InferredMove::Pod(PodMove { action: PodAction::Ready, is_next, .. })] => *is_next,
        [InferredMove::Pod(PodMove { action: PodAction::Terminate, .. })] => true,
        _ => false,
    }
}

/// The note at a move, and the other operation that writes the same.
fn notes_of(one: &InferredMove, alone: bool) -> Vec<String> {
    let (InferredMove::User(StepText { step, note, firm }) | InferredMove::Unseen(StepText { step, note, firm })) = one
    else {
        return Vec::new();
    };
    let other = firm.as_ref().map(|firm| if alone { firm } else { step });
    note.iter().cloned().chain(other.map(|other| format!("or `{other}`: both write the same"))).collect()
}

/// One operation for equal moves. Only if they came `alone` is it known which ReplicaSet is the
/// newest.
fn thing(moves: &[&InferredMove], alone: bool) -> String {
    match moves {
        [InferredMove::User(StepText { step, firm, .. }) | InferredMove::Unseen(StepText { step, firm, .. }), ..] => {
            firm.as_ref().filter(|_| !alone).unwrap_or(step).clone()
        }
        [InferredMove::Pod(one), ..] => pods(&PodMove { is_next: one.is_next && alone, ..*one }, moves.len()),
        [] => String::new(),
    }
}

/// Whether two moves are the same for two pods, so that one operation expresses both.
fn is_alike(one: &InferredMove, two: &InferredMove) -> bool {
    let (InferredMove::Pod(one), InferredMove::Pod(two)) = (one, two) else { return false };
    one.action == PodAction::Ready && two.action == one.action && (one.set, one.is_next) == (two.set, two.is_next)
}

/// A move of this many pods.
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

/// How the things of one step are arranged. They are numbered from 0 in the order in which the
/// server stored them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrangement {
    /// One by one, in this order, without settling in between.
    Order(Vec<usize>),
    /// The first one, and the others in its middle, when the controller requests this decision.
    During(String),
}

/// By the number of the step, from 1.
pub type Arrangements = BTreeMap<u32, Arrangement>;

/// With more things only some orders are tried.
const ALL_ORDERS: usize = 3;

/// The arrangements of this many things, in which the controllers made these `decisions`, the
/// likely ones first.
#[must_use]
pub fn arrangements(things: usize, decisions: &[String]) -> Vec<Arrangement> {
    let stored: Vec<usize> = (0..things).collect();
    let mut orders = vec![stored.clone()];
    if things <= ALL_ORDERS {
        orders.extend(permutations(&stored).into_iter().skip(1));
    } else {
        // The last one seen first, and so on.
        orders.extend((1..things).map(|by| stored.iter().map(|thing| (thing + things - by) % things).collect()));
    }
    let during = decisions.iter().cloned().map(Arrangement::During);
    orders.into_iter().map(Arrangement::Order).chain(during).collect()
}

/// All permutations, the given one first.
fn permutations(things: &[usize]) -> Vec<Vec<usize>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let chosen = |at: usize| {
        let mut rest = things.to_vec();
        let one = rest.remove(at);
        permutations(&rest).into_iter().map(move |order| [vec![one], order].concat())
    };
    (0..things.len()).flat_map(chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generates_every_order_of_three_things_then_during() {
        let ways = arrangements(3, &["rs1 2 -> 1".to_owned()]);
        assert_eq!(ways.len(), 7);
        assert_eq!(ways[0], Arrangement::Order(vec![0, 1, 2]));
        assert!(ways.contains(&Arrangement::Order(vec![2, 0, 1])));
        assert_eq!(ways[6], Arrangement::During("rs1 2 -> 1".to_owned()));
    }

    #[test]
    fn generates_few_orders_of_many_things() {
        let ways = arrangements(5, &[]);
        assert_eq!(ways.len(), 5);
        assert_eq!(ways[1], Arrangement::Order(vec![4, 0, 1, 2, 3]));
    }
}
