//! The shape of a timeline: plain data, compared with `==`, written by `text` and read by `parse`.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::fingerprint::fingerprint;
use crate::plain::{cut, is_one_line, tidy};
use crate::recording::StepMark;

/// What stands for the name of the case's namespace, as in a case.
const ANY_NAMESPACE: &str = "$(NAMESPACE)";

/// What one recording shows, normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Where a golden timeline comes from; `None` for one made from a recording just now.
    pub provenance: Option<Provenance>,
    /// The digest of the case that was recorded, 16 hexadecimal digits; `None` in files that were
    /// blessed without one.
    pub case: Option<String>,
    /// The steps in the order they were made; `given` is the first.
    pub steps: Vec<Step>,
    /// The Deployments' Events over the whole case.
    pub events: Events,
}

/// Who was recorded to make a golden timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// What the subject was called on the command line: `upstream`.
    pub name: String,
    /// The program and its version: `kube-controller-manager v1.36.3`.
    pub controller: String,
    /// The API server and its version: `kube-apiserver v1.36.3`.
    pub server: String,
    /// How many recordings were made.
    pub recordings: u32,
    /// In how many of them this was seen, where upstream does several things; `None`: in all.
    pub seen: Option<u32>,
    /// How many boots of the cluster they come from.
    pub boots: u32,
}

/// Which step: the number of the step under `steps` and the part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct StepId {
    /// 0 for `given`, else the number of the step, from 1.
    pub index: u32,
    /// 0 when the step has no sub-steps, else 1, 2, …
    pub part: u32,
}

/// One step: what the world did, and what was decided before the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Which step.
    pub id: StepId,
    /// What the world did, in the words of the case: `set image=app:2`.
    pub label: String,
    /// Upstream's own recordings differ here by splitting one resize in two: successive resizes of
    /// one ReplicaSet in one direction are joined before comparing.
    pub joined: bool,
    /// What came between the subject's requests, in the words of the case.
    pub meetings: Vec<String>,
    /// What was decided, in canonical order: by Deployment; per Deployment its ReplicaSets'
    /// decisions in the order they were made, then the Deployment's own.
    pub decisions: Vec<Decision>,
    /// The invariants that were broken.
    pub breaches: Vec<Breach>,
    /// The objects once the namespace had settled; empty if it never did. What has not changed is
    /// shared with the step before.
    pub checkpoint: Vec<Arc<State>>,
}

/// One change that a controller made to a ReplicaSet or a Deployment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decision {
    /// The object's normalised name: `rs1`, `web/rs1`, `-/rs1`, `web`.
    pub object: String,
    /// What was done to it.
    pub action: Action,
    /// What else changed in the same write.
    pub details: Vec<Field>,
}

/// What was done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It was created with so many replicas.
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
    /// Its pods were made, deleted, adopted or released; the details say how many.
    Pods,
}

/// A `key=value` of a decision or a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field {
    /// The key: neither blanks nor `=`.
    pub key: String,
    /// The value as it is written: bare, or JSON if it holds blanks or quotes.
    pub value: String,
}

/// One object at a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The object's normalised name.
    pub object: String,
    /// A ReplicaSet's `spec.replicas/status.replicas`; a Deployment's `status.replicas`.
    pub size: String,
    /// The rest of its status, in a fixed order; zeros that say nothing are left out.
    pub fields: Vec<Field>,
}

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Breach {
    /// Which invariant.
    pub invariant: Invariant,
    /// In numbers and normalised names, so that two recordings of one behaviour say the same.
    pub detail: String,
}

/// The invariants that hold at every frame, whatever the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// All ReplicaSets together want at most replicas + maxSurge pods.
    Surge,
    /// The controller never takes availability below replicas − maxUnavailable itself, unless more
    /// pods are wanted than allowed.
    Availability,
    /// No two ReplicaSets of a Deployment have the same template.
    OneTemplate,
    /// A Deployment's revision never falls below that of one of its ReplicaSets.
    Revision,
    /// Nothing that belongs to somebody else is touched.
    Ownership,
    /// A paused Deployment gets no new ReplicaSet.
    Paused,
    /// Nothing is written after the last step has settled.
    Silence,
}

