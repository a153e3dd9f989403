//! Reads a body as a type: keeps known fields of the right types, drops empty ones as Go's
//! `omitempty` does, and collects the paths of unknown fields.

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::quantity::canonical;
use super::{Field, Shape, TYPES, Type, bare};
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
pub(in super::super) fn decode(place: usize, value: Value) -> Result<Decoded, String> {
    read(place, value, false)
}

/// The same for the result of a strategic merge patch: other messages, and numbers overflow.
///
/// # Errors
/// The message for a value of the wrong type.
pub(in super::super) fn decode_loosely(place: usize, value: Value) -> Result<Decoded, String> {
    read(place, value, true)
}

fn read(place: usize, value: Value, loose: bool) -> Result<Decoded, String> {
    let mut reader = Reader { loose, path: Vec::new(), places: Vec::new(), unknown: Vec::new() };
    let value = reader.object("", &TYPES.get(place).name, place, value)?;
    Ok(Decoded { value, unknown: reader.unknown })
}

/// Of each type, by its index, the fields that can be written although absent. They are few.
static WRITTEN_WHEN_ABSENT: LazyLock<Vec<Vec<(&str, &Field)>>> = LazyLock::new(|| {
    let of = |declared: &'static Type| {
        let fields = declared.fields.iter().filter(|(_, field)| field.is_written_when_absent());
        fields.map(|(name, field)| (name.as_str(), field)).collect()
    };
    TYPES.types.iter().map(of).collect()
});

/// Of each type, by its index, the fields by the lengths of their names, then by name: a comparison
/// of lengths decides most steps of a search, of which each write needs some hundreds.
static BY_LENGTH: LazyLock<Vec<Vec<(&str, &Field)>>> = LazyLock::new(|| {
    let of = |declared: &'static Type| {
        let mut fields: Vec<_> = declared.fields.iter().map(|(name, field)| (name.as_str(), field)).collect();
        fields.sort_by_key(|(name, _)| (name.len(), *name));
        fields
    };
    TYPES.types.iter().map(of).collect()
});

/// The field of a type that has this name.
fn declared(place: usize, name: &str) -> Option<(&'static str, &'static Field)> {
    let fields = &BY_LENGTH[place];
    let found = fields.binary_search_by(|(one, _)| one.len().cmp(&name.len()).then_with(|| (*one).cmp(name)));
    found.ok().map(|at| fields[at])
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
    path: Vec<&'static str>,
    /// The list indices on the path: the number of steps before one, and the index.
    places: Vec<(usize, usize)>,
    unknown: Vec<String>,
}

