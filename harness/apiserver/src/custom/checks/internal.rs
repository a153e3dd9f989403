//! Definitions in upstream's internal form, in which errors show them: fields by their names in Go,
//! and what all versions have alike at the top.
//!
//! Upstream: `apis/apiextensions/types.go` and the conversion from v1.

use serde_json::{Map, Value};

use crate::go_format::{json, json_text};

/// How a field is printed.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Number,
    /// Null where it is absent.
    Pointer,
    List,
    Struct(&'static [Field]),
    Structs(&'static [Field]),
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrBool,
    SchemaOrList,
    Dependencies,
}

/// A field's name in JSON and in Go, and its form.
type Field = (&'static str, &'static str, Form);

const SCHEMA: [Field; 44] = [
    ("id", "ID", Form::Text),
    ("$schema", "Schema", Form::Text),
    ("$ref", "Ref", Form::Pointer),
    ("description", "Description", Form::Text),
    ("type", "Type", Form::Text),
    ("nullable", "Nullable", Form::Flag),
    ("format", "Format", Form::Text),
    ("title", "Title", Form::Text),
    ("default", "Default", Form::Pointer),
    ("maximum", "Maximum", Form::Pointer),
    ("exclusiveMaximum", "ExclusiveMaximum", Form::Flag),
    ("minimum", "Minimum", Form::Pointer),
    ("exclusiveMinimum", "ExclusiveMinimum", Form::Flag),
    ("maxLength", "MaxLength", Form::Pointer),
    ("minLength", "MinLength", Form::Pointer),
    ("pattern", "Pattern", Form::Text),
    ("maxItems", "MaxItems", Form::Pointer),
    ("minItems", "MinItems", Form::Pointer),
    ("uniqueItems", "UniqueItems", Form::Flag),
    ("multipleOf", "MultipleOf", Form::Pointer),
    ("enum", "Enum", Form::List),
    ("maxProperties", "MaxProperties", Form::Pointer),
    ("minProperties", "MinProperties", Form::Pointer),
    ("required", "Required", Form::List),
    ("items", "Items", Form::SchemaOrList),
    ("allOf", "AllOf", Form::Schemas),
    ("oneOf", "OneOf", Form::Schemas),
    ("anyOf", "AnyOf", Form::Schemas),
    ("not", "Not", Form::Schema),
    ("properties", "Properties", Form::SchemaMap),
    ("additionalProperties", "AdditionalProperties", Form::SchemaOrBool),
    ("patternProperties", "PatternProperties", Form::SchemaMap),
    ("dependencies", "Dependencies", Form::Dependencies),
    ("additionalItems", "AdditionalItems", Form::SchemaOrBool),
    ("definitions", "Definitions", Form::SchemaMap),
    ("externalDocs", "ExternalDocs", Form::Struct(&DOCS)),
    ("example", "Example", Form::Pointer),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", Form::Pointer),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", Form::Flag),
    ("x-kubernetes-int-or-string", "XIntOrString", Form::Flag),
    ("x-kubernetes-list-map-keys", "XListMapKeys", Form::List),
    ("x-kubernetes-list-type", "XListType", Form::Pointer),
    ("x-kubernetes-map-type", "XMapType", Form::Pointer),
    ("x-kubernetes-validations", "XValidations", Form::Structs(&RULE)),
];
const DOCS: [Field; 2] = [("description", "Description", Form::Text), ("url", "URL", Form::Text)];
const RULE: [Field; 6] = [
    ("rule", "Rule", Form::Text),
    ("message", "Message", Form::Text),
    ("messageExpression", "MessageExpression", Form::Text),
    ("reason", "Reason", Form::Pointer),
    ("fieldPath", "FieldPath", Form::Text),
    ("optionalOldSelf", "OptionalOldSelf", Form::Pointer),
];
const VERSION: [Field; 9] = [
    ("name", "Name", Form::Text),
    ("served", "Served", Form::Flag),
    ("storage", "Storage", Form::Flag),
    ("deprecated", "Deprecated", Form::Flag),
    ("deprecationWarning", "DeprecationWarning", Form::Pointer),
    ("schema", "Schema", Form::Struct(&[("openAPIV3Schema", "OpenAPIV3Schema", Form::Schema)])),
    ("subresources", "Subresources", Form::Struct(&SUBRESOURCES)),
    ("additionalPrinterColumns", "AdditionalPrinterColumns", Form::Structs(&COLUMN)),
    ("selectableFields", "SelectableFields", Form::Structs(&[("jsonPath", "JSONPath", Form::Text)])),
];
const SUBRESOURCES: [Field; 2] = [("status", "Status", Form::Struct(&[])), ("scale", "Scale", Form::Struct(&SCALE))];
const SCALE: [Field; 3] = [
    ("specReplicasPath", "SpecReplicasPath", Form::Text),
    ("statusReplicasPath", "StatusReplicasPath", Form::Text),
    ("labelSelectorPath", "LabelSelectorPath", Form::Pointer),
];
const COLUMN: [Field; 6] = [
    ("name", "Name", Form::Text),
    ("type", "Type", Form::Text),
    ("format", "Format", Form::Text),
    ("description", "Description", Form::Text),
    ("priority", "Priority", Form::Number),
    ("jsonPath", "JSONPath", Form::Text),
];