/// The Deployments' Events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Events {
    /// All of them, sorted.
    All(Vec<EventLine>),
    /// They cannot be compared; why.
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
    /// Whether nobody decided anything where there was something to decide: such a timeline agrees
    /// with every subject that does nothing. A case without Deployments has ReplicaSets alone,
    /// about which there is nothing to decide.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let mut states = self.steps.iter().flat_map(|step| &step.checkpoint).peekable();
        let only_sets = states.peek().is_some() && states.all(|state| state.is_replica_set());
        !only_sets && self.steps.iter().all(|step| step.decisions.is_empty())
    }

    /// The step with this id.
    #[must_use]
    pub fn step(&self, id: StepId) -> Option<&Step> {
        // They are in order where they were made from a recording, and where a file is as it was
        // written.
        match self.steps.binary_search_by_key(&id, |step| step.id) {
            Ok(at) => self.steps.get(at),
            Err(_) => self.steps.iter().find(|step| step.id == id),
        }
    }

    /// The same in plain text: what others wrote acts on no terminal, and in no job, that it is
    /// shown in.
    #[must_use]
    pub fn plain(mut self) -> Self {
        // Steps share the states that did not change between them.
        let mut known = BTreeSet::new();
        for step in &mut self.steps {
            tidy(&mut step.label);
            step.meetings.iter_mut().for_each(tidy);
            for decision in &mut step.decisions {
                tidy(&mut decision.object);
                decision.details.iter_mut().for_each(Field::tidy);
            }
            step.breaches.iter_mut().for_each(|breach| tidy(&mut breach.detail));
            for state in &mut step.checkpoint {
                let address = Arc::as_ptr(state).addr();
                if known.contains(&address) {
                    continue;
                }
                if state.is_plain() {
                    known.insert(address);
                } else {
                    Arc::make_mut(state).tidy();
                }
            }
        }
        match &mut self.events {
            Events::All(all) => all.iter_mut().for_each(|event| tidy(&mut event.text)),
            Events::NotCompared(why) => tidy(why),
        }
        if let Some(Provenance { name, controller, server, .. }) = &mut self.provenance {
            [name, controller, server].into_iter().for_each(tidy);
        }
        self
    }

    /// The same as it would be in a namespace of another name.
    #[must_use]
    pub(super) fn in_any_namespace(mut self, namespace: &str) -> Self {
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
        if let Events::All(all) = &mut self.events {
            all.iter_mut().for_each(|event| anonymous(&mut event.text));
        }
        self
    }

    /// The same with a word about where it comes from, as `lockstep bless` stores it.
    #[must_use]
    pub fn with_provenance(mut self, provenance: Provenance) -> Self {
        self.provenance = Some(provenance);
        self
    }
}

impl State {
    /// Whether this is a ReplicaSet; only their sizes say what is wanted and what is there.
    #[must_use]
    pub fn is_replica_set(&self) -> bool {
        self.size.contains('/')
    }

    /// Whether it can be shown as it is.
    fn is_plain(&self) -> bool {
        let fields = self.fields.iter().flat_map(|field| [&field.key, &field.value]);
        [&self.object, &self.size].into_iter().chain(fields).all(|text| is_one_line(text))
    }

    fn tidy(&mut self) {
        tidy(&mut self.object);
        tidy(&mut self.size);
        self.fields.iter_mut().for_each(Field::tidy);
    }
}

impl Events {
    /// Why they are not compared when there are more than repeat.
    pub(super) const TEN_OR_MORE: &'static str = "ten or more";

    /// Whether they are not compared because they are too many.
    #[must_use]
    pub fn too_many(&self) -> bool {
        matches!(self, Self::NotCompared(why) if why == Self::TEN_OR_MORE)
    }
}

impl StepId {
    /// The block of everything that was made before the first step.
    pub const GIVEN: Self = Self { index: 0, part: 0 };

    /// The step that a mark begins; the parts of `given` are one.
    #[must_use]
    pub const fn of(mark: &StepMark) -> Self {
        if mark.index == 0 { Self::GIVEN } else { Self { index: mark.index, part: mark.part } }
    }
}

impl Field {
    fn tidy(&mut self) {
        tidy(&mut self.key);
        tidy(&mut self.value);
    }

    /// A field whose value is written bare if it can be, else as JSON.
    pub(super) fn new(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: super::token::quote(&short(value)) }
    }

    /// A number.
    pub(super) fn number(key: &str, value: i64) -> Self {
        Self { key: key.to_owned(), value: value.to_string() }
    }

    /// A field whose value is JSON already.
    pub(super) fn json(key: &str, value: &Value) -> Self {
        let text = shortened(value).to_string();
        match text.chars().count() {
            0..=LONGEST_JSON => Self { key: key.to_owned(), value: text },
            _ => Self { key: key.to_owned(), value: super::token::quote(&short(&text)) },
        }
    }
}

/// The longest text in a value, and the longest value in JSON: more is shown by its ends, and told
/// apart by its fingerprint.
const LONGEST: usize = 400;
const LONGEST_JSON: usize = 900;

fn short(text: &str) -> Cow<'_, str> {
    match cut(text, LONGEST) {
        Cow::Owned(cut) => Cow::Owned(format!("{cut} ({})", fingerprint(text.bytes()))),
        whole => whole,
    }
}

/// The same with short texts in it.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::from(short(text)),
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (short(key).into_owned(), shortened(value))).collect()
        }
        other => other.clone(),
    }
}

impl Invariant {
    /// All invariants, in the order they are explained.
    pub const ALL: [Self; 7] = [
        Self::Surge,
        Self::Availability,
        Self::OneTemplate,
        Self::Revision,
        Self::Ownership,
        Self::Paused,
        Self::Silence,
    ];

    /// The name that timelines use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Surge => "surge",
            Self::Availability => "availability",
            Self::OneTemplate => "one-template",
            Self::Revision => "revision",
            Self::Ownership => "ownership",
            Self::Paused => "paused",
            Self::Silence => "silence",
        }
    }

    /// The invariant in one sentence.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Surge => "all ReplicaSets together want at most replicas + maxSurge pods",
            Self::Availability => {
                "the controller never takes availability below replicas - maxUnavailable, unless more pods are wanted than allowed"
            }
            Self::OneTemplate => "no two ReplicaSets of a Deployment have the same template",
            Self::Revision => "a Deployment's revision never falls below that of one of its ReplicaSets",
            Self::Ownership => "nothing that belongs to somebody else is touched",
            Self::Paused => "a paused Deployment gets no new ReplicaSet",
            Self::Silence => "nothing is written after the last step has settled",
        }
    }
}
