//! Validates objects by their types, as server-side apply does before it merges them.
//!
//! Upstream: `structured-merge-diff/typed` (`validatingObjectWalker`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::fields::typed::Atom;
use crate::go::format::{printed, syntax, type_name};
use crate::types::table::{FieldDeclaration, TYPES, TypeDeclaration, ValueType};

/// The message for an object that does not have the type; `None` if it has.
pub(crate) fn type_error(of: &TypeDeclaration, object: &Value, allow_duplicates: bool) -> Option<String> {
    let mut errors = Vec::new();
    let mut walker = TypeWalker { errors: &mut errors, allow_duplicates };
    walker.object(of, object, "");
    match errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(format!("errors:\n  {}", all.join("\n  "))),
    }
}

struct TypeWalker<'a> {
    errors: &'a mut Vec<String>,
    /// Whether lists may have equal items, as in an update.
    allow_duplicates: bool,
}

impl TypeWalker<'_> {
    fn push(&mut self, path: &str, why: &str) {
        self.errors.push(format!("{path}: {why}"));
    }

    fn object(&mut self, of: &TypeDeclaration, value: &Value, path: &str) {
        let Value::Object(fields) = value else { return self.expect("map", value, path) };
        for (name, value) in fields {
            let path = format!("{path}.{name}");
            match of.fields.get(name) {
                Some(field) => self.field(field, value, &path),
                None if of.open => {}
                None => self.push(&path, "field not declared in schema"),
            }
        }
    }

    fn field(&mut self, field: &FieldDeclaration, value: &Value, path: &str) {
        match (&field.shape, value) {
            (ValueType::List(item), Value::Array(items)) => {
                let atom = Atom::of(&field.shape, &field.merging);
                let mut known = BTreeSet::new();
                for (at, value) in items.iter().enumerate() {
                    let mut element = format!("[{at}]");
                    if atom.is_list() {
                        match atom.element(value) {
                            Err(why) => return self.push(path, &format!("element {at}: {why}")),
                            Ok(key) => {
                                element = key.to_string();
                                if !known.insert(key) && !self.allow_duplicates {
                                    self.push(path, &format!("duplicate entries for key {element}"));
                                }
                            }
                        }
                    }
                    self.value(item, value, &format!("{path}{element}"));
                }
            }
            (shape, value) => self.value(shape, value, path),
        }
    }

    fn value(&mut self, shape: &ValueType, value: &Value, path: &str) {
        match (shape, value) {
            (_, Value::Null) => {}
            (ValueType::CustomValue(field), value) => self.field(field, value, path),
            (ValueType::CustomStruct(of), value) => self.object(of, value, path),
            (ValueType::Struct(type_index), value) => self.object(TYPES.get(*type_index), value, path),
            (ValueType::Map(each), Value::Object(fields)) => {
                fields.iter().for_each(|(name, value)| self.value(each, value, &format!("{path}.{name}")));
            }
            (ValueType::Map(_), value) => self.expect("map", value, path),
            (ValueType::List(item), Value::Array(items)) => {
                items.iter().enumerate().for_each(|(at, value)| self.value(item, value, &format!("{path}[{at}]")));
            }
            (ValueType::List(_), value) => self.expect("list", value, path),
            (ValueType::Bool, value) if !value.is_boolean() => self.expect("boolean", value, path),
            (ValueType::Int(..) | ValueType::Float, value) if !value.is_number() => {
                self.push(path, &format!("expected numeric (int or float), got {}", type_name(value)));
            }
            (ValueType::Time, Value::Array(_) | Value::Object(_)) => self.expect("any scalar", value, path),
            (ValueType::Text | ValueType::Bytes, value) if !value.is_string() => {
                let shown = syntax(value);
                self.push(path, &format!("expected string, got &value.valueUnstructured{{Value:{shown}}}"));
            }
            _ => {}
        }
    }

    fn expect(&mut self, kind: &str, value: &Value, path: &str) {
        if !value.is_null() {
            self.push(path, &format!("expected {kind}, got &{{{}}}", printed(value)));
        }
    }
}
