//! Validation of a custom resource by its schema, in the words of upstream's validators.
//!
//! On an update what is wrong but unchanged is no error, as far as old and new values can be
//! paired: fields by their name, items of a list of the type `map` by their keys.
//!
//! Upstream: `kube-openapi/pkg/validation/validate`, and the ratcheting of `apiserver/validation`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::formats::{Verdict, is_checked, judge};
use super::numbers;
use super::schema::{Additional, Schema};
use crate::field::FieldError;

/// What is wrong with a value. `path` is the path in messages, `prefix` the part of the field's
/// path that messages leave out; `old` is the value before an update.
///
/// # Errors
/// What this server cannot decide.
pub(super) fn check(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    prefix: &str,
    path: &str,
) -> Result<Vec<FieldError>, String> {
    let found = validate(schema, new, old, &Location { prefix, path });
    match found.open {
        Some(what) => Err(what),
        None => Ok(found.errors),
    }
}

/// What a validation finds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) errors: Vec<FieldError>,
    /// The same as texts, so that no error is there twice.
    known: BTreeSet<String>,
    /// How many checks passed: of several schemas that do not fit, the errors of the one that fits
    /// best are reported.
    passed: usize,
    /// What this server cannot decide.
    open: Option<String>,
}

impl Found {
    /// Adds the findings of another validation, without what is there already.
    fn merge(&mut self, other: Self) {
        other.errors.into_iter().for_each(|error| self.push(error));
        self.passed += other.passed;
        self.open = self.open.take().or(other.open);
    }

    pub(super) fn push(&mut self, error: FieldError) {
        if self.known.insert(format!("{error:?}")) {
            self.errors.push(error);
        }
    }

    fn of(error: Option<FieldError>) -> Self {
        let mut found = Self::default();
        error.into_iter().for_each(|error| found.push(error));
        found
    }

    /// Adds the findings of one of a schema's checks.
    fn step(&mut self, other: Self) {
        self.merge(other);
        self.passed += 1;
    }
}

fn validate(schema: &Schema, new: &Value, old: Option<&Value>, at: &Location<'_>) -> Found {
    let mut found = Found::default();
    let typed = !schema.types.is_empty() || !schema.format.is_empty();
    if new.is_null() {
        found.merge(at.of_type(schema, new));
        found.merge(Found::of(at.choice(schema, new)));
    } else {
        if typed {
            found.step(at.of_type(schema, new));
        }
        found.step(at.combined(schema, new, old));
        match new {
            Value::String(text) => {
                found.step(Found::of(at.text(schema, text)));
                if is_checked(&schema.format) {
                    found.step(at.format(schema, text));
                }
            }
            Value::Number(number) => {
                let mut inner = Found { passed: 1, ..Found::default() };
                numbers::check(schema, number, at, &mut inner);
                found.step(inner);
            }
            Value::Array(items) => found.step(at.items(schema, items, old)),
            _ => {}
        }
        found.step(Found::of(at.choice(schema, new)));
        if let Value::Object(fields) = new {
            found.step(at.fields(schema, fields, old));
        }
        found.passed += 1;
    }
    // What has not changed may stay.
    if old == Some(new) {
        found.errors.clear();
        found.known.clear();
    }
    found
}

pub(super) struct Location<'a> {
    prefix: &'a str,
    pub(super) path: &'a str,
}

