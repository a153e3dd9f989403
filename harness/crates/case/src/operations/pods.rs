//! `pods: {of: {revision: 1}, name: {a: {node: n1, ready: {since: -2h}}, b: {node: null}}}`: names
//! pods and sets their traits.

use serde_json::json;

use super::pod_operations::{OF, owner_suffix, read_of};
use crate::field::{FieldSpec, FieldType, names, object, reference};
use crate::model::{
    Drive, LabelStyle, NamedPodTraits, NodeBinding, Operation, PerformFuture, PodNaming, PodSelection, Readiness,
    StepAction,
};
use crate::pod_traits::read_traits;
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::YamlKind;

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

impl StepAction for PodNaming {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    /// `pods of revision 1: a node=n1 ready=-2h restarts=3, b node=none`.
    fn label(&self, _: LabelStyle) -> String {
        let all: Vec<_> = self.names.iter().map(|(name, traits)| name.clone() + &describe_traits(traits)).collect();
        format!("pods{}: {}", owner_suffix(&self.of), all.join(", "))
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
