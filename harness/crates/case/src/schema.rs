//! Generates the JSON schema of case files for editors: `cases/case.schema.json`.
//!
//! The schema describes what concerns a field alone: names, types, ranges, words. Only the reader
//! can check what depends on other steps, such as a Deployment that is created later or a subject
//! that stays stopped. The schema is generated from the reader's own lists of fields and table of
//! operations, so both know the same fields. `tests/schema.rs` checks that the file is up to date,
//! that every case is valid and that bad cases are not.
//!
//! It is draft 7, which the YAML language server supports best.

use serde_json::{Map, Value, json};

use super::field::{object, reference, with_description};
use super::operations::{self, pod_operations, pods, target};
use super::read::LONGEST_NAME;
use super::step::{MODIFIERS, OperationSpec, expect_schema};
use super::{during, fault, file};

/// The pattern of a duration: `90s`, `1h 30m`.
const DURATION: &str = "^\\s*([0-9]+(\\.[0-9]+)?\\s*(n|u|µ|m)?s(ec)?\\s*|[0-9]+(\\.[0-9]+)?\\s*(seconds?|secs?|minutes?|mins?|m|hours?|hrs?|h|days?|d|weeks?|wks?|w|months?|M|years?|y)\\s*)+$";

/// Returns the schema of a case file.
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
        (
            "duration",
            with_description(
                json!({"type": "string", "pattern": DURATION}),
                "A length of time: `90s`, `10m`, `1h 30m`.",
            ),
        ),
        ("target", target::schema()),
        ("of", with_description(object(&pod_operations::OF_FIELDS, false), "Whose pods.")),
        ("traits", pods::traits_schema()),
        ("expect", expect_schema()),
        ("during", during::schema()),
        ("fault", fault::schema()),
        ("steps", json!({"type": "array", "items": reference("step")})),
        // A step that the server must refuse may have any values.
        (
            "step",
            json!({"if": {"required": ["refused"]}, "then": reference("refusedStep"), "else": reference("acceptedStep")}),
        ),
        ("acceptedStep", step(|_| true, &["label", "expect", "during", "fault"], false)),
        ("refusedStep", step(|form| form.is_refusable, &["label", "refused", "expect", "during", "fault"], true)),
        (
            "innerStep",
            json!({
                "if": {"required": ["refused"]},
                "then": step(|form| form.is_refusable && form.is_nestable, &["refused"], true),
                "else": step(|form| form.is_nestable, &[], false),
            }),
        ),
    ];
    let operations = operations::ALL.iter().flat_map(|form| {
        let refused = has_refused_schema(form).then(|| (definition(form, true), (form.schema)(true)));
        [(definition(form, false), (form.schema)(false))].into_iter().chain(refused)
    });
    named.into_iter().map(|(name, schema)| (name.to_owned(), schema)).chain(operations).collect()
}

/// Whether an operation has a schema of its own for steps that the server must refuse.
fn has_refused_schema(form: &OperationSpec) -> bool {
    form.is_refusable && (form.schema)(true) != (form.schema)(false)
}

/// The name of an operation's definition.
fn definition(form: &OperationSpec, refused: bool) -> String {
    format!("{}{}", form.name, if refused && has_refused_schema(form) { "Refused" } else { "" })
}

/// A mapping with exactly one of these operations.
fn step(is_included: impl Fn(&OperationSpec) -> bool, besides: &[&str], refused: bool) -> Value {
    let operations: Vec<&OperationSpec> = operations::ALL.into_iter().filter(|form| is_included(form)).collect();
    let besides = MODIFIERS.iter().filter(|field| besides.contains(&field.name));
    let mut fields: Map<String, Value> = operations
        .iter()
        .map(|form| (form.name.to_owned(), with_description(reference(&definition(form, refused)), form.description)))
        .collect();
    fields.extend(
        besides.map(|field| {
            (field.name.to_owned(), with_description(field.field_type.schema(refused), field.description))
        }),
    );
    let one = operations.iter().map(|form| json!({"required": [form.name]})).collect::<Vec<_>>();
    let both = json!({"required": ["during", "fault"]});
    json!({"type": "object", "additionalProperties": false, "properties": fields, "oneOf": one, "not": both})
}
