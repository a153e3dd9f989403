//! Validates structural schemas: the types of all fields are declared outside of `allOf`, `anyOf`,
//! `oneOf` and `not`, and these contain no field that is not declared outside.
//!
//! Upstream: `apiserver/schema/validation.go` and `complete.go`.

use serde_json::Value;

use crate::go::character_classes::GoRegexpError;
use crate::go::regexp::compile;
use crate::registry::custom::checks::members::{child_list, children, flag, list, subschema, text};
use crate::types::field_error::FieldError;

/// Why a schema is not structural. Upstream: `NewStructural`.
pub(crate) fn structural_error(schema: &Value) -> Option<String> {
    for name in ["id", "schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"] {
        let value = &schema[if name == "schema" { "$schema" } else { name }];
        let empty = value.is_null()
            || value.as_str().is_some_and(str::is_empty)
            || name != "additionalItems" && value.as_object().is_some_and(serde_json::Map::is_empty);
        if !empty {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    let each = |name: &str| list(&schema[name]).iter().find_map(structural_error);
    let one = |name: &str| subschema(schema, name).and_then(structural_error);
    let preserves = || {
        let why = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        (schema["x-kubernetes-preserve-unknown-fields"] == false).then(|| why.to_owned())
    };
    let items = || {
        let several = schema["items"].as_array().is_some_and(|items| !items.is_empty());
        several.then(|| "OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned())
    };
    one("not")
        .or_else(|| each("allOf"))
        .or_else(|| each("anyOf"))
        .or_else(|| each("oneOf"))
        .or_else(preserves)
        .or_else(items)
        .or_else(|| one("items"))
        .or_else(|| children(schema, "properties").find_map(|(_, one)| structural_error(one)))
        .or_else(|| one("additionalProperties"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SchemaLevel {
    Root,
    Item,
    Field,
}

/// Upstream: `ValidateStructural`.
pub(crate) fn check(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, SchemaLevel::Root, path, &mut errors);
    completeness(schema, Some(schema), path, path, &mut errors);
    errors.sort_by_cached_key(ToString::to_string);
    errors
}

fn invariants(schema: &Value, level: SchemaLevel, path: &str, errors: &mut Vec<FieldError>) {
    let of_type = text(schema, "type");
    let items = subschema(schema, "items");
    if of_type == "array" && items.is_none() {
        errors.push(FieldError::required(&format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = items {
        invariants(items, SchemaLevel::Item, &format!("{path}.items"), errors);
    }
    for (name, property) in children(schema, "properties") {
        invariants(property, SchemaLevel::Field, &format!("{path}.properties[{name}]"), errors);
    }
    let has_additional = !schema["additionalProperties"].is_null();
    let additional = format!("{path}.additionalProperties");
    if has_additional && level == SchemaLevel::Root {
        errors.push(FieldError::forbidden(&additional, "must not be used at the root"));
    }
    if let Some(each) = subschema(schema, "additionalProperties") {
        invariants(each, SchemaLevel::Field, &additional, errors);
    }
    let (preserves, embedded) =
        (flag(schema, "x-kubernetes-preserve-unknown-fields"), flag(schema, "x-kubernetes-embedded-resource"));
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    for (name, is_set) in
        [("x-kubernetes-preserve-unknown-fields", preserves), ("x-kubernetes-embedded-resource", embedded)]
    {
        if int_or_string && is_set {
            let why = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&format!("{path}.{name}"), true, why));
        }
    }
    let is_pair = |value: &Value| list(&value["anyOf"]).len() == 2 && is_int_or_string(&value["anyOf"]);
    let first = list(&schema["allOf"]).first().is_some_and(is_pair);
    value_rules(schema, is_pair(schema), first, path, errors);
    let (type_path, is_resource) = (format!("{path}.type"), level == SchemaLevel::Root || embedded);
    if embedded && of_type != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match of_type {
            "" => FieldError::required(&type_path, why),
            other => FieldError::invalid(&type_path, other, why),
        });
    } else if of_type.is_empty() && !int_or_string && !preserves {
        let why = match level {
            SchemaLevel::Root => "must not be empty at the root",
            SchemaLevel::Item => "must not be empty for specified array items",
            SchemaLevel::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&type_path, why));
    }
    if embedded && has_additional {
        errors.push(FieldError::forbidden(&additional, "must not be used if x-kubernetes-embedded-resource is set"));
    }
    if level == SchemaLevel::Root && !of_type.is_empty() && of_type != "object" {
        errors.push(FieldError::invalid(&type_path, of_type, "must be object at the root"));
    }
    for name in ["kind", "apiVersion"].into_iter().filter(|_| is_resource) {
        if let Some(property) = schema["properties"].get(name).filter(|one| text(one, "type") != "string") {
            let path = format!("{path}.properties[{name}].type");
            errors.push(FieldError::invalid(&path, text(property, "type"), "must be string"));
        }
    }
    if let Some(metadata) = schema["properties"].get("metadata") {
        let path = format!("{path}.properties[metadata]");
        if is_resource && text(metadata, "type") != "object" {
            errors.push(FieldError::invalid(&format!("{path}.type"), text(metadata, "type"), "must be object"));
        }
        if level == SchemaLevel::Root && restricts_metadata(metadata) {
            let why =
                "must not specify anything other than name and generateName, but metadata is implicitly specified";
            errors.push(FieldError::forbidden(&path, why));
        }
    }
    if embedded && !preserves && children(schema, "properties").next().is_none() {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                   x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&format!("{path}.properties"), why));
    }
}

/// Whether a schema of metadata has more than a type, a default, and schemas of `name` and
/// `generateName`.
fn restricts_metadata(schema: &Value) -> bool {
    let names =
        |schema: &Value| children(schema, "properties").all(|(name, _)| name == "name" || name == "generateName");
    super::internal::fields_of(schema).any(|field| match field {
        "Type" | "Default" | "Ref" => false,
        "Properties" => !names(schema),
        _ => true,
    })
}

/// Whether `anyOf` is the pair of types that belongs to `x-kubernetes-int-or-string`.
fn is_int_or_string(any_of: &Value) -> bool {
    let means_something = |field: &str, value: &Value| match field {
        // References are rejected elsewhere.
        "Type" | "Ref" => false,
        // Within other schemas `false` means the same as no value.
        "AdditionalProperties" => value["additionalProperties"] != false,
        _ => true,
    };
    let only = |value: &Value, name: &str| {
        text(value, "type") == name && !super::internal::fields_of(value).any(|field| means_something(field, value))
    };
    matches!(list(any_of), [first, second] if only(first, "integer") && only(second, "string"))
}

/// Validates the value rules of a schema, and nested ones. The pair of types of
/// `x-kubernetes-int-or-string` is skipped.
fn value_rules(schema: &Value, skip_any: bool, skip_first: bool, path: &str, errors: &mut Vec<FieldError>) {
    for (name, at, one) in ["anyOf", "allOf", "oneOf"].into_iter().flat_map(|name| child_list(schema, name)) {
        if name == "anyOf" && skip_any {
            continue;
        }
        nested(one, name == "allOf" && skip_first && at == 0, &format!("{path}.{name}[{at}]"), errors);
    }
    if let Some(not) = subschema(schema, "not") {
        nested(not, false, &format!("{path}.not"), errors);
    }
    let pattern = text(schema, "pattern");
    if !pattern.is_empty()
        && let Err(GoRegexpError::Invalid(why)) = compile(pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(&format!("{path}.pattern"), pattern, why));
    }
}

