//! The structure of a timeline and of golden outcomes: plain data, compared with `==`, written and
//! parsed by `text`, and the words of which a line consists.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use lockstep_recording::StepMark;
use lockstep_support::fingerprint::fingerprint;
use lockstep_support::sanitize::{is_one_line, sanitize_line, truncate_middle};
use serde_json::Value;

use super::names::replica_set_number;

/// Replaces the name of the case's namespace, as in a case.
const ANY_NAMESPACE: &str = "$(NAMESPACE)";

/// The normalised content of one recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Where a golden timeline comes from; `None` for one that was just built from a recording.
    pub provenance: Option<Provenance>,
    /// The digest of the recorded case, 16 hexadecimal digits; `None` in files that were blessed
    /// without one.
    pub case: Option<String>,
    /// The steps in order; `given` is the first.
    pub steps: Vec<TimelineStep>,
    /// The Deployments' Events over the whole case.
    pub events: TimelineEvents,
}

/// What was recorded to make a golden timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// The name of the subject on the command line: `upstream`.
    pub name: String,
    /// The program and its version: `kube-controller-manager v1.36.3`.
    pub controller: String,
    /// The API server and its version: `kube-apiserver v1.36.3`.
    pub server: String,
    /// The number of recordings.
    pub recordings: u32,
    /// In how many of them this outcome occurred, if upstream has several; `None`: in all.
    pub times_seen: Option<u32>,
    /// The number of cluster boots that they come from.
    pub boots: u32,
}

/// Identifies a step: its number in `steps`, and the sub-step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct StepId {
    /// 0 for `given`, else the number of the step, from 1.
    pub index: u32,
    /// 0 when the step has no sub-steps, else 1, 2, …
    pub part: u32,
}

/// One step: what it does, and what was decided before the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineStep {
    /// The same in every recording of the case.
    pub id: StepId,
    /// What it does, in the words of the case: `set image=app:2`.
    pub label: String,
    /// Upstream's own recordings differ here in how they split one resize: successive resizes of
    /// one ReplicaSet in one direction are joined before comparing.
    pub joined: bool,
    /// What was injected between the subject's requests, in the words of the case.
    pub injections: Vec<String>,
    /// The decisions in canonical order: by Deployment, first those about its ReplicaSets in the
    /// order of the recording, then those about the Deployment itself.
    pub decisions: Vec<Decision>,
    /// The invariants that were broken.
    pub breaches: Vec<InvariantBreach>,
    /// The objects once the namespace had settled; empty if it never did. Unchanged states are
    /// shared with the step before.
    pub checkpoint: Vec<Arc<State>>,
}

/// One change that a controller made to a ReplicaSet or a Deployment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    /// The object's normalised name: `rs1`, `web/rs1`, `-/rs1`, `web`.
    pub object: String,
    /// The kind of change.
    pub action: DecisionAction,
    /// What else changed in the same write.
    pub details: Vec<KeyValue>,
}

/// The kind of change that a decision makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DecisionAction {
    /// It was created with this number of replicas.
    Created(i32),
    /// `spec.replicas` changed.
    Resized {
        /// Replicas before.
        from: i32,
        /// Replicas after.
        to: i32,
    },
    /// It was deleted.
    Deleted,
    /// It got a Deployment as its controller.
    Adopted,
    /// It lost its controller.
    Released,
    /// Only annotations changed, the revision not among them.
    Annotated,
    /// Something else changed; the details say what.
    Changed,
    /// Its pods were created, deleted, adopted or released; the details say how many.
    Pods,
}

/// A `key=value` of a decision or a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyValue {
    /// The key: neither blanks nor `=`.
    pub key: String,
    /// The value as it is written: bare, or JSON if it contains blanks or quotes.
    pub value: String,
}

/// The state of one object at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The object's normalised name.
    pub object: String,
    /// A ReplicaSet's `spec.replicas/status.replicas`; a Deployment's `status.replicas`.
    pub size: String,
    /// The rest of its status in a fixed order; zeros without meaning are omitted.
    pub fields: Vec<KeyValue>,
}

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvariantBreach {
    /// The invariant that does not hold.
    pub invariant: Invariant,
    /// In numbers and normalised names, so that two recordings of the same behaviour are equal.
    pub detail: String,
}

