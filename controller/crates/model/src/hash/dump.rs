//! A template in the format of upstream's dump: go-spew's `%#v` with sorted keys, without methods
//! and addresses.
//!
//! ```text
//! struct   {Name:(T)value Name:(T)value}       every field in declaration order, set or not;
//!                                              also inline structs and internals
//! pointer  <nil>, or the value                 in JSON: absent, or any value, also {} or ""
//! list     <nil>, or [value value]             an empty list is nil: upstream's informer reads
//!                                              protobuf, which does not distinguish them
//! map      <nil>, or map[key:value key:value]  an empty map is nil, as for lists
//! ```
//!
//! Text is written without escapes. Types are written for fields only. A JSON null counts as
//! absent.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::table::{GoFieldType, GoTypeTable};
use crate::quantity::GoQuantity;

/// The template has a field that the table does not know, or a value that no API server sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownShape;

impl From<std::fmt::Error> for UnknownShape {
    fn from(_: std::fmt::Error) -> Self {
        Self
    }
}

/// Writes a template. After an error the output is incomplete and must be discarded.
pub(super) fn dump(template: &Value, table: &GoTypeTable, out: &mut impl Write) -> Result<(), UnknownShape> {
    out.write_str("(v1.PodTemplateSpec)")?;
    Dumper { table, out }.value(table.root(), Some(template))
}

struct Dumper<'a, W> {
    table: &'a GoTypeTable,
    out: &'a mut W,
}

impl<W: Write> Dumper<'_, W> {
    fn value(&mut self, field_type: &GoFieldType, value: Option<&Value>) -> Result<(), UnknownShape> {
        let value = value.filter(|value| !value.is_null());
        match (field_type, value) {
            (GoFieldType::Bool, None) => self.out.write_str("false")?,
            (GoFieldType::Bool, Some(Value::Bool(value))) => {
                self.out.write_str(if *value { "true" } else { "false" })?;
            }
            (GoFieldType::Int32, _) => write!(self.out, "{}", int32(value)?)?,
            (GoFieldType::Int64, _) => write!(self.out, "{}", int64(value)?)?,
            (GoFieldType::Text, None) => {}
            (GoFieldType::Text, Some(Value::String(text))) => self.out.write_str(text)?,
            (GoFieldType::Quantity, _) => self.quantity(value)?,
            (GoFieldType::IntOrString, _) => self.int_or_string(value)?,
            (GoFieldType::Time, None) => {
                self.out.write_str("{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}")?;
            }
            (GoFieldType::Struct(of), None) => self.object(*of, &Map::new())?,
            (GoFieldType::Struct(of), Some(Value::Object(map))) => self.object(*of, map)?,
            (GoFieldType::Pointer(_), None) => self.out.write_str("<nil>")?,
            (GoFieldType::Pointer(pointee), Some(_)) => self.value(pointee, value)?,
            (GoFieldType::List(item), _) => self.list(item, value)?,
            (GoFieldType::Map(item), _) => self.map(item, value)?,
            _ => return Err(UnknownShape),
        }
        Ok(())
    }

    /// Writes a struct with its own JSON object, all keys of which must be known.
    fn object(&mut self, of: usize, map: &Map<String, Value>) -> Result<(), UnknownShape> {
        if self.fields(of, map)? == map.len() { Ok(()) } else { Err(UnknownShape) }
    }

    /// Writes a struct and returns how many keys of the object its fields use.
    fn fields(&mut self, of: usize, map: &Map<String, Value>) -> Result<usize, UnknownShape> {
        let table = self.table;
        let mut known = 0;
        let mut before = '{';
        for field in table.fields(of) {
            self.out.write_char(before)?;
            before = ' ';
            self.out.write_str(field.prefix)?;
            if let GoFieldType::Inline(inner) = field.field_type {
                known += self.fields(inner, map)?;
            } else {
                let value = map.get(field.key);
                known += usize::from(value.is_some());
                self.value(&field.field_type, value)?;
            }
        }
        self.out.write_char('}')?;
        Ok(known)
    }

    fn list(&mut self, item: &GoFieldType, value: Option<&Value>) -> Result<(), UnknownShape> {
        let Some(items) =
            value.map(|value| value.as_array().ok_or(UnknownShape)).transpose()?.filter(|all| !all.is_empty())
        else {
            return Ok(self.out.write_str("<nil>")?);
        };
        let mut before = '[';
        for value in items {
            self.out.write_char(before)?;
            before = ' ';
            self.value(item, Some(value))?;
        }
        Ok(self.out.write_char(']')?)
    }

    fn map(&mut self, item: &GoFieldType, value: Option<&Value>) -> Result<(), UnknownShape> {
        let Some(map) =
            value.map(|value| value.as_object().ok_or(UnknownShape)).transpose()?.filter(|all| !all.is_empty())
        else {
            return Ok(self.out.write_str("<nil>")?);
        };
        let mut entries: Vec<(&String, &Value)> = map.iter().collect();
        entries.sort_unstable_by_key(|(key, _)| *key);
        let mut before = "map[";
        for (key, value) in entries {
            self.out.write_str(before)?;
            before = " ";
            self.out.write_str(key)?;
            self.out.write_char(':')?;
            self.value(item, Some(value))?;
        }
        Ok(self.out.write_char(']')?)
    }

    /// An absent quantity is zero, which upstream reads as `0` too.
    fn quantity(&mut self, value: Option<&Value>) -> Result<(), UnknownShape> {
        let number;
        let text = match value {
            None => "0",
            Some(Value::String(text)) => text,
            Some(Value::Number(value)) if !value.is_f64() => {
                number = value.to_string();
                &number
            }
            Some(_) => return Err(UnknownShape),
        };
        GoQuantity::parse(text).ok_or(UnknownShape)?.dump(self.out)?;
        Ok(())
    }

    fn int_or_string(&mut self, value: Option<&Value>) -> Result<(), UnknownShape> {
        if let Some(Value::String(text)) = value {
            write!(self.out, "{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){text}}}")?;
        } else {
            write!(self.out, "{{Type:(intstr.Type)0 IntVal:(int32){} StrVal:(string)}}", int32(value)?)?;
        }
        Ok(())
    }
}

fn int64(value: Option<&Value>) -> Result<i64, UnknownShape> {
    value.map_or(Ok(0), |value| value.as_i64().ok_or(UnknownShape))
}

fn int32(value: Option<&Value>) -> Result<i32, UnknownShape> {
    i32::try_from(int64(value)?).map_err(|_| UnknownShape)
}
