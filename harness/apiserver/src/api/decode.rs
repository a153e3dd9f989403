//! Reads a body as a type: keeps known fields of the right types, drops empty ones as Go's
//! `omitempty` does, and collects the paths of unknown fields.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{Field, Shape, TYPES, bare};
use crate::syntax::base64_fault;

/// An object as the server would write it.
#[derive(Debug, PartialEq)]
pub(in super::super) struct Decoded {
    pub(in super::super) value: Value,
    /// The paths of unknown fields, which are dropped.
    pub(in super::super) unknown: Vec<String>,
}

/// Reads a value as a type, by the type's index in the table.
///
/// # Errors
/// The decoder's message for a value of the wrong type.
pub(in super::super) fn decode(place: usize, value: &Value) -> Result<Decoded, String> {
    let mut reader = Reader { loose: false, path: Vec::new(), places: Vec::new(), unknown: Vec::new() };
    let value = reader.object("", &TYPES.get(place).name, place, value)?;
    Ok(Decoded { value: value.unwrap_or(Value::Object(Map::new())), unknown: reader.unknown })
}

/// The same for the result of a strategic merge patch: other messages, and numbers overflow.
///
/// # Errors
/// The message for a value of the wrong type.
pub(in super::super) fn decode_loosely(place: usize, value: &Value) -> Result<Decoded, String> {
    let mut reader = Reader { loose: true, path: Vec::new(), places: Vec::new(), unknown: Vec::new() };
    let value = reader.object("", &TYPES.get(place).name, place, value)?;
    Ok(Decoded { value: value.unwrap_or(Value::Object(Map::new())), unknown: reader.unknown })
}

impl Field {
    /// Whether it can be written although absent.
    fn is_written_when_absent(&self) -> bool {
        match self.pointer || self.omit_zero {
            true => !(self.omit_empty || self.omit_zero),
            false => !self.omit_empty || matches!(self.shape, Shape::Struct(_) | Shape::Time | Shape::MicroTime),
        }
    }
}

struct Reader {
    loose: bool,
    path: Vec<String>,
    /// The list indices on the path: the number of steps before one, and the index.
    places: Vec<(usize, usize)>,
    unknown: Vec<String>,
}

