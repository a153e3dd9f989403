//! From JSON to the wire, as upstream's generated code writes it.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{ProtobufError, list_shape, wire};
use crate::api::{Field, Shape, TYPES};

type Written<T = ()> = Result<T, ProtobufError>;

/// A message of a type.
pub(super) fn message(place: usize, object: &Value) -> Written<Vec<u8>> {
    let none = Map::new();
    let mut out = Vec::new();
    group(&mut out, place, &[], object.as_object().unwrap_or(&none))?;
    Ok(out)
}

/// A list of objects.
pub(super) fn list(item: usize, list: &Value) -> Written<Vec<u8>> {
    let (meta, item) = list_shape(item);
    let mut out = Vec::new();
    single(&mut out, 1, &meta, list.get("metadata").unwrap_or(&Value::Null))?;
    for value in list.get("items").and_then(Value::as_array).into_iter().flatten() {
        single(&mut out, 2, &item, value)?;
    }
    Ok(out)
}

/// The fields whose numbers begin with `above`, in the order of their numbers.
fn group(out: &mut Vec<u8>, place: usize, above: &[u32], object: &Map<String, Value>) -> Written {
    let mut by_number: BTreeMap<u32, Option<(&String, &Field)>> = BTreeMap::new();
    for (name, field) in &TYPES.get(place).fields {
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
            // A struct that JSON flattens is never a pointer, so it is always there.
            None => {
                let mut inner = Vec::new();
                group(&mut inner, place, &[above, &[number]].concat(), object)?;
                wire::bytes(out, number, &inner);
            }
        }
    }
    Ok(())
}

fn write_field(out: &mut Vec<u8>, number: u32, field: &Field, value: Option<&Value>) -> Written {
    match (&field.shape, value) {
        (Shape::List(item), Some(Value::Array(values))) => {
            values.iter().try_for_each(|value| single(out, number, item, value))
        }
        (Shape::Map(of), Some(Value::Object(map))) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            for (key, value) in sorted {
                let mut entry = Vec::new();
                wire::text(&mut entry, 1, key);
                single(&mut entry, 2, of, value)?;
                wire::bytes(out, number, &entry);
            }
            Ok(())
        }
        (Shape::List(_) | Shape::Map(_) | Shape::Bytes, None) => Ok(()),
        (_, None) if field.pointer => Ok(()),
        (shape, None) => single(out, number, shape, &Value::Null),
        (shape, Some(value)) => single(out, number, shape, value),
    }
}

/// A value that stands alone; nothing stands for zero.
fn single(out: &mut Vec<u8>, number: u32, shape: &Shape, value: &Value) -> Written {
    let wrong = |what: &str| ProtobufError(format!("{value} is not {what}"));
    match shape {
        Shape::Bool => wire::varint(out, number, u64::from(value.as_bool().unwrap_or_default())),
        Shape::Int(..) => wire::varint(out, number, integer(value).ok_or_else(|| wrong("a whole number"))? as u64),
        Shape::Float => wire::fixed64(out, number, value.as_f64().unwrap_or_default().to_bits()),
        Shape::Text => wire::text(out, number, value.as_str().unwrap_or_default()),
        Shape::Bytes => {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).map_err(|_| wrong("base64"))?;
            wire::bytes(out, number, &bytes);
        }
        Shape::Struct(place) => {
            let inner = message(*place, value)?;
            wire::bytes(out, number, &inner);
        }
        Shape::Quantity => {
            let mut inner = Vec::new();
            let quantity = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            wire::text(&mut inner, 1, if value.is_null() { "0" } else { &quantity });
            wire::bytes(out, number, &inner);
        }
        Shape::IntOrString => {
            let mut inner = Vec::new();
            wire::varint(&mut inner, 1, u64::from(value.is_string()));
            wire::varint(&mut inner, 2, integer(value).unwrap_or_default() as u64);
            wire::text(&mut inner, 3, value.as_str().unwrap_or_default());
            wire::bytes(out, number, &inner);
        }
        Shape::Time | Shape::MicroTime => {
            let mut inner = Vec::new();
            if let Some(text) = value.as_str() {
                let time: Timestamp = text.parse().map_err(|_| wrong("a time"))?;
                wire::varint(&mut inner, 1, time.as_second() as u64);
                let nanos = if matches!(shape, Shape::MicroTime) { time.subsec_nanosecond() } else { 0 };
                wire::varint(&mut inner, 2, i64::from(nanos) as u64);
            }
            wire::bytes(out, number, &inner);
        }
        Shape::Duration => {
            let mut inner = Vec::new();
            wire::varint(&mut inner, 1, integer(value).unwrap_or_default() as u64);
            wire::bytes(out, number, &inner);
        }
        Shape::Raw => {
            let mut inner = Vec::new();
            wire::text(&mut inner, 1, &value.to_string());
            wire::bytes(out, number, &inner);
        }
        Shape::List(_) | Shape::Map(_) => return Err(wrong("a value that a list or a map can hold")),
        Shape::Own(_) | Shape::Free | Shape::Either(_) => return Err(wrong("a value that has a form in protobuf")),
    }
    Ok(())
}

fn integer(value: &Value) -> Option<i64> {
    if value.is_null() { Some(0) } else { value.as_i64() }
}
