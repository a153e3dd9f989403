//! The shape of a case as a JSON schema, for editors: `cases/case.schema.json`.
//!
//! What can be said of a field alone, it says: names, types, ranges, words. What depends on other steps (a Deployment that is made
//! later, a subject that stays stopped) only the reader knows. Names come from the reader's own lists, so neither knows a field that the
//! other does not; that the file is fresh, that every case is valid and that bad ones are not, is tested in `tests/schema.rs`.
//!
//! It is draft 7, which the YAML language server reads best.

mod objects;
mod pods;
mod steps;

use serde_json::{Map, Value, json};

use super::file::FIELDS;
use crate::controllers::Controller;
use crate::rules::When;

/// The schema of a case file.
#[must_use]
pub fn schema() -> Value {
    let fields: Map<String, Value> = FIELDS.iter().map(|name| ((*name).to_owned(), field(name))).collect();
    let mut definitions = Map::new();
    definitions.extend(steps::definitions());
    definitions.extend(objects::definitions());
    definitions.extend(pods::definitions());
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "a case of lockstep",
        "description": "What the world does to Deployments, step by step. Written by `lockstep schema`; do not edit.",
        "type": "object",
        "additionalProperties": false,
        "required": ["description", "steps"],
        "properties": fields,
        "not": {"required": ["nodes", "bindings"], "properties": {"bindings": {"const": "held"}}},
        "definitions": definitions,
    })
}

/// A field at the top of a case.
fn field(name: &str) -> Value {
    match name {
        "description" => told(text(), "What the case is about, in one sentence."),
        "controllers" => told(
            json!({"type": "array", "minItems": 1, "items": words(&Controller::ALL.map(Controller::as_str))}),
            "What is judged, and what a subject must therefore bring. By default the Deployment controller alone.",
        ),
        "nodes" => told(
            json!({"type": "array", "uniqueItems": true, "items": reference("name")}),
            "Nodes that the pods are bound to in turn. By default each pod has a node of its own.",
        ),
        "bindings" => told(
            words(&["auto", "held"]),
            "Who gives pods their nodes: the test environment at once, or the case, by naming a pod or making it ready.",
        ),
        "terminations" => told(
            words(&["auto", "held"]),
            "Who finishes deletions: the test environment at once, or the case, by `terminate` steps.",
        ),
        "pods" => {
            told(words(&["held", "real"]), "Who runs the pods: nobody but the case, or a kubelet where there is one.")
        }
        "given" => told(reference("steps"), "Made one by one before the first step; compared as one block."),
        "steps" => told(
            json!({"type": "array", "minItems": 1, "items": reference("step")}),
            "What the world does. After each step the test environment waits until nothing more will happen.",
        ),
        "with" => told(
            mapping(&[("deployment", words(&["upstream", "ours"]))], &["deployment"]),
            "Whose Deployment controller runs beside the subject, where it brings none.",
        ),
        "restart" => told(restart(), "How a config-restart controller is to run."),
        "expectation" => told(
            words(&["timeline", "outcomes", "rules"]),
            "What the case is held against: what upstream did; one of the several things that it does; or, where there is no upstream, its own rules alone.",
        ),
        "rules" => {
            let lists: Map<String, Value> = When::ALL
                .iter()
                .map(|when| (when.name().to_owned(), json!({"type": "array", "items": text()})))
                .collect();
            told(
                json!({"type": "object", "additionalProperties": false, "minProperties": 1, "properties": lists}),
                "What must hold besides, in CEL: of every frame, of none, of some, of the last.",
            )
        }
        // The reader knows it; here it is only named.
        _ => json!({}),
    }
}

/// The settings of a config-restart controller.
fn restart() -> Value {
    let duration = || reference("duration");
    let budget = [("restarts", integer(1, i64::from(u32::MAX))), ("period", duration())];
    let fields = [
        ("profile", words(&["xing", "safe"])),
        ("gracePeriod", duration()),
        ("maxWait", duration()),
        ("budget", mapping(&budget, &["restarts", "period"])),
        ("ignoredErrors", json!({"type": "array", "items": text()})),
        ("dryRun", json!({"type": "boolean"})),
    ];
    mapping(&fields, &[])
}

/// A schema with a sentence for a person.
fn told(mut schema: Value, says: &str) -> Value {
    schema["description"] = says.into();
    schema
}

/// `#/definitions/NAME`. Beside a `$ref` nothing else is read, so it is wrapped.
fn reference(name: &str) -> Value {
    json!({"allOf": [{"$ref": format!("#/definitions/{name}")}]})
}

/// A text with something in it.
fn text() -> Value {
    json!({"type": "string", "pattern": "\\S"})
}

/// One of these words.
fn words(words: &[&str]) -> Value {
    json!({"enum": words})
}

/// A whole number in a range.
fn integer(least: i64, most: i64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// A mapping with just these fields.
fn mapping(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let fields: Map<String, Value> = fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({"type": "object", "additionalProperties": false, "properties": fields, "required": required})
}

/// Any of these.
fn any_of(schemas: impl IntoIterator<Item = Value>) -> Value {
    json!({"anyOf": schemas.into_iter().collect::<Vec<_>>()})
}

/// Named schemas for `definitions`.
fn named(all: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    all.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}
