//! Moves as steps of a case: those between which the controllers did not settle are one step, and
//! pods that become ready one by one are one step with sub-steps.

use super::arrange::{Arrangement, Arrangements};
use super::flow::quoted;
use super::moves::{Happening, Move, PodAction, PodMove};
use super::timing::Wait;
use super::written::Written;

/// A step of the case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// What it does, in flow style: `ready: {pods: 3}`.
    pub(super) line: String,
    /// Remarks for the reader.
    pub(super) notes: Vec<String>,
    /// Its name, where time is counted from it.
    pub(super) label: Option<String>,
    /// The entry with which it begins, or each of its sub-steps.
    pub(super) entries: Vec<usize>,
    /// The entries of all that was done in it.
    members: Vec<usize>,
    /// Whether several timers end in it at about the same time.
    at_once: bool,
    /// What a sub-step does, if those of several pods are one step.
    unit: Option<String>,
    /// What came before the controllers had settled, one by one in flow style; empty where it was
    /// one thing.
    pub(super) things: Vec<String>,
    /// The same in one operation that waits until the pods that it makes ready are available.
    waiting: Option<String>,
    /// Whether the next step begins before the controllers have settled.
    pub(super) is_left: bool,
}

/// The steps, and the time between them where it matters. With `timed` it matters of each pod when
/// it became ready.
pub(super) fn steps(happenings: &[Happening], arranged: &Arrangements, timed: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut group: Vec<&Happening> = Vec::new();
    for happening in happenings {
        // A pod is gone only after somebody deleted it: that was a step before.
        let ends = terminates(happening) && group.iter().any(|before| !terminates(before));
        if happening.settled || ends || happening.waited.is_some() {
            add(&mut steps, step(&group, timed), timed);
            group.clear();
            if !happening.settled && happening.waited.is_none() {
                steps.last_mut().into_iter().for_each(Step::leave);
            }
        }
        if let Some(wait) = happening.waited.filter(|wait| !waits_itself(&mut steps, *wait, happening)) {
            let line = waited(wait, &mut steps);
            let known = wait.since.and_then(|_| steps.iter().position(|step| step.line == line));
            match known {
                // Pods that became ready in one step are available one after the other; so much
                // time has passed already.
                Some(at) => steps[at].at_once |= at + 1 == steps.len(),
                None => {
                    let mut step = Step::plain(line, happening.entry);
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
    happening.moves.iter().any(|one| matches!(one, Move::Pod(PodMove { action: PodAction::Terminate, .. })))
}

/// Add a step. Pods that become ready one after the other are one, and so are pods that end.
fn add(steps: &mut Vec<Step>, step: Option<Step>, timed: bool) {
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

/// Whether the last step itself waits until its pods are available, which is all that happened
/// then.
fn waits_itself(steps: &mut [Step], wait: Wait, happening: &Happening) -> bool {
    let since = wait.since.filter(|_| wait.is_ready && happening.moves.is_empty());
    let last = steps.last_mut().filter(|step| since.is_some_and(|entry| step.members.contains(&entry)));
    let Some((step, waiting)) = last.and_then(|step| step.waiting.clone().map(|waiting| (step, waiting))) else {
        return false;
    };
    step.line = waiting;
    true
}

/// The operation that lets time pass; the step from which it is counted gets a name.
fn waited(wait: Wait, steps: &mut [Step]) -> String {
    let Wait { seconds, since, .. } = wait;
    let found = since.and_then(|entry| (1..).zip(steps).find(|(_, step)| step.members.contains(&entry)));
    match found {
        None => format!("advance: {seconds}s"),
        Some((number, step)) => {
            let label = step.label.get_or_insert_with(|| format!("step{number}"));
            format!("advance: {{to: {seconds}s, since: {label}}}")
        }
    }
}

impl Step {
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
        self.notes.push(LEFT.to_owned());
    }

    /// Whether it begins with this entry or before.
    pub(super) fn begins_by(&self, entry: usize) -> bool {
        self.entries.first().is_some_and(|first| *first <= entry)
    }

    /// Say what a recording does not have, and that this and what follows may be otherwise for it.
    pub(super) fn doubt(&mut self, why: &str) {
        self.notes.push(why.to_owned());
    }

    /// Whether several things came before the controllers had settled.
    pub(super) fn is_concurrent(&self) -> bool {
        self.things.len() > 1 || self.at_once
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

/// What is said of a step that ends before the controllers have settled.
const LEFT: &str = "pods had ended before the controllers settled; what was there in between is not compared";
/// What is said of a step with several things.
const OVERLAPPING: &str = "these came before the controllers had settled; in which order they saw them is not known";

/// One step of these happenings, between which nothing settled. Where pods are available some time
/// after they are ready (`timed`), an operation that makes several ready waits until they are; so
/// they become ready one by one.
fn step(group: &[&Happening], timed: bool) -> Option<Step> {
    let first = group.first()?;
    let moves: Vec<&Move> = group.iter().flat_map(|happening| &happening.moves).collect();
    let mut chunks: Vec<&[&Move]> = moves.chunk_by(|one, two| is_alike(one, two)).collect();
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
    Some(Step { notes, members, unit, things, waiting, ..Step::plain(line, first.entry) })
}

/// Whether this and more of its kind are one step with sub-steps.
fn is_mergeable(moves: &[&Move]) -> bool {
    match moves {
        [Move::Pod(PodMove { action: PodAction::Ready, is_next, .. })] => *is_next,
        [Move::Pod(PodMove { action: PodAction::Terminate, .. })] => true,
        _ => false,
    }
}

/// What is said of a move, and which other operation writes the same.
fn notes_of(one: &Move, alone: bool) -> Vec<String> {
    let (Move::User(Written { step, note, firm }) | Move::Unseen(Written { step, note, firm })) = one else {
        return Vec::new();
    };
    let other = firm.as_ref().map(|firm| if alone { firm } else { step });
    note.iter().cloned().chain(other.map(|other| format!("or `{other}`: both write the same"))).collect()
}

/// One operation for moves that are alike. Only where they came `alone` is it known which
/// ReplicaSet is the newest.
fn thing(moves: &[&Move], alone: bool) -> String {
    match moves {
        [Move::User(Written { step, firm, .. }) | Move::Unseen(Written { step, firm, .. }), ..] => {
            firm.as_ref().filter(|_| !alone).unwrap_or(step).clone()
        }
        [Move::Pod(one), ..] => pods(&PodMove { is_next: one.is_next && alone, ..*one }, moves.len()),
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
