//! Tables of custom resources, with the columns of their definition.
//!
//! Upstream: `tableconvertor` of `apiextensions-apiserver`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::go::format::{float, json as json_text};
use crate::schema::printers::age;
use crate::schema::printers::json_path::JsonPath;

/// A column of a definition.
#[derive(Debug, Clone)]
pub(crate) struct CustomColumn {
    name: String,
    kind: String,
    format: String,
    priority: i64,
    path: Option<JsonPath>,
}

/// The columns after the name; the age if the definition has none.
pub(crate) fn columns(given: &Value) -> Vec<CustomColumn> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let column = |one: &Value| CustomColumn {
        name: text(&one["name"]),
        kind: text(&one["type"]),
        format: text(&one["format"]),
        priority: one["priority"].as_i64().unwrap_or(0),
        path: JsonPath::parse(one["jsonPath"].as_str().unwrap_or_default()),
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
    let own = columns.iter().map(|column| column.cell(object, now));
    std::iter::once(object["metadata"]["name"].clone()).chain(own).collect()
}

impl CustomColumn {
    /// The cell of an object: of the first value that its path finds, and empty if that is not of
    /// the column's type. Upstream: `ConvertToTable`, `cellForJSONValue`.
    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.as_ref().and_then(|path| path.find(object));
        let Some(value) = found.and_then(|all| all.first().copied()) else { return Value::Null };
        match (self.kind.as_str(), value) {
            ("string", Value::Null) => "<no value>".into(),
            ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => value.clone(),
            ("string", Value::Number(number)) if number.is_f64() => float(number.as_f64().unwrap_or_default()).into(),
            ("string", other) => json_text(other).into(),
            ("integer", Value::Number(number)) => {
                number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64).into()
            }
            ("date", Value::String(text)) if text.is_empty() || text == "null" => "<unknown>".into(),
            ("date", Value::String(_)) if age::parsed(value).is_some() => age::since(value, now).into(),
            ("date", Value::String(_)) => "<invalid>".into(),
            _ => Value::Null,
        }
    }
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
