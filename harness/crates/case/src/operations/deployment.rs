//! `deployment: {name: web, replicas: 10, image: "app:1"}`: the short form of a Deployment's
//! manifest, which is applied as by `apply`.

use serde_json::{Map, Value, json};

use super::apply::{ApplyStep, name_and_image};
use crate::diagnostics::DiagnosticCollector;
use crate::field::{BOOLEAN, FieldSpec, FieldType, NAME, TEXT, TEXTS, any_of, integer, names, object};
use crate::model::Operation;
use crate::names_in_scope::NamesInScope;
use crate::read::{self, MOST_PODS, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::yaml::YamlNode;

/// A number of pods, or a percentage.
const SHARE: FieldType = FieldType::Is(share, "a number, or a percentage such as `25%`");
const SECONDS: FieldType = FieldType::Count { most: i32::MAX as i64 };

/// Sources of a container's environment: the kind in a case, and the field of the container.
const SOURCES: [(&str, &str); 2] = [("configmap", "configMapRef"), ("secret", "secretRef")];
const ENV_FROM: FieldType = FieldType::Is(
    |_| json!({"type": "array", "items": {"type": "string", "pattern": "^(configmap|secret)/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"}}),
    "a list of `configmap/NAME` and `secret/NAME`",
);

static FIELDS: [FieldSpec; 13] = [
    FieldSpec::required("name", NAME, "Its name; its pods are labelled `app: NAME`."),
    FieldSpec::new("replicas", FieldType::Count { most: MOST_PODS }, "How many pods it wants."),
    FieldSpec::required("image", TEXT, "The image of its only container, `app`. Changing it starts a rollout."),
    FieldSpec::new("maxSurge", SHARE, "How many pods more than it wants there may be; percentages are rounded up."),
    FieldSpec::new("maxUnavailable", SHARE, "How many pods fewer may be available; percentages are rounded down."),
    FieldSpec::new("strategy", FieldType::Words(&["RollingUpdate", "Recreate"]), "How it replaces pods."),
    FieldSpec::new("minReadySeconds", SECONDS, "How long a pod must be ready before it counts as available."),
    FieldSpec::new("progressDeadlineSeconds", SECONDS, "How long a rollout may stand still."),
    FieldSpec::new(
        "revisionHistoryLimit",
        FieldType::Count { most: MOST_PODS },
        "How many old ReplicaSets without pods are kept.",
    ),
    FieldSpec::new("paused", BOOLEAN, "Whether it starts no rollout."),
    FieldSpec::new("annotations", TEXTS, "Annotations."),
    FieldSpec::new("labels", TEXTS, "Labels of its own; not of its pods."),
    FieldSpec::new("envFrom", ENV_FROM, "ConfigMaps and Secrets that its container's environment comes from."),
];

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "deployment",
    description: "`kubectl apply` of a Deployment: what an earlier manifest set and this one leaves out goes; what only others set stays.",
    actor: Actor::User,
    shorthand: "",
    fields: &FIELDS,
    schema,
    read: |reader, written| read_deployment(reader, written).map(|manifest| Operation::new(ApplyStep::of(manifest))),
    declaration: NameDeclaration::Object(declare),
    is_refusable: true,
    is_nestable: true,
    examples: &[
        "- deployment: {name: api, replicas: 4, image: \"app:1\", maxSurge: 25%, maxUnavailable: 0}",
        "- deployment: {name: web, image: \"app:2\", strategy: Recreate}",
        "- deployment: {name: web, image: \"app:1\", envFrom: [configmap/settings, secret/token]}",
    ],
};

fn share(refused: bool) -> Value {
    let percent =
        if refused { json!({"type": "string"}) } else { json!({"type": "string", "pattern": "^[0-9]{1,5}%$"}) };
    any_of([if refused { json!({"type": "integer"}) } else { integer(0, MOST_PODS) }, percent])
}

fn schema(refused: bool) -> Value {
    let mut schema = object(&FIELDS, refused);
    if !refused {
        let zero = json!({"enum": [0, "0%"]});
        schema["not"] = any_of([
            json!({
                "required": ["strategy"],
                "properties": {"strategy": {"const": "Recreate"}},
                "anyOf": [{"required": ["maxSurge"]}, {"required": ["maxUnavailable"]}],
            }),
            json!({
                "required": ["maxSurge", "maxUnavailable"],
                "properties": {"maxSurge": zero, "maxUnavailable": zero},
            }),
        ]);
    }
    schema
}

fn declare(scope: &mut NamesInScope, node: &YamlNode) {
    scope.declare_deployment(node.get("name").and_then(YamlNode::as_text));
}

