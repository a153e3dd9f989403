//! Validation of a custom resource by its schema, in the words of upstream's validators.
//!
//! On an update what is wrong but unchanged is no error, as far as old and new values can be paired:
//! fields by their name, items of a list of the type `map` by their keys.
//!
//! Upstream: `kube-openapi/pkg/validation/validate`, and the ratcheting of `apiserver/validation`.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use super::schema::Schema;
use crate::field::FieldError;

/// What is wrong with a value. `path` is the path in messages, `prefix` the part of the field's path
/// that messages leave out; `old` is the value before an update.
pub(super) fn check(schema: &Schema, new: &Value, old: Option<&Value>, prefix: &str, path: &str) -> Vec<FieldError> {
    let place = Place { prefix, path };
    let mut errors = Vec::new();
    if let Some(wrong) = place.of_type(schema, new) {
        errors.push(wrong);
    }
    if !new.is_null() {
        place.combined(schema, new, old, &mut errors);
        match new {
            Value::String(text) => errors.extend(place.text(schema, text)),
            Value::Number(number) => errors.extend(place.number(schema, number)),
            Value::Array(items) => place.items(schema, items, old, &mut errors),
            _ => {}
        }
    }
    if !schema.choices.is_empty() && !schema.choices.contains(new) {
        let shown: Vec<String> = schema.choices.iter().map(plain).collect();
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        errors.push(FieldError::unsupported(&place.field(), new.clone(), &shown));
    }
    if let Value::Object(fields) = new {
        place.fields(schema, fields, old, &mut errors);
    }
    // What has not changed may stay.
    if old == Some(new) { Vec::new() } else { errors }
}

struct Place<'a> {
    prefix: &'a str,
    path: &'a str,
}

