//! Decodes a custom resource: types its metadata, prunes unknown fields, and fills in defaults.
//!
//! Upstream: `schemaCoercingDecoder`, `structural/pruning` and `structural/defaulting`.

use serde_json::{Map, Value};

use crate::registry::custom::lists::child_path;
use crate::types::custom_schema::{AdditionalProperties, Schema};
use crate::types::decode::{DecodedValue, decode};
use crate::types::field_error::FieldError;
use crate::types::table::TYPES;

/// The fields of every resource.
pub(crate) const TYPED: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Decodes a custom resource; a null in a field that is not nullable counts as absent.
///
/// # Errors
/// The decoding error for metadata of the wrong type.
pub(crate) fn coerce(schema: &Schema, value: &Value) -> Result<DecodedValue, String> {
    let mut decoded = coerce_with_nulls(schema, value)?;
    drop_nulls(schema, &mut decoded.value);
    Ok(decoded)
}

/// Decodes a custom resource with its nulls.
///
/// # Errors
/// The decoding error for metadata of the wrong type.
pub(crate) fn coerce_with_nulls(schema: &Schema, value: &Value) -> Result<DecodedValue, String> {
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
    embedded(&mut value, schema, false, "", &mut unknown).map_err(|error| error.to_string())?;
    Ok(DecodedValue { value, unknown })
}

/// Decodes metadata, without absent times.
fn metadata(meta: &Value) -> Result<DecodedValue, String> {
    let type_index = TYPES.index_of("ObjectMeta").expect("the table has ObjectMeta");
    let typed = |why: String| why.replace("Go value of type ObjectMeta", "Go value of type v1.ObjectMeta");
    let mut decoded = decode(type_index, meta.clone()).map_err(typed)?;
    if let Value::Object(fields) = &mut decoded.value
        && fields.get("creationTimestamp").is_some_and(Value::is_null)
    {
        fields.remove("creationTimestamp");
    }
    Ok(decoded)
}

/// Drops unknown fields. `root`: whether the value is the object itself, which is a resource like
/// embedded ones.
pub(crate) fn prune(value: &mut Value, schema: Option<&Schema>, root: bool, path: &str, unknown: &mut Vec<String>) {
    if let Some(schema) = schema.filter(|schema| schema.preserves) {
        return prune_below(value, schema, root, path, unknown);
    }
    match value {
        Value::Object(fields) => {
            let mut gone = Vec::new();
            for (name, value) in &mut *fields {
                let typed = TYPED.contains(&name.as_str());
                let Some(schema) = schema else {
                    gone.push(name.clone());
                    continue;
                };
                if typed && (root || schema.embedded) {
                    continue;
                }
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => prune(value, Some(property), false, &child(path, name), unknown),
                    (None, AdditionalProperties::Absent) => gone.push(name.clone()),
                    (None, _) => prune(value, schema.additional_schema(), false, &child(path, name), unknown),
                }
            }
            unknown.extend(gone.iter().map(|name| child(path, name)));
            fields.retain(|name, _| !gone.contains(name));
        }
        Value::Array(items) => {
            let of = schema.and_then(|schema| schema.items.as_deref());
            for (at, item) in items.iter_mut().enumerate() {
                prune(item, of, false, &format!("{path}[{at}]"), unknown);
            }
        }
        _ => {}
    }
}

/// Prunes below a schema that preserves unknown fields: values with a schema of their own are
/// pruned.
fn prune_below(value: &mut Value, schema: &Schema, root: bool, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let typed = TYPED.contains(&name.as_str()) && (root || schema.embedded);
                match (schema.properties.get(name), &schema.additional) {
                    _ if typed => {}
                    (Some(property), _) => prune(value, Some(property), false, &child(path, name), unknown),
                    (None, AdditionalProperties::Absent) => {}
                    (None, _) => prune(value, schema.additional_schema(), false, &child(path, name), unknown),
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                if let Some(of) = &schema.items {
                    prune_below(item, of, false, &format!("{path}[{at}]"), unknown);
                }
            }
        }
        _ => {}
    }
}

fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Decodes the metadata of embedded resources, and of the object itself if it is the `root`.
/// Upstream: `objectmeta.CoerceWithOptions`.
///
/// # Errors
/// A field of the wrong type.
pub(crate) fn embedded(
    value: &mut Value,
    schema: &Schema,
    root: bool,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_resource = root || schema.embedded;
                let below = child_path(schema, path, name);
                if is_resource && matches!(name.as_str(), "apiVersion" | "kind") && !value.is_string() {
                    return Err(FieldError::invalid(&child(path, name), value.clone(), "must be a string"));
                }
                if is_resource && name == "metadata" {
                    let decoded = metadata(value);
                    let decoded = decoded.map_err(|why| FieldError::invalid(&child(path, name), value.clone(), why))?;
                    let metadata = child(path, "metadata");
                    unknown.extend(decoded.unknown.iter().map(|name| format!("{metadata}.{name}")));
                    *value = decoded.value;
                }
                if let Some(property) = schema.property(name) {
                    embedded(value, property, false, &below, unknown)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                for (at, item) in items.iter_mut().enumerate() {
                    embedded(item, of, false, &format!("{path}[{at}]"), unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
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

/// Fills in defaults.
pub(crate) fn fill(schema: &Schema, value: &mut Value) {
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
                    fill(of, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(of) = &schema.items {
                for item in items {
                    if let Some(default) = of.default.as_ref().filter(|_| forbids_null(of, item)) {
                        *item = default.clone();
                    }
                    fill(of, item);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::custom_schema::Purpose;

    /// Recorded from kube-apiserver v1.36.3: metadata is a field even where the schema does not
    /// declare it.
    #[test]
    fn unknown_field_of_embedded_metadata_has_a_path_of_fields() {
        let template = json!({"type": "object", "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true});
        let schema = json!({"type": "object", "properties":
            {"spec": {"type": "object", "properties": {"template": template}}}});
        let schema = Schema::read(&schema, Purpose::Objects).unwrap();
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "odd": 1}});
        let decoded = coerce(&schema, &json!({"spec": {"template": pod}})).unwrap();
        assert_eq!(decoded.unknown, ["spec.template.metadata.odd"]);
    }
}
