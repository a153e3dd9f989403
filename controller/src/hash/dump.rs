//! A template as upstream's dump writes it: go-spew's `%#v`, keys sorted, methods and addresses
//! off.
//!
//! ```text
//! struct   {Name:(T)value Name:(T)value}       every field in its order, set or not; inline structs and internals too
//! pointer  <nil>, or what it points to         in JSON: absent, or a value, be it {} or ""
//! list     <nil>, or [value value]             an empty one is nil: upstream's informer reads protobuf, which has no other
//! map      <nil>, or map[key:value key:value]  as lists
//! ```
//!
//! Text is written raw. Types are written for fields only. A JSON null is an absent value.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::quantity::Quantity;
use super::table::{Form, Table};

/// The template has something that the table does not know, or that no API server sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown;

impl From<std::fmt::Error> for Unknown {
    fn from(_: std::fmt::Error) -> Self {
        Self
    }
}

/// Writes a template out; what has been written is worthless if it fails.
pub(super) fn dump(template: &Value, table: &Table, out: &mut impl Write) -> Result<(), Unknown> {
    out.write_str("(v1.PodTemplateSpec)")?;
    Dump { table, out }.value(table.root(), Some(template))
}

struct Dump<'a, W> {
    table: &'a Table,
    out: &'a mut W,
}

impl<W: Write> Dump<'_, W> {
    fn value(&mut self, form: &Form, value: Option<&Value>) -> Result<(), Unknown> {
        let value = value.filter(|value| !value.is_null());
        match (form, value) {
            (Form::Bool, None) => self.out.write_str("false")?,
            (Form::Bool, Some(Value::Bool(value))) => self.out.write_str(if *value { "true" } else { "false" })?,
            (Form::Int32, _) => write!(self.out, "{}", int32(value)?)?,
            (Form::Int64, _) => write!(self.out, "{}", int64(value)?)?,
            (Form::Text, None) => {}
            (Form::Text, Some(Value::String(text))) => self.out.write_str(text)?,
            (Form::Quantity, _) => self.quantity(value)?,
            (Form::IntOrString, _) => self.int_or_string(value)?,
            (Form::Time, None) => {
                self.out.write_str("{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}")?;
            }
            (Form::Struct(of), None) => self.object(*of, &Map::new())?,
            (Form::Struct(of), Some(Value::Object(map))) => self.object(*of, map)?,
            (Form::Pointer(_), None) => self.out.write_str("<nil>")?,
            (Form::Pointer(pointee), Some(_)) => self.value(pointee, value)?,
            (Form::List(item), _) => self.list(item, value)?,
            (Form::Map(item), _) => self.map(item, value)?,
            _ => return Err(Unknown),
        }
        Ok(())
    }

    /// A struct that has a JSON object of its own; every key of it must be known.
    fn object(&mut self, of: usize, map: &Map<String, Value>) -> Result<(), Unknown> {
        if self.fields(of, map)? == map.len() { Ok(()) } else { Err(Unknown) }
    }

    /// Writes a struct and returns how many keys of the object it has accounted for.
    fn fields(&mut self, of: usize, map: &Map<String, Value>) -> Result<usize, Unknown> {
        let table = self.table;
        let mut known = 0;
        let mut before = '{';
        for field in table.fields(of) {
            self.out.write_char(before)?;
            before = ' ';
            self.out.write_str(field.prefix)?;
            if let Form::Inline(inner) = field.form {
                known += self.fields(inner, map)?;
            } else {
                let value = map.get(field.key);
                known += usize::from(value.is_some());
                self.value(&field.form, value)?;
            }
        }
        self.out.write_char('}')?;
        Ok(known)
    }

    fn list(&mut self, item: &Form, value: Option<&Value>) -> Result<(), Unknown> {
        let Some(items) = value.map(|value| value.as_array().ok_or(Unknown)).transpose()?.filter(|all| !all.is_empty())
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

    fn map(&mut self, item: &Form, value: Option<&Value>) -> Result<(), Unknown> {
        let Some(map) = value.map(|value| value.as_object().ok_or(Unknown)).transpose()?.filter(|all| !all.is_empty())
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

    /// Absent is zero, which upstream reads as `0` too.
    fn quantity(&mut self, value: Option<&Value>) -> Result<(), Unknown> {
        let number;
        let text = match value {
            None => "0",
            Some(Value::String(text)) => text,
            Some(Value::Number(value)) if !value.is_f64() => {
                number = value.to_string();
                &number
            }
            Some(_) => return Err(Unknown),
        };
        Quantity::parse(text).ok_or(Unknown)?.dump(self.out)?;
        Ok(())
    }

    fn int_or_string(&mut self, value: Option<&Value>) -> Result<(), Unknown> {
        if let Some(Value::String(text)) = value {
            write!(self.out, "{{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string){text}}}")?;
        } else {
            write!(self.out, "{{Type:(intstr.Type)0 IntVal:(int32){} StrVal:(string)}}", int32(value)?)?;
        }
        Ok(())
    }
}

fn int64(value: Option<&Value>) -> Result<i64, Unknown> {
    value.map_or(Ok(0), |value| value.as_i64().ok_or(Unknown))
}

fn int32(value: Option<&Value>) -> Result<i32, Unknown> {
    i32::try_from(int64(value)?).map_err(|_| Unknown)
}
