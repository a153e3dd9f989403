//! Decodes protobuf to JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::types::protobuf::error::ProtobufError;
use crate::types::protobuf::wire::{self, Value as Wire, fields};
use crate::types::table::{FieldDeclaration, TYPES, ValueType};

/// The maximum nesting of messages, so that no body exhausts the stack.
const DEEPEST: usize = 100;

type DecodeResult<T> = Result<T, ProtobufError>;

/// Decodes a message of a type.
pub(crate) fn message(type_index: usize, bytes: &[u8]) -> DecodeResult<Map<String, Value>> {
    let mut object = Map::new();
    fill(&mut object, type_index, &[], bytes, 0)?;
    Ok(object)
}

/// Decodes a list of objects.
pub(crate) fn list(item: usize, bytes: &[u8]) -> DecodeResult<Map<String, Value>> {
    let (meta, item) = list_shape(item);
    let (mut metadata, mut items) = (json!({}), Vec::new());
    for field in fields(bytes) {
        match field? {
            (1, value) => metadata = single(&meta, value, 0)?,
            (2, value) => items.push(single(&item, value, 0)?),
            _ => {}
        }
    }
    Ok(Map::from_iter([("metadata".to_owned(), metadata), ("items".to_owned(), items.into())]))
}

/// Decodes the fields whose numbers begin with `above` into an object.
fn fill(
    object: &mut Map<String, Value>,
    type_index: usize,
    above: &[u32],
    bytes: &[u8],
    depth: usize,
) -> DecodeResult<()> {
    if depth > DEEPEST {
        return Err(ProtobufError("the messages are nested too deeply".to_owned()));
    }
    let of_type = &TYPES.get(type_index).fields;
    for field in fields(bytes) {
        let (number, value) = field?;
        let path = [above, &[number]].concat();
        if let Some((name, field)) = of_type.iter().find(|(_, field)| field.number == path) {
            read_field(object, name, field, value, depth)?;
        } else if let Wire::Bytes(inner) = value
            && of_type.values().any(|field| field.number.len() > path.len() && field.number.starts_with(&path))
        {
            fill(object, type_index, &path, inner, depth + 1)?;
        }
    }
    Ok(())
}

fn read_field(
    object: &mut Map<String, Value>,
    name: &str,
    field: &FieldDeclaration,
    value: Wire<'_>,
    depth: usize,
) -> DecodeResult<()> {
    match &field.shape {
        ValueType::List(item) => {
            let list = object.entry(name).or_insert_with(|| json!([]));
            let Value::Array(list) = list else { return Ok(()) };
            match (item.as_ref(), value) {
                (ValueType::Int(..) | ValueType::Bool, Wire::Bytes(mut packed)) => {
                    while !packed.is_empty() {
                        list.push(single(item, Wire::Varint(wire::read_varint(&mut packed)?), depth)?);
                    }
                }
                _ => list.push(single(item, value, depth)?),
            }
        }
        ValueType::Map(of) => {
            let Wire::Bytes(entry) = value else { return Err(wire_type_error(name)) };
            let (mut key, mut entry_value) = (String::new(), None);
            for field in fields(entry) {
                match field? {
                    (1, Wire::Bytes(text_of)) => key = text(text_of)?,
                    (2, value) => entry_value = Some(single(of, value, depth)?),
                    _ => {}
                }
            }
            let map = object.entry(name).or_insert_with(|| json!({}));
            map[key] = entry_value.unwrap_or_else(|| zero(of));
        }
        shape => {
            let value = single(shape, value, depth)?;
            // An empty message is an absent time.
            if !value.is_null() {
                object.insert(name.to_owned(), value);
            }
        }
    }
    Ok(())
}