/// The invariants that hold at every frame, whatever the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// All ReplicaSets together want at most replicas + maxSurge pods.
    Surge,
    /// The controller itself never reduces availability below replicas − maxUnavailable, unless
    /// more pods are desired than allowed.
    Availability,
    /// No two ReplicaSets of a Deployment have the same template.
    OneTemplate,
    /// A Deployment's revision never falls below that of one of its ReplicaSets.
    Revision,
    /// Objects of another owner are not touched.
    Ownership,
    /// A paused Deployment gets no new ReplicaSet.
    Paused,
    /// A status reports a completed rollout only once the ReplicaSet has reported its pods.
    Completion,
    /// The controller changes neither the labels of a workload nor its spec, the template aside.
    Spec,
    /// Nothing is written after the last step has settled.
    Silence,
}

/// The Deployments' Events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimelineEvents {
    /// All of them, sorted.
    All(Vec<EventLine>),
    /// They cannot be compared, for this reason.
    NotCompared(String),
}

/// One Event and how often it was reported.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventLine {
    /// `Normal ScalingReplicaSet "Scaled up replica set rs1 from 0 to 10"`.
    pub text: String,
    /// How often.
    pub count: u64,
}

impl Timeline {
    /// Whether nothing was decided although there was something to decide: such a timeline would
    /// agree with every subject that does nothing. In a case with ReplicaSets alone, there is
    /// nothing to decide about them.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let mut states = self.steps.iter().flat_map(|step| &step.checkpoint).peekable();
        let only_sets = states.peek().is_some() && states.all(|state| state.is_replica_set());
        !only_sets && self.steps.iter().all(|step| step.decisions.is_empty())
    }

    /// The step with this id.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<&TimelineStep> {
        // Steps are in order if they were built from a recording or read from an unedited file.
        match self.steps.binary_search_by_key(&id, |step| step.id) {
            Ok(at) => self.steps.get(at),
            Err(_) => self.steps.iter().find(|step| step.id == id),
        }
    }

    /// Sanitizes all texts, which come from other programs: they must not control a terminal or a
    /// CI job that shows them.
    #[must_use]
    pub fn sanitize(mut self) -> Self {
        // Steps share unchanged states, so each state is checked once.
        let mut known = BTreeSet::new();
        for step in &mut self.steps {
            sanitize_line(&mut step.label);
            step.injections.iter_mut().for_each(sanitize_line);
            for decision in &mut step.decisions {
                sanitize_line(&mut decision.object);
                decision.details.iter_mut().for_each(KeyValue::sanitize);
            }
            step.breaches.iter_mut().for_each(|breach| sanitize_line(&mut breach.detail));
            for state in &mut step.checkpoint {
                let address = Arc::as_ptr(state).addr();
                if known.contains(&address) {
                    continue;
                }
                if state.is_plain() {
                    known.insert(address);
                } else {
                    Arc::make_mut(state).sanitize();
                }
            }
        }
        match &mut self.events {
            TimelineEvents::All(all) => all.iter_mut().for_each(|event| sanitize_line(&mut event.text)),
            TimelineEvents::NotCompared(why) => sanitize_line(why),
        }
        if let Some(Provenance { name, controller, server, .. }) = &mut self.provenance {
            [name, controller, server].into_iter().for_each(sanitize_line);
        }
        self
    }

    /// Replaces the name of the namespace by a placeholder.
    #[must_use]
    pub(super) fn without_namespace(mut self, namespace: &str) -> Self {
        if namespace.is_empty() {
            return self;
        }
        let anonymous = |text: &mut String| *text = text.replace(namespace, ANY_NAMESPACE);
        for step in &mut self.steps {
            let decided = step.decisions.iter_mut().flat_map(|decision| &mut decision.details);
            let settled = step.checkpoint.iter_mut().flat_map(|state| &mut Arc::make_mut(state).fields);
            let fields = decided.chain(settled);
            fields.for_each(|field| anonymous(&mut field.value));
        }
        if let TimelineEvents::All(all) = &mut self.events {
            all.iter_mut().for_each(|event| anonymous(&mut event.text));
        }
        self
    }

    /// Adds the provenance that `lockstep bless` stores.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = Some(provenance);
        self
    }
}