fn nested(schema: &Value, skip_any: bool, path: &str, errors: &mut Vec<FieldError>) {
    value_rules(schema, skip_any, false, path, errors);
    if let Some(items) = subschema(schema, "items") {
        nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in children(schema, "properties") {
        nested(property, false, &format!("{path}.properties[{name}]"), errors);
    }
    let mut forbid = |is_set: bool, name: &str, why: &str| {
        if is_set {
            errors.push(FieldError::forbidden(&format!("{path}.{name}"), &format!("must be {why} to be structural")));
        }
    };
    let has = |name: &str| !schema[name].is_null();
    let full = |name: &str| !list(&schema[name]).is_empty();
    let additional = subschema(schema, "additionalProperties").is_some() || flag(schema, "additionalProperties");
    forbid(!text(schema, "type").is_empty(), "type", "empty");
    forbid(additional, "additionalProperties", "undefined");
    forbid(has("default"), "default", "undefined");
    forbid(!text(schema, "title").is_empty(), "title", "empty");
    forbid(!text(schema, "description").is_empty(), "description", "empty");
    for name in [
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ] {
        forbid(flag(schema, name), name, "false");
    }
    forbid(full("x-kubernetes-list-map-keys"), "x-kubernetes-list-map-keys", "empty");
    forbid(has("x-kubernetes-list-type"), "x-kubernetes-list-type", "undefined");
    forbid(has("x-kubernetes-map-type"), "x-kubernetes-map-type", "undefined");
    forbid(full("x-kubernetes-validations"), "x-kubernetes-validations", "empty");
    if schema["properties"].get("metadata").is_some() {
        let path = format!("{path}.properties[metadata]");
        errors.push(FieldError::forbidden(&path, "must not be specified in a nested context"));
    }
}

/// Every field with value rules must be declared in the schema. `outer` is the schema at `path`
/// that corresponds to `rules`.
fn completeness(rules: &Value, outer: Option<&Value>, path: &str, rules_path: &str, errors: &mut Vec<FieldError>) {
    if let Some(not) = subschema(rules, "not") {
        nested_completeness(not, outer, path, &format!("{rules_path}.not"), errors);
    }
    for (name, at, one) in ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| child_list(rules, name)) {
        nested_completeness(one, outer, path, &format!("{rules_path}.{name}[{at}]"), errors);
    }
}

fn nested_completeness(
    rules: &Value,
    outer: Option<&Value>,
    path: &str,
    rules_path: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = outer else {
        errors.push(FieldError::required(path, &format!("because it is defined in {rules_path}")));
        return;
    };
    completeness(rules, outer, path, rules_path, errors);
    if let Some(items) = subschema(rules, "items") {
        let (path, rules_path) = (format!("{path}.items"), format!("{rules_path}.items"));
        nested_completeness(items, subschema(schema, "items"), &path, &rules_path, errors);
    }
    for (name, property) in children(rules, "properties") {
        let (path, rules_path) = (format!("{path}.properties[{name}]"), format!("{rules_path}.properties[{name}]"));
        nested_completeness(property, schema["properties"].get(name), &path, &rules_path, errors);
    }
}
