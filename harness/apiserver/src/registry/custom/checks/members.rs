//! Members of the parts of a definition, and the checks of single ones.

use serde_json::Value;

use crate::types::field_error::FieldError;

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

pub(crate) fn flag(value: &Value, name: &str) -> bool {
    value[name] == true
}

pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A subschema, if it is an object.
pub(crate) fn subschema<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    schema.get(name).filter(|one| one.is_object())
}

/// The subschemas in a map.
pub(crate) fn children<'a>(schema: &'a Value, name: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    schema[name].as_object().into_iter().flatten()
}

/// The subschemas in a list, with the name of the list and their indices.
pub(crate) fn child_list<'a>(
    schema: &'a Value,
    name: &'static str,
) -> impl Iterator<Item = (&'static str, usize, &'a Value)> {
    list(&schema[name]).iter().enumerate().map(move |(at, one)| (name, at, one))
}

pub(crate) fn required_text(value: &Value, name: &str, path: &str, errors: &mut Vec<FieldError>) {
    if text(value, name).is_empty() {
        errors.push(FieldError::required(&format!("{path}.{name}"), ""));
    }
}

/// Validates a required string with a fixed set of values.
pub(crate) fn one_of(value: &Value, name: &str, path: &str, all: &[&str], errors: &mut Vec<FieldError>) {
    let (path, given) = (format!("{path}.{name}"), text(value, name));
    if given.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else if !all.contains(&given) {
        errors.push(FieldError::unsupported(&path, given, all));
    }
}
