//! Validates the parts of a definition that refer to fields by path: the scale, table columns, and
//! selectable fields.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::go::format::json;
use crate::registry::custom::checks::members::{list, required_text, text};
use crate::registry::custom::checks::structural::structural_error;
use crate::types::field_error::FieldError;

/// The maximum number of selectable fields.
const SELECTABLE: usize = 8;

/// Upstream: `ValidateCustomResourceDefinitionSubresources`.
pub(crate) fn subresources(value: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let scale = &value["scale"];
    if !scale.is_object() {
        return;
    }
    for (name, below) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let (path, given) = (format!("{path}.scale.{name}"), text(scale, name));
        if given.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if let Some(why) = simple_path(given) {
            errors.push(FieldError::invalid(&path, given, why));
        } else if !given.starts_with(&format!("{below}.")) {
            errors.push(FieldError::invalid(&path, given, format!("should be a json path under {below}")));
        }
    }
    let (path, given) = (format!("{path}.scale.labelSelectorPath"), text(scale, "labelSelectorPath"));
    if given.is_empty() {
        return;
    }
    if let Some(why) = simple_path(given) {
        errors.push(FieldError::invalid(&path, given, why));
    } else if !given.starts_with(".spec.") && !given.starts_with(".status.") {
        let why = "should be a json path under either .spec or .status";
        errors.push(FieldError::invalid_printed(&path, json(&given.into()), why));
    }
}

fn simple_path(path: &str) -> Option<&'static str> {
    (!path.starts_with('.')).then_some("must be a simple json path starting with .")
}

/// Upstream: `ValidateCustomResourceColumnDefinition`.
pub(crate) fn columns(columns: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const TYPES: &str = "boolean,date,integer,number,string";
    const FORMATS: &str = "byte,date,date-time,double,float,int32,int64,password";
    let one_of = |all: &str, given: &str| all.split(',').any(|one| one == given);
    for (at, column) in list(columns).iter().enumerate() {
        let path = format!("{path}[{at}]");
        required_text(column, "name", &path, errors);
        let why = format!("must be one of {TYPES}");
        match text(column, "type") {
            "" => errors.push(FieldError::required(&format!("{path}.type"), &why)),
            given if !one_of(TYPES, given) => errors.push(FieldError::invalid(&format!("{path}.type"), given, why)),
            _ => {}
        }
        let format = text(column, "format");
        if !format.is_empty() && !one_of(FORMATS, format) {
            let why = format!("must be one of {FORMATS}");
            errors.push(FieldError::invalid(&format!("{path}.format"), format, why));
        }
        let (path, given) = (format!("{path}.JSONPath"), text(column, "jsonPath"));
        match simple_path(given) {
            _ if given.is_empty() => errors.push(FieldError::required(&path, "")),
            Some(why) => errors.push(FieldError::invalid(&path, given, why)),
            None => {}
        }
    }
}

/// Upstream: `ValidateCustomResourceSelectableFields`. `holder` is the path of the object that has
/// the schema.
pub(crate) fn selectable(fields: &Value, schema: &Value, holder: &str, errors: &mut Vec<FieldError>) {
    let fault = structural_error(schema);
    // No path resolves in a schema that cannot be read.
    let schema = if fault.is_some() { &Value::Null } else { schema };
    errors.extend(fault.map(|why| FieldError::invalid(&format!("{holder}.schema.openAPIV3Schema"), "", why)));
    let path = format!("{holder}.selectableFields");
    let mut known = BTreeSet::new();
    for (at, field) in list(fields).iter().enumerate() {
        let (path, given) = (format!("{path}[{at}].jsonPath"), text(field, "jsonPath"));
        if given.is_empty() {
            errors.push(FieldError::required(&path, ""));
            continue;
        }
        let (steps, found) = match field_path(given, schema, false) {
            Ok(found) => found,
            Err(why) => {
                errors.push(FieldError::invalid(&path, given, format!("is an invalid path: {why}")));
                continue;
            }
        };
        if steps.first().is_some_and(|first| first == ".metadata") {
            errors.push(FieldError::invalid(&path, given, "must not point to fields in metadata"));
        }
        if !found.is_some_and(|schema| matches!(text(schema, "type"), "string" | "boolean" | "integer")) {
            let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                       formats are allowed.";
            errors.push(FieldError::invalid(&path, given, why));
        }
        if !known.insert(steps) {
            errors.push(FieldError::duplicate(&path, given));
        }
    }
    if known.len() > SELECTABLE {
        errors.push(FieldError::too_many(&path, known.len(), 8));
    }
}

/// The steps of a path, and the schema at its end. Upstream: `ValidFieldPath`.
///
/// # Errors
/// Why the path does not resolve.
pub(crate) fn field_path<'a>(
    path: &str,
    schema: &'a Value,
    allow_keys: bool,
) -> Result<(Vec<String>, Option<&'a Value>), String> {
    const NO_FIELD: &str = "does not refer to a valid field";
    const ENDS: &str = "unexpected end of JSON path";
    let mut steps = Vec::new();
    let mut schema = Some(schema);
    let mut tokens = Tokens(path);
    while let Some(token) = tokens.next() {
        let name = match token {
            "[" if !allow_keys => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let token = tokens.next().ok_or(ENDS)?;
                let inner = token.strip_prefix('\'').and_then(|token| token.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {token}"))?;
                unescape(inner)?
            }
            "." => tokens.next().ok_or(ENDS)?.to_owned(),
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let at = schema.ok_or(NO_FIELD)?;
        let named = at["properties"].as_object().filter(|fields| !fields.is_empty());
        match (named, at.get("additionalProperties")) {
            (Some(fields), _) => {
                schema = Some(fields.get(&name).ok_or(NO_FIELD)?);
                steps.push(format!(".{name}"));
            }
            (None, Some(each)) => {
                schema = Some(each).filter(|each| each.is_object());
                steps.push(format!("[{name}]"));
            }
            (None, None) => return Err(NO_FIELD.to_owned()),
        }
        if token == "[" {
            match tokens.next().ok_or(ENDS)? {
                "]" => {}
                other => return Err(format!("expected ] but got {other}")),
            }
        }
    }
    Ok((steps, schema))
}

/// The tokens of a path: `.`, `[`, `]`, quoted strings, and the text between them.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0;
        if text.is_empty() {
            return None;
        }
        let end = if text.starts_with('\'') {
            let quotes = text.match_indices('\'').skip(1).map(|(at, _)| at);
            let mut closing = quotes.filter(|at| !text[..*at].ends_with('\\'));
            closing.next().map_or(text.len(), |at| at + 1)
        } else {
            text.find(['.', '[', ']']).map_or(text.len(), |at| at.max(1))
        };
        let (token, rest) = text.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('a') => plain.push('\u{7}'),
            Some('b') => plain.push('\u{8}'),
            Some('f') => plain.push('\u{c}'),
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some('v') => plain.push('\u{b}'),
            Some(same @ ('\'' | '\\')) => plain.push(same),
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => plain.push('\\'),
        }
    }
    Ok(plain)
}
