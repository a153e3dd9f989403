//! `replicaset: {name: web, image: "app:1"}`: the short form of a ReplicaSet that no Deployment
//! owns, and the manifest that it stands for. What it does is `apply`'s.

use serde_json::{Map, Value, json};

use super::apply::Apply;
use super::{By, Form, Operation, Written};
use crate::case::field::{Field, NAME, TEXT, TEXTS, Type, names};
use crate::case::finding::Report;
use crate::case::read::{self, Fields, MOST_PODS};
use crate::case::schema::object;
use crate::case::scope::Scope;
use crate::case::short::name_and_image;
use crate::case::step::Reader;
use crate::case::tree::Node;

const OWNER: Type = Type::Is(
    |_| json!({"type": "string", "pattern": "^(configmap|deployment)/.+$"}),
    "`configmap/NAME` or `deployment/NAME`",
);

static FIELDS: [Field; 8] = [
    Field::required("name", NAME, "Its name; it selects the pods that it makes by `app: NAME`."),
    Field::new("replicas", Type::Count { most: MOST_PODS }, "How many pods it wants."),
    Field::required("image", TEXT, "The image of its only container, `app`."),
    Field::new(
        "minReadySeconds",
        Type::Count { most: i32::MAX as i64 },
        "How long a pod must be ready before it counts as available.",
    ),
    Field::new("labels", TEXTS, "Labels of its own; not of its pods."),
    Field::new("annotations", TEXTS, "Annotations."),
    Field::new("podLabels", TEXTS, "More labels of its pods, which its selector does not ask for."),
    Field::new("owner", OWNER, "What controls it."),
];

pub(super) static FORM: Form = Form {
    name: "replicaset",
    says: "`kubectl apply` of a ReplicaSet that no Deployment owns.",
    by: By::User,
    short: "",
    fields: &FIELDS,
    schema: |refused| object(&FIELDS, refused),
    read,
    announce,
    refusable: true,
    inner: true,
    only_held: None,
    examples: &["- replicaset: {name: sibling, replicas: 1, image: \"app:1\", owner: deployment/web}"],
};

fn announce(scope: &mut Scope, node: &Node) {
    if let Some(name) = node.get("name") {
        scope.announce(Some("ReplicaSet"), name.as_text());
    }
}

fn read(reader: &mut Reader<'_>, Written { value, refused, .. }: &Written<'_>) -> Option<Operation> {
    manifest(value, *refused, reader.report).map(|manifest| Operation::new(Apply::of(manifest)))
}

/// The manifest. `None` after a finding.
fn manifest(node: &Node, refused: bool, report: &mut Report) -> Option<Value> {
    let fields = Fields::of(node, "a replicaset", &names(&FIELDS), report)?;
    let (name, image) = name_and_image(node, "replicaset", &fields, report)?;
    let metadata = |keys: &[(&str, &str)], report: &mut Report| {
        let mut metadata = Map::new();
        for (key, field) in keys {
            if let Some(map) = fields.get(field).and_then(|node| read::texts(node, field, report)) {
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
        let Type::Count { most } = field.takes else { continue };
        let range = if refused { i64::from(i32::MIN)..=i64::from(i32::MAX) } else { 0..=most };
        if let Some(number) = fields.get(field.name).and_then(|node| read::integer(node, field.name, range, report)) {
            spec[field.name] = number.into();
        }
    }
    Some(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": own, "spec": spec}))
}

/// `configmap/family` as the controller that owns something; the driver fills in its uid.
fn owner_reference(node: &Node, report: &mut Report) -> Option<Value> {
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
