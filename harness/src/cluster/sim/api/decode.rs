//! What a server understands of a body: the fields that it knows, of the right types, and none that is empty.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Field, Shape, TYPES};

/// An object as the server would write it.
#[derive(Debug, PartialEq)]
pub(in super::super) struct Decoded {
    pub(in super::super) value: Value,
    /// The paths of fields that it does not know, which are left out.
    pub(in super::super) unknown: Vec<String>,
}

/// Read a value as a type, by the type's place in the table.
///
/// # Errors
/// What a decoder says of a value that has the wrong type.
pub(in super::super) fn decode(place: usize, value: &Value) -> Result<Decoded, String> {
    let mut reader = Reader { path: Vec::new(), unknown: Vec::new() };
    let value = reader.object(place, value)?;
    Ok(Decoded { value: value.unwrap_or(Value::Object(Map::new())), unknown: reader.unknown })
}

impl Field {
    /// Whether anything can be written of it where it is not given.
    fn is_written_when_absent(&self) -> bool {
        match self.pointer || self.omit_zero {
            true => !(self.omit_empty || self.omit_zero),
            false => !self.omit_empty || matches!(self.shape, Shape::Struct(_)),
        }
    }
}

struct Reader {
    path: Vec<String>,
    unknown: Vec<String>,
}

impl Reader {
    /// A struct; nothing where it is not there.
    fn object(&mut self, place: usize, value: &Value) -> Result<Option<Value>, String> {
        let empty = Map::new();
        let given = match value {
            Value::Null => &empty,
            Value::Object(given) => given,
            other => return Err(wrong(other, &self.path.join("."), "", &TYPES.get(place).name)),
        };
        let declared = TYPES.get(place);
        let mut written = Map::new();
        for (name, value) in given {
            if !declared.fields.contains_key(name) {
                self.unknown
                    .push(self.path.iter().map(String::as_str).chain([name.as_str()]).collect::<Vec<_>>().join("."));
            } else if !value.is_null() {
                let field = &declared.fields[name];
                self.path.push(name.clone());
                let read = self.field(&declared.name, field, value)?;
                self.path.pop();
                if let Some(read) = read {
                    written.insert(name.clone(), read);
                }
            }
        }
        for (name, field) in &declared.fields {
            // Most fields say nothing where they are not there, and asking that is cheaper than looking.
            if field.is_written_when_absent()
                && !written.contains_key(name)
                && let Some(zero) = self.absent(field)?
            {
                written.insert(name.clone(), zero);
            }
        }
        Ok(Some(Value::Object(written)))
    }

    /// What is written of a field that is not given, or is given as nothing.
    fn absent(&mut self, field: &Field) -> Result<Option<Value>, String> {
        if field.pointer || field.omit_zero {
            return Ok(if field.omit_empty || field.omit_zero { None } else { Some(Value::Null) });
        }
        if let Shape::Struct(place) = field.shape {
            return self.object(place, &Value::Null);
        }
        Ok((!field.omit_empty).then(|| zero(&field.shape)))
    }

    fn field(&mut self, owner: &str, field: &Field, value: &Value) -> Result<Option<Value>, String> {
        let read = self.value(owner, &field.go, &field.shape, value)?;
        let empty = match &read {
            Value::Object(fields) if !matches!(field.shape, Shape::Struct(_)) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::String(text) => text.is_empty(),
            Value::Bool(set) => !set,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::Null => true,
            Value::Object(_) => false,
        };
        let plain = matches!(field.shape, Shape::IntOrString | Shape::Quantity | Shape::Time | Shape::MicroTime);
        let left_out = (field.omit_empty && !field.pointer && empty && !plain)
            || (field.omit_zero && matches!(&read, Value::Object(fields) if fields.is_empty()));
        Ok((!left_out).then_some(read))
    }

