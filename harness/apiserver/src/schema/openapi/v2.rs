//! OpenAPI 2: the definitions of all kinds, for clients without support for version 3.
//!
//! client-go reads this document only in protobuf, as `gnostic` defines it. It has no paths;
//! version 3 has the parameters of each path.

use serde_json::{Value, json};

use crate::schema::openapi::schemas;
use crate::types::kinds::ResourceKind;
use crate::types::protobuf::wire;

/// The media type in `Accept` headers, with an `@` or a dot before the version.
pub(crate) const PROTOBUF_ACCEPTED: &str = "com.github.proto-openapi.spec.v2";
/// The media type of the response.
pub(crate) const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

pub(crate) fn document(kinds: &[&'static ResourceKind]) -> Value {
    json!({"swagger": "2.0", "info": {"title": "Kubernetes", "version": minor()}, "paths": {},
        "definitions": schemas::of(kinds, schemas::OpenApiVersion::V2)})
}

/// Encodes the document as protobuf; the field numbers are those of `openapiv2/OpenAPIv2.proto`.
pub(crate) fn encode(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    wire::text(&mut out, 1, text(&document["swagger"]));
    let mut info = Vec::new();
    wire::text(&mut info, 1, text(&document["info"]["title"]));
    wire::text(&mut info, 2, text(&document["info"]["version"]));
    wire::bytes(&mut out, 2, &info);
    wire::bytes(&mut out, 8, &[]);
    wire::bytes(&mut out, 9, &named_schemas(&document["definitions"]));
    out
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Encodes schemas by name.
fn named_schemas(schemas: &Value) -> Vec<u8> {
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
            "properties" => wire::bytes(&mut out, 25, &named_schemas(value)),
            name if name.starts_with("x-") => {
                let mut extension = Vec::new();
                wire::text(&mut extension, 1, name);
                wire::bytes(&mut extension, 2, &any(value));
                wire::bytes(&mut out, 31, &extension);
            }
            // Clients of version 2 do not use anything else.
            _ => {}
        }
    }
    out
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Encodes a value as YAML, which includes JSON.
fn any(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    wire::text(&mut out, 2, &value.to_string());
    out
}

/// The minor version, such as `1.36`.
pub(crate) fn minor() -> &'static str {
    let version = crate::types::table::VERSION.trim_start_matches('v');
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}
