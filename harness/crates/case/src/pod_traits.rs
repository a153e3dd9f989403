//! Reads the traits that `pods` gives to pods, `{node: n1, ready: {since: -2h}}`, so that the case
//! controls everything by which a ReplicaSet chooses the pods to delete. Also reads `expect`, which
//! says which of the named pods stay alive.
//!
//! A case cannot control when a pod was created on a real API server: the last rule of the order,
//! which compares creation times, can only be tested on the simulated server.

use std::collections::BTreeSet;

use lockstep_recording::pod_expectation::PodExpectation;
use serde_json::{Value, json};

use super::diagnostics::DiagnosticCollector;
use super::field::{self, FieldSpec, FieldType, any_of, object, reference};
use super::model::{NamedPodTraits, NodeBinding, PodPhase, Readiness};
use super::read::{self, MappingFields};
use super::step::StepReader;
use super::yaml::{YamlKind, YamlNode};

const COUNT: FieldType = FieldType::Whole { least: 0, most: i32::MAX as i64 };
const NODE: FieldType = FieldType::Is(
    |_| any_of([reference("name"), json!({"type": "null"})]),
    "a name, or `null` for a pod that no node has taken",
);
const READY: FieldType = FieldType::Is(
    |_| any_of([json!({"type": "boolean"}), object(&SINCE_FIELDS, false)]),
    "`true`, `false`, `{since: -2h}` or `{since: unknown}`",
);
const TIME: FieldType =
    FieldType::Is(|_| json!({"type": "string", "pattern": "^(unknown|[-+].*[0-9].*)$"}), "`-2h`, `+2h` or `unknown`");
const COST: FieldType = FieldType::Is(|_| json!({"type": ["integer", "string"]}), "a number, or any text");
const RESTARTS: FieldType = FieldType::Is(
    |_| any_of([COUNT.schema(false), object(&RESTART_FIELDS, false)]),
    "a number, or `{containers: 1, sidecars: 2}`",
);
const NAMES: FieldType = FieldType::Is(|_| json!({"type": "array", "items": reference("name")}), "a list of names");
const SETS: FieldType = FieldType::Is(
    |_| json!({"type": "array", "minItems": 1, "items": NAMES.schema(false)}),
    "a list of lists of names",
);

/// The fields of a pod's traits.
pub(super) static TRAITS: [FieldSpec; 5] = [
    FieldSpec::new("node", NODE, "Where it runs; with `bindings: held`."),
    FieldSpec::new("phase", FieldType::Words(&["Pending", "Running", "Unknown", "Failed", "Succeeded"]), "Its phase."),
    FieldSpec::new("ready", READY, "Whether it is ready, or since when."),
    FieldSpec::new("deletionCost", COST, "Its `controller.kubernetes.io/pod-deletion-cost`."),
    FieldSpec::new("restarts", RESTARTS, "How often its containers were started again."),
];
static SINCE_FIELDS: [FieldSpec; 1] = [FieldSpec::required("since", TIME, "Since when.")];
static RESTART_FIELDS: [FieldSpec; 2] = [
    FieldSpec::new("containers", COUNT, "Of the first container."),
    FieldSpec::new("sidecars", COUNT, "Of the first sidecar."),
];

/// The fields of `expect`, which takes one of the two.
pub(super) static EXPECT: [FieldSpec; 2] = [
    FieldSpec::new("alive", NAMES, "These named pods live on, and no other."),
    FieldSpec::new("anyOf", SETS, "Instead, where upstream leaves it to chance: one of these sets."),
];

/// Longer than any pod has been ready.
const MAX_READY_SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

/// The JSON schema of traits.
pub(super) fn schema() -> Value {
    any_of([object(&TRAITS, false), json!({"type": "null"})])
}

/// The JSON schema of `expect`.
pub(super) fn expect_schema() -> Value {
    let [alive, any] = EXPECT;
    any_of([
        object(&[FieldSpec { required: true, ..alive }], false),
        object(&[FieldSpec { required: true, ..any }], false),
    ])
}