/// Decodes a single value.
fn single(shape: &ValueType, value: Wire<'_>, depth: usize) -> DecodeResult<Value> {
    Ok(match (shape, value) {
        (ValueType::Bool, Wire::Varint(number)) => json!(number != 0),
        // Negative numbers have 64 bits, even for 32-bit fields.
        (ValueType::Int(least, _), Wire::Varint(number)) => match *least == i64::from(i32::MIN) {
            true => json!(number as i32),
            false => json!(number as i64),
        },
        (ValueType::Float, Wire::Fixed64(bits)) => json!(f64::from_bits(bits)),
        (ValueType::Float, Wire::Fixed32(bits)) => json!(f32::from_bits(bits)),
        (ValueType::Text, Wire::Bytes(bytes)) => json!(text(bytes)?),
        (ValueType::Bytes, Wire::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        (ValueType::Struct(type_index), Wire::Bytes(bytes)) => {
            let mut object = Map::new();
            fill(&mut object, *type_index, &[], bytes, depth + 1)?;
            Value::Object(object)
        }
        (ValueType::Quantity, Wire::Bytes(bytes)) => {
            let found = first(bytes, 1)?;
            json!(found.map_or(Ok("0".to_owned()), |value| of_bytes(value).and_then(text))?)
        }
        (ValueType::IntOrString, Wire::Bytes(bytes)) => match first(bytes, 1)? {
            Some(Wire::Varint(1)) => {
                json!(first(bytes, 3)?.map_or(Ok(String::new()), |text_of| of_bytes(text_of).and_then(text))?)
            }
            _ => json!(varint(first(bytes, 2)?) as i32),
        },
        (ValueType::Time | ValueType::MicroTime, Wire::Bytes(bytes)) => {
            if bytes.is_empty() {
                return Ok(Value::Null);
            }
            let (seconds, nanos) = (varint(first(bytes, 1)?) as i64, varint(first(bytes, 2)?) as i32);
            let time = Timestamp::new(seconds, nanos).map_err(|error| ProtobufError(error.to_string()))?;
            match shape {
                ValueType::Time => json!(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
                _ => json!(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()),
            }
        }
        (ValueType::Duration, Wire::Bytes(bytes)) => json!(varint(first(bytes, 1)?) as i64),
        (ValueType::Raw, Wire::Bytes(bytes)) => match first(bytes, 1)? {
            Some(Wire::Bytes(raw)) if !raw.is_empty() => {
                serde_json::from_slice(raw).map_err(|error| ProtobufError(error.to_string()))?
            }
            _ => Value::Null,
        },
        (ValueType::StructOrOther(object, other), Wire::Bytes(bytes)) => {
            let [of_object, of_other] = alternatives(other);
            match (first(bytes, of_object)?, &**other) {
                (Some(value), _) => single(object, value, depth)?,
                (None, ValueType::List(item)) => {
                    let values = fields(bytes).filter(|field| !matches!(field, Ok((number, _)) if *number != of_other));
                    values.map(|field| single(item, field?.1, depth)).collect::<DecodeResult<_>>()?
                }
                (None, _) => json!(varint(first(bytes, of_other)?) != 0),
            }
        }
        _ => return Err(wire_type_error("a field")),
    })
}

/// The value of a map entry that omits it.
fn zero(shape: &ValueType) -> Value {
    match shape {
        ValueType::Quantity => json!("0"),
        ValueType::Int(..) => json!(0),
        ValueType::Bool => json!(false),
        ValueType::Struct(_) => json!({}),
        _ => json!(""),
    }
}

/// The last field with a number, which is the one that counts.
fn first(message: &[u8], field_number: u32) -> DecodeResult<Option<Wire<'_>>> {
    let mut found = None;
    for field in fields(message) {
        let (number, value) = field?;
        if number == field_number {
            found = Some(value);
        }
    }
    Ok(found)
}

fn varint(value: Option<Wire<'_>>) -> u64 {
    match value {
        Some(Wire::Varint(number)) => number,
        _ => 0,
    }
}

fn of_bytes(value: Wire<'_>) -> DecodeResult<&[u8]> {
    match value {
        Wire::Bytes(bytes) => Ok(bytes),
        _ => Err(wire_type_error("a string")),
    }
}

fn wire_type_error(value_name: &str) -> ProtobufError {
    ProtobufError(format!("{value_name} has the wrong wireType"))
}

pub(crate) fn text(bytes: &[u8]) -> Result<String, ProtobufError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| ProtobufError("a string is not UTF-8".to_owned()))
}

/// The numbers of an object and of what may stand in its place. A flag comes first.
pub(crate) fn alternatives(other: &ValueType) -> [u32; 2] {
    if matches!(other, ValueType::Bool) { [2, 1] } else { [1, 2] }
}

/// The types of the metadata and of the items of a list.
pub(crate) fn list_shape(item: usize) -> (ValueType, ValueType) {
    let meta = TYPES.index_of("ListMeta").expect("the table has ListMeta");
    (ValueType::Struct(meta), ValueType::Struct(item))
}
