//! The shape of a case as a JSON schema, for editors: `cases/case.schema.json`.
//!
//! What can be said of a field alone, it says: names, types, ranges, words. What depends on other
//! steps (a Deployment that is made later, a subject that stays stopped) only the reader knows.
//! Everything comes from the lists of fields and from the table of operations that the reader has,
//! so neither knows a field that the other does not; that the file is fresh, that every case is
//! valid and that bad ones are not, is tested in `tests/schema.rs`.
//!
//! It is draft 7, which the YAML language server reads best.

use serde_json::{Map, Value, json};

use super::field::Field;
use super::operations::{self, Form};
use super::read::LONGEST_NAME;
use super::step::BESIDES;
use super::{during, fault, file, moved, naming, target};

/// What a length of time looks like: `90s`, `1h 30m`.
const DURATION: &str = "^\\s*([0-9]+(\\.[0-9]+)?\\s*(n|u|µ|m)?s(ec)?\\s*|[0-9]+(\\.[0-9]+)?\\s*(seconds?|secs?|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w|months?|M|years?|y)\\s*)+$";

/// The schema of a case file.
#[must_use]
pub fn schema() -> Value {
    let mut schema = object(&file::FIELDS, false);
    let fixed = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a case of lockstep",
        "description": "What the world does to Deployments, step by step. Written by `lockstep schema`; do not edit.",
        "not": {"required": ["nodes", "bindings"], "properties": {"bindings": {"const": "held"}}},
        "definitions": definitions(),
    });
    if let (Value::Object(schema), Value::Object(fixed)) = (&mut schema, fixed) {
        schema.extend(fixed);
    }
    schema
}

fn definitions() -> Map<String, Value> {
    let named = [
        ("name", json!({"type": "string", "maxLength": LONGEST_NAME, "pattern": "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"})),
        ("texts", json!({"type": "object", "additionalProperties": {"type": "string"}})),
        ("duration", told(json!({"type": "string", "pattern": DURATION}), "A length of time: `90s`, `10m`, `1h 30m`.")),
        ("target", target::schema()),
        ("of", told(object(&moved::OF_FIELDS, false), "Whose pods.")),
        ("traits", naming::schema()),
        ("expect", naming::expect_schema()),
        ("during", during::schema()),
        ("fault", fault::schema()),
        ("steps", json!({"type": "array", "items": reference("step")})),
        // Where the server must say no, anything may be asked of it.
        (
            "step",
            json!({"if": {"required": ["refused"]}, "then": reference("refusedStep"), "else": reference("acceptedStep")}),
        ),
        ("acceptedStep", step(|_| true, &["label", "expect", "during", "fault"], false)),
        ("refusedStep", step(|form| form.refusable, &["label", "refused", "expect", "during", "fault"], true)),
        (
            "innerStep",
            json!({
                "if": {"required": ["refused"]},
                "then": step(|form| form.refusable && form.inner, &["refused"], true),
                "else": step(|form| form.inner, &[], false),
            }),
        ),
    ];
    let operations = operations::ALL.iter().flat_map(|form| {
        let refused = differs(form).then(|| (definition(form, true), (form.schema)(true)));
        [(definition(form, false), (form.schema)(false))].into_iter().chain(refused)
    });
    named.into_iter().map(|(name, schema)| (name.to_owned(), schema)).chain(operations).collect()
}

/// Whether an operation that the server must refuse may look otherwise.
fn differs(form: &Form) -> bool {
    form.refusable && (form.schema)(true) != (form.schema)(false)
}

/// What an operation's definition is called.
fn definition(form: &Form, refused: bool) -> String {
    format!("{}{}", form.name, if refused && differs(form) { "Refused" } else { "" })
}

/// A mapping with exactly one of these operations.
fn step(wanted: impl Fn(&Form) -> bool, besides: &[&str], refused: bool) -> Value {
    let operations: Vec<&Form> = operations::ALL.into_iter().filter(|form| wanted(form)).collect();
    let besides = BESIDES.iter().filter(|field| besides.contains(&field.name));
    let mut fields: Map<String, Value> = operations
        .iter()
        .map(|form| (form.name.to_owned(), told(reference(&definition(form, refused)), form.says)))
        .collect();
    fields.extend(besides.map(|field| (field.name.to_owned(), told(field.takes.schema(refused), field.says))));
    let one = operations.iter().map(|form| json!({"required": [form.name]})).collect::<Vec<_>>();
    let both = json!({"required": ["during", "fault"]});
    json!({"type": "object", "additionalProperties": false, "properties": fields, "oneOf": one, "not": both})
}

/// A schema with a sentence for a person.
pub(super) fn told(mut schema: Value, says: &str) -> Value {
    schema["description"] = says.into();
    schema
}

/// `#/definitions/NAME`. Beside a `$ref` nothing else is read, so it is wrapped.
pub(super) fn reference(name: &str) -> Value {
    json!({"allOf": [{"$ref": format!("#/definitions/{name}")}]})
}

/// A text with something in it.
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

/// A mapping with just these fields; `refused`: whether the server must refuse the step.
pub(super) fn object(fields: &[Field], refused: bool) -> Value {
    let of = |field: &Field| (field.name.to_owned(), told(field.takes.schema(refused), field.says));
    let all: Map<String, Value> = fields.iter().map(of).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    json!({"type": "object", "additionalProperties": false, "properties": all, "required": required})
}

/// Any of these.
pub(super) fn any_of(schemas: impl IntoIterator<Item = Value>) -> Value {
    json!({"anyOf": schemas.into_iter().collect::<Vec<_>>()})
}
