//! A timeline as text, and its parser: one decision or object per line, so that a diff reads the
//! same everywhere.
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
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use lockstep_recording::secret::redact_text;
use lockstep_support::fingerprint::{DIGITS, fingerprint};

use super::model::{
    Decision, DecisionAction, EventLine, Invariant, InvariantBreach, KeyValue, Provenance, State, StepId, Timeline,
    TimelineEvents, TimelineStep, words,
};

/// What stands after the label of a step whose resizes are joined.
pub(super) const JOINED: &str = " (joined)";
/// The sentence that ends the first line of a blessed file.
pub(super) const WRITTEN_BY: &str = "Written by `lockstep bless`; do not edit.";

impl Display for Timeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
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
        let state_lines = match only_changes {
            true => changed_lines(before, states),
            false => states.iter().cloned().map(TimelineLine::State).collect(),
        };
        for line in happened.into_iter().chain(state_lines) {
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
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { name, controller, server, recordings, times_seen, boots } = self;
        let share = times_seen.map_or_else(String::new, |times| format!("seen {times} of "));
        let s = |n: &u32| if *n == 1 { "" } else { "s" };
        let (rs, bs) = (s(recordings), s(boots));
        write!(
            f,
            "# {name}: {controller} on {server}; {share}{recordings} recording{rs}, {boots} boot{bs}. {WRITTEN_BY}"
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
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{}", line.indented()))
    }
}

impl Display for EventLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}  ×{}", self.text, self.count)
    }
}

impl Display for StepId {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self { index: 0, .. } => f.write_str("given"),
            Self { index, part: 0 } => write!(f, "step {index}"),
            Self { index, part } => write!(f, "step {index}.{part}"),
        }
    }
}

impl Display for Decision {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let gap = match self.action {
            DecisionAction::Changed | DecisionAction::Annotated => " ",
            _ => "  ",
        };
        write!(f, "{}{}", self.object, self.action)?;
        write_fields(f, gap, &self.details)
    }
}

impl Display for DecisionAction {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
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
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.object, self.size)?;
        write_fields(f, " ", &self.fields)
    }
}

impl Display for KeyValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

impl Display for InvariantBreach {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.invariant, self.detail)
    }
}

