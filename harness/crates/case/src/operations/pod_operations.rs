//! `ready`, `unready`, `fail`, `succeed` and `terminate`: the operations by which nodes change
//! pods, one sub-step for each pod.
//!
//! All of them take which pods, and how many: `{pods: all}`, `{pods: 4, of: {revision: 1}}`,
//! `{pods: [a, b]}`. `ready` takes `{pods: 2, atomic: true}` and `{every: 10%}`, too.

use serde_json::{Value, json};

use crate::field::{BOOLEAN, FieldSpec, FieldType, NAME, any_of, integer, names, object, reference, words};
use crate::model::{
    BatchSize, CountSpec, Drive, LabelStyle, Operation, PerformFuture, PodOperation, PodSelection, StepAction,
};
use crate::read::{self, MOST_PODS, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::{YamlKind, YamlNode};

const COUNT: FieldType =
    FieldType::Is(|_| any_of([words(&["all"]), integer(1, MOST_PODS)]), "a number, `all`, or a list of names");
const SHARE: FieldType = FieldType::Is(
    |_| any_of([integer(1, MOST_PODS), json!({"type": "string", "pattern": "^([1-9][0-9]?|100)%$"})]),
    "a number, or a percentage such as `10%`",
);
const BY_NAME: FieldType =
    FieldType::Is(|_| json!({"type": "array", "minItems": 1, "items": reference("name")}), "a list of names");
pub(super) const OF: FieldType = FieldType::Is(|_| reference("of"), "[whose pods](#of)");

const PODS: FieldSpec = FieldSpec::required(
    "pods",
    COUNT,
    "How many: a number, or `all`, until none is left, new ones included. Or the names that the case has given them, in this order.",
);
const OF_FIELD: FieldSpec = FieldSpec::new("of", OF, "Whose pods; all of the case's by default. Not with names.");

/// The fields of an operation that moves pods.
static FIELDS: [FieldSpec; 2] = [PODS, OF_FIELD];
/// The same fields for an operation that can move all pods at once.
static ATOMIC_FIELDS: [FieldSpec; 4] = [
    PODS,
    OF_FIELD,
    FieldSpec::new(
        "atomic",
        BOOLEAN,
        "One step for all of them instead of one each; compared by net change, unless minReadySeconds makes them available at one instant.",
    ),
    FieldSpec::new(
        "every",
        SHARE,
        "In place of `pods`: so many at once, one sub-step each time, until none is left. A percentage is of the pods that Deployments want, rounded up.",
    ),
];

/// The fields of `of`.
pub(crate) static OF_FIELDS: [FieldSpec; 3] = [
    FieldSpec::new(
        "revision",
        FieldType::Whole { least: 1, most: i32::MAX as i64 },
        "Of the ReplicaSet with this revision.",
    ),
    FieldSpec::new("deployment", NAME, "Of this Deployment."),
    FieldSpec::new("replicaset", NAME, "Of this ReplicaSet: its name, or `rs2` for the second to appear."),
];

/// The JSON schema of an operation that moves pods.
fn schema(_: bool) -> Value {
    any_of([object(&FIELDS, false), schema_by_name()])
}

/// The JSON schema of an operation that can move all pods at once.
fn atomic_schema(_: bool) -> Value {
    let [pods, of, atomic, every] = ATOMIC_FIELDS;
    let every = FieldSpec { required: true, ..every };
    any_of([object(&[pods, of, atomic], false), object(&[every, of], false), schema_by_name()])
}

fn schema_by_name() -> Value {
    object(&[FieldSpec { field_type: BY_NAME, ..PODS }], false)
}

/// The operations of this file.
const OPERATIONS: [PodOperation; 5] =
    [PodOperation::Ready, PodOperation::Unready, PodOperation::Fail, PodOperation::Succeed, PodOperation::Terminate];

/// Their entries in the table of operations, in the same order.
pub(super) static SPECS: [OperationSpec; 5] = [
    OperationSpec {
        fields: &ATOMIC_FIELDS,
        schema: atomic_schema,
        ..spec(
            PodOperation::Ready,
            "Pods become Running and Ready, one sub-step each: those of the newest ReplicaSet first, in it the oldest first.",
            &[
                "- ready: {pods: all}",
                "- ready: {pods: 2, of: {revision: 1}}",
                "- ready: {pods: [a, b]}",
                "- ready: {pods: 2, atomic: true}",
                "- ready: {every: 10%}",
            ],
        )
    },
    spec(PodOperation::Unready, "Ready pods become not ready, one sub-step each.", &["- unready: {pods: 1}"]),
    spec(
        PodOperation::Fail,
        "Pods fail: their phase becomes Failed. One sub-step each.",
        &["- fail: {pods: [a]}", "- fail: {pods: 2}"],
    ),
    spec(
        PodOperation::Succeed,
        "Pods succeed: their phase becomes Succeeded. One sub-step each.",
        &["- succeed: {pods: 1}"],
    ),
    spec(
        PodOperation::Terminate,
        "Deletions finish, one sub-step each; with `terminations: held`.",
        &["- terminate: {pods: all}"],
    ),
];

const fn spec(operation: PodOperation, description: &'static str, examples: &'static [&'static str]) -> OperationSpec {
    OperationSpec {
        name: operation.word(),
        description,
        actor: Actor::Nodes,
        shorthand: "",
        fields: &FIELDS,
        schema,
        read,
        declaration: NameDeclaration::Nothing,
        is_refusable: false,
        is_nestable: true,
        examples,
    }
}

/// Adds the label of an operation that names pods by a revision.
pub(super) fn add_revision_label(pods: &PodSelection, add: &mut dyn FnMut(&str)) {
    if pods.revision.is_some() {
        add("revision");
    }
}

/// Changes pods.
#[derive(Debug, PartialEq)]
pub(crate) struct PodStep {
    /// What becomes of each pod.
    pub(crate) operation: PodOperation,
    pub(crate) pods: PodSelection,
}

impl StepAction for PodStep {
    fn name(&self) -> &'static str {
        self.operation.word()
    }

    /// `ready 2 of revision 1`.
    fn label(&self, _: LabelStyle) -> String {
        let pods = &self.pods;
        let count = match pods.count {
            _ if !pods.names.is_empty() => pods.names.join(","),
            _ if pods.every.is_some() => pods.every.map(|share| format!("every {share}")).unwrap_or_default(),
            CountSpec::All => "all".to_owned(),
            CountSpec::Exactly(number) => number.to_string(),
        };
        let atomic = if pods.atomic && pods.every.is_none() { " atomic" } else { "" };
        format!("{} {count}{}{atomic}", self.name(), owner_suffix(pods))
    }

    fn add_filter_labels(&self, add: &mut dyn FnMut(&str)) {
        add_revision_label(&self.pods, add);
    }

    fn pod_operation(&self) -> Option<(PodOperation, &PodSelection)> {
        Some((self.operation, &self.pods))
    }

    fn with_pods(&self, pods: PodSelection) -> Option<Operation> {
        Some(Operation::new(Self { operation: self.operation, pods }))
    }

    fn requires_held_pods(&self) -> Option<(&'static str, &'static str)> {
        match self.operation {
            PodOperation::Ready if self.pods.every.is_some() => Some(("every", READY_SINCE)),
            PodOperation::Ready if self.pods.atomic => Some(("atomic", READY_SINCE)),
            PodOperation::Ready | PodOperation::Unready | PodOperation::Name => None,
            PodOperation::Fail | PodOperation::Succeed => Some((self.name(), "a kubelet starts its containers again")),
            PodOperation::Terminate => Some((self.name(), "a kubelet finishes deletions by itself")),
        }
    }

    fn is_by_user(&self) -> bool {
        false
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.move_pods(self.operation, &self.pods)
    }
}

/// Why no kubelet can make several pods ready at one instant.
const READY_SINCE: &str = "a kubelet says itself since when a pod is ready";

fn read(reader: &mut StepReader<'_>, node: &OperationNode<'_>) -> Option<Operation> {
    let name = node.key.as_key();
    let operation = OPERATIONS.into_iter().find(|operation| operation.word() == name)?;
    if operation == PodOperation::Terminate && !reader.terminations_are_held {
        reader.report.add(node.key, "`terminate` without held terminations", "deletions finish by themselves here");
        reader.report.help("add `terminations: held` at the top of the case");
        return None;
    }
    read_pods(reader, node).map(|pods| Operation::new(PodStep { operation, pods }))
}

/// Reads the pods that an operation moves.
fn read_pods(reader: &mut StepReader<'_>, operation: &OperationNode<'_>) -> Option<PodSelection> {
    let (name, node) = (operation.key.as_key(), operation.value);
    let what = format!("`{name}`");
    if matches!(node.kind, YamlKind::Int(_) | YamlKind::Text(_)) {
        let written = node.as_key();
        reader.report.add(node, format!("{what} must be a mapping"), format!("write `{name}: {{pods: {written}}}`"));
        return None;
    }
    let fields = MappingFields::of(node, &what, &names(&ATOMIC_FIELDS), reader.report)?;
    let count = fields.get("pods");
    if let Some(entry) = fields.entry("every") {
        return read_every(&fields, entry, &name, reader);
    }
    if fields.lacks("pods") {
        reader.report.add(node, format!("{what} without `pods`"), "how many: a number, or `all`");
    }
    let count = count.and_then(|count| read_count(count, reader));
    let of = read_of(fields.get("of"), reader)?;
    let atomic = match fields.get("atomic") {
        Some(atomic) => read::boolean(atomic, "atomic", reader.report)?,
        None => false,
    };
    if let (true, Some((key, _))) = (atomic && name != "ready", fields.entry("atomic")) {
        reader.report.add(key, format!("{what} is never atomic"), "only `ready` is");
        return None;
    }
    let (count, names) = count?;
    if let (false, Some((key, _))) = (names.is_empty(), fields.entry("of").or(fields.entry("atomic"))) {
        reader.report.add(key, "pods by name need no choosing", "leave this out");
        return None;
    }
    let pods = PodSelection { count, names, atomic, ..of };
    let chosen = !pods.names.is_empty() || pods.count == CountSpec::All;
    if reader.scope.has_several_deployments() && pods.deployment.is_none() && pods.replica_set.is_none() && !chosen {
        reader.report.add(node, "the step does not say of which Deployment", "add `of: {deployment: …}`");
        return None;
    }
    Some(pods)
}

/// Reads `{every: 10%}`.
fn read_every(
    fields: &MappingFields<'_>,
    (key, value): (&YamlNode, &YamlNode),
    name: &str,
    reader: &mut StepReader<'_>,
) -> Option<PodSelection> {
    if name != "ready" {
        reader.report.add(key, format!("`{name}` has no `every`"), "only `ready` has");
        return None;
    }
    if let Some((key, _)) = fields.entry("pods").or(fields.entry("atomic")) {
        reader.report.add(key, "`every` goes on until no pod is left", "leave this out");
        return None;
    }
    let share = match &value.kind {
        YamlKind::Text(text) => {
            let percent = text.strip_suffix('%').filter(|number| !number.starts_with(['0', '+']));
            percent
                .and_then(|number| number.parse().ok())
                .filter(|percent| (1..=100).contains(percent))
                .map(BatchSize::Percent)
        }
        YamlKind::Int(number) if (1..=MOST_PODS).contains(number) => u32::try_from(*number).ok().map(BatchSize::Number),
        _ => None,
    };
    let Some(share) = share else {
        let hint = format!("a number from 1 to {MOST_PODS}, or a percentage from `1%` to `100%`");
        reader.report.add(value, "`every` is not a number of pods", hint);
        return None;
    };
    let of = read_of(fields.get("of"), reader)?;
    Some(PodSelection { every: Some(share), ..of })
}

/// Reads `all`, a positive number, or names that the case has given.
fn read_count(node: &YamlNode, reader: &mut StepReader<'_>) -> Option<(CountSpec, Vec<String>)> {
    match &node.kind {
        YamlKind::Text(text) if text == "all" => Some((CountSpec::All, Vec::new())),
        YamlKind::List(list) if !list.is_empty() => {
            let names =
                list.iter().map(|name| reader.scope.pod_named(name, reader.report)).collect::<Option<Vec<_>>>()?;
            Some((CountSpec::Exactly(u32::try_from(names.len()).ok()?), names))
        }
        YamlKind::Text(text) => {
            reader.report.add(node, format!("`{text}` is not a number of pods"), "a number, or `all`");
            None
        }
        YamlKind::Int(0) => {
            reader.report.add(node, "the number of pods must not be 0", "a step must do something");
            None
        }
        _ => {
            let number = read::integer(node, "the number of pods", 1..=MOST_PODS, reader.report)?;
            u32::try_from(number).ok().map(|number| (CountSpec::Exactly(number), Vec::new()))
        }
    }
}

/// Reads `{revision: 1, deployment: web}` or `{replicaset: web}`, which select all of these pods.
/// Returns `None` after a problem.
pub(super) fn read_of(node: Option<&YamlNode>, reader: &mut StepReader<'_>) -> Option<PodSelection> {
    let Some(node) = node else { return Some(PodSelection::default()) };
    let fields = MappingFields::of(node, "`of`", &names(&OF_FIELDS), reader.report)?;
    let replica_set = match fields.get("replicaset") {
        Some(named) => Some(reader.scope.replica_set_named(named, reader.report)?),
        None => None,
    };
    let deployment = match fields.get("deployment") {
        Some(named) => Some(reader.scope.deployment_named(named, reader.report)?),
        None => None,
    };
    let revision = match fields.get("revision") {
        Some(revision) => Some(read::integer(revision, "a revision", 1..=i64::from(i32::MAX), reader.report)?),
        None => None,
    };
    Some(PodSelection { deployment, revision, replica_set, ..PodSelection::default() })
}

/// ` of revision 1`, or an empty string.
pub(super) fn owner_suffix(pods: &PodSelection) -> String {
    let deployment = pods.deployment.iter().map(|name| format!(" of {name}"));
    let revision = pods.revision.iter().map(|revision| format!(" of revision {revision}"));
    let set = pods.replica_set.iter().map(|name| format!(" of {name}"));
    deployment.chain(revision).chain(set).collect()
}
