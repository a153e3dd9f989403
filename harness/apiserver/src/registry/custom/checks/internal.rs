//! Prints definitions in upstream's internal form, as its errors do: with Go field names, and with
//! everything that all versions have in common at the top.
//!
//! Upstream: `apis/apiextensions/types.go` and the conversion from v1.

use serde_json::{Map, Value};

use crate::go::format::{json, json_text};

/// How a field is printed.
#[derive(Clone, Copy)]
enum FieldFormat {
    Text,
    Flag,
    Number,
    /// Null if absent.
    Pointer,
    List,
    Struct(&'static [InternalField]),
    Structs(&'static [InternalField]),
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrBool,
    SchemaOrList,
    Dependencies,
}

/// The JSON name of a field, its Go name, and its format.
type InternalField = (&'static str, &'static str, FieldFormat);

const SCHEMA: [InternalField; 44] = [
    ("id", "ID", FieldFormat::Text),
    ("$schema", "Schema", FieldFormat::Text),
    ("$ref", "Ref", FieldFormat::Pointer),
    ("description", "Description", FieldFormat::Text),
    ("type", "Type", FieldFormat::Text),
    ("nullable", "Nullable", FieldFormat::Flag),
    ("format", "Format", FieldFormat::Text),
    ("title", "Title", FieldFormat::Text),
    ("default", "Default", FieldFormat::Pointer),
    ("maximum", "Maximum", FieldFormat::Pointer),
    ("exclusiveMaximum", "ExclusiveMaximum", FieldFormat::Flag),
    ("minimum", "Minimum", FieldFormat::Pointer),
    ("exclusiveMinimum", "ExclusiveMinimum", FieldFormat::Flag),
    ("maxLength", "MaxLength", FieldFormat::Pointer),
    ("minLength", "MinLength", FieldFormat::Pointer),
    ("pattern", "Pattern", FieldFormat::Text),
    ("maxItems", "MaxItems", FieldFormat::Pointer),
    ("minItems", "MinItems", FieldFormat::Pointer),
    ("uniqueItems", "UniqueItems", FieldFormat::Flag),
    ("multipleOf", "MultipleOf", FieldFormat::Pointer),
    ("enum", "Enum", FieldFormat::List),
    ("maxProperties", "MaxProperties", FieldFormat::Pointer),
    ("minProperties", "MinProperties", FieldFormat::Pointer),
    ("required", "Required", FieldFormat::List),
    ("items", "Items", FieldFormat::SchemaOrList),
    ("allOf", "AllOf", FieldFormat::Schemas),
    ("oneOf", "OneOf", FieldFormat::Schemas),
    ("anyOf", "AnyOf", FieldFormat::Schemas),
    ("not", "Not", FieldFormat::Schema),
    ("properties", "Properties", FieldFormat::SchemaMap),
    ("additionalProperties", "AdditionalProperties", FieldFormat::SchemaOrBool),
    ("patternProperties", "PatternProperties", FieldFormat::SchemaMap),
    ("dependencies", "Dependencies", FieldFormat::Dependencies),
    ("additionalItems", "AdditionalItems", FieldFormat::SchemaOrBool),
    ("definitions", "Definitions", FieldFormat::SchemaMap),
    ("externalDocs", "ExternalDocs", FieldFormat::Struct(&DOCS)),
    ("example", "Example", FieldFormat::Pointer),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields", FieldFormat::Pointer),
    ("x-kubernetes-embedded-resource", "XEmbeddedResource", FieldFormat::Flag),
    ("x-kubernetes-int-or-string", "XIntOrString", FieldFormat::Flag),
    ("x-kubernetes-list-map-keys", "XListMapKeys", FieldFormat::List),
    ("x-kubernetes-list-type", "XListType", FieldFormat::Pointer),
    ("x-kubernetes-map-type", "XMapType", FieldFormat::Pointer),
    ("x-kubernetes-validations", "XValidations", FieldFormat::Structs(&RULE)),
];
const DOCS: [InternalField; 2] = [("description", "Description", FieldFormat::Text), ("url", "URL", FieldFormat::Text)];
const RULE: [InternalField; 6] = [
    ("rule", "Rule", FieldFormat::Text),
    ("message", "Message", FieldFormat::Text),
    ("messageExpression", "MessageExpression", FieldFormat::Text),
    ("reason", "Reason", FieldFormat::Pointer),
    ("fieldPath", "FieldPath", FieldFormat::Text),
    ("optionalOldSelf", "OptionalOldSelf", FieldFormat::Pointer),
];
const VERSION: [InternalField; 9] = [
    ("name", "Name", FieldFormat::Text),
    ("served", "Served", FieldFormat::Flag),
    ("storage", "Storage", FieldFormat::Flag),
    ("deprecated", "Deprecated", FieldFormat::Flag),
    ("deprecationWarning", "DeprecationWarning", FieldFormat::Pointer),
    ("schema", "Schema", FieldFormat::Struct(&[("openAPIV3Schema", "OpenAPIV3Schema", FieldFormat::Schema)])),
    ("subresources", "Subresources", FieldFormat::Struct(&SUBRESOURCES)),
    ("additionalPrinterColumns", "AdditionalPrinterColumns", FieldFormat::Structs(&COLUMN)),
    ("selectableFields", "SelectableFields", FieldFormat::Structs(&[("jsonPath", "JSONPath", FieldFormat::Text)])),
];
const SUBRESOURCES: [InternalField; 2] =
    [("status", "Status", FieldFormat::Struct(&[])), ("scale", "Scale", FieldFormat::Struct(&SCALE))];
const SCALE: [InternalField; 3] = [
    ("specReplicasPath", "SpecReplicasPath", FieldFormat::Text),
    ("statusReplicasPath", "StatusReplicasPath", FieldFormat::Text),
    ("labelSelectorPath", "LabelSelectorPath", FieldFormat::Pointer),
];
const COLUMN: [InternalField; 6] = [
    ("name", "Name", FieldFormat::Text),
    ("type", "Type", FieldFormat::Text),
    ("format", "Format", FieldFormat::Text),
    ("description", "Description", FieldFormat::Text),
    ("priority", "Priority", FieldFormat::Number),
    ("jsonPath", "JSONPath", FieldFormat::Text),
];

fn print(value: &Value, fields: &[InternalField]) -> String {
    let fields = fields.iter().map(|(name, go, format)| format!("{}:{}", json_text(go), field(&value[*name], *format)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn list<'a>(items: impl IntoIterator<Item = &'a Value>, print: impl Fn(&Value) -> String) -> String {
    format!("[{}]", items.into_iter().map(print).collect::<Vec<_>>().join(","))
}

fn map(fields: &Map<String, Value>, print: impl Fn(&Value) -> String) -> String {
    let fields = fields.iter().map(|(name, value)| format!("{}:{}", json_text(name), print(value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

fn field(value: &Value, format: FieldFormat) -> String {
    let schema = |value: &Value| print(value, &SCHEMA);
    let null = || "null".to_owned();
    let optional = |value: &Value| if value.is_object() { schema(value) } else { null() };
    match (format, value) {
        (FieldFormat::Text, _) => json_text(value.as_str().unwrap_or_default()),
        (FieldFormat::Flag, _) => (*value == true).to_string(),
        (FieldFormat::Number, _) => value.as_i64().unwrap_or_default().to_string(),
        (_, Value::Null) => null(),
        (FieldFormat::Pointer, _) => json(value),
        (FieldFormat::List | FieldFormat::Structs(_) | FieldFormat::Schemas, Value::Array(items))
            if items.is_empty() =>
        {
            null()
        }
        (FieldFormat::List, Value::Array(items)) => list(items, json),
        (FieldFormat::Struct(fields), _) => print(value, fields),
        (FieldFormat::Structs(fields), Value::Array(items)) => list(items, |item| print(item, fields)),
        (FieldFormat::Schema, _) => schema(value),
        (FieldFormat::Schemas, Value::Array(items)) => list(items, schema),
        (FieldFormat::SchemaMap, Value::Object(fields)) if !fields.is_empty() => map(fields, schema),
        (FieldFormat::SchemaOrBool, _) => {
            format!("{{\"Allows\":{},\"Schema\":{}}}", *value == true || value.is_object(), optional(value))
        }
        (FieldFormat::SchemaOrList, Value::Array(items)) => {
            format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", list(items, schema))
        }
        (FieldFormat::SchemaOrList, _) => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", optional(value)),
        (FieldFormat::Dependencies, Value::Object(fields)) if !fields.is_empty() => map(fields, |value| {
            let property = if value.is_array() { json(value) } else { null() };
            format!("{{\"Schema\":{},\"Property\":{property}}}", optional(value))
        }),
        _ => null(),
    }
}

/// Prints a schema.
pub(crate) fn schema(value: &Value) -> String {
    print(value, &SCHEMA)
}

/// Prints `items`.
pub(crate) fn items(value: &Value) -> String {
    field(value, FieldFormat::SchemaOrList)
}

/// The Go names of the fields that are set. A pointer to a zero value is set.
pub(crate) fn fields_of(schema: &Value) -> impl Iterator<Item = &'static str> + '_ {
    let present = |(name, _, format): &&InternalField| {
        let text = field(&schema[*name], *format);
        match format {
            FieldFormat::Text => text != "\"\"",
            FieldFormat::Flag => text != "false",
            FieldFormat::Number => text != "0",
            _ => text != "null",
        }
    };
    SCHEMA.iter().filter(present).map(|(_, go, _)| *go)
}

/// A definition's spec in internal form: the fields that all versions share, and the rest of each
/// version.
pub(crate) struct InternalSpec {
    /// The shared fields, by their names in a version.
    pub(crate) top: Value,
    pub(crate) versions: Vec<Value>,
}

impl InternalSpec {
    pub(crate) fn new(spec: &Value) -> Self {
        let mut versions = spec["versions"].as_array().cloned().unwrap_or_default();
        let mut top = Map::new();
        for (name, _, format) in VERSION.iter().skip(5) {
            let mut all = versions.iter().map(|version| field(&version[*name], *format));
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

    /// The versions, printed.
    pub(crate) fn versions_text(&self) -> String {
        if self.versions.is_empty() {
            "null".to_owned()
        } else {
            list(&self.versions, |version| print(version, &VERSION))
        }
    }
}