impl Display for Invariant {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The fields, separated by blanks; `gap` is before the first.
fn write_fields(f: &mut Formatter<'_>, gap: &str, fields: &[KeyValue]) -> std::fmt::Result {
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
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
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
                timeline.case = timeline.case.or_else(|| digest_in_comment(comment));
            } else if !line.starts_with(' ') {
                // As where two versions of a file were merged.
                if in_events {
                    return Err(wrong("a heading after `events`, with which a timeline ends".to_owned()));
                }
                in_events = content.split(' ').next() == Some("events");
                if in_events {
                    timeline.events = events_heading(content).map_err(wrong)?;
                } else {
                    let step = heading(content).map_err(wrong)?;
                    if let Some(last) = timeline.steps.last().filter(|last| last.id >= step.id) {
                        return Err(wrong(format!("{} cannot follow {}", step.id, last.id)));
                    }
                    timeline.steps.push(step);
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

/// The digest of a case file, by which a timeline identifies the version of its case: 16
/// hexadecimal digits in lower case.
///
/// It is computed from the text rather than the parsed case, so that an old recording has a digest
/// even if this build cannot read its case. It excludes what cannot change a recording: comments on
/// lines of their own, blank lines, trailing blanks, the description, the tags, and the case's
/// rules, which are evaluated on a recording. It also excludes values of Secrets: short ones could
/// be found by trying.
pub fn digest_of_case(source: &str) -> String {
    let source = redact_text(source);
    fingerprint(meaningful_lines(&source).flat_map(|line| line.bytes().chain([b'\n'])))
}

/// Parses the digest from a comment of a timeline: `case: 0123456789abcdef`.
fn digest_in_comment(comment: &str) -> Option<String> {
    let digits = comment.trim().strip_prefix("case: ")?;
    let is_digest = digits.len() == DIGITS && digits.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then(|| digits.to_owned())
}

/// The fields of a case that change nothing in a recording.
const IGNORED_FIELDS: [&str; 4] = ["description:", "tags:", "rules:", "expectation:"];

/// The lines that determine what the case does.
fn meaningful_lines(source: &str) -> impl Iterator<Item = &str> {
    let mut left_out = false;
    // The indentation of the line that begins a text of several lines, in which `#` begins none.
    let mut block: Option<usize> = None;
    source.lines().map(str::trim_end).filter(move |line| {
        let content = line.trim_start();
        let indentation = line.len() - content.len();
        if !content.is_empty() && block.is_some_and(|begin| indentation <= begin) {
            block = None;
        }
        if block.is_none() && (content.is_empty() || content.starts_with('#')) {
            return false;
        }
        if block.is_none() && begins_block(content) {
            let key = content.trim_start_matches("- ");
            block = Some(if key.contains(':') { line.len() - key.len() } else { indentation });
        }
        // A field continues as long as its lines are indented.
        left_out = IGNORED_FIELDS.iter().any(|field| line.starts_with(field))
            || (left_out && (indentation > 0 || content.is_empty()));
        !left_out
    })
}

/// Whether a line ends with the mark of a block scalar: `|` or `>`, with an indentation or a
/// chomping indicator.
fn begins_block(content: &str) -> bool {
    let mark = content.rsplit(' ').next().unwrap_or_default();
    mark.starts_with(['|', '>'])
        && mark[1..].chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '+' | '-'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{digest_in_comment, digest_of_case};

    const CASE: &str = "description: x\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n";

    #[rstest]
    #[case::mark_of_a_comment("- configMap: {name: a}\n  text: |\n    # {}\n    b\n", false)]
    #[case::comment_after_it("- text: >\n    a\n  # {}\n  name: b\n", true)]
    fn text_of_several_lines_has_no_comments(#[case] step: &str, #[case] is_same: bool) {
        let digest = |inserted: &str| digest_of_case(&format!("steps:\n{}", step.replace("{}", inserted)));
        assert_eq!(digest("1") == digest("2"), is_same);
    }

    #[rstest]
    #[case::comments("# a\ndescription: x\ngiven:\n  # b\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::blanks("description: x\n\ngiven:  \r\n  - deployment: web\n  \nsteps:\n  - scale: 12", true)]
    #[case::description("description: y\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::tags("description: x\ntags: [smoke]\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::long_description("description: >\n  y\n\n  z\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::description_at_the_end("given:\n  - deployment: web\nsteps:\n  - scale: 12\ndescription: x\n", true)]
    #[case::rules(
        "description: x\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\nrules:\n  always:\n    - pods.size() < 3\n",
        true
    )]
    #[case::a_step("description: x\ngiven:\n  - deployment: web\nsteps:\n  - scale: 13\n", false)]
    #[case::given("description: x\ngiven:\n  - deployment: api\nsteps:\n  - scale: 12\n", false)]
    #[case::indentation("description: x\ngiven:\n - deployment: web\nsteps:\n  - scale: 12\n", false)]
    #[case::comment_between_steps(
        "description: x\ngiven:\n  - deployment: web\n# |\nsteps:\n# b\n  - scale: 12\n",
        true
    )]
    fn digest_depends_on_meaning_only(#[case] source: &str, #[case] is_same: bool) {
        assert_eq!(digest_of_case(source) == digest_of_case(CASE), is_same);
    }

    #[test]
    fn digests_are_stable_and_read_back() {
        assert_eq!(digest_of_case(""), "cbf29ce484222325");
        assert_eq!(digest_in_comment(&format!(" case: {}", digest_of_case(CASE))), Some(digest_of_case(CASE)));
        assert_eq!(
            (
                digest_in_comment("case: 12"),
                digest_in_comment("case: CBF29CE484222325"),
                digest_in_comment("cbf29ce484222325")
            ),
            (None, None, None)
        );
    }
}