impl Reader {
    /// A struct. What is kept stays where it is.
    fn object(&mut self, owner: &str, go: &str, place: usize, value: Value) -> Result<Value, String> {
        let mut fields = match value {
            Value::Null => Map::new(),
            Value::Object(fields) => fields,
            other if self.loose => return Err(format!("cannot restore struct from: {}", go_kind(&other))),
            other => return Err(wrong(&other, &self.path.join("."), owner, go)),
        };
        let mut left_out = Vec::new();
        for (name, value) in &mut fields {
            let Some((known, field)) = declared(place, name) else {
                let told = self.told(name);
                self.unknown.push(told);
                left_out.push(name.clone());
                continue;
            };
            let mut read = None;
            if !value.is_null() {
                self.path.push(known);
                read = self.field(&TYPES.get(place).name, field, value.take())?;
                self.path.pop();
            }
            match read {
                Some(read) => *value = read,
                None => left_out.push(name.clone()),
            }
        }
        for name in left_out {
            fields.remove(&name);
        }
        for (name, field) in &WRITTEN_WHEN_ABSENT[place] {
            if !fields.contains_key(*name)
                && let Some(zero) = self.absent(field)?
            {
                fields.insert((*name).to_owned(), zero);
            }
        }
        Ok(Value::Object(fields))
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
            return self.object("", "", place, Value::Null).map(Some);
        }
        Ok((!field.omit_empty).then(|| zero(&field.shape)))
    }

    fn field(&mut self, owner: &str, field: &Field, value: Value) -> Result<Option<Value>, String> {
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

    fn value(&mut self, owner: &str, go: &str, shape: &Shape, value: Value) -> Result<Value, String> {
        match (shape, value) {
            (_, Value::Null) => Ok(zero(shape)),
            (Shape::Either(object), value @ Value::Object(_)) => self.value(owner, go, object, value),
            (Shape::Struct(place), value) => self.object(owner, go, *place, value),
            (Shape::List(item), Value::Array(mut items)) => {
                let go = go.strip_prefix("[]").unwrap_or(go);
                for (at, value) in items.iter_mut().enumerate() {
                    self.places.push((self.path.len(), at));
                    *value = self.value(owner, go, item, value.take())?;
                    self.places.pop();
                }
                Ok(Value::Array(items))
            }
            (Shape::Map(item), Value::Object(mut fields)) => {
                let go = go.strip_prefix("map:").unwrap_or(go);
                for (_, value) in &mut fields {
                    *value = self.value(owner, go, item, value.take())?;
                }
                Ok(Value::Object(fields))
            }
            (Shape::Time, Value::String(text)) => time(text, "%Y-%m-%dT%H:%M:%SZ"),
            (Shape::MicroTime, Value::String(text)) => time(text, "%Y-%m-%dT%H:%M:%S.%6fZ"),
            (_, value) => self.plain(owner, go, shape, value),
        }
    }

    /// What has no parts and no form of its own.
    fn plain(&self, owner: &str, go: &str, shape: &Shape, value: Value) -> Result<Value, String> {
        let path = || self.path.join(".");
        let fits = match (shape, &value) {
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
            return match (shape, &value) {
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
        if fits { Ok(value) } else { Err(wrong(&value, &path(), owner, &named(owner, &self.path, go))) }
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

fn time(text: String, form: &str) -> Result<Value, String> {
    let micro = form.contains(".%6f");
    if !micro && is_written_so(text.as_bytes()) {
        return Ok(Value::String(text));
    }
    let layout = if micro { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let time: Timestamp = text.parse().map_err(|_| {
        // Go names the part at which parsing stopped; only the year is covered.
        format!("parsing time {text:?} as {layout:?}: cannot parse {text:?} as \"2006\"")
    })?;
    Ok(Value::String(time.strftime(form).to_string()))
}

/// Whether a time is as this server writes times, which is nearly always; of any other nothing is
/// said.
fn is_written_so(text: &[u8]) -> bool {
    let number = |at: usize| match text[at..at + 2] {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => (tens - b'0') * 10 + ones - b'0',
        _ => u8::MAX,
    };
    let signs = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    text.len() == 20
        && signs.iter().all(|(at, sign)| text[*at] == *sign)
        && (19..=20).contains(&number(0))
        && number(2) < 100
        && (1..=12).contains(&number(5))
        && (1..=28).contains(&number(8))
        && number(11) < 24
        && number(14) < 60
        && number(17) < 60
}

/// A number with a suffix.
fn quantity(text: &str) -> Result<Value, String> {
    canonical(text).map(Value::String).map_err(str::to_owned)
}

/// Go's name for a string type.
fn named(owner: &str, path: &[&str], go: &str) -> String {
    const NAMED: [(&str, &str, &str); 3] = [
        ("Secret", "type", "v1.SecretType"),
        ("DeploymentStrategy", "type", "v1.DeploymentStrategyType"),
        ("PodStatus", "phase", "v1.PodPhase"),
    ];
    let field = path.last().copied().unwrap_or_default();
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
        decode(TYPES.place(kind).unwrap(), value.clone())
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
    fn a_time_that_is_as_it_is_written_stays_and_others_are_written_anew() {
        for (given, written) in [
            ("2026-01-28T23:59:59Z", Some("2026-01-28T23:59:59Z")),
            ("2026-01-31T00:00:00Z", Some("2026-01-31T00:00:00Z")),
            ("2026-01-28T23:59:59.5Z", Some("2026-01-28T23:59:59Z")),
            ("2026-01-28T01:00:00+01:00", Some("2026-01-28T00:00:00Z")),
            ("2026-02-30T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-01T24:00:00Z", None),
            ("2026-01-01t00:00:0xZ", None),
        ] {
            let found = read("ObjectMeta", &json!({"creationTimestamp": given}));
            let found = found.ok().map(|found| found.value["creationTimestamp"].clone());
            assert_eq!(found.as_ref().map(|time| time.as_str().unwrap()), written, "{given}");
        }
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