impl Reader {
    /// A struct.
    fn object(&mut self, owner: &str, go: &str, place: usize, value: &Value) -> Result<Option<Value>, String> {
        let empty = Map::new();
        let given = match value {
            Value::Null => &empty,
            Value::Object(given) => given,
            other if self.loose => return Err(format!("cannot restore struct from: {}", go_kind(other))),
            other => return Err(wrong(other, &self.path.join("."), owner, go)),
        };
        let declared = TYPES.get(place);
        let mut written = Map::new();
        for (name, value) in given {
            if !declared.fields.contains_key(name) {
                let told = self.told(name);
                self.unknown.push(told);
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
            // Few fields are written when absent; this check is the cheaper one.
            if field.is_written_when_absent()
                && !written.contains_key(name)
                && let Some(zero) = self.absent(field)?
            {
                written.insert(name.clone(), zero);
            }
        }
        Ok(Some(Value::Object(written)))
    }

    /// The path of a field, with list indices.
    fn told(&self, name: &str) -> String {
        let mut told = String::new();
        for (step, part) in self.path.iter().enumerate() {
            told += part;
            for (_, at) in self.places.iter().filter(|(steps, _)| *steps == step + 1) {
                told += &format!("[{at}]");
            }
            told.push('.');
        }
        told + name
    }

    /// What is written for an absent or null field.
    fn absent(&mut self, field: &Field) -> Result<Option<Value>, String> {
        if field.pointer || field.omit_zero {
            return Ok(if field.omit_empty || field.omit_zero { None } else { Some(Value::Null) });
        }
        // An absent time is written as null, except with omitzero.
        if matches!(field.shape, Shape::Time | Shape::MicroTime) {
            return Ok(Some(Value::Null));
        }
        if let Shape::Struct(place) = field.shape {
            return self.object("", "", place, &Value::Null);
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
        let plain = matches!(
            field.shape,
            Shape::IntOrString | Shape::Quantity | Shape::Time | Shape::MicroTime | Shape::Raw | Shape::Either(_)
        );
        let left_out = (field.omit_empty && !field.pointer && empty && !plain)
            || (field.omit_zero && matches!(&read, Value::Object(fields) if fields.is_empty()));
        Ok((!left_out).then_some(read))
    }

    fn value(&mut self, owner: &str, go: &str, shape: &Shape, value: &Value) -> Result<Value, String> {
        let path = || self.path.join(".");
        let fits = match (shape, value) {
            (_, Value::Null) => return Ok(zero(shape)),
            (Shape::Either(object), Value::Object(_)) => return self.value(owner, go, object, value),
            (Shape::Struct(place), _) => return Ok(self.object(owner, go, *place, value)?.unwrap_or(Value::Null)),
            (Shape::List(item), Value::Array(items)) => {
                let go = go.strip_prefix("[]").unwrap_or(go);
                let mut read = Vec::with_capacity(items.len());
                for (at, value) in items.iter().enumerate() {
                    self.places.push((self.path.len(), at));
                    read.push(self.value(owner, go, item, value)?);
                    self.places.pop();
                }
                return Ok(Value::Array(read));
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
            (Shape::Quantity, Value::Number(number)) => return quantity(&number.to_string()),
            (Shape::Quantity, Value::String(text)) => return quantity(text),
            (Shape::Bytes, Value::String(text)) => match base64_fault(text) {
                Some(at) => {
                    let from = if self.loose { "error decoding from json: " } else { "" };
                    return Err(format!("{from}illegal base64 data at input byte {at}"));
                }
                None => true,
            },
            (Shape::IntOrString, Value::String(_)) => true,
            (Shape::IntOrString, other) => {
                let fits = other.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
                if !fits {
                    // In a merged patch its own function decodes it, without the path.
                    let place = if self.loose { String::new() } else { path() };
                    return Err(wrong(other, &place, owner, "int32"));
                }
                true
            }
            (Shape::Bool, Value::Bool(_))
            | (Shape::Float, Value::Number(_))
            | (Shape::Text | Shape::Duration, Value::String(_))
            | (Shape::Raw | Shape::Either(_), _) => true,
            (Shape::Int(least, most), Value::Number(number)) => {
                number.as_i64().is_some_and(|number| (*least..=*most).contains(&number))
            }
            _ => false,
        };
        if !fits && self.loose {
            return match (shape, value) {
                (Shape::Map(_), other) => Err(format!("cannot restore map from {}", go_kind(other))),
                (Shape::List(_) | Shape::Bytes, other) => Err(format!("cannot restore slice from {}", go_kind(other))),
                (Shape::Int(least, _), Value::Number(number)) if number.is_i64() && *least == i64::from(i32::MIN) => {
                    // Go truncates.
                    #[expect(clippy::cast_possible_truncation, reason = "that is what upstream does")]
                    let cut = number.as_i64().unwrap_or(0) as i32;
                    Ok(cut.into())
                }
                // Go could convert whole numbers to text and truncate others; upstream does not.
                (Shape::Text, Value::Number(number)) if number.is_i64() => {
                    Err(format!("cannot convert int64 to {}", named(owner, &self.path, go)))
                }
                (Shape::Int(..), Value::Number(_)) => Err(format!("cannot convert float64 to {go}")),
                (Shape::Text | Shape::Bool | Shape::Int(..) | Shape::Float, _) => {
                    Err(format!("unrecognized type: {go}"))
                }
                (_, other) => Err(wrong(other, &path(), owner, go)),
            };
        }
        if fits { Ok(value.clone()) } else { Err(wrong(value, &path(), owner, &named(owner, &self.path, go))) }
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
    let micro = form.contains(".%6f");
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let time: Timestamp = text.parse().map_err(|_| {
        // Go names the part at which parsing stopped; only the year is covered.
        format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\"")
    })?;
    Ok(Value::String(time.strftime(form).to_string()))
}

/// A number with a suffix, as it is written. Upstream: `resource.ParseQuantity`.
fn quantity(text: &str) -> Result<Value, String> {
    const FORM: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    let digits = text.trim_start_matches(['+', '-']);
    let number = digits.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let suffix = &digits[number.len()..];
    let known = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].contains(&suffix);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && number.bytes().filter(|byte| *byte == b'.').count() <= 1;
    if known && is_number { Ok(Value::String(text.to_owned())) } else { Err(FORM.to_owned()) }
}

/// Go's name for a string type.
fn named(owner: &str, path: &[String], go: &str) -> String {
    const NAMED: [(&str, &str, &str); 3] = [
        ("Secret", "type", "v1.SecretType"),
        ("DeploymentStrategy", "type", "v1.DeploymentStrategyType"),
        ("PodStatus", "phase", "v1.PodPhase"),
    ];
    let field = path.last().map_or("", String::as_str);
    let found = NAMED.iter().find(|(of, name, _)| *of == owner && *name == field);
    found.map_or_else(|| go.to_owned(), |(_, _, name)| (*name).to_owned())
}

/// Go's name for a value's kind.
fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
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
    let package = |go: &str| match go {
        go if bare(go).starts_with(|c: char| c.is_ascii_uppercase()) && !owner.is_empty() => {
            let package = TYPES.place(go).map_or("v1", |place| TYPES.get(place).package.as_str());
            format!("{}.{}", bare(package), bare(go))
        }
        "bytes" => "[]uint8".to_owned(),
        go => go.to_owned(),
    };
    let go = match (go.strip_prefix("map:"), go.strip_prefix("[]")) {
        (Some(value), _) => format!("map[string]{}", package(value)),
        (_, Some(item)) => format!("[]{}", package(item.trim_start_matches('*'))),
        _ => package(go),
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