/// Reads the traits of one pod.
pub(super) fn read_traits(node: &YamlNode, reader: &mut StepReader<'_>) -> Option<NamedPodTraits> {
    if matches!(node.kind, YamlKind::Null) {
        return Some(NamedPodTraits::default());
    }
    let fields = MappingFields::of(node, "a pod", &field::names(&TRAITS), reader.report)?;
    let mut traits = NamedPodTraits::default();
    if let Some((key, node)) = fields.entry("node") {
        if !reader.bindings_are_held {
            reader.report.add(
                key,
                "`node` is only allowed with `bindings: held`",
                "without it each pod has a node before the case names it",
            );
            reader.report.help("add `bindings: held` at the top of the case");
            return None;
        }
        traits.node = Some(match node.kind {
            YamlKind::Null => NodeBinding::Unbound,
            _ => NodeBinding::Node(read::name(node, "a node's name", reader.report)?),
        });
    }
    if let Some(node) = fields.get("phase") {
        let words = PodPhase::ALL.map(|phase| (phase.as_str(), phase));
        traits.phase = Some(read::word(node, "a phase", &words, reader.report)?);
    }
    if let Some(node) = fields.get("ready") {
        traits.ready = Some(read_readiness(node, reader.report)?);
    }
    if let Some(node) = fields.get("deletionCost") {
        // Annotations are text, and a case may try any text.
        traits.deletion_cost = Some(match &node.kind {
            YamlKind::Text(text) => text.clone(),
            _ => read::integer(node, "a deletion cost", i64::MIN..=i64::MAX, reader.report)?.to_string(),
        });
    }
    if let Some(node) = fields.get("restarts") {
        let count = |node: &YamlNode, report: &mut DiagnosticCollector| {
            read::integer(node, "a number of restarts", 0..=i64::from(i32::MAX), report)
        };
        if let YamlKind::Map(_) = node.kind {
            let fields = MappingFields::of(node, "`restarts`", &field::names(&RESTART_FIELDS), reader.report)?;
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

/// Reads `true`, `false`, `{since: -2h}` or `{since: unknown}`.
fn read_readiness(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Readiness> {
    if let YamlKind::Bool(ready) = node.kind {
        return Some(if ready { Readiness::Since(0) } else { Readiness::No });
    }
    let fields = MappingFields::of(node, "`ready`", &field::names(&SINCE_FIELDS), report)?;
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
        Ok(time) if time.as_secs() <= MAX_READY_SECONDS => {
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

/// Reads `expect: {alive: [b]}` or `expect: {anyOf: [[a], [b]]}`.
pub(super) fn read_expect(node: &YamlNode, reader: &mut StepReader<'_>) -> Option<PodExpectation> {
    let fields = MappingFields::of(node, "`expect`", &field::names(&EXPECT), reader.report)?;
    let sets = match (fields.get("alive"), fields.get("anyOf")) {
        (Some(alive), None) => vec![read_known_names(alive, reader)?],
        (None, Some(any)) => {
            let sets = read::items(any, "`anyOf`", reader.report)?;
            sets.iter().map(|set| read_known_names(set, reader)).collect::<Option<Vec<_>>>()?
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
    Some(PodExpectation::any_of(sets))
}

fn read_known_names(node: &YamlNode, reader: &mut StepReader<'_>) -> Option<BTreeSet<String>> {
    let items = read::items(node, "the pods", reader.report)?;
    items.iter().map(|item| read_known_name(item, reader)).collect()
}

/// Reads the name of a pod that an earlier step has named.
pub(super) fn read_known_name(node: &YamlNode, reader: &mut StepReader<'_>) -> Option<String> {
    let name = read::name(node, "a pod's name", reader.report)?;
    if reader.scope.pods.contains(&name) {
        return Some(name);
    }
    reader.report.add(node, format!("no pod is called `{name}`"), "name it in a step before: `pods: {name: {…}}`");
    None
}
