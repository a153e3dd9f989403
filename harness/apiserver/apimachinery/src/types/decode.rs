//! Decodes a body as a type: keeps known fields of the right types, drops empty ones as Go's
//! `omitempty` does, and collects the paths of unknown fields.

use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value};

use crate::go::json_errors::base64_error;
use crate::go::time;
use crate::types::quantity::canonical;
use crate::types::table::{FieldDeclaration, TYPES, ValueType, bare};

/// A decoded object, as the server encodes it.
#[derive(Debug, PartialEq)]
pub struct DecodedValue {
    /// The decoded value.
    pub value: Value,
    /// The paths of unknown fields, which are dropped.
    pub unknown: Vec<String>,
}

/// Decodes a value as a type, given by its index in the table.
///
/// # Errors
/// The decoder's message for a value of the wrong type.
pub fn decode(type_index: usize, value: Value) -> Result<DecodedValue, String> {
    read(type_index, value, false)
}

/// Decodes the result of a strategic merge patch: upstream uses another decoder there, with other
/// messages, and numbers overflow.
///
/// # Errors
/// The message for a value of the wrong type.
pub fn decode_loosely(type_index: usize, value: Value) -> Result<DecodedValue, String> {
    read(type_index, value, true)
}

fn read(type_index: usize, value: Value, loose: bool) -> Result<DecodedValue, String> {
    let mut reader = TypeDecoder { loose, path: Vec::new(), list_indices: Vec::new(), unknown: Vec::new() };
    let value = reader.object("", &TYPES.get(type_index).name, type_index, value)?;
    Ok(DecodedValue { value, unknown: reader.unknown })
}

/// Restores the empty lists and maps that decoding a value as a type dropped.
pub fn restore_empty(type_index: usize, given: &Value, decoded: &mut Value) {
    let (Value::Object(given), Value::Object(decoded)) = (given, decoded) else { return };
    for (name, given) in given {
        let Some((_, field)) = declared(type_index, name) else { continue };
        let is_empty = match (&field.shape, given) {
            (ValueType::List(_), Value::Array(items)) => items.is_empty(),
            (ValueType::Map(_), Value::Object(fields)) => fields.is_empty(),
            _ => false,
        };
        match (decoded.get_mut(name), &field.shape) {
            (None, _) if is_empty => drop(decoded.insert(name.clone(), given.clone())),
            (Some(decoded), ValueType::Struct(type_index)) => restore_empty(*type_index, given, decoded),
            (Some(Value::Array(decoded)), ValueType::List(item)) => {
                let ValueType::Struct(type_index) = **item else { continue };
                let items = given.as_array().into_iter().flatten().zip(decoded);
                items.for_each(|(given, decoded)| restore_empty(type_index, given, decoded));
            }
            _ => {}
        }
    }
}

/// The fields of a type, as decoding looks them up.
struct FieldLookup {
    /// All, sorted by the length of their names, then by name. Comparing lengths decides most steps
    /// of a binary search, and each write needs hundreds of searches.
    by_length: Vec<(&'static str, &'static FieldDeclaration)>,
    /// The few that are encoded even if absent.
    encoded_when_absent: Vec<(&'static str, &'static FieldDeclaration)>,
}

/// The fields of each type, by its index, once they have been looked up.
static LOOKUPS: LazyLock<Vec<OnceLock<FieldLookup>>> =
    LazyLock::new(|| std::iter::repeat_with(OnceLock::new).take(TYPES.len()).collect());

fn fields_of(type_index: usize) -> &'static FieldLookup {
    LOOKUPS[type_index].get_or_init(|| {
        let fields = &TYPES.get(type_index).fields;
        let mut by_length: Vec<_> = fields.iter().map(|(name, field)| (name.as_str(), field)).collect();
        by_length.sort_by_key(|(name, _)| (name.len(), *name));
        let encoded_when_absent = fields.iter().filter(|(_, field)| field.is_encoded_when_absent());
        let encoded_when_absent = encoded_when_absent.map(|(name, field)| (name.as_str(), field)).collect();
        FieldLookup { by_length, encoded_when_absent }
    })
}

fn declared(type_index: usize, name: &str) -> Option<(&'static str, &'static FieldDeclaration)> {
    let fields = &fields_of(type_index).by_length;
    let found = fields.binary_search_by(|(one, _)| one.len().cmp(&name.len()).then_with(|| (*one).cmp(name)));
    found.ok().map(|at| fields[at])
}

