//! `apply: {apiVersion: …}`: applies any object, as `kubectl apply` does. `deployment` and
//! `replicaset` are short forms of it.

use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use crate::diagnostics::DiagnosticCollector;
use crate::field::{BOOLEAN, FieldSpec, FieldType, TEXT, text};
use crate::model::{DeclaredChange, Drive, LabelStyle, Operation, PerformFuture, StepAction};
use crate::names_in_scope::NamesInScope;
use crate::read::{self, MappingFields};
use crate::step::{Actor, NameDeclaration, OperationNode, OperationSpec, StepReader};
use crate::unknown_fields;
use crate::yaml::{YamlKind, YamlNode};

/// The fields that every object has; the API server checks all others.
static FIELDS: [FieldSpec; 4] = [
    FieldSpec::required("apiVersion", TEXT, "The API's group and version."),
    FieldSpec::required("kind", TEXT, "The kind."),
    FieldSpec::required(
        "metadata",
        FieldType::Is(
            |_| json!({"type": "object", "required": ["name"], "properties": {"name": text(), "namespace": false}}),
            "a mapping with `name` and without `namespace`",
        ),
        "Its name, labels, annotations and owners; an owner needs no `uid`.",
    ),
    FieldSpec::new(
        SERVER_SIDE,
        BOOLEAN,
        "Not of the manifest: whether it is `kubectl apply --server-side`, which conflicts refuse.",
    ),
];

/// A field of the step among the fields of the manifest.
const SERVER_SIDE: &str = "serverSide";

pub(super) static SPEC: OperationSpec = OperationSpec {
    name: "apply",
    description: "`kubectl apply` of any object: creates it, or sets what the manifest says and removes what an earlier one said and this one does not. What others set stays. Unknown fields are errors. `$(NAMESPACE)` in it is the case's namespace.",
    actor: Actor::User,
    shorthand: "",
    fields: &FIELDS,
    schema,
    read,
    declaration: NameDeclaration::Object(declare),
    is_refusable: true,
    is_nestable: true,
    examples: &[
        "- apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: debug}}",
        "- apply: {serverSide: true, apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {level: info}}",
    ],
};

/// Applies a manifest.
#[derive(Debug, PartialEq)]
pub(crate) struct ApplyStep {
    pub(crate) manifest: Value,
    /// `--server-side`.
    pub(crate) server_side: bool,
}

impl ApplyStep {
    /// A client-side apply.
    pub(super) const fn of(manifest: Value) -> Self {
        Self { manifest, server_side: false }
    }
}

fn schema(_: bool) -> Value {
    let fields = FIELDS.iter().map(|field| (field.name.to_owned(), field.field_type.schema(false)));
    let required: Vec<_> = FIELDS.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({"type": "object", "required": required, "properties": Value::Object(fields.collect())})
}

fn declare(scope: &mut NamesInScope, node: &YamlNode) {
    let kind = node.get("kind").and_then(YamlNode::as_text);
    let name = node.get("metadata").and_then(|metadata| metadata.get("name")).and_then(YamlNode::as_text);
    scope.declare(kind, name);
}

fn read(reader: &mut StepReader<'_>, OperationNode { value, refused, .. }: &OperationNode<'_>) -> Option<Operation> {
    let YamlKind::Map(_) = value.kind else {
        reader.report.add(value, "`apply` takes a manifest", format!("this is {}", value.describe()));
        return None;
    };
    let metadata = value.get("metadata");
    let required = [
        ("apiVersion", value.get("apiVersion")),
        ("kind", value.get("kind")),
        ("name", metadata.and_then(|it| it.get("name"))),
    ];
    let mut complete = true;
    for (what, found) in required {
        let found = found.map(|found| read::text(found, what, reader.report).is_some());
        if found.is_none() {
            reader.report.add(value, format!("the manifest has no `{what}`"), "an object needs it");
        }
        complete &= found == Some(true);
    }
    if let Some(namespace) = metadata.and_then(|it| it.get("namespace")) {
        reader.report.add(namespace, "a case cannot choose its namespace", "leave this out");
        complete = false;
    }
    let name = metadata.and_then(|it| it.get("name")).and_then(YamlNode::as_text);
    if value.get("kind").and_then(YamlNode::as_text) == Some("Deployment") && !refused {
        name.into_iter().for_each(|name| reader.scope.mark_created(name));
    }
    let server_side = match value.get(SERVER_SIDE) {
        Some(node) => read::boolean(node, SERVER_SIDE, reader.report)?,
        None => false,
    };
    let manifest = value.without(SERVER_SIDE);
    if complete && !refused {
        unknown_fields::check_manifest(&manifest, reader.report);
    }
    complete.then(|| Operation::new(ApplyStep { manifest: manifest.to_json(), server_side }))
}

impl StepAction for ApplyStep {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    fn label(&self, _: LabelStyle) -> String {
        let Self { manifest, server_side } = self;
        let text = |pointer: &str| manifest.at(pointer).and_then(|value| value.as_str()).unwrap_or("?");
        let mut label = format!("{}/{}", text("/kind").to_lowercase(), text("/metadata/name"));
        let shown = [
            ("replicas", "/spec/replicas"),
            ("strategy", "/spec/strategy/type"),
            ("maxSurge", "/spec/strategy/rollingUpdate/maxSurge"),
            ("maxUnavailable", "/spec/strategy/rollingUpdate/maxUnavailable"),
            ("image", "/spec/template/spec/containers/0/image"),
        ];
        for (name, pointer) in shown {
            match manifest.at(pointer) {
                Some(Value::String(text)) => label += &format!(" {name}={text}"),
                Some(value) => label += &format!(" {name}={value}"),
                None => {}
            }
        }
        if *server_side {
            label += " server-side";
        }
        label
    }

    fn add_filter_labels(&self, add: &mut dyn FnMut(&str)) {
        let Self { manifest, .. } = self;
        let spec = &manifest["spec"];
        spec.as_object().into_iter().flatten().for_each(|(field, _)| add(field));
        spec["strategy"]["type"].as_str().into_iter().for_each(&mut *add);
        spec["strategy"]["rollingUpdate"].as_object().into_iter().flatten().for_each(|(field, _)| add(field));
        manifest["kind"].as_str().into_iter().for_each(&mut *add);
    }

    fn change(&self) -> DeclaredChange<'_> {
        DeclaredChange::Object(&self.manifest)
    }

    fn perform<'a>(&'a self, driver: &'a dyn Drive) -> PerformFuture<'a> {
        driver.apply(&self.manifest, self.server_side)
    }
}

/// Reads the two fields that the short forms of Deployments and ReplicaSets require.
pub(super) fn name_and_image(
    node: &YamlNode,
    noun: &str,
    fields: &MappingFields<'_>,
    report: &mut DiagnosticCollector,
) -> Option<(String, String)> {
    let required = |key: &str, report: &mut DiagnosticCollector| {
        if fields.lacks(key) {
            report.add(node, format!("the {noun} has no `{key}`"), format!("add `{key}: …`"));
        }
        fields.get(key)
    };
    let name = required("name", report).and_then(|node| read::name(node, "the name", report));
    let image = required("image", report).and_then(|node| read::text(node, "the image", report)).map(str::to_owned);
    Some((name?, image?))
}
