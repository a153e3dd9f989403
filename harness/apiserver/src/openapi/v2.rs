//! OpenAPI 2: the definitions of all kinds, for clients that know no version 3.
//!
//! client-go reads this document in protobuf only, as `gnostic` describes it. It has no paths:
//! which parameters a path has is said by version 3.

use serde_json::{Value, json};

use super::{minor, schemas};
use crate::kinds::Kind;
use crate::protobuf::wire;

/// As clients ask for it, with an `@` or a dot before the version.
pub(super) const PROTOBUF_ACCEPTED: &str = "com.github.proto-openapi.spec.v2";
/// As it is answered.
pub(super) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

pub(super) fn document(kinds: &[&'static Kind]) -> Value {
    json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": minor()}, "paths": {},
        "definitions": schemas::of(kinds, schemas::Draft::V2)})
}

/// The document as protobuf; the numbers are those of `openapiv2/OpenAPIv2.proto`.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    wire::text(&mut out, 1, text(&document["swagger"]));
    let mut info = Vec::new();
    wire::text(&mut info, 1, text(&document["info"]["title"]));
    wire::text(&mut info, 2, text(&document["info"]["version"]));
    wire::bytes(&mut out, 2, &info);
    wire::bytes(&mut out, 8, &[]);
    wire::bytes(&mut out, 9, &named(&document["definitions"]));
    out
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Schemas by name.
fn named(schemas: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in schemas.as_object().into_iter().flatten() {
        let mut one = Vec::new();
        wire::text(&mut one, 1, name);
        wire::bytes(&mut one, 2, &schema(value));
        wire::bytes(&mut out, 1, &one);
    }
    out
}

fn schema(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let within = |number: u32, bytes: &[u8]| {
        let mut out = Vec::new();
        wire::bytes(&mut out, number, bytes);
        out
    };
    for (name, value) in value.as_object().into_iter().flatten() {
        match name.as_str() {
            "$ref" => wire::text(&mut out, 1, text(value)),
            "format" => wire::text(&mut out, 2, text(value)),
            "title" => wire::text(&mut out, 3, text(value)),
            "description" => wire::text(&mut out, 4, text(value)),
            "default" => wire::bytes(&mut out, 5, &any(value)),
            "pattern" => wire::text(&mut out, 13, text(value)),
            "required" => strings(value).for_each(|one| wire::text(&mut out, 19, one)),
            "enum" => value.as_array().into_iter().flatten().for_each(|one| wire::bytes(&mut out, 20, &any(one))),
            "additionalProperties" if value.is_object() => wire::bytes(&mut out, 21, &within(1, &schema(value))),
            "type" => wire::bytes(&mut out, 22, &within(1, text(value).as_bytes())),
            "items" => wire::bytes(&mut out, 23, &within(1, &schema(value))),
            "properties" => wire::bytes(&mut out, 25, &named(value)),
            name if name.starts_with("x-") => {
                let mut extension = Vec::new();
                wire::text(&mut extension, 1, name);
                wire::bytes(&mut extension, 2, &any(value));
                wire::bytes(&mut out, 31, &extension);
            }
            // What a definition says beyond that is of no use to clients of version 2.
            _ => {}
        }
    }
    out
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// A value in YAML, of which JSON is a part.
fn any(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    wire::text(&mut out, 2, &value.to_string());
    out
}