fn print(value: &Value, fields: &[Field]) -> String {
    let fields = fields.iter().map(|(name, go, form)| format!("{}:{}", json_text(go), field(&value[*name], *form)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn list<'a>(items: impl IntoIterator<Item = &'a Value>, print: impl Fn(&Value) -> String) -> String {
    format!("[{}]", items.into_iter().map(print).collect::<Vec<_>>().join(","))
}

fn map(fields: &Map<String, Value>, print: impl Fn(&Value) -> String) -> String {
    let fields = fields.iter().map(|(name, value)| format!("{}:{}", json_text(name), print(value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn field(value: &Value, form: Form) -> String {
    let schema = |value: &Value| print(value, &SCHEMA);
    let null = || "null".to_owned();
    let optional = |value: &Value| if value.is_object() { schema(value) } else { null() };
    match (form, value) {
        (Form::Text, _) => json_text(value.as_str().unwrap_or_default()),
        (Form::Flag, _) => (*value == true).to_string(),
        (Form::Number, _) => value.as_i64().unwrap_or_default().to_string(),
        (_, Value::Null) => null(),
        (Form::Pointer, _) => json(value),
        (Form::List | Form::Structs(_) | Form::Schemas, Value::Array(items)) if items.is_empty() => null(),
        (Form::List, Value::Array(items)) => list(items, json),
        (Form::Struct(fields), _) => print(value, fields),
        (Form::Structs(fields), Value::Array(items)) => list(items, |item| print(item, fields)),
        (Form::Schema, _) => schema(value),
        (Form::Schemas, Value::Array(items)) => list(items, schema),
        (Form::SchemaMap, Value::Object(fields)) if !fields.is_empty() => map(fields, schema),
        (Form::SchemaOrBool, _) => {
            format!("{{\"Allows\":{},\"Schema\":{}}}", *value == true || value.is_object(), optional(value))
        }
        (Form::SchemaOrList, Value::Array(items)) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(items, schema))
        }
        (Form::SchemaOrList, _) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", optional(value)),
        (Form::Dependencies, Value::Object(fields)) if !fields.is_empty() => map(fields, |value| {
            let property = if value.is_array() { json(value) } else { null() };
            format!("{{\"Schema\":{},\"Property\":{property}}}", optional(value))
        }),
        _ => null(),
    }
}

/// A schema as errors show it.
pub(super) fn schema(value: &Value) -> String {
    print(value, &SCHEMA)
}

/// `items` as errors show it.
pub(super) fn items(value: &Value) -> String {
    field(value, Form::SchemaOrList)
}

/// The names in Go of the fields that a schema has. A pointer to a zero value is one.
pub(super) fn fields_of(schema: &Value) -> impl Iterator<Item = &'static str> + '_ {
    let present = |(name, _, form): &&Field| {
        let text = field(&schema[*name], *form);
        match form {
            Form::Text => text != "\"\"",
            Form::Flag => text != "false",
            Form::Number => text != "0",
            _ => text != "null",
        }
    };
    SCHEMA.iter().filter(present).map(|(_, go, _)| *go)
}

/// What of a definition's versions is alike in all, which is at the top, and what each has besides.
pub(super) struct Lifted {
    /// By the names of a version's fields.
    pub(super) top: Value,
    pub(super) versions: Vec<Value>,
}

impl Lifted {
    pub(super) fn new(spec: &Value) -> Self {
        let mut versions = spec["versions"].as_array().cloned().unwrap_or_default();
        let mut top = Map::new();
        for (name, _, form) in VERSION.iter().skip(5) {
            let mut all = versions.iter().map(|version| field(&version[*name], *form));
            let first = all.next();
            if first.is_none() || all.any(|one| Some(one) != first) {
                continue;
            }
            for version in versions.iter_mut().filter_map(Value::as_object_mut) {
                if let Some(value) = version.remove(*name).filter(|value| !value.is_null()) {
                    top.insert((*name).to_owned(), value);
                }
            }
        }
        Self { top: Value::Object(top), versions }
    }

    /// The versions as errors show them.
    pub(super) fn shown(&self) -> String {
        if self.versions.is_empty() {
            "null".to_owned()
        } else {
            list(&self.versions, |version| print(version, &VERSION))
        }
    }
}