    fn value(&mut self, owner: &str, go: &str, shape: &Shape, value: &Value) -> Result<Value, String> {
        let path = || self.path.join(".");
        let fits = match (shape, value) {
            (_, Value::Null) => return Ok(zero(shape)),
            (Shape::Struct(place), _) => return Ok(self.object(*place, value)?.unwrap_or(Value::Null)),
            (Shape::List(item), Value::Array(items)) => {
                let go = go.strip_prefix("[]").unwrap_or(go);
                let items = items.iter().map(|value| self.value(owner, go, item, value));
                return Ok(Value::Array(items.collect::<Result<_, _>>()?));
            }
            (Shape::Map(item), Value::Object(fields)) => {
                let go = go.strip_prefix("map:").unwrap_or(go);
                let mut read = Map::new();
                for (name, value) in fields {
                    read.insert(name.clone(), self.value(owner, go, item, value)?);
                }
                return Ok(Value::Object(read));
            }
            (Shape::Time, Value::String(text)) => return time(text, "%Y-%m-%dT%H:%M:%SZ"),
            (Shape::MicroTime, Value::String(text)) => return time(text, "%Y-%m-%dT%H:%M:%S.%6fZ"),
            (Shape::Quantity, Value::Number(number)) => return Ok(Value::String(number.to_string())),
            (Shape::Bool, Value::Bool(_))
            | (Shape::Float, Value::Number(_))
            | (Shape::Text | Shape::Bytes | Shape::Quantity | Shape::Duration | Shape::IntOrString, Value::String(_))
            | (Shape::Raw, _) => true,
            (Shape::IntOrString, Value::Number(number)) => number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            (Shape::Int(least, most), Value::Number(number)) => {
                number.as_i64().is_some_and(|number| (*least..=*most).contains(&number))
            }
            _ => false,
        };
        if fits { Ok(value.clone()) } else { Err(wrong(value, &path(), owner, go)) }
    }
}

/// An empty value.
fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => Value::Bool(false),
        Shape::Int(..) | Shape::IntOrString | Shape::Duration => Value::from(0),
        Shape::Float => Value::from(0.0),
        Shape::Text => Value::String(String::new()),
        Shape::Quantity => Value::String("0".to_owned()),
        _ => Value::Null,
    }
}

fn time(text: &str, form: &str) -> Result<Value, String> {
    let time: Timestamp = text
        .parse()
        .map_err(|_| format!("parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?}"))?;
    Ok(Value::String(time.strftime(form).to_string()))
}

fn wrong(value: &Value, path: &str, owner: &str, go: &str) -> String {
    let found = match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if matches!(go, "int32" | "int64" | "intorstring") => format!("number {number}"),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    let go = match go.strip_prefix("map:") {
        Some(value) => format!("map[string]{value}"),
        None => go.to_owned(),
    };
    match path {
        "" => format!("json: cannot unmarshal {found} into Go value of type {go}"),
        path => format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {go}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(kind: &str, value: &Value) -> Result<Decoded, String> {
        decode(TYPES.place(kind).unwrap(), value)
    }

    #[test]
    fn what_is_empty_is_left_out_and_what_is_required_is_there() {
        let status =
            read("ReplicaSetStatus", &json!({"readyReplicas": 0, "conditions": [], "terminatingReplicas": 0})).unwrap();
        assert_eq!(status.value, json!({"replicas": 0, "terminatingReplicas": 0}));
        let container = read("Container", &json!({"name": "app"})).unwrap();
        assert_eq!(container.value, json!({"name": "app", "resources": {}}));
    }

    #[test]
    fn unknown_fields_go_and_are_told() {
        let found = read("Deployment", &json!({"spec": {"replicas": 2, "replica": 3}})).unwrap();
        assert_eq!(found.unknown, ["spec.replica"]);
        assert_eq!(found.value.pointer("/spec/replicas"), Some(&json!(2)));
        assert_eq!(found.value.pointer("/spec/replica"), None);
    }

    #[test]
    fn a_wrong_type_is_told_where_it_stands() {
        let told = read("Deployment", &json!({"spec": {"replicas": "three"}})).unwrap_err();
        assert_eq!(
            told,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
        );
    }
}
