//! A timeline as text: one decision or object per line, so that a diff reads the same everywhere.
//!
//! ```text
//! step 1  set image=app:2
//!       ~ rs1 10 -> 8 held: scale 12
//!         rs2 created 3  revision=2 desired=10 max=13
//!         rs1 10 -> 8
//!       ! surge: 14 wanted, at most 13 allowed
//!       = rs1 8/8 ready=8 available=8 revision=1 desired=10 max=13 pods=8
//!       = web 13 updated=5 ready=8 …
//! ```

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};
use std::sync::Arc;

use super::model::{
    Decision, DecisionAction, EventLine, Invariant, InvariantBreach, KeyValue, Provenance, State, StepId, Timeline,
    TimelineEvents, TimelineStep,
};

/// What stands after the label of a step whose resizes are joined.
pub(super) const JOINED: &str = " (joined)";
/// The sentence that ends the first line of a blessed file.
pub(super) const WRITTEN_BY: &str = "Written by `lockstep bless`; do not edit.";

impl Display for Timeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(provenance) = &self.provenance {
            writeln!(f, "{provenance}")?;
        }
        if let Some(case) = &self.case {
            writeln!(f, "# case: {case}")?;
        }
        for step in &self.steps {
            writeln!(f, "{}", step.heading())?;
            for line in step.lines() {
                writeln!(f, "{}", line.indented())?;
            }
        }
        write!(f, "{}", self.events)
    }
}

/// The most lines of states that are readable and cheap.
const MAX_STATES: usize = 10_000;

impl Timeline {
    /// The timeline as text. One with very many states has only those that differ from the step
    /// before, and a line for each object that is gone. It has the same information, and grows with
    /// the changes instead of the number of objects.
    #[must_use]
    pub fn to_abridged_text(&self) -> String {
        if !self.is_long() {
            return self.to_string();
        }
        let blocks = self.steps.iter().map(|step| TextBlock {
            heading: step.heading(),
            lines: step.lines_without_states().collect(),
            states: &step.checkpoint,
        });
        render_blocks(blocks, true) + &self.events.to_string()
    }

    /// Whether [`Timeline::to_abridged_text`] omits something.
    pub(super) fn is_long(&self) -> bool {
        is_long(self.steps.iter().map(|step| step.checkpoint.as_slice()))
    }
}

/// Lines under one heading, and the states after them.
pub(super) struct TextBlock<'a> {
    pub(super) heading: String,
    pub(super) lines: Vec<TimelineLine>,
    pub(super) states: &'a [Arc<State>],
}

/// Whether there are so many states that unchanged ones are omitted.
pub(super) fn is_long<'a>(states: impl Iterator<Item = &'a [Arc<State>]>) -> bool {
    states.map(<[_]>::len).sum::<usize>() > MAX_STATES
}

/// Formats blocks with all states, or only with those that changed.
pub(super) fn render_blocks<'a>(blocks: impl Iterator<Item = TextBlock<'a>>, only_changes: bool) -> String {
    let mut text = String::new();
    let mut before: &[Arc<State>] = &[];
    for TextBlock { heading, lines: happened, states } in blocks {
        text += &heading;
        text.push('\n');
        let left = match only_changes {
            true => changed_lines(before, states),
            false => states.iter().cloned().map(TimelineLine::State).collect(),
        };
        for line in happened.into_iter().chain(left) {
            text += &line.indented();
            text.push('\n');
        }
        before = states;
    }
    text
}

/// The states that changed, and the objects that are gone. Changes of one step are close together,
/// so a common prefix and suffix are skipped.
fn changed_lines(before: &[Arc<State>], now: &[Arc<State>]) -> Vec<TimelineLine> {
    let is_same = |(was, is): &(&Arc<State>, &Arc<State>)| Arc::ptr_eq(was, is) || was == is;
    let first = before.iter().zip(now).take_while(is_same).count();
    let (before, now) = (&before[first..], &now[first..]);
    let last = before.iter().rev().zip(now.iter().rev()).take_while(is_same).count();
    let (before, now) = (&before[..before.len() - last], &now[..now.len() - last]);
    let names = |states: &[Arc<State>]| states.iter().map(|state| state.object.clone()).collect::<BTreeSet<_>>();
    let (there, same) = (names(now), before.iter().collect::<BTreeSet<_>>());
    let gone = before.iter().filter(|state| !there.contains(&state.object));
    let gone = gone.map(|state| TimelineLine::Injection(format!("{} is gone", state.object)));
    now.iter().filter(|state| !same.contains(state)).cloned().map(TimelineLine::State).chain(gone).collect()
}

impl Display for Provenance {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Self { name, controller, server, recordings, times_seen: seen, boots } = self;
        let seen = seen.map_or_else(String::new, |seen| format!("seen {seen} of "));
        let s = |n: &u32| if *n == 1 { "" } else { "s" };
        let (rs, bs) = (s(recordings), s(boots));
        write!(
            f,
            "# {name}: {controller} on {server}; {seen}{recordings} recording{rs}, {boots} boot{bs}. {WRITTEN_BY}"
        )
    }
}

