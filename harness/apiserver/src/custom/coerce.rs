//! What becomes of a custom resource as it is read: its metadata typed, unknown fields pruned,
//! defaults filled in.
//!
//! Upstream: `schemaCoercingDecoder`, `structural/pruning` and `structural/defaulting`.

use serde_json::{Map, Value};

use super::schema::{Additional, Schema};
use crate::api::{Decoded, TYPES, decode};

/// Fields that every resource has.
const TYPED: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Reads a custom resource.
///
/// # Errors
/// The decoder's message for metadata of the wrong type.
pub(super) fn coerce(schema: &Schema, value: &Value) -> Result<Decoded, String> {
    let mut value = value.clone();
    let mut unknown = Vec::new();
    if let Some(meta) = value.get("metadata").filter(|meta| !meta.is_null()) {
        let decoded = metadata(meta)?;
        unknown.extend(decoded.unknown.iter().map(|path| format!("metadata.{path}")));
        value["metadata"] = decoded.value;
    } else if value.is_object() {
        value["metadata"] = Value::Object(Map::new());
    }
    let mut pruned = Vec::new();
    prune(&mut value, Some(schema), true, "", &mut pruned);
    pruned.sort();
    unknown.extend(pruned);
    embedded(&mut value, schema, "", &mut unknown)?;
    Ok(Decoded { value, unknown })
}

/// Metadata by its type, without times that are absent.
fn metadata(meta: &Value) -> Result<Decoded, String> {
    let place = TYPES.place("ObjectMeta").expect("the table has ObjectMeta");
    let typed = |why: String| why.replace("Go value of type ObjectMeta", "Go value of type v1.ObjectMeta");
    let mut decoded = decode(place, meta.clone()).map_err(typed)?;
    if let Value::Object(fields) = &mut decoded.value
        && fields.get("creationTimestamp").is_some_and(Value::is_null)
    {
        fields.remove("creationTimestamp");
    }
    Ok(decoded)
}

fn prune(value: &mut Value, schema: Option<&Schema>, root: bool, path: &str, unknown: &mut Vec<String>) {
    let within = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => {
            let mut gone = Vec::new();
            for (name, value) in &mut *fields {
                let typed = TYPED.contains(&name.as_str());
                if typed && (root || schema.is_some_and(|schema| schema.embedded)) {
                    continue;
                }
                let preserves = schema.is_some_and(|schema| schema.preserves);
                match schema.map(|schema| (schema.properties.get(name), &schema.additional)) {
                    Some((Some(property), _)) => prune(value, Some(property), false, &within(name), unknown),
                    Some((None, Additional::Each(each))) => prune(value, Some(each), false, &within(name), unknown),
                    Some((None, Additional::Any(true))) if preserves => {}
                    Some((None, Additional::Any(true))) => prune(value, None, false, &within(name), unknown),
                    _ if preserves => {}
                    _ => {
                        unknown.push(within(name));
                        gone.push(name.clone());
                    }
                }
            }
            fields.retain(|name, _| !gone.contains(name));
        }
        Value::Array(items) => {
            let preserves = schema.is_some_and(|schema| schema.preserves);
            let of = schema.and_then(|schema| schema.items.as_deref());
            if preserves && of.is_none() {
                return;
            }
            for (at, item) in items.iter_mut().enumerate() {
                prune(item, of, false, &format!("{path}[{at}]"), unknown);
            }
        }
        _ => {}
    }
}

/// Types the metadata of embedded resources. Upstream: `objectmeta.CoerceWithOptions`.
fn embedded(value: &mut Value, schema: &Schema, path: &str, unknown: &mut Vec<String>) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if schema.embedded && name == "metadata" && value.is_object() {
                    // What has the wrong type is dropped by validation, which says so.
                    if let Ok(decoded) = metadata(value) {
                        unknown.extend(decoded.unknown.iter().map(|name| format!("{path}.{name}")));
                        *value = decoded.value;
                    }
                } else if let Some(property) = schema.property(name) {
                    embedded(value, property, &path, unknown)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                for (at, item) in items.iter_mut().enumerate() {
                    embedded(item, of, &format!("{path}[{at}]"), unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Fills in defaults; nulls of fields that are not nullable count as absent.
pub(super) fn fill(schema: &Schema, value: &mut Value) {
    drop_nulls(schema, value);
    defaults(schema, value);
}

fn forbids_null(schema: &Schema, value: &Value) -> bool {
    value.is_null() && !schema.nullable
}

fn drop_nulls(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                let of = schema.property(name);
                !of.is_some_and(|of| forbids_null(of, value) && of.default.is_none())
            });
            for (name, value) in fields {
                if let Some(of) = schema.property(name) {
                    drop_nulls(of, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                items.iter_mut().for_each(|item| drop_nulls(of, item));
            }
        }
        _ => {}
    }
}

fn defaults(schema: &Schema, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                if let Some(default) = &property.default
                    && fields.get(name).is_none_or(|value| forbids_null(property, value))
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(of) = schema.property(name) {
                    if let Some(default) = of.default.as_ref().filter(|_| forbids_null(of, value)) {
                        *value = default.clone();
                    }
                    defaults(of, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                for item in items {
                    if let Some(default) = of.default.as_ref().filter(|_| forbids_null(of, item)) {
                        *item = default.clone();
                    }
                    defaults(of, item);
                }
            }
        }
        _ => {}
    }
}