impl Location<'_> {
    /// The path of a field's error.
    fn field(&self) -> String {
        self.below(self.path.trim_start_matches('.'))
    }

    fn below(&self, path: &str) -> String {
        match (self.prefix, path) {
            ("", "") => "<nil>".to_owned(),
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}.{path}"),
        }
    }

    pub(super) fn invalid(&self, value: impl Into<Value>, what: &str) -> FieldError {
        FieldError::invalid(&self.field(), value, format!("{} in body {what}", self.path))
    }

    /// An error that upstream reports without a field.
    pub(super) fn general(&self, what: String) -> FieldError {
        FieldError::invalid(&self.below(""), "", what)
    }

    /// An error of the value itself, in these words.
    pub(super) fn worded(&self, value: impl Into<Value>, what: String) -> FieldError {
        FieldError::invalid(&self.field(), value, what)
    }

    fn wrong_type(&self, wanted: &str, found: &str) -> Found {
        let why = format!("{} in body must be of type {wanted}: {}", self.path, crate::go_format::quote(found));
        Found::of(Some(FieldError::wrong_type(&self.field(), found, why)))
    }

    fn of_type(&self, schema: &Schema, value: &Value) -> Found {
        let has = |name: &str| schema.types.iter().any(|one| one == name);
        let passed = Found { passed: 1, ..Found::default() };
        let types = schema.types.join(",");
        let (found, format) = match value {
            Value::Null if schema.types.is_empty() || schema.nullable => return passed,
            Value::Null => return self.wrong_type(&types, "null"),
            Value::Bool(_) => ("boolean", ""),
            Value::Number(number) if number.as_i64().is_some() => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
        };
        let float = (found == "number").then(|| value.as_f64()).flatten();
        let whole_float = float.is_some_and(numbers::is_integer) && has("integer");
        let fits = has(found) || whole_float || found == "integer" && has("number");
        if matches!(value, Value::String(_) | Value::Array(_)) {
            // A text of a format is the format's to judge.
            if !schema.format.is_empty() && !has("number") && !has("integer") {
                return passed;
            }
        } else if !schema.format.is_empty() && !fits && format != schema.format {
            return self.wrong_type(&schema.format, format);
        }
        if fits { passed } else { self.wrong_type(&types, found) }
    }

    fn choice(&self, schema: &Schema, value: &Value) -> Option<FieldError> {
        if schema.choices.is_empty() || schema.choices.iter().any(|choice| equals_choice(value, choice)) {
            return None;
        }
        let plain = |value: &Value| value.as_str().map_or_else(|| crate::go_format::json(value), str::to_owned);
        let all: Vec<String> = schema.choices.iter().map(plain).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Some(FieldError::unsupported(&self.field(), value.clone(), &all))
    }

    fn text(&self, schema: &Schema, text: &str) -> Option<FieldError> {
        let numbers = &schema.numbers;
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(most) = numbers.max_length.filter(|most| length > *most) {
            return Some(FieldError::too_long(&self.field(), most));
        }
        if let Some(least) = numbers.min_length.filter(|least| length < *least) {
            return Some(self.invalid(text, &format!("should be at least {least} chars long")));
        }
        let (pattern, _) = schema.pattern.as_ref().filter(|(_, regex)| !regex.is_match(text))?;
        Some(self.invalid(text, &format!("should match '{pattern}'")))
    }

    fn format(&self, schema: &Schema, text: &str) -> Found {
        match judge(&schema.format, text) {
            Verdict::Fits => Found::default(),
            Verdict::Fails => self.wrong_type(&schema.format, text),
            Verdict::Open => {
                Found { open: Some(format!("the value {text:?} of the format {}", schema.format)), ..Found::default() }
            }
        }
    }

    fn items(&self, schema: &Schema, items: &[Value], old: Option<&Value>) -> Found {
        let mut found = Found::default();
        if let Some(of) = &schema.items {
            let pairs = pairs(schema, old);
            for (at, item) in items.iter().enumerate() {
                let before =
                    if pairs.is_empty() { None } else { pairs.get(&keys_of(schema, item).to_string()).copied() };
                let path = format!("{}[{at}]", self.path);
                found.merge(validate(of, item, before, &Location { path: &path, ..*self }));
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = schema.numbers.min_items.filter(|least| size < *least) {
            found.push(self.invalid(size, &format!("should have at least {least} items")));
        }
        if let Some(most) = schema.numbers.max_items.filter(|most| size > *most) {
            found.push(FieldError::too_many(&self.field(), items.len(), most));
        }
        found.passed += 1;
        found
    }

    fn fields(&self, schema: &Schema, fields: &Map<String, Value>, old: Option<&Value>) -> Found {
        let mut found = Found::default();
        let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(least) = schema.numbers.min_properties.filter(|least| size < *least) {
            found.push(self.invalid(size, &format!("should have at least {least} properties")));
        }
        if let Some(most) = schema.numbers.max_properties.filter(|most| size > *most) {
            found.push(FieldError::too_many(&self.field(), fields.len(), most));
        }
        for (name, value) in fields {
            let before = old.and_then(|old| old.get(name));
            let path = match (schema.properties.contains_key(name), self.path) {
                (true, "") => name.clone(),
                (_, path) => format!("{path}.{name}"),
            };
            if let Some(of) = schema.property(name) {
                found.merge(validate(of, value, before, &Location { path: &path, ..*self }));
            } else if matches!(schema.additional, Additional::Any(false)) {
                let why = format!("{}.{name} in body is a forbidden property", self.path);
                found.push(FieldError::invalid(&self.field(), name.as_str(), why));
            }
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            let path = format!("{}.{name}", self.path);
            found.push(FieldError::required(&self.below(path.trim_start_matches('.')), ""));
        }
        found
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`.
    fn combined(&self, schema: &Schema, new: &Value, old: Option<&Value>) -> Found {
        let mut found = Found::default();
        // Only what is below a value is compared with what was there before.
        let old = old.filter(|old| *old != new);
        let tried = |one: &Schema| validate(one, new, old, self);
        let path = crate::go_format::quote(self.path);
        if !schema.any_of.is_empty() {
            let (mut first, mut best): (Option<Found>, Option<Found>) = (None, None);
            for result in schema.any_of.iter().map(tried) {
                found.open = found.open.take().or_else(|| result.open.clone());
                if result.errors.is_empty() {
                    (first, best) = (Some(result), None);
                    break;
                }
                if best.as_ref().is_none_or(|best| result.passed > best.passed) {
                    best = Some(result);
                }
            }
            if first.is_none() {
                found.push(self.general(format!("{path} must validate at least one schema (anyOf)")));
            }
            found.merge(best.or(first).unwrap_or_default());
        }
        if !schema.one_of.is_empty() {
            let (mut first, mut best, mut valid): (Option<Found>, Option<Found>, usize) = (None, None, 0);
            for result in schema.one_of.iter().map(tried) {
                found.open = found.open.take().or_else(|| result.open.clone());
                if result.errors.is_empty() {
                    (valid, best, first) = (valid + 1, None, first.or(Some(result)));
                } else if valid == 0 && best.as_ref().is_none_or(|best| result.passed > best.passed) {
                    best = Some(result);
                }
            }
            let what = match valid {
                0 => "Found none valid".to_owned(),
                more => format!("Found {more} valid alternatives"),
            };
            if valid == 1 {
                found.merge(first.unwrap_or_default());
            } else {
                found.push(self.general(format!("{path} must validate one and only one schema (oneOf). {what}")));
                found.merge(best.unwrap_or_default());
            }
        }
        if !schema.all_of.is_empty() {
            let all: Vec<Found> = schema.all_of.iter().map(tried).collect();
            let valid = all.iter().filter(|result| result.errors.is_empty()).count();
            let (whole, none) = (valid == all.len(), if valid == 0 { ". None validated" } else { "" });
            all.into_iter().for_each(|result| found.merge(result));
            if !whole {
                found.push(self.general(format!("{path} must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(result) = schema.not.as_deref().map(tried) {
            found.open = found.open.take().or(result.open);
            if result.errors.is_empty() {
                found.push(self.general(format!("{path} must not validate the schema (not)")));
            }
        }
        found.passed += 1;
        found
    }
}

/// Whether a value is one of those that are allowed: Go converts it to the type of the choice
/// before it compares. Null is never one.
fn equals_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(number), Value::Number(choice)) => match (number.as_i64(), choice.as_i64()) {
            (Some(number), Some(choice)) => number == choice,
            (None, Some(choice)) => number.as_f64().is_some_and(|number| numbers::to_i64(number) == choice),
            _ => number.as_f64() == choice.as_f64(),
        },
        (Value::Number(number), Value::String(choice)) => {
            let letter = number
                .as_i64()
                .map(|code| u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER));
            letter.is_some_and(|letter| *choice == letter.to_string())
        }
        _ => value == choice,
    }
}

/// The items of an old list of the type `map` by their keys; of equal ones the first.
fn pairs<'a>(schema: &Schema, old: Option<&'a Value>) -> BTreeMap<String, &'a Value> {
    let mut pairs = BTreeMap::new();
    let old = old.filter(|_| schema.list_type == "map").and_then(Value::as_array);
    for item in old.into_iter().flatten() {
        pairs.entry(keys_of(schema, item).to_string()).or_insert(item);
    }
    pairs
}

/// The keys of an item, with their defaults.
pub(super) fn keys_of(schema: &Schema, item: &Value) -> Value {
    let default = |name: &String| schema.items.as_ref()?.properties.get(name)?.default.clone();
    let value = |name: &String| Some((name.clone(), item.get(name).cloned().or_else(|| default(name))?));
    Value::Object(schema.keys.iter().filter_map(value).collect())
}