impl Decision {
    /// Whether it is about a ReplicaSet, which is called `rs1` or `web/rs1`.
    #[must_use]
    pub fn is_of_replica_set(&self) -> bool {
        replica_set_number(&self.object).is_some()
    }
}

impl State {
    /// Whether this is a ReplicaSet, whose size has a desired and an actual part.
    #[must_use]
    pub fn is_replica_set(&self) -> bool {
        self.size.contains('/')
    }

    /// Whether this is a ReplicaSet that neither wants nor has pods.
    pub(super) fn is_empty_set(&self) -> bool {
        self.size == "0/0"
    }

    /// Whether it can be shown without sanitizing.
    fn is_plain(&self) -> bool {
        let fields = self.fields.iter().flat_map(|field| [&field.key, &field.value]);
        [&self.object, &self.size].into_iter().chain(fields).all(|text| is_one_line(text))
    }

    fn sanitize(&mut self) {
        sanitize_line(&mut self.object);
        sanitize_line(&mut self.size);
        self.fields.iter_mut().for_each(KeyValue::sanitize);
    }
}

impl TimelineEvents {
    /// The reason if there are more Events than are repeatable.
    pub(super) const TEN_OR_MORE: &'static str = "ten or more";

    /// Whether they are not compared because there are too many.
    #[must_use]
    pub fn is_too_many(&self) -> bool {
        matches!(self, Self::NotCompared(why) if why == Self::TEN_OR_MORE)
    }
}

impl StepId {
    /// The block of everything before the first step.
    pub const GIVEN: Self = Self { index: 0, part: 0 };

    /// The step that a mark begins; all parts of `given` are one step.
    #[must_use]
    pub const fn of(mark: &StepMark) -> Self {
        Self::at(mark.index, mark.part)
    }

    /// The step with this number and part; all parts of `given`, which is 0, are one step.
    #[must_use]
    pub const fn at(index: u32, part: u32) -> Self {
        if index == 0 { Self::GIVEN } else { Self { index, part } }
    }
}

impl KeyValue {
    /// Whether this is a condition: only their keys begin with a capital, as in
    /// `Available=True(MinimumReplicasAvailable)`.
    #[must_use]
    pub fn is_condition(&self) -> bool {
        self.key.starts_with(|first: char| first.is_ascii_uppercase())
    }

    fn sanitize(&mut self) {
        sanitize_line(&mut self.key);
        sanitize_line(&mut self.value);
    }

    /// A value that is written bare if possible, else as JSON.
    pub(super) fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: quote(&shorten(value)) }
    }

    pub(super) fn number(key: &str, value: i64) -> Self {
        Self { key: key.to_owned(), value: value.to_string() }
    }

    /// A value that is JSON already.
    pub(super) fn json(key: &str, value: &Value) -> Self {
        let text = shorten_json(value).to_string();
        match text.chars().count() {
            0..=LONGEST_JSON => Self { key: key.to_owned(), value: text },
            _ => Self { key: key.to_owned(), value: quote(&shorten(&text)) },
        }
    }
}

/// The longest string in a value, and the longest JSON value: longer ones are shortened to both
/// ends and identified by a fingerprint.
const LONGEST: usize = 400;
const LONGEST_JSON: usize = 900;

fn shorten(text: &str) -> Cow<'_, str> {
    match truncate_middle(text, LONGEST) {
        Cow::Owned(cut) => Cow::Owned(format!("{cut} ({})", fingerprint(text.bytes()))),
        whole => whole,
    }
}

/// Shortens the strings in a JSON value.
fn shorten_json(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(shorten(text)),
        Value::Array(items) => items.iter().map(shorten_json).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (shorten(key).into_owned(), shorten_json(value))).collect()
        }
        other => other.clone(),
    }
}

impl Invariant {
    /// All invariants, in the order they are explained.
    pub(crate) const ALL: [Self; 9] = [
        Self::Surge,
        Self::Availability,
        Self::OneTemplate,
        Self::Revision,
        Self::Ownership,
        Self::Paused,
        Self::Completion,
        Self::Spec,
        Self::Silence,
    ];

