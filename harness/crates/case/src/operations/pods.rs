//! `pods: {of: {revision: 1}, name: {a: {node: n1, ready: {since: -2h}}, b: {node: null}}}`: names
//! pods and sets their traits, so that the case controls everything by which a ReplicaSet chooses
//! the pods to delete.
//!
//! A case cannot control when a pod was created on a real API server: the last rule of the order,
//! which compares creation times, can only be tested on the simulated server.

use serde_json::{Value, json};

use super::pod_operations::{OF, add_revision_label, owner_suffix, read_of};
use crate::diagnostics::DiagnosticCollector;
use crate::field::{FieldSpec, FieldType, any_of, names, object, reference};
use crate::model::{
    Drive, LabelStyle, NamedPodTraits, NodeBinding, Operation, PerformFuture, PodNaming, PodPhase, PodSelection,
    Readiness, StepAction,
};
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::{YamlKind, YamlNode};

const NAMED_PODS: FieldType = FieldType::Is(
    |_| {
        json!({"type": "object", "minProperties": 1, "propertyNames": reference("name"),
            "additionalProperties": reference("traits")})
    },
    "a mapping from names to [traits](#traits)",
);

static FIELDS: [FieldSpec; 2] = [
    FieldSpec::new("of", OF, "Whose pods; all of the case's by default."),
    FieldSpec::required("name", NAMED_PODS, "The names, in the order in which they are given."),
];

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
/// The fields of a pod's traits.
pub(crate) static TRAITS: [FieldSpec; 5] = [
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

/// Longer than any pod has been ready.
const MAX_READY_SECONDS: u64 = 10 * 365 * 24 * 60 * 60;

pub(crate) static SPEC: OperationSpec = OperationSpec {
    name: "pods",
    description: "Pods get names, oldest first, and traits; a name that is known keeps its pod.",
    actor: Actor::Nodes,
    shorthand: "",
    fields: &FIELDS,
    schema: |refused| object(&FIELDS, refused),
    read,
    declaration: NameDeclaration::Nothing,
    is_refusable: true,
    is_nestable: true,
    examples: &["- pods: {of: {revision: 1}, name: {a: {node: n1, ready: {since: -20m}}, b: {deletionCost: 5}}}"],
};

/// The JSON schema of traits.
pub(crate) fn traits_schema() -> Value {
    any_of([object(&TRAITS, false), json!({"type": "null"})])
}

fn read(reader: &mut StepReader<'_>, OperationNode { value, .. }: &OperationNode<'_>) -> Option<Operation> {
    let fields = MappingFields::of(value, "`pods`", &names(&FIELDS), reader.report)?;
    let of = read_of(fields.get("of"), reader)?;
    let Some(named) = fields.get("name") else {
        reader.report.add(value, "`pods` names none", "add `name: {a: {…}, b: {…}}`");
        return None;
    };
    let YamlKind::Map(map) = &named.kind else {
        reader.report.add(named, "`name` must be a mapping", format!("this is {}", named.describe()));
        return None;
    };
    let mut names = Vec::new();
    for (key, value) in map {
        let name = read::name(key, "a pod's name", reader.report)?;
        let traits = read_traits(value, reader)?;
        reader.scope.pods.insert(name.clone());
        names.push((name, traits));
    }
    if names.is_empty() {
        reader.report.add(named, "`pods` names none", "a step must do something");
        return None;
    }
    if reader.scope.has_several_replica_sets() && of == PodSelection::default() {
        reader.report.add(value, "the pods of which ReplicaSet?", "add `of: {revision: …}` or `of: {replicaset: …}`");
        return None;
    }
    Some(Operation::new(PodNaming { of, names }))
}

fn read_traits(node: &YamlNode, reader: &mut StepReader<'_>) -> Option<NamedPodTraits> {
    if matches!(node.kind, YamlKind::Null) {
        return Some(NamedPodTraits::default());
    }
    let fields = MappingFields::of(node, "a pod", &names(&TRAITS), reader.report)?;
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
            let fields = MappingFields::of(node, "`restarts`", &names(&RESTART_FIELDS), reader.report)?;
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
    let fields = MappingFields::of(node, "`ready`", &names(&SINCE_FIELDS), report)?;
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

impl StepAction for PodNaming {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    /// `pods of revision 1: a node=n1 ready=-2h restarts=3, b node=none`.
    fn label(&self, _: LabelStyle) -> String {
        let all: Vec<_> = self.names.iter().map(|(name, traits)| name.clone() + &describe_traits(traits)).collect();
        format!("pods{}: {}", owner_suffix(&self.of), all.join(", "))
    }

    fn add_filter_labels(&self, add: &mut dyn FnMut(&str)) {
        add_revision_label(&self.of, add);
    }

    fn requires_held_pods(&self) -> Option<(&'static str, &'static str)> {
        Some((SPEC.name, "a kubelet says itself how a pod is"))
    }

    fn is_by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.name_pods(self)
    }
}

/// Formats traits: ` node=n1 ready=-2h`.
fn describe_traits(traits: &NamedPodTraits) -> String {
    let seconds = |seconds: i64| {
        let time = humantime::format_duration(std::time::Duration::from_secs(seconds.unsigned_abs())).to_string();
        format!("{}{}", if seconds < 0 { "-" } else { "+" }, time.replace(' ', ""))
    };
    let node = traits.node.as_ref().map(|node| match node {
        NodeBinding::Unbound => " node=none".to_owned(),
        NodeBinding::Node(node) => format!(" node={node}"),
    });
    let ready = traits.ready.map(|ready| match ready {
        Readiness::No => " ready=no".to_owned(),
        Readiness::Since(0) => " ready=now".to_owned(),
        Readiness::Since(time) => format!(" ready={}", seconds(time)),
        Readiness::SinceUnknown => " ready=unknown".to_owned(),
    });
    let phase = traits.phase.map(|phase| format!(" phase={}", phase.as_str()));
    let cost = traits.deletion_cost.as_ref().map(|cost| format!(" deletionCost={}", json!(cost)));
    let restarts = traits.restarts.map(|count| format!(" restarts={count}"));
    let sidecars = traits.sidecar_restarts.map(|count| format!(" sidecarRestarts={count}"));
    [node, phase, ready, cost, restarts, sidecars].into_iter().flatten().collect()
}
