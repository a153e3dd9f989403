//! Tables of custom resources, with the columns of their definition.
//!
//! Supports simple JSON paths: fields, indices, and comparing one field with a text, as in
//! `.status.conditions[?(@.type=="Ready")].status`. Upstream: `tableconvertor` of
//! `apiextensions-apiserver`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::schema::printers::age;

/// A column of a definition.
#[derive(Debug, Clone)]
pub(crate) struct CustomColumn {
    name: String,
    kind: String,
    format: String,
    priority: i64,
    path: Vec<PathStep>,
}

/// A step of a JSON path.
#[derive(Debug, Clone, PartialEq)]
enum PathStep {
    Field(String),
    Index(usize),
    /// The list items whose field has this text.
    Where(String, String),
}

/// The columns after the name; the age if the definition has none.
pub(crate) fn columns(given: &Value) -> Vec<CustomColumn> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let column = |one: &Value| CustomColumn {
        name: text(&one["name"]),
        kind: text(&one["type"]),
        format: text(&one["format"]),
        priority: one["priority"].as_i64().unwrap_or(0),
        path: path(one["jsonPath"].as_str().unwrap_or_default()),
    };
    let all: Vec<CustomColumn> = given.as_array().into_iter().flatten().map(column).collect();
    if all.is_empty() {
        return vec![column(&json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}))];
    }
    all
}

/// The column definitions of a table.
pub(crate) fn headers(columns: &[CustomColumn]) -> Value {
    let header = |name: &str, kind: &str, format: &str, priority: i64| json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority});
    let own = columns.iter().map(|one| header(&one.name, &one.kind, &one.format, one.priority));
    std::iter::once(header("Name", "string", "name", 0)).chain(own).collect()
}

pub(crate) fn cells(columns: &[CustomColumn], object: &Value, now: Timestamp) -> Vec<Value> {
    let cell = |column: &CustomColumn| {
        let mut found = vec![object];
        for part in &column.path {
            found = found.into_iter().flat_map(|value| part.of(value)).collect();
        }
        match (column.kind.as_str(), found.as_slice()) {
            (_, [] | [Value::Null]) => Value::Null,
            ("integer" | "number" | "boolean", [value, ..]) => (*value).clone(),
            ("date", [time, ..]) if age::parsed(time).is_some() => age::since(time, now).into(),
            ("date", _) => "<invalid>".into(),
            (_, values) => values.iter().map(|value| text(value)).collect::<Vec<_>>().join(" ").into(),
        }
    };
    std::iter::once(object["metadata"]["name"].clone()).chain(columns.iter().map(cell)).collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

impl PathStep {
    fn of<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => value.get(index).into_iter().collect(),
            Self::Where(field, text) => {
                value.as_array().into_iter().flatten().filter(|one| one[field] == *text).collect()
            }
        }
    }
}

/// Parses a JSON path.
fn path(text: &str) -> Vec<PathStep> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (inside, left) = after.split_once(']').unwrap_or((after, ""));
            rest = left;
            let compared = inside.strip_prefix("?(@.").and_then(|one| one.strip_suffix(')')?.split_once("=="));
            let quoted = |text: &str| text.trim().trim_matches(['"', '\'']).to_owned();
            parts.push(match (compared, inside.parse()) {
                (Some((field, text)), _) => PathStep::Where(field.trim().to_owned(), quoted(text)),
                (None, Ok(index)) => PathStep::Index(index),
                (None, Err(_)) => PathStep::Field(quoted(inside)),
            });
            continue;
        }
        let after = rest.trim_start_matches('.');
        let mut end = after.len();
        let mut escaped = false;
        for (place, letter) in after.char_indices() {
            if matches!(letter, '.' | '[') && !escaped {
                end = place;
                break;
            }
            escaped = letter == '\\';
        }
        let (name, left) = after.split_at(end);
        rest = left;
        if !name.is_empty() {
            parts.push(PathStep::Field(name.replace("\\.", ".")));
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn custom_columns_follow_their_json_paths() {
        let given = json!([
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
            {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
            {"name": "First", "type": "string", "jsonPath": ".spec.list[0]", "priority": 1},
            {"name": "Team", "type": "string", "jsonPath": ".metadata.labels.example\\.com/team"},
            {"name": "None", "type": "string", "jsonPath": ".spec.none"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ]);
        let object = json!({"metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z", "labels": {"example.com/team": "x"}},
            "spec": {"size": 3, "list": ["one", "two"]}, "status": {"conditions": [{"type": "A", "status": "1"}, {"type": "Ready", "status": "True"}]}});
        let columns = columns(&given);
        let expected = json!(["a", 3, "True", "one", "x", null, "5s"]);
        assert_eq!(Value::from(cells(&columns, &object, Timestamp::from_second(5).unwrap())), expected);
        assert_eq!(headers(&columns)[3]["priority"], 1);
    }
}