impl TimelineStep {
    /// The line that opens the step: `step 1  set image=app:2`.
    #[must_use]
    pub fn heading(&self) -> String {
        let joined = if self.joined { JOINED } else { "" };
        // Padded, but without a trailing blank if there is no label.
        format!("{:<6}  {}{joined}", self.id.to_string(), self.label).trim_end().to_owned()
    }
}

impl Display for TimelineEvents {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{}", line.indented()))
    }
}

impl Display for EventLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}  ×{}", self.text, self.count)
    }
}

impl Display for StepId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self { index: 0, .. } => f.write_str("given"),
            Self { index, part: 0 } => write!(f, "step {index}"),
            Self { index, part } => write!(f, "step {index}.{part}"),
        }
    }
}

impl Display for Decision {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let gap = match self.action {
            DecisionAction::Changed | DecisionAction::Annotated => " ",
            _ => "  ",
        };
        write!(f, "{}{}", self.object, self.action)?;
        write_fields(f, gap, &self.details)
    }
}

impl Display for DecisionAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Created(replicas) => write!(f, " created {replicas}"),
            Self::Resized { from, to } => write!(f, " {from} -> {to}"),
            Self::Deleted => f.write_str(" deleted"),
            Self::Adopted => f.write_str(" adopted"),
            Self::Released => f.write_str(" released"),
            Self::Annotated => f.write_str(" annotated"),
            Self::Changed => Ok(()),
            Self::Pods => f.write_str(" pods"),
        }
    }
}

impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {}", self.object, self.size)?;
        write_fields(f, " ", &self.fields)
    }
}

impl Display for KeyValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl Display for InvariantBreach {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}

impl Display for Invariant {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())
    }
}

/// The fields, separated by blanks; `gap` is before the first.
fn write_fields(f: &mut Formatter<'_>, gap: &str, fields: &[KeyValue]) -> Result {
    for (at, field) in fields.iter().enumerate() {
        write!(f, "{}{field}", if at == 0 { gap } else { " " })?;
    }
    Ok(())
}

/// One line of a timeline below a heading.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimelineLine {
    /// What was injected between the subject's requests.
    Injection(String),
    /// A decision about one object.
    Decision(Decision),
    /// A broken invariant.
    Breach(InvariantBreach),
    /// The state of one object once the namespace had settled.
    State(Arc<State>),
    /// The heading of the Events.
    Heading(String),
    /// One Event and how often it was reported.
    Event(EventLine),
}

impl TimelineLine {
    /// The line as a timeline prints it, indented.
    #[must_use]
    pub fn indented(&self) -> String {
        let width = match self {
            Self::Heading(_) => 0,
            Self::Injection(_) | Self::Breach(_) | Self::State(_) => 6,
            Self::Decision(_) | Self::Event(_) => 8,
        };
        format!("{:width$}{self}", "")
    }

    /// The state, if this is one.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        match self {
            Self::State(state) => Some(state),
            _ => None,
        }
    }
}

impl Display for TimelineLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Injection(what) => write!(f, "~ {what}"),
            Self::Decision(decision) => decision.fmt(f),
            Self::Breach(breach) => write!(f, "! {breach}"),
            Self::State(state) => write!(f, "= {state}"),
            Self::Heading(heading) => f.write_str(heading),
            Self::Event(event) => event.fmt(f),
        }
    }
}

impl TimelineStep {
    /// The lines under the heading: injections, decisions, breaches, then the checkpoint.
    #[must_use]
    pub fn lines(&self) -> Vec<TimelineLine> {
        self.lines_without_states().chain(self.checkpoint.iter().cloned().map(TimelineLine::State)).collect()
    }

    /// The lines under the heading without the checkpoint.
    pub(super) fn lines_without_states(&self) -> impl Iterator<Item = TimelineLine> {
        let meetings = self.injections.iter().cloned().map(TimelineLine::Injection);
        let decisions = self.decisions.iter().cloned().map(TimelineLine::Decision);
        let breaches = self.breaches.iter().cloned().map(TimelineLine::Breach);
        meetings.chain(decisions).chain(breaches)
    }
}

impl TimelineEvents {
    /// The heading, which also says if there are none, or why they are not compared.
    #[must_use]
    pub fn heading(&self) -> String {
        match self {
            Self::NotCompared(why) => format!("events  not compared: {why}"),
            Self::All(all) if all.is_empty() => "events  none".to_owned(),
            Self::All(_) => "events".to_owned(),
        }
    }

    /// The lines of the block, including the heading.
    #[must_use]
    pub fn lines(&self) -> Vec<TimelineLine> {
        let all = match self {
            Self::NotCompared(_) => &[][..],
            Self::All(all) => all.as_slice(),
        };
        std::iter::once(TimelineLine::Heading(self.heading()))
            .chain(all.iter().cloned().map(TimelineLine::Event))
            .collect()
    }
}
