//! `replicaset: {name: web, image: "app:1"}`: the short form of the manifest of a ReplicaSet
//! without a Deployment, which is applied as by `apply`.

use serde_json::{Map, Value, json};

use super::apply::{ApplyStep, name_and_image};
use crate::diagnostics::DiagnosticCollector;
use crate::field::{FieldSpec, FieldType, NAME, TEXT, TEXTS, names, object};
use crate::model::Operation;
use crate::names_in_scope::NamesInScope;
use crate::read::{self, MOST_PODS, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::YamlNode;

const OWNER: FieldType = FieldType::Is(
    |_| json!({"type": "string", "pattern": "^(configmap|deployment)/.+$"}),
    "`configmap/NAME` or `deployment/NAME`",
);

static FIELDS: [FieldSpec; 8] = [
    FieldSpec::required("name", NAME, "Its name; it selects the pods that it makes by `app: NAME`."),
    FieldSpec::new("replicas", FieldType::Count { most: MOST_PODS }, "How many pods it wants."),
    FieldSpec::required("image", TEXT, "The image of its only container, `app`."),
    FieldSpec::new(
        "minReadySeconds",
        FieldType::Count { most: i32::MAX as i64 },
        "How long a pod must be ready before it counts as available.",
    ),
    FieldSpec::new("labels", TEXTS, "Labels of its own; not of its pods."),
    FieldSpec::new("annotations", TEXTS, "Annotations."),
    FieldSpec::new("podLabels", TEXTS, "More labels of its pods, which its selector does not ask for."),
    FieldSpec::new("owner", OWNER, "What controls it."),
];

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "replicaset",
    description: "`kubectl apply` of a ReplicaSet that no Deployment owns.",
    actor: Actor::User,
    shorthand: "",
    fields: &FIELDS,
    schema: |refused| object(&FIELDS, refused),
    read,
    declaration: NameDeclaration::Object(declare),
    is_refusable: true,
    is_nestable: true,
    examples: &["- replicaset: {name: sibling, replicas: 1, image: \"app:1\", owner: deployment/web}"],
};

fn declare(scope: &mut NamesInScope, node: &YamlNode) {
    if let Some(name) = node.get("name") {
        scope.declare(Some("ReplicaSet"), name.as_text());
    }
}

fn read(reader: &mut StepReader<'_>, OperationNode { value, refused, .. }: &OperationNode<'_>) -> Option<Operation> {
    manifest(value, *refused, reader.report).map(|manifest| Operation::new(ApplyStep::of(manifest)))
}

/// Reads the manifest. Returns `None` after a problem.
fn manifest(node: &YamlNode, refused: bool, report: &mut DiagnosticCollector) -> Option<Value> {
    let fields = MappingFields::of(node, "a replicaset", &names(&FIELDS), report)?;
    let (name, image) = name_and_image(node, "replicaset", &fields, report)?;
    let metadata = |keys: &[(&str, &str)], report: &mut DiagnosticCollector| {
        let mut metadata = Map::new();
        for (key, field) in keys {
            if let Some(map) = fields.get(field).and_then(|node| read::string_map(node, field, report)) {
                metadata.insert((*key).to_owned(), json!(map));
            }
        }
        metadata
    };
    let mut own = metadata(&[("labels", "labels"), ("annotations", "annotations")], report);
    own.insert("name".to_owned(), name.as_str().into());
    if let Some(owner) = fields.get("owner") {
        own.insert("ownerReferences".to_owned(), json!([owner_reference(owner, report)?]));
    }
    let mut of_pods = metadata(&[("labels", "podLabels")], report);
    let labels = of_pods.entry("labels").or_insert_with(|| json!({}));
    labels["app"] = name.as_str().into();
    let mut spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": of_pods, "spec": {"containers": [{"name": "app", "image": image}]}},
    });
    for field in &FIELDS {
        let FieldType::Count { most } = field.field_type else { continue };
        let range = if refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=most };
        if let Some(number) = fields.get(field.name).and_then(|node| read::integer(node, field.name, range, report)) {
            spec[field.name] = number.into();
        }
    }
    Some(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": own, "spec": spec}))
}

/// Reads `configmap/family` as the controller reference of an owner; the driver fills in its UID.
fn owner_reference(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Value> {
    let text = read::text(node, "an owner", report)?;
    let kinds = [("configmap", "v1", "ConfigMap"), ("deployment", "apps/v1", "Deployment")];
    let found = text.split_once('/').and_then(|(kind, name)| {
        let (_, version, kind) = kinds.into_iter().find(|(known, ..)| *known == kind)?;
        Some(json!({"apiVersion": version, "kind": kind, "name": name, "controller": true}))
    });
    if found.is_none() {
        report.add(node, format!("`{text}` is not an owner"), "write `configmap/NAME` or `deployment/NAME`");
    }
    found
}