impl FieldDeclaration {
    /// Whether the field is encoded even if absent.
    fn is_encoded_when_absent(&self) -> bool {
        match self.pointer || self.omit_zero {
            true => !(self.omit_empty || self.omit_zero),
            false => {
                let is_struct = matches!(
                    self.shape,
                    ValueType::Struct(_) | ValueType::Time | ValueType::MicroTime | ValueType::Quantity
                );
                !self.omit_empty || is_struct
            }
        }
    }
}

struct TypeDecoder {
    loose: bool,
    path: Vec<&'static str>,
    /// The list indices on the path: the number of path elements before each, and the index.
    list_indices: Vec<(usize, usize)>,
    unknown: Vec<String>,
}

impl TypeDecoder {
    /// Decodes a struct in place: kept fields are not moved.
    fn object(&mut self, owner: &str, go: &str, type_index: usize, value: Value) -> Result<Value, String> {
        let mut fields = match value {
            Value::Null => Map::new(),
            Value::Object(fields) => fields,
            other if self.loose => return Err(format!("cannot restore struct from: {}", go_kind(&other))),
            other => return Err(type_error(&other, &self.path.join("."), owner, go)),
        };
        let mut left_out = Vec::new();
        for (name, value) in &mut fields {
            let Some((declared_name, field)) = declared(type_index, name) else {
                let path = self.field_path(name);
                self.unknown.push(path);
                left_out.push(name.clone());
                continue;
            };
            let mut read = None;
            if !value.is_null() {
                self.path.push(declared_name);
                read = self.field(&TYPES.get(type_index).name, field, value.take())?;
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
        for (name, field) in &fields_of(type_index).encoded_when_absent {
            if !fields.contains_key(*name)
                && let Some(zero) = self.absent(field)?
            {
                fields.insert((*name).to_owned(), zero);
            }
        }
        Ok(Value::Object(fields))
    }

    /// The path of a field, with list indices.
    fn field_path(&self, name: &str) -> String {
        let mut path = String::new();
        for (step, part) in self.path.iter().enumerate() {
            path += part;
            for (_, at) in self.list_indices.iter().filter(|(steps, _)| *steps == step + 1) {
                path += &format!("[{at}]");
            }
            path.push('.');
        }
        path + name
    }

    /// The encoding of an absent or null field.
    fn absent(&mut self, field: &FieldDeclaration) -> Result<Option<Value>, String> {
        if field.pointer || field.omit_zero {
            return Ok(if field.omit_empty || field.omit_zero { None } else { Some(Value::Null) });
        }
        // A quantity is a struct with a text of its own, so `omitempty` does not omit it.
        if matches!(field.shape, ValueType::Quantity) {
            return Ok(Some(zero(&field.shape)));
        }
        // An absent time is encoded as null, except with `omitzero`.
        if matches!(field.shape, ValueType::Time | ValueType::MicroTime) {
            return Ok(Some(Value::Null));
        }
        if let ValueType::Struct(type_index) = field.shape {
            return self.object("", "", type_index, Value::Null).map(Some);
        }
        Ok((!field.omit_empty).then(|| zero(&field.shape)))
    }

    fn field(&mut self, owner: &str, field: &FieldDeclaration, value: Value) -> Result<Option<Value>, String> {
        let read = self.value(owner, &field.go, &field.shape, value)?;
        let empty = match &read {
            Value::Object(fields) if !matches!(field.shape, ValueType::Struct(_)) => fields.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::String(text) => text.is_empty(),
            Value::Bool(set) => !set,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::Null => true,
            Value::Object(_) => false,
        };
        let plain = matches!(
            field.shape,
            ValueType::IntOrString
                | ValueType::Quantity
                | ValueType::Time
                | ValueType::MicroTime
                | ValueType::Raw
                | ValueType::StructOrOther(..)
        ) || matches!(&field.shape, ValueType::Map(of) if matches!(**of, ValueType::StructOrOther(..)));
        let left_out = (field.omit_empty && !field.pointer && empty && !plain)
            || (field.omit_zero && matches!(&read, Value::Object(fields) if fields.is_empty()));
        Ok((!left_out).then_some(read))
    }

    fn value(&mut self, owner: &str, go: &str, shape: &ValueType, value: Value) -> Result<Value, String> {
        match (shape, value) {
            (_, Value::Null) => Ok(zero(shape)),
            (ValueType::StructOrOther(object, _), value @ Value::Object(_)) => self.value(owner, go, object, value),
            (ValueType::StructOrOther(_, others), value @ Value::Array(_)) if matches!(&**others, ValueType::List(item) if matches!(**item, ValueType::Struct(_))) => {
                self.value(owner, go, others, value)
            }
            (ValueType::Struct(type_index), value) => self.object(owner, go, *type_index, value),
            (ValueType::List(item), Value::Array(mut items)) => {
                let go = go.strip_prefix("[]").unwrap_or(go);
                for (at, value) in items.iter_mut().enumerate() {
                    self.list_indices.push((self.path.len(), at));
                    *value = self.value(owner, go, item, value.take())?;
                    self.list_indices.pop();
                }
                Ok(Value::Array(items))
            }
            (ValueType::Map(item), Value::Object(mut fields)) => {
                let go = go.strip_prefix("map:").unwrap_or(go);
                for (_, value) in &mut fields {
                    *value = self.value(owner, go, item, value.take())?;
                }
                Ok(Value::Object(fields))
            }
            (ValueType::Time, Value::String(text)) => decode_time(text, time::RFC3339),
            (ValueType::MicroTime, Value::String(text)) => decode_time(text, time::RFC3339_MICRO),
            (_, value) => self.scalar(owner, go, shape, value),
        }
    }

    /// Decodes a scalar without an encoding of its own.
    fn scalar(&self, owner: &str, go: &str, shape: &ValueType, value: Value) -> Result<Value, String> {
        let path = || self.path.join(".");
        let fits = match (shape, &value) {
            (ValueType::Quantity, Value::Number(number)) => return quantity(&number.to_string()),
            (ValueType::Quantity, Value::String(text)) => return quantity(text),
            (ValueType::Bytes, Value::String(text)) => match base64_error(text) {
                Some(at) => {
                    let from = if self.loose { "error decoding from json: " } else { "" };
                    return Err(format!("{from}illegal base64 data at input byte {at}"));
                }
                None => true,
            },
            (ValueType::IntOrString, Value::String(_)) => true,
            (ValueType::IntOrString, other) => {
                let fits = other.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
                if !fits {
                    // In a merged patch the type has a decoder of its own, which does not know the
                    // path.
                    let type_index = if self.loose { String::new() } else { path() };
                    return Err(type_error(other, &type_index, owner, "int32"));
                }
                true
            }
            (ValueType::Bool, Value::Bool(_))
            | (ValueType::Float, Value::Number(_))
            | (ValueType::Text | ValueType::Duration, Value::String(_))
            | (ValueType::Raw | ValueType::StructOrOther(..), _) => true,
            (ValueType::Int(least, most), Value::Number(number)) => {
                number.as_i64().is_some_and(|number| (*least..=*most).contains(&number))
            }
            _ => false,
        };
        if !fits && self.loose {
            return match (shape, &value) {
                (ValueType::Map(_), other) => Err(format!("cannot restore map from {}", go_kind(other))),
                (ValueType::List(_) | ValueType::Bytes, other) => {
                    Err(format!("cannot restore slice from {}", go_kind(other)))
                }
                (ValueType::Int(least, _), Value::Number(number))
                    if number.is_i64() && *least == i64::from(i32::MIN) =>
                {
                    // Go truncates here.
                    #[expect(clippy::cast_possible_truncation, reason = "that is what upstream does")]
                    let cut = number.as_i64().unwrap_or(0) as i32;
                    Ok(cut.into())
                }
                // Go could convert integers to text and truncate floats; upstream does neither.
                (ValueType::Text, Value::Number(number)) if number.is_i64() => {
                    Err(format!("cannot convert int64 to {}", go_string_type(owner, &self.path, go)))
                }
                (ValueType::Int(..), Value::Number(_)) => Err(format!("cannot convert float64 to {go}")),
                (ValueType::Text | ValueType::Bool | ValueType::Int(..) | ValueType::Float, _) => {
                    Err(format!("unrecognized type: {go}"))
                }
                (_, other) => Err(type_error(other, &path(), owner, go)),
            };
        }
        if fits { Ok(value) } else { Err(type_error(&value, &path(), owner, &go_string_type(owner, &self.path, go))) }
    }
}

/// An empty value.
fn zero(shape: &ValueType) -> Value {
    match shape {
        ValueType::Bool => Value::Bool(false),
        ValueType::Int(..) | ValueType::IntOrString | ValueType::Duration => Value::from(0),
        ValueType::Float => Value::from(0.0),
        ValueType::Text => Value::String(String::new()),
        ValueType::Quantity => Value::String("0".to_owned()),
        _ => Value::Null,
    }
}

/// Decodes a time as the server encodes it: in UTC, and null if it is Go's zero time. Upstream:
/// `Time.UnmarshalJSON`, `MicroTime.UnmarshalJSON`.
fn decode_time(text: String, layout: &str) -> Result<Value, String> {
    let micro = layout == time::RFC3339_MICRO;
    if !micro && is_canonical_time(text.as_bytes()) {
        return Ok(Value::String(text));
    }
    let parsed = time::parse(layout, &text)?;
    if time::is_zero(parsed) {
        return Ok(Value::Null);
    }
    let form = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(Value::String(parsed.strftime(form).to_string()))
}

/// Whether a text is a time in the format that this server writes, which nearly all are. For any
/// other text `false` is correct but slower.
fn is_canonical_time(text: &[u8]) -> bool {
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

/// Decodes a quantity.
fn quantity(text: &str) -> Result<Value, String> {
    canonical(text).map(Value::String).map_err(str::to_owned)
}

/// Go's name of the type of a string or of a list of strings.
fn go_string_type(owner: &str, path: &[&str], go: &str) -> String {
    let field = path.last().copied().unwrap_or_default();
    let declared = TYPES.index_of(owner).and_then(|type_index| TYPES.get(type_index).fields.get(field));
    match (declared.and_then(|field| field.go_name.as_deref()), go) {
        (Some(named), "string") => named.to_owned(),
        (Some(named), "[]string") => format!("[]{named}"),
        _ => go.to_owned(),
    }
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

fn type_error(value: &Value, path: &str, owner: &str, go: &str) -> String {
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
        go if bare(go).starts_with(|c: char| c.is_ascii_uppercase()) && !owner.is_empty() => match TYPES.index_of(go) {
            Some(type_index) => format!("{}.{}", bare(&TYPES.get(type_index).package), bare(go)),
            None => go.to_owned(),
        },
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

/// Encodes a value as JSON. `Display` gives the same text, but slowly through a formatter.
pub fn to_json_bytes(value: &Value) -> Vec<u8> {
    let mut text = Vec::with_capacity(128);
    append_json(&mut text, value);
    text
}

/// Appends a value as JSON. It is not generic, so that development builds optimise it: this crate
/// is optimised there, and those that call it are not.
pub fn append_json(text: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(text, value).expect("the keys of a JSON value are strings");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(kind: &str, value: &Value) -> Result<DecodedValue, String> {
        decode(TYPES.index_of(kind).unwrap(), value.clone())
    }

    #[test]
    fn omits_empty_optional_fields_and_keeps_required_ones() {
        let status =
            read("ReplicaSetStatus", &json!({"readyReplicas": 0, "conditions": [], "terminatingReplicas": 0})).unwrap();
        assert_eq!(status.value, json!({"replicas": 0, "terminatingReplicas": 0}));
        let container = read("Container", &json!({"name": "app"})).unwrap();
        assert_eq!(container.value, json!({"name": "app", "resources": {}}));
    }

    #[test]
    fn restores_empty_lists_and_maps_of_known_fields() {
        let given = json!({"podSelector": {"matchLabels": {}}, "egress": [], "odd": [],
            "ingress": [{"ports": []}, {"from": [{"podSelector": {"matchExpressions": []}, "ipBlock": null}], "odd": {}}]});
        let mut decoded = read("NetworkPolicySpec", &given).unwrap().value;
        assert_eq!(decoded, json!({"podSelector": {}, "ingress": [{}, {"from": [{"podSelector": {}}]}]}));
        restore_empty(TYPES.index_of("NetworkPolicySpec").unwrap(), &given, &mut decoded);
        assert_eq!(
            decoded,
            json!({"podSelector": {"matchLabels": {}}, "egress": [],
                "ingress": [{"ports": []}, {"from": [{"podSelector": {"matchExpressions": []}}]}]})
        );
    }

    #[test]
    fn normalizes_times_that_are_not_in_canonical_form() {
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
    fn drops_and_reports_unknown_fields() {
        let found = read("Deployment", &json!({"spec": {"replicas": 2, "replica": 3}})).unwrap();
        assert_eq!(found.unknown, ["spec.replica"]);
        assert_eq!(found.value.pointer("/spec/replicas"), Some(&json!(2)));
        assert_eq!(found.value.pointer("/spec/replica"), None);
    }

    #[test]
    fn reports_path_of_value_of_wrong_type() {
        let path = read("Deployment", &json!({"spec": {"replicas": "three"}})).unwrap_err();
        assert_eq!(
            path,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
        );
    }
}
