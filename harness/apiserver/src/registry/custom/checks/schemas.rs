//! Validates the schemas of definitions, except for the rules of structural schemas.
//!
//! Upstream: `validateCustomResourceDefinitionValidation` and
//! `ValidateCustomResourceDefinitionOpenAPISchema`, without compiling CEL rules.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::go::format::json;
use crate::registry::custom::checks::fields::field_path;
use crate::registry::custom::checks::members::{child_list, children, flag, list, subschema, text};
use crate::registry::custom::checks::{defaults, internal, structural};
use crate::types::field_error::FieldError;

/// The fields allowed at the root of a schema with the status subresource: only those that also
/// hold for the status alone.
const AT_ROOT: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// Validates the schema of a version, or the one shared by all; `path` is that of
/// `openAPIV3Schema`.
pub(crate) fn check(schema: &Value, status: bool, path: &str, errors: &mut Vec<FieldError>) {
    let before = errors.len();
    if status {
        let wrong = internal::fields_of(schema).find(|field| match *field {
            "Type" => text(schema, "type") != "object",
            field => !AT_ROOT.contains(&field),
        });
        match wrong {
            Some("Type") => {
                let why = "only \"object\" is allowed as the type at the root of the schema if the status subresource \
                           is enabled";
                errors.push(FieldError::invalid(&format!("{path}.type"), text(schema, "type"), why));
            }
            Some(_) => {
                let why = format!(
                    "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                    AT_ROOT.join(" ")
                );
                errors.push(FieldError::invalid_printed(path, internal::schema(schema), why));
            }
            None => {}
        }
    }
    if flag(schema, "nullable") {
        errors.push(FieldError::forbidden(&format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let fault = structural::structural_error(schema);
    if fault.is_none() {
        let mut found = structural::check(schema, path);
        if found.is_empty() {
            found = defaults::check(schema, path).errors;
        }
        errors.extend(found);
    }
    node(schema, path, &Context { root: true, ..Context::default() }, errors);
    if let Some(why) = fault.filter(|_| errors.len() == before) {
        errors.push(FieldError::invalid(path, "", why));
    }
}

/// The position of a schema.
#[derive(Clone, Default)]
struct Context {
    root: bool,
    inside_metadata: bool,
    /// Why defaults are forbidden here, if they are.
    no_defaults: Option<String>,
}

fn node(schema: &Value, path: &str, context: &Context, errors: &mut Vec<FieldError>) {
    check_own_fields(schema, path, context, errors);
    let inner = Context { root: false, ..context.clone() };
    if flag(schema, "uniqueItems") {
        let why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(&format!("{path}.uniqueItems"), why));
    }
    let additional = &schema["additionalProperties"];
    if !additional.is_null() {
        let path = format!("{path}.additionalProperties");
        if children(schema, "properties").next().is_some() && *additional != true {
            errors.push(FieldError::forbidden(&path, "additionalProperties and properties are mutual exclusive"));
        }
        let mut inner = inner.clone();
        if context.inside_metadata {
            inner.no_defaults = Some("inside additionalProperties applying to object metadata".to_owned());
        }
        if additional.is_object() {
            node(additional, &path, &inner, errors);
        }
    }
    for (name, property) in children(schema, "properties") {
        let mut inner = inner.clone();
        let is_resource = context.root || flag(schema, "x-kubernetes-embedded-resource");
        if is_resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
            inner.inside_metadata = true;
            if context.root {
                inner.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        node(property, &format!("{path}.properties[{name}]"), &inner, errors);
    }
    if let Some(not) = subschema(schema, "not") {
        node(not, &format!("{path}.not"), &inner, errors);
    }
    for (name, at, one) in ["allOf", "oneOf", "anyOf"].into_iter().flat_map(|name| child_list(schema, name)) {
        node(one, &format!("{path}.{name}[{at}]"), &inner, errors);
    }
    for (name, one) in children(schema, "definitions") {
        node(one, &format!("{path}.definitions[{name}]"), &inner, errors);
    }
    if let Some(items) = subschema(schema, "items") {
        node(items, &format!("{path}.items"), &inner, errors);
    }
    for (at, one) in list(&schema["items"]).iter().enumerate() {
        node(one, &format!("{path}.items[{at}]"), &inner, errors);
    }
    for (name, one) in children(schema, "dependencies").filter(|(_, one)| one.is_object()) {
        node(one, &format!("{path}.dependencies[{name}]"), &inner, errors);
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let path = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.push(FieldError::invalid(&path, false, "must be true or undefined"));
    }
    types_of_lists(schema, path, errors);
    map_keys(schema, path, errors);
    for (at, rule) in list(&schema["x-kubernetes-validations"]).iter().enumerate() {
        self::rule(rule, schema, &format!("{path}.x-kubernetes-validations[{at}]"), errors);
    }
}

/// Upstream: `specStandardValidatorV3.validate`.
fn check_own_fields(schema: &Value, path: &str, context: &Context, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];
    let of_type = text(schema, "type");
    let at = |name: &str| format!("{path}.{name}");
    if !of_type.is_empty() && !TYPES.contains(&of_type) {
        errors.push(FieldError::unsupported(&at("type"), of_type, &TYPES));
    }
    if let Some(why) = context.no_defaults.as_ref().filter(|_| !schema["default"].is_null()) {
        errors.push(FieldError::forbidden(&at("default"), &format!("must not be set {why}")));
    }
    let full = |name: &str| schema[name].as_object().is_some_and(|fields| !fields.is_empty());
    let unsupported = [
        ("id", !text(schema, "id").is_empty()),
        ("additionalItems", !schema["additionalItems"].is_null()),
        ("patternProperties", full("patternProperties")),
        ("definitions", full("definitions")),
        ("dependencies", !schema["dependencies"].is_null()),
        ("$ref", !schema["$ref"].is_null()),
    ];
    for (name, _) in unsupported.into_iter().filter(|(_, is_set)| *is_set) {
        errors.push(FieldError::forbidden(&at(name), &format!("{name} is not supported")));
    }
    if of_type == "null" {
        let why = "type cannot be set to null, use nullable as an alternative";
        errors.push(FieldError::forbidden(&at("type"), why));
    }
    if !list(&schema["items"]).is_empty() {
        errors.push(FieldError::forbidden(&at("items"), "items must be a schema object and not an array"));
    }
    if context.inside_metadata && flag(schema, "x-kubernetes-embedded-resource") {
        let path = at("x-kubernetes-embedded-resource");
        errors.push(FieldError::forbidden(&path, "must not be used inside of resource meta"));
    }
}

/// Validates `x-kubernetes-map-type` and `x-kubernetes-list-type`.
fn types_of_lists(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let of_type = text(schema, "type");
    let has_type = |expected: &str, name: &str, errors: &mut Vec<FieldError>| {
        let why = format!("must be {expected} if {name} is specified");
        match of_type {
            "" => errors.push(FieldError::required(&format!("{path}.type"), &why)),
            other if other != expected => errors.push(FieldError::invalid(&format!("{path}.type"), other, why)),
            _ => {}
        }
    };
    if let Some(map_type) = schema["x-kubernetes-map-type"].as_str() {
        has_type("object", "x-kubernetes-map-type", errors);
        if !["atomic", "granular"].contains(&map_type) {
            let path = format!("{path}.x-kubernetes-map-type");
            errors.push(FieldError::unsupported(&path, map_type, &["atomic", "granular"]));
        }
    }
    let Some(list_type) = schema["x-kubernetes-list-type"].as_str() else { return };
    has_type("array", "x-kubernetes-list-type", errors);
    if of_type == "array"
        && list_type == "set"
        && let Some(items) = subschema(schema, "items")
    {
        let own = json(&items["x-kubernetes-list-type"]);
        let wrong = match text(items, "type") {
            "array" if !matches!(own.as_str(), "null" | "\"atomic\"") => Some("x-kubernetes-list-type"),
            "object" if text(items, "x-kubernetes-map-type") != "atomic" => Some("x-kubernetes-map-type"),
            _ => None,
        };
        if let Some(name) = wrong {
            let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
            errors.push(FieldError::invalid_printed(&format!("{path}.items.{name}"), own, why));
        }
    }
    if !["atomic", "set", "map"].contains(&list_type) {
        let path = format!("{path}.x-kubernetes-list-type");
        errors.push(FieldError::unsupported(&path, list_type, &["atomic", "set", "map"]));
    }
}

/// Validates `x-kubernetes-list-map-keys`, and the items of lists of the types `map` and `set`.
fn map_keys(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let keys: Vec<&str> = list(&schema["x-kubernetes-list-map-keys"]).iter().filter_map(Value::as_str).collect();
    let list_type = schema["x-kubernetes-list-type"].as_str();
    let why = "must be map if x-kubernetes-list-map-keys is non-empty";
    let type_path = format!("{path}.x-kubernetes-list-type");
    match list_type {
        _ if keys.is_empty() => {}
        None => errors.push(FieldError::required(&type_path, why)),
        Some("map") => {}
        Some(other) => errors.push(FieldError::invalid(&type_path, other, why)),
    }
    let items = subschema(schema, "items");
    let keys_path = format!("{path}.x-kubernetes-list-map-keys");
    if list_type == Some("map") {
        if keys.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            errors.push(FieldError::required(&keys_path, why));
        }
        let items_path = format!("{path}.items");
        match items {
            None if schema["items"].is_array() => {
                let (shown, why) = (
                    internal::items(&schema["items"]),
                    "must only have a single schema if x-kubernetes-list-type is map",
                );
                errors.push(FieldError::invalid_printed(&items_path, shown, why));
            }
            None => {
                errors.push(FieldError::required(&items_path, "must have a schema if x-kubernetes-list-type is map"));
            }
            Some(items) if text(items, "type") != "object" => {
                let why = "must be object if parent array's x-kubernetes-list-type is map";
                errors.push(FieldError::invalid(&format!("{items_path}.type"), text(items, "type"), why));
            }
            Some(items) => {
                let mut known = BTreeSet::new();
                let shown = || json(&schema["x-kubernetes-list-map-keys"]);
                for key in &keys {
                    let property = items["properties"].get(*key);
                    if property.is_none() {
                        let why = "entries must all be names of item properties";
                        errors.push(FieldError::invalid_printed(&keys_path, shown(), why));
                    } else if property.is_some_and(|one| matches!(text(one, "type"), "array" | "object")) {
                        let path = format!("{items_path}.properties[{key}].type");
                        let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                        errors.push(FieldError::invalid(&path, text(items, "type"), why));
                    }
                    if !known.insert(*key) {
                        errors.push(FieldError::invalid_printed(
                            &keys_path,
                            shown(),
                            "must not contain duplicate entries",
                        ));
                    }
                }
            }
        }
    }
    let (Some(items), Some(list_type @ ("map" | "set"))) = (items, list_type) else { return };
    if flag(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        errors.push(FieldError::forbidden(&format!("{path}.items.nullable"), &why));
    }
    for key in keys.iter().filter(|_| list_type == "map") {
        let Some(property) = items["properties"].get(*key) else { continue };
        let path = format!("{path}.items.properties[{key}]");
        let required = list(&items["required"]).iter().any(|name| name == key);
        if !required && property["default"].is_null() {
            let why =
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            errors.push(FieldError::required(&format!("{path}.default"), why));
        }
        if flag(property, "nullable") {
            let why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&format!("{path}.nullable"), why));
        }
    }
}

