//! Validates lists of the types `set` and `map`, which have no equal items, and the types of
//! embedded resources. Upstream: `apiserver/schema/listtype` and `apiserver/schema/objectmeta`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::registry::custom::values::keys_of;
use crate::registry::validate::meta;
use crate::types::custom_schema::Schema;
use crate::types::field_error::FieldError;
use crate::types::names;

/// The path of a member.
pub(crate) fn child_path(schema: &Schema, path: &str, name: &str) -> String {
    match (schema.properties.contains_key(name), path) {
        (true, "") => name.to_owned(),
        (true, path) => format!("{path}.{name}"),
        (false, path) => format!("{path}[{name}]"),
    }
}

/// Reports duplicate items of sets and maps.
pub(crate) fn duplicate_items(schema: &Schema, value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(of) = schema.property(name) {
                    errors.extend(duplicate_items(of, value, &child_path(schema, path, name)));
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type.as_str() {
                "set" => errors.extend(duplicates(items.iter().cloned(), path)),
                "map" => {
                    let wrong = items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null());
                    match wrong {
                        Some((at, item)) => {
                            let why = "must be an object for an array of list-type map";
                            errors.push(FieldError::invalid(&format!("{path}[{at}]"), item.clone(), why));
                        }
                        None => errors.extend(duplicates(items.iter().map(|item| keys_of(schema, item)), path)),
                    }
                }
                _ => {}
            }
            if let Some(of) = &schema.items {
                for (at, item) in items.iter().enumerate() {
                    errors.extend(duplicate_items(of, item, &format!("{path}[{at}]")));
                }
            }
        }
        _ => {}
    }
    errors
}

/// Reports the second of equal items.
fn duplicates(items: impl Iterator<Item = Value>, path: &str) -> Vec<FieldError> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let mut errors = Vec::new();
    for (at, item) in items.enumerate() {
        let times = times.entry(item.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            errors.push(FieldError::duplicate(&format!("{path}[{at}]"), item));
        }
    }
    errors
}

/// Validates embedded resources, and the object itself if it is the `root`.
pub(crate) fn embedded(schema: &Schema, value: &Value, root: bool, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match value {
        Value::Object(fields) => {
            if root || schema.embedded {
                errors.extend(resource(value, path));
            }
            for (name, value) in fields {
                if let Some(of) = schema.property(name) {
                    errors.extend(embedded(of, value, false, &child_path(schema, path, name)));
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                for (at, item) in items.iter().enumerate() {
                    errors.extend(embedded(of, item, false, &format!("{path}[{at}]")));
                }
            }
        }
        _ => {}
    }
    errors
}

fn resource(value: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for name in ["apiVersion", "kind"] {
        let path = below(name);
        match value.get(name) {
            None => errors.push(FieldError::required(&path, "")),
            Some(Value::String(text)) if text.is_empty() => {
                errors.push(FieldError::invalid(&path, "", "must not be empty"));
            }
            Some(Value::String(text)) if name == "kind" => {
                let wrong = names::dns_1035_label(&text.to_lowercase());
                if !wrong.is_empty() {
                    let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
                    errors.push(FieldError::invalid(&path, text.as_str(), why));
                }
            }
            Some(Value::String(text)) if text.matches('/').count() > 1 => {
                errors.push(FieldError::invalid(
                    &path,
                    text.as_str(),
                    format!("unexpected GroupVersion string: {text}"),
                ));
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.push(FieldError::invalid(&path, other.clone(), "must be a string")),
        }
    }
    if let Some(meta) = value.get("metadata").filter(|meta| meta.is_object()) {
        errors.extend(meta::embedded_resource(meta, path));
    }
    errors
}
