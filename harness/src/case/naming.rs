//! The traits that `pods` gives to pods whose fate matters, `{node: n1, ready: {since: -2h}}`, so
//! that the case owns everything that a ReplicaSet looks at when it chooses whom to kill. And
//! `expect`, which says of named pods who lives on.
//!
//! The one thing it cannot own on a real API server is when a pod was created: the rule about that,
//! the last of the order, is for clusters whose server is the harness's own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::field::{self, Field, Type};
use super::finding::Report;
use super::model::{Phase, Place, Readiness, Traits};
use super::read::{self, Fields};
use super::schema::{any_of, object, reference};
use super::step::Reader;
use super::tree::{Kind, Node};
use crate::expect::Expect;

const COUNT: Type = Type::Whole { least: 0, most: i32::MAX as i64 };
const NODE: Type = Type::Is(
    |_| any_of([reference("name"), json!({"type": "null"})]),
    "a name, or `null` for a pod that no node has taken",
);
const READY: Type = Type::Is(
    |_| any_of([json!({"type": "boolean"}), object(&SINCE, false)]),
    "`true`, `false`, `{since: -2h}` or `{since: unknown}`",
);
const TIME: Type =
    Type::Is(|_| json!({"type": "string", "pattern": "^(unknown|[-+].*[0-9].*)$"}), "`-2h`, `+2h` or `unknown`");
const COST: Type = Type::Is(|_| json!({"type": ["integer", "string"]}), "a number, or any text");
const RESTARTS: Type = Type::Is(
    |_| any_of([COUNT.schema(false), object(&RESTARTED, false)]),
    "a number, or `{containers: 1, sidecars: 2}`",
);
const NAMES: Type = Type::Is(|_| json!({"type": "array", "items": reference("name")}), "a list of names");
const SETS: Type =
    Type::Is(|_| json!({"type": "array", "minItems": 1, "items": NAMES.schema(false)}), "a list of lists of names");

/// What can be said of a pod.
pub(super) static TRAITS: [Field; 5] = [
    Field::new("node", NODE, "Where it runs; with `bindings: held`."),
    Field::new("phase", Type::Words(&["Pending", "Running", "Unknown", "Failed", "Succeeded"]), "Its phase."),
    Field::new("ready", READY, "Whether it is ready, or since when."),
    Field::new("deletionCost", COST, "Its `controller.kubernetes.io/pod-deletion-cost`."),
    Field::new("restarts", RESTARTS, "How often its containers were started again."),
];
static SINCE: [Field; 1] = [Field::required("since", TIME, "Since when.")];
static RESTARTED: [Field; 2] = [
    Field::new("containers", COUNT, "Of the first container."),
    Field::new("sidecars", COUNT, "Of the first sidecar."),
];

/// What `expect` says, one of the two.
pub(super) static EXPECT: [Field; 2] = [
    Field::new("alive", NAMES, "These named pods live on, and no other."),
    Field::new("anyOf", SETS, "Instead, where upstream leaves it to chance: one of these sets."),
];

/// Longer than any pod has been ready.
const LONGEST: u64 = 10 * 365 * 24 * 60 * 60;

/// As JSON schema.
pub(super) fn schema() -> Value {
    any_of([object(&TRAITS, false), json!({"type": "null"})])
}

/// `expect`, as JSON schema.
pub(super) fn expect_schema() -> Value {
    let [alive, any] = EXPECT;
    any_of([object(&[Field { required: true, ..alive }], false), object(&[Field { required: true, ..any }], false)])
}