impl Place<'_> {
    /// The path of a field's error.
    fn field(&self) -> String {
        self.below(self.path.trim_start_matches('.'))
    }

    fn below(&self, path: &str) -> String {
        match (self.prefix, path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        }
    }

    fn invalid(&self, value: impl Into<Value>, what: &str) -> FieldError {
        FieldError::invalid(&self.field(), value, format!("{} in body {what}", self.path))
    }

    fn of_type(&self, schema: &Schema, value: &Value) -> Option<FieldError> {
        let types = schema.types();
        if types.is_empty() {
            return None;
        }
        let wanted = |name: &str| types.split(',').any(|one| one == name);
        let found = kind_of(value);
        // A string of a format is the format's to judge.
        let by_format = !(wanted("number") || wanted("integer") || schema.format.is_empty());
        let fits = match value {
            Value::Null => schema.nullable,
            Value::String(_) | Value::Array(_) if by_format => true,
            Value::Number(number) => {
                wanted(found)
                    || number.is_f64() && whole(number) && wanted("integer")
                    || !number.is_f64() && wanted("number")
            }
            _ => wanted(found),
        };
        // Of what has a format, other than strings and lists, upstream compares the formats.
        let (types, found) = match value {
            Value::Number(number) if !schema.format.is_empty() => {
                (schema.format.as_str(), if number.is_f64() { "float64" } else { "int64" })
            }
            Value::Bool(_) | Value::Object(_) if !schema.format.is_empty() => (schema.format.as_str(), ""),
            _ => (types, found),
        };
        (!fits).then(|| {
            let why = format!("{} in body must be of type {types}: {found:?}", self.path);
            FieldError::wrong_type(&self.field(), found, why)
        })
    }

    fn text(&self, schema: &Schema, text: &str) -> Vec<FieldError> {
        let numbers = &schema.numbers;
        let length = text.chars().count();
        let mut errors = Vec::new();
        if let Some(most) = numbers.max_length.filter(|most| length > *most) {
            errors.push(FieldError::too_long(&self.field(), most));
        } else if let Some(least) = numbers.min_length.filter(|least| length < *least) {
            errors.push(self.invalid(text, &format!("should be at least {least} chars long")));
        } else if let Some((pattern, regex)) = schema.pattern.as_ref().filter(|(_, regex)| !regex.is_match(text)) {
            let _ = regex;
            errors.push(self.invalid(text, &format!("should match '{pattern}'")));
        }
        if !has_format(&schema.format, text) {
            let why = format!("{} in body must be of type {}: {text:?}", self.path, schema.format);
            errors.push(FieldError::wrong_type(&self.field(), text, why));
        }
        errors
    }

    fn number(&self, schema: &Schema, number: &serde_json::Number) -> Vec<FieldError> {
        let numbers = &schema.numbers;
        let Some(value) = number.as_f64() else { return Vec::new() };
        let mut errors = Vec::new();
        let number = Value::Number(number.clone());
        let range = match schema.format.as_str() {
            "int32" => value.fract() != 0.0 || value < f64::from(i32::MIN) || value > f64::from(i32::MAX),
            "int64" => value.fract() != 0.0,
            _ => false,
        };
        if range {
            let why = format!(
                "Checked value must be of type {} with format {} in {}",
                schema.of_type, schema.format, self.path
            );
            errors.push(FieldError::invalid("<nil>", "", why));
        }
        if let Some(factor) = numbers.multiple_of {
            let quotient = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            if (quotient - quotient.round()).abs() > 1e-9 {
                errors.push(self.invalid(number.clone(), &format!("should be a multiple of {factor}")));
            }
        }
        if let Some(least) = numbers.minimum.filter(|least| value < *least || numbers.above && value <= *least) {
            let than = if numbers.above { "greater than" } else { "greater than or equal to" };
            errors.push(self.invalid(number.clone(), &format!("should be {than} {least}")));
        }
        if let Some(most) = numbers.maximum.filter(|most| value > *most || numbers.below && value >= *most) {
            let than = if numbers.below { "less than" } else { "less than or equal to" };
            errors.push(self.invalid(number, &format!("should be {than} {most}")));
        }
        errors
    }

    fn items(&self, schema: &Schema, items: &[Value], old: Option<&Value>, errors: &mut Vec<FieldError>) {
        if let Some(of) = &schema.items {
            for (at, item) in items.iter().enumerate() {
                let before = old.and_then(|old| paired(schema, old, item));
                errors.extend(check(of, item, before, self.prefix, &format!("{}[{at}]", self.path)));
            }
        }
        let size = items.len();
        if let Some(least) = schema.numbers.min_items.filter(|least| size < *least) {
            errors.push(self.invalid(size, &format!("should have at least {least} items")));
        }
        if let Some(most) = schema.numbers.max_items.filter(|most| size > *most) {
            errors.push(FieldError::too_many(&self.field(), size, most));
        }
    }

    fn fields(
        &self,
        schema: &Schema,
        fields: &serde_json::Map<String, Value>,
        old: Option<&Value>,
        errors: &mut Vec<FieldError>,
    ) {
        let size = fields.len();
        if let Some(least) = schema.numbers.min_properties.filter(|least| size < *least) {
            errors.push(self.invalid(size, &format!("should have at least {least} properties")));
        }
        if let Some(most) = schema.numbers.max_properties.filter(|most| size > *most) {
            errors.push(FieldError::too_many(&self.field(), size, most));
        }
        for (name, value) in fields {
            let before = old.and_then(|old| old.get(name));
            let path = match (schema.properties.contains_key(name), self.path) {
                (true, "") => name.clone(),
                (_, path) => format!("{path}.{name}"),
            };
            if let Some(of) = schema.property(name) {
                errors.extend(check(of, value, before, self.prefix, &path));
            }
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            let path = format!("{}.{name}", self.path);
            errors.push(FieldError::required(&self.below(path.trim_start_matches('.')), ""));
        }
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`.
    fn combined(&self, schema: &Schema, new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
        let tried = |one: &Schema| check(one, new, old.filter(|old| *old != new), self.prefix, self.path);
        let said = |what: String| FieldError::invalid("<nil>", "", what);
        let path = self.path;
        if !schema.any_of.is_empty() {
            let all: Vec<Vec<FieldError>> = schema.any_of.iter().map(tried).collect();
            if all.iter().all(|wrong| !wrong.is_empty()) {
                errors.push(said(format!("{path:?} must validate at least one schema (anyOf)")));
                errors.extend(all.into_iter().min_by_key(Vec::len).unwrap_or_default());
            }
        }
        if !schema.one_of.is_empty() {
            let all: Vec<Vec<FieldError>> = schema.one_of.iter().map(tried).collect();
            match all.iter().filter(|wrong| wrong.is_empty()).count() {
                1 => {}
                0 => {
                    errors.push(said(format!(
                        "{path:?} must validate one and only one schema (oneOf). Found none valid"
                    )));
                    errors.extend(all.into_iter().min_by_key(Vec::len).unwrap_or_default());
                }
                more => errors.push(said(format!(
                    "{path:?} must validate one and only one schema (oneOf). Found {more} valid alternatives"
                ))),
            }
        }
        if !schema.all_of.is_empty() {
            let all: Vec<Vec<FieldError>> = schema.all_of.iter().map(tried).collect();
            let valid = all.iter().filter(|wrong| wrong.is_empty()).count();
            let none = if valid == 0 { ". None validated" } else { "" };
            let whole = valid == all.len();
            errors.extend(all.into_iter().flatten());
            if !whole {
                errors.push(said(format!("{path:?} must validate all the schemas (allOf){none}")));
            }
        }
        if schema.not.as_ref().is_some_and(|not| tried(not).is_empty()) {
            errors.push(said(format!("{path:?} must not validate the schema (not)")));
        }
    }
}

/// The item of an old list that is the same one: of a list of the type `map`, that with equal keys.
pub(super) fn paired<'a>(schema: &Schema, old: &'a Value, item: &Value) -> Option<&'a Value> {
    if schema.list_type != "map" {
        return None;
    }
    let keys = keys_of(schema, item);
    old.as_array()?.iter().find(|one| keys_of(schema, one) == keys)
}

/// The keys of an item, with their defaults.
pub(super) fn keys_of(schema: &Schema, item: &Value) -> Value {
    let default = |name: &String| schema.items.as_ref()?.properties.get(name)?.default.clone();
    let value = |name: &String| Some((name.clone(), item.get(name).cloned().or_else(|| default(name))?));
    Value::Object(schema.keys.iter().filter_map(value).collect())
}

/// A type's name in JSON schema.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn whole(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether a text has a format; a format that is not checked fits all.
fn has_format(format: &str, text: &str) -> bool {
    match format {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => duration(text),
        "uuid" => {
            let plain = text.replace('-', "");
            plain.len() == 32 && plain.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "email" => text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty()),
        "uri" => text.contains(':') || text.starts_with('/'),
        _ => true,
    }
}

/// A duration of Go's: `1h30m`.
fn duration(text: &str) -> bool {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return true;
    }
    let mut found = false;
    while !rest.is_empty() {
        let unit = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        if unit.len() == rest.len() {
            return false;
        }
        let next = unit.trim_start_matches(char::is_alphabetic);
        let name = &unit[..unit.len() - next.len()];
        if !["ns", "us", "µs", "ms", "s", "m", "h", "d", "w"].contains(&name) {
            return false;
        }
        (rest, found) = (next, true);
    }
    found
}
