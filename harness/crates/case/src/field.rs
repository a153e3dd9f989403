//! Describes the fields of the mappings that a case is made of: name, type and a sentence.
//!
//! One list of fields serves the reader and its suggestions, the JSON schema and the reference
//! page. The functions at the end are the fragments that JSON schemas are made of.

use serde_json::{Map, Value, json};

use super::read;

/// A field of a mapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldSpec {
    /// The name in a case file.
    pub(super) name: &'static str,
    pub(super) field_type: FieldType,
    /// Whether it cannot be left out.
    pub(super) required: bool,
    /// One sentence for the reference page.
    pub(super) description: &'static str,
}

/// The type of a field's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum FieldType {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number.
    Whole { least: i64, most: i64 },
    /// A whole number from zero; any number in a step that the server must refuse.
    Count { most: i64 },
    /// Any other type: a schema, which may depend on whether the server must refuse the step, and
    /// words for the reference page.
    Is(fn(bool) -> Value, &'static str),
}

pub(super) const TEXT: FieldType = FieldType::Is(|_| text(), "a string");
pub(super) const TEXTS: FieldType = FieldType::Is(|_| reference("texts"), "a mapping from texts to texts");
pub(super) const NAME: FieldType = FieldType::Is(|_| reference("name"), "a name");
pub(super) const BOOLEAN: FieldType = FieldType::Is(|_| json!({"type": "boolean"}), "`true` or `false`");
pub(super) const DURATION: FieldType =
    FieldType::Is(|_| reference("duration"), "a length of time, such as `90s` or `1h 30m`");

impl FieldSpec {
    /// An optional field.
    pub(super) const fn new(name: &'static str, field_type: FieldType, description: &'static str) -> Self {
        Self { name, field_type, required: false, description }
    }

    pub(super) const fn required(name: &'static str, field_type: FieldType, description: &'static str) -> Self {
        Self { name, field_type, required: true, description }
    }
}

impl FieldType {
    /// The JSON schema; `refused`: whether the server must refuse the step.
    pub(super) fn schema(self, refused: bool) -> Value {
        match self {
            Self::Words(all) => words(all),
            Self::Whole { least, most } => integer(least, most),
            Self::Count { .. } if refused => integer(i32::MIN.into(), i32::MAX.into()),
            Self::Count { most } => integer(0, most),
            Self::Is(schema, _) => schema(refused),
        }
    }

    /// A description for readers.
    pub(super) fn words(self) -> String {
        let range = |least: i64, most: i64| match most {
            most if most >= i64::from(i32::MAX) => format!("a number, at least {least}"),
            most => format!("a number from {least} to {most}"),
        };
        match self {
            Self::Words(all) => read::join_quoted(all).replace(" and ", " or "),
            Self::Whole { least, most } => range(least, most),
            Self::Count { most } => range(0, most),
            Self::Is(_, words) => words.to_owned(),
        }
    }
}

pub(super) fn names(fields: &[FieldSpec]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}

/// Adds a description to a schema.
pub(super) fn with_description(mut schema: Value, description: &str) -> Value {
    schema["description"] = description.into();
    schema
}

/// A reference to `#/definitions/NAME`. It is wrapped because keywords beside a `$ref` are ignored.
pub(super) fn reference(name: &str) -> Value {
    json!({"allOf": [{"$ref": format!("#/definitions/{name}")}]})
}

/// A string that is not blank.
pub(super) fn text() -> Value {
    json!({"type": "string", "pattern": "\\S"})
}

/// One of these words.
pub(super) fn words(words: &[&str]) -> Value {
    json!({"enum": words})
}

/// A whole number in a range.
pub(super) fn integer(least: i64, most: i64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// A mapping with exactly these fields; `refused`: whether the server must refuse the step.
pub(super) fn object(fields: &[FieldSpec], refused: bool) -> Value {
    let of = |field: &FieldSpec| {
        (field.name.to_owned(), with_description(field.field_type.schema(refused), field.description))
    };
    let all: Map<String, Value> = fields.iter().map(of).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({"type": "object", "additionalProperties": false, "properties": all, "required": required})
}

/// Any of these schemas.
pub(super) fn any_of(schemas: impl IntoIterator<Item = Value>) -> Value {
    json!({"anyOf": schemas.into_iter().collect::<Vec<_>>()})
}