/// The traits of one pod.
pub(super) fn traits(node: &Node, reader: &mut Reader<'_>) -> Option<Traits> {
    if matches!(node.kind, Kind::Null) {
        return Some(Traits::default());
    }
    let fields = Fields::of(node, "a pod", &field::names(&TRAITS), reader.report)?;
    let mut traits = Traits::default();
    if let Some((key, node)) = fields.entry("node") {
        if !reader.unbound {
            reader.report.add(
                key,
                "`node` is only allowed with `bindings: held`",
                "without it each pod has a node before the case names it",
            );
            reader.report.help("add `bindings: held` at the top of the case");
            return None;
        }
        traits.node = Some(match node.kind {
            Kind::Null => Place::Nowhere,
            _ => Place::On(read::name(node, "a node's name", reader.report)?),
        });
    }
    if let Some(node) = fields.get("phase") {
        let words = Phase::ALL.map(|phase| (phase.as_str(), phase));
        traits.phase = Some(read::word(node, "a phase", &words, reader.report)?);
    }
    if let Some(node) = fields.get("ready") {
        traits.ready = Some(readiness(node, reader.report)?);
    }
    if let Some(node) = fields.get("deletionCost") {
        // As an annotation it is a text, and any text can be tried.
        traits.deletion_cost = Some(match &node.kind {
            Kind::Text(text) => text.clone(),
            _ => read::integer(node, "a deletion cost", i64::MIN..=i64::MAX, reader.report)?.to_string(),
        });
    }
    if let Some(node) = fields.get("restarts") {
        let count = |node: &Node, report: &mut Report| {
            read::integer(node, "a number of restarts", 0..=i64::from(i32::MAX), report)
        };
        if let Kind::Map(_) = node.kind {
            let fields = Fields::of(node, "`restarts`", &field::names(&RESTARTED), reader.report)?;
            let mut of = |name: &str| match fields.get(name) {
                Some(node) => count(node, reader.report).map(Some),
                None => Some(None),
            };
            (traits.restarts, traits.sidecar_restarts) = (of("containers")?, of("sidecars")?);
        } else {
            traits.restarts = Some(count(node, reader.report)?);
        }
    }
    Some(traits)
}

/// `true`, `false`, `{since: -2h}`, `{since: unknown}`.
fn readiness(node: &Node, report: &mut Report) -> Option<Readiness> {
    if let Kind::Bool(ready) = node.kind {
        return Some(if ready { Readiness::Since(0) } else { Readiness::No });
    }
    let fields = Fields::of(node, "`ready`", &field::names(&SINCE), report)?;
    let Some(since) = fields.get("since") else {
        report.add(node, "ready since when?", "add `since: -2h`, or write `ready: true` for now");
        return None;
    };
    let text = read::text(since, "a time", report)?;
    if text == "unknown" {
        return Some(Readiness::SinceUnknown);
    }
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("-", rest)) => (-1, rest),
        Some(("+", rest)) => (1, rest),
        _ => {
            report.add(since, format!("`{text}` has no sign"), "before now: `-2h`; after it: `+2h`; or `unknown`");
            return None;
        }
    };
    match humantime::parse_duration(rest) {
        Ok(time) if time.as_secs() <= LONGEST => {
            Some(Readiness::Since(sign * i64::try_from(time.as_secs()).unwrap_or(i64::MAX)))
        }
        Ok(_) => {
            report.add(since, "the duration is too long", "at most ten years");
            None
        }
        Err(_) => {
            report.add(since, format!("`{text}` is not a time"), "try `-90s` or `-2h`");
            None
        }
    }
}

/// `expect: {alive: [b]}`, `expect: {anyOf: [[a], [b]]}`.
pub(super) fn expect(node: &Node, reader: &mut Reader<'_>) -> Option<Expect> {
    let fields = Fields::of(node, "`expect`", &field::names(&EXPECT), reader.report)?;
    let sets = match (fields.get("alive"), fields.get("anyOf")) {
        (Some(alive), None) => vec![names(alive, reader)?],
        (None, Some(any)) => {
            let sets = read::items(any, "`anyOf`", reader.report)?;
            sets.iter().map(|set| names(set, reader)).collect::<Option<Vec<_>>>()?
        }
        _ => {
            reader.report.add(node, "who is expected?", "either `alive: […]` or `anyOf: [[…], […]]`");
            return None;
        }
    };
    if sets.is_empty() {
        reader.report.add(node, "no set is right", "add one to `anyOf`");
        return None;
    }
    Some(Expect::any_of(sets))
}

fn names(node: &Node, reader: &mut Reader<'_>) -> Option<BTreeSet<String>> {
    let items = read::items(node, "the pods", reader.report)?;
    items.iter().map(|item| known(item, reader)).collect()
}

/// A pod that an earlier step has named.
pub(super) fn known(node: &Node, reader: &mut Reader<'_>) -> Option<String> {
    let name = read::name(node, "a pod's name", reader.report)?;
    if reader.scope.pods.contains(&name) {
        return Some(name);
    }
    reader.report.add(node, format!("no pod is called `{name}`"), "name it in a step before: `pods: {name: {…}}`");
    None
}