/// Reads the manifest; refused steps may have values that the server does not accept. Returns
/// `None` after a problem.
fn read_deployment(
    reader: &mut StepReader<'_>,
    OperationNode { value, refused, .. }: &OperationNode<'_>,
) -> Option<Value> {
    let manifest = manifest(value, *refused, reader.report);
    let name = value.get("name").and_then(YamlNode::as_text).filter(|_| !refused);
    // Even if the manifest has problems, so that later steps can name the Deployment.
    name.into_iter().for_each(|name| reader.scope.mark_created(name));
    manifest
}

fn manifest(node: &YamlNode, refused: bool, report: &mut DiagnosticCollector) -> Option<Value> {
    let fields = MappingFields::of(node, "a deployment", &names(&FIELDS), report)?;
    let (name, image) = name_and_image(node, "deployment", &fields, report)?;

    let mut metadata = Map::from_iter([("name".to_owned(), Value::from(name.as_str()))]);
    for key in ["labels", "annotations"] {
        if let Some(map) = fields.get(key).and_then(|node| read::string_map(node, key, report)) {
            metadata.insert(key.to_owned(), json!(map));
        }
    }
    let mut spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "app", "image": image}]}},
    });
    if let Some(sources) = fields.get("envFrom").map(|node| env_from(node, report)) {
        spec["template"]["spec"]["containers"][0]["envFrom"] = sources;
    }
    for field in &FIELDS {
        let FieldType::Count { most } = field.field_type else { continue };
        let range = if refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=most };
        if let Some(number) = fields.get(field.name).and_then(|node| read::integer(node, field.name, range, report)) {
            spec[field.name] = number.into();
        }
    }
    if let Some(paused) = fields.get("paused").and_then(|node| read::boolean(node, "paused", report)) {
        spec["paused"] = paused.into();
    }
    if let Some(strategy) = strategy(&fields, refused, report) {
        spec["strategy"] = strategy;
    }
    Some(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}))
}

/// Converts `[configmap/c, secret/s]` to a container's `envFrom`.
fn env_from(node: &YamlNode, report: &mut DiagnosticCollector) -> Value {
    let items = read::items(node, "`envFrom`", report).unwrap_or_default();
    items.iter().filter_map(|item| source(item, report)).collect()
}

fn source(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Value> {
    let text = read::text(node, "a ConfigMap or Secret", report)?;
    let found = text.split_once('/').and_then(|(kind, name)| {
        let (_, field) = SOURCES.into_iter().find(|(known, _)| *known == kind)?;
        Some((field, name))
    });
    let Some((field, name)) = found else {
        report.add(node, format!("`{text}` is not a ConfigMap or Secret"), "write `configmap/NAME` or `secret/NAME`");
        return None;
    };
    if !read::is_name(name) {
        report.add(node, format!("`{name}` is not a name"), read::NAMES);
    }
    Some(json!({ (field): {"name": name} }))
}

/// Reads the strategy, if any of its fields is set; reports combinations that the server refuses.
fn strategy(fields: &MappingFields<'_>, refused: bool, report: &mut DiagnosticCollector) -> Option<Value> {
    let kinds = [("RollingUpdate", false), ("Recreate", true)];
    let recreate = fields.get("strategy").and_then(|node| read::word(node, "the strategy", &kinds, report));
    let mut rolling = Map::new();
    for key in ["maxSurge", "maxUnavailable"] {
        let value = fields.get(key).and_then(|node| read::number_or_percent(node, key, refused, report));
        rolling.extend(value.map(|value| (key.to_owned(), value)));
    }
    if let (Some(true), false, Some((key, _))) =
        (recreate, refused, fields.entry("maxSurge").or(fields.entry("maxUnavailable")))
    {
        report.add(key, format!("Recreate has no `{}`", key.as_key()), "the server would refuse this");
    }
    let none = |value: Option<&Value>| value.is_some_and(|value| value == &json!(0) || value == &json!("0%"));
    if none(rolling.get("maxSurge")) && none(rolling.get("maxUnavailable")) && !refused {
        let (key, _) = fields.entry("maxUnavailable")?;
        report.add(key, "maxSurge and maxUnavailable cannot both be 0", "the server would refuse this");
    }
    let kind = match recreate {
        None if rolling.is_empty() => return None,
        Some(true) => "Recreate",
        _ => "RollingUpdate",
    };
    let mut strategy = json!({"type": kind});
    if !rolling.is_empty() {
        strategy["rollingUpdate"] = Value::Object(rolling);
    }
    Some(strategy)
}
