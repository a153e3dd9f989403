//! Encodes JSON as protobuf, like upstream's generated code.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::types::protobuf::decode::{alternatives, list_shape};
use crate::types::protobuf::error::ProtobufError;
use crate::types::protobuf::wire;
use crate::types::table::{FieldDeclaration, TYPES, ValueType};

type EncodeResult<T = ()> = Result<T, ProtobufError>;

/// Encodes a message of a type.
pub(crate) fn message(type_index: usize, object: &Value) -> EncodeResult<Vec<u8>> {
    let empty = Map::new();
    let mut out = Vec::new();
    group(&mut out, type_index, &[], object.as_object().unwrap_or(&empty))?;
    Ok(out)
}

/// Encodes a list of objects.
pub(crate) fn list(item: usize, list: &Value) -> EncodeResult<Vec<u8>> {
    let (meta, item) = list_shape(item);
    let mut out = Vec::new();
    single(&mut out, 1, &meta, list.get("metadata").unwrap_or(&Value::Null))?;
    for value in list.get("items").and_then(Value::as_array).into_iter().flatten() {
        single(&mut out, 2, &item, value)?;
    }
    Ok(out)
}

/// Encodes the fields whose numbers begin with `above`, ordered by number.
fn group(out: &mut Vec<u8>, type_index: usize, above: &[u32], object: &Map<String, Value>) -> EncodeResult {
    let mut by_number: BTreeMap<u32, Option<(&String, &FieldDeclaration)>> = BTreeMap::new();
    for (name, field) in &TYPES.get(type_index).fields {
        match field.number.strip_prefix(above) {
            Some([number]) => by_number.insert(*number, Some((name, field))),
            Some([number, ..]) => by_number.insert(*number, None),
            _ => None,
        };
    }
    for (number, field) in by_number {
        match field {
            Some((name, field)) => write_field(out, number, field, object.get(name).filter(|value| !value.is_null()))
                .map_err(|ProtobufError(why)| ProtobufError(format!("{name}: {why}")))?,
            // A struct that JSON inlines is never a pointer, so it is always present.
            None => {
                let mut inner = Vec::new();
                group(&mut inner, type_index, &[above, &[number]].concat(), object)?;
                wire::bytes(out, number, &inner);
            }
        }
    }
    Ok(())
}

fn write_field(out: &mut Vec<u8>, number: u32, field: &FieldDeclaration, value: Option<&Value>) -> EncodeResult {
    match (&field.shape, value) {
        (ValueType::List(item), Some(Value::Array(values))) => {
            values.iter().try_for_each(|value| single(out, number, item, value))
        }
        (ValueType::Map(of), Some(Value::Object(map))) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            for (key, value) in sorted {
                let mut entry = Vec::new();
                wire::text(&mut entry, 1, key);
                single(&mut entry, 2, of, value)?;
                wire::bytes(out, number, &entry);
            }
            Ok(())
        }
        (ValueType::List(_) | ValueType::Map(_) | ValueType::Bytes, None) => Ok(()),
        (_, None) if field.pointer => Ok(()),
        (shape, None) => single(out, number, shape, &Value::Null),
        (shape, Some(value)) => single(out, number, shape, value),
    }
}

/// Encodes a single value; null counts as zero.
fn single(out: &mut Vec<u8>, number: u32, shape: &ValueType, value: &Value) -> EncodeResult {
    let wrong = |what: &str| ProtobufError(format!("{value} is not {what}"));
    match shape {
        ValueType::Bool => wire::varint(out, number, u64::from(value.as_bool().unwrap_or_default())),
        ValueType::Int(..) => wire::varint(out, number, integer(value).ok_or_else(|| wrong("a whole number"))? as u64),
        ValueType::Float => wire::fixed64(out, number, value.as_f64().unwrap_or_default().to_bits()),
        ValueType::Text => wire::text(out, number, value.as_str().unwrap_or_default()),
        ValueType::Bytes => {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).map_err(|_| wrong("base64"))?;
            wire::bytes(out, number, &bytes);
        }
        ValueType::Struct(type_index) => {
            let inner = message(*type_index, value)?;
            wire::bytes(out, number, &inner);
        }
        ValueType::Quantity => {
            let mut inner = Vec::new();
            let quantity = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            wire::text(&mut inner, 1, if value.is_null() { "0" } else { &quantity });
            wire::bytes(out, number, &inner);
        }
        ValueType::IntOrString => {
            let mut inner = Vec::new();
            wire::varint(&mut inner, 1, u64::from(value.is_string()));
            wire::varint(&mut inner, 2, integer(value).unwrap_or_default() as u64);
            wire::text(&mut inner, 3, value.as_str().unwrap_or_default());
            wire::bytes(out, number, &inner);
        }
        ValueType::Time | ValueType::MicroTime => {
            let mut inner = Vec::new();
            if let Some(text) = value.as_str() {
                let time: Timestamp = text.parse().map_err(|_| wrong("a time"))?;
                wire::varint(&mut inner, 1, time.as_second() as u64);
                let nanos = if matches!(shape, ValueType::MicroTime) { time.subsec_nanosecond() } else { 0 };
                wire::varint(&mut inner, 2, i64::from(nanos) as u64);
            }
            wire::bytes(out, number, &inner);
        }
        ValueType::Duration => {
            let mut inner = Vec::new();
            wire::varint(&mut inner, 1, integer(value).unwrap_or_default() as u64);
            wire::bytes(out, number, &inner);
        }
        ValueType::Raw => {
            let mut inner = Vec::new();
            if !value.is_null() {
                wire::text(&mut inner, 1, &value.to_string());
            }
            wire::bytes(out, number, &inner);
        }
        ValueType::StructOrOther(object, other) => {
            let mut inner = Vec::new();
            let [of_object, of_other] = alternatives(other);
            match (value, &**other) {
                (Value::Object(_), ValueType::Bool) => {
                    wire::varint(&mut inner, of_other, 1);
                    single(&mut inner, of_object, object, value)?;
                }
                (Value::Object(_), _) => single(&mut inner, of_object, object, value)?,
                (Value::Array(values), ValueType::List(item)) => {
                    values.iter().try_for_each(|value| single(&mut inner, of_other, item, value))?;
                }
                (_, ValueType::List(_)) => {}
                _ => single(&mut inner, of_other, other, value)?,
            }
            wire::bytes(out, number, &inner);
        }
        ValueType::List(_) | ValueType::Map(_) => return Err(wrong("a value that a list or a map can hold")),
        ValueType::CustomStruct(_) | ValueType::CustomValue(_) | ValueType::Untyped => {
            return Err(wrong("a value that has a form in protobuf"));
        }
    }
    Ok(())
}

fn integer(value: &Value) -> Option<i64> {
    if value.is_null() { Some(0) } else { value.as_i64() }
}