/// Validates a CEL rule, except for its expressions.
fn rule(rule: &Value, schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    let breaks = |text: &str| text.contains(['\n', '\r']);
    let at = |name: &str| format!("{path}.{name}");
    let (expression, message, field) = (text(rule, "rule"), text(rule, "message"), text(rule, "fieldPath"));
    if expression.trim().is_empty() {
        errors.push(FieldError::required(&at("rule"), "rule is not specified"));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(&at("message"), message, "must be non-empty if specified"));
    } else if breaks(message.trim()) {
        errors.push(FieldError::invalid(&at("message"), message, "must not contain line breaks"));
    } else if breaks(expression.trim()) && message.trim().is_empty() {
        errors.push(FieldError::required(&at("message"), "message must be specified if rule contains line breaks"));
    }
    let computed = text(rule, "messageExpression");
    if !computed.is_empty() && computed.trim().is_empty() {
        errors.push(FieldError::required(&at("messageExpression"), "messageExpression must be non-empty if specified"));
    }
    if let Some(reason) = rule["reason"].as_str().filter(|reason| !REASONS.contains(reason)) {
        errors.push(FieldError::unsupported(&at("reason"), reason, &REASONS));
    }
    if field.is_empty() {
        return;
    }
    let path = at("fieldPath");
    if field.trim().is_empty() {
        errors.push(FieldError::invalid(&path, field, "must be non-empty if specified"));
    }
    if breaks(field) {
        errors.push(FieldError::invalid(&path, field, "must not contain line breaks"));
    }
    if structural::structural_error(schema).is_none() && field_path(field, schema, true).is_err() {
        errors.push(FieldError::invalid(&path, field, "must be a valid path"));
    }
}