    /// The name in timelines.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Surge => "surge",
            Self::Availability => "availability",
            Self::OneTemplate => "one-template",
            Self::Revision => "revision",
            Self::Ownership => "ownership",
            Self::Paused => "paused",
            Self::Completion => "completion",
            Self::Spec => "spec",
            Self::Silence => "silence",
        }
    }

    /// The invariant as a sentence.
    #[must_use]
    pub const fn description(self) -> &'static str {
        match self {
            Self::Surge => "all ReplicaSets together want at most replicas + maxSurge pods",
            Self::Availability => {
                "the controller never takes availability below replicas - maxUnavailable, unless more pods are wanted than allowed"
            }
            Self::OneTemplate => "no two ReplicaSets of a Deployment have the same template",
            Self::Revision => "a Deployment's revision never falls below that of one of its ReplicaSets",
            Self::Ownership => "nothing that belongs to another owner is touched",
            Self::Paused => "a paused Deployment gets no new ReplicaSet",
            Self::Completion => "a status reports a completed rollout only once the ReplicaSet has reported its pods",
            Self::Spec => "the controller changes neither the labels of a workload nor its spec, the template aside",
            Self::Silence => "nothing is written after the last step has settled",
        }
    }
}

/// The blessed outcomes of a case on one server, the most frequent first: one, or several if
/// upstream itself has several outcomes.
///
/// If an operation coincides with a decision, the same upstream program on the same server decides
/// now one thing, now another. Each outcome has a timeline of its own, which says in how many of
/// the recordings it occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenOutcomes {
    first: Timeline,
    alternatives: Vec<Timeline>,
}

impl GoldenOutcomes {
    /// These outcomes; `first` is the most frequent.
    #[must_use]
    pub const fn new(first: Timeline, alternatives: Vec<Timeline>) -> Self {
        Self { first, alternatives }
    }

    /// The most frequent outcome.
    #[must_use]
    pub const fn first(&self) -> &Timeline {
        &self.first
    }

    /// All outcomes, in the order of their numbers.
    pub fn outcomes(&self) -> impl Iterator<Item = &Timeline> {
        std::iter::once(&self.first).chain(&self.alternatives)
    }

    /// The number of outcomes.
    #[must_use]
    pub const fn count(&self) -> usize {
        1 + self.alternatives.len()
    }

    /// Applies a function to each outcome.
    #[must_use]
    pub fn map(&self, rewrite: impl Fn(Timeline) -> Timeline) -> Self {
        Self::new(rewrite(self.first.clone()), self.alternatives.iter().cloned().map(&rewrite).collect())
    }

    /// The outcome with this number, from 1; the first if there is none.
    #[must_use]
    pub fn outcome(&self, number: usize) -> &Timeline {
        self.outcomes().nth(number.saturating_sub(1)).unwrap_or(&self.first)
    }
}

impl From<Timeline> for GoldenOutcomes {
    fn from(only: Timeline) -> Self {
        Self::new(only, Vec::new())
    }
}

/// A value as one word: bare if it contains neither blanks, quotes nor control characters, else as
/// a JSON string.
pub(super) fn quote(text: &str) -> String {
    let bare = !text.is_empty() && text.chars().all(|c| !c.is_whitespace() && !c.is_control() && c != '"');
    if bare { text.to_owned() } else { Value::from(text).to_string() }
}

/// The words of a timeline's line. Blanks inside of JSON strings do not separate.
pub(super) fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if c == ' ' && !quoted {
            if let Some(from) = start.take() {
                words.push(&line[from..at]);
            }
            continue;
        }
        start.get_or_insert(at);
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
    }
    words.extend(start.map(|from| &line[from..]));
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{quote, words};

    #[rstest]
    #[case("", vec![])]
    #[case("rs1 10 -> 8  desired=12", vec!["rs1", "10", "->", "8", "desired=12"])]
    #[case(r#"a="b c" d"#, vec![r#"a="b c""#, "d"])]
    #[case(r#"a={"k":"x \" y"} b"#, vec![r#"a={"k":"x \" y"}"#, "b"])]
    fn splits_outside_of_strings(#[case] line: &str, #[case] expected: Vec<&str>) {
        assert_eq!(words(line), expected);
    }

    proptest! {
        #[test]
        fn a_quoted_value_is_one_word(text in ".*") {
            let quoted = quote(&text);
            prop_assert_eq!(words(&quoted), vec![quoted.as_str()]);
        }
    }
}
