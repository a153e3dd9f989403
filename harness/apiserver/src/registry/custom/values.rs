//! Validates a custom resource by its schema, with the messages of upstream's validators.
//!
//! On an update, errors of unchanged values are ignored (ratcheting), as far as old and new values
//! can be paired: fields by name, items of `map` lists by their keys.
//!
//! Upstream: `kube-openapi/pkg/validation/validate`, and the ratcheting of `apiserver/validation`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::registry::custom::numbers;
use crate::registry::custom::validation_result::{Location, ValidationResult};
use crate::types::custom_schema::{AdditionalProperties, Schema};
use crate::types::expressions::FormatMatch;
use crate::types::field_error::FieldError;
use crate::types::formats::{check_format, is_checked};

/// Validates a value. `path` is the path in messages, `prefix` the part of the field path that
/// messages omit; `old` is the value before an update.
///
/// # Errors
/// The feature by which this server cannot decide.
pub(crate) fn check(
    schema: &Schema,
    new: &Value,
    old: Option<&Value>,
    prefix: &str,
    path: &str,
) -> Result<Vec<FieldError>, String> {
    let result = validate(schema, new, old, &Location { prefix, path });
    match result.undecided {
        Some(message) => Err(message),
        None => Ok(result.errors),
    }
}

fn validate(schema: &Schema, new: &Value, old: Option<&Value>, at: &Location<'_>) -> ValidationResult {
    let mut result = ValidationResult::default();
    let typed = !schema.types.is_empty() || !schema.format.is_empty();
    if new.is_null() {
        result.merge(at.of_type(schema, new));
        result.merge(ValidationResult::of(at.choice(schema, new)));
    } else {
        if typed {
            result.step(at.of_type(schema, new));
        }
        result.step(at.composition(schema, new, old));
        match new {
            Value::String(text) => {
                result.step(ValidationResult::of(at.text(schema, text)));
                if is_checked(&schema.format) {
                    result.step(at.format(schema, text));
                }
            }
            Value::Number(number) => {
                let mut inner = ValidationResult { passed: 1, ..ValidationResult::default() };
                numbers::check(schema, number, at, &mut inner);
                result.step(inner);
            }
            Value::Array(items) => result.step(at.items(schema, items, old)),
            _ => {}
        }
        result.step(ValidationResult::of(at.choice(schema, new)));
        if let Value::Object(fields) = new {
            result.step(at.fields(schema, fields, old));
        }
        result.passed += 1;
    }
    // An unchanged value may stay invalid.
    if old.is_some_and(|old| is_unchanged(schema, new, old)) {
        result.errors.clear();
        result.error_texts.clear();
    }
    result
}

/// Whether a value is as it was before, but for the order in lists whose items have keys. Upstream:
/// `CorrelatedObject.CachedDeepEqual`.
fn is_unchanged(schema: &Schema, new: &Value, old: &Value) -> bool {
    let same_field = |(name, value): (&String, &Value)| match (old.get(name), schema.property(name)) {
        (Some(old), Some(of)) => is_unchanged(of, value, old),
        (old, _) => old == Some(value),
    };
    match (new, old) {
        _ if new == old => true,
        (Value::Object(fields), Value::Object(before)) => fields.len() == before.len() && fields.iter().all(same_field),
        (Value::Array(items), Value::Array(before)) => {
            let pairs = pairs(schema, Some(old));
            let pair = |item: &Value| pairs.get(&keys_of(schema, item).to_string()).copied();
            let of = schema.items.as_deref();
            let is_same = |item: &Value| of.zip(pair(item)).is_some_and(|(of, old)| is_unchanged(of, item, old));
            items.len() == before.len() && items.iter().all(is_same)
        }
        _ => false,
    }
}

impl Location<'_> {
    /// The field path of an error.
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

    pub(crate) fn invalid(&self, value: impl Into<Value>, message: &str) -> FieldError {
        FieldError::invalid(&self.field(), value, format!("{} in body {message}", self.path))
    }

    /// An error that upstream reports without a field.
    pub(crate) fn general(&self, message: String) -> FieldError {
        FieldError::invalid(&self.below(""), "", message)
    }

    /// An error about the value, with this message.
    pub(crate) fn worded(&self, value: impl Into<Value>, message: String) -> FieldError {
        FieldError::invalid(&self.field(), value, message)
    }

    fn wrong_type(&self, expected: &str, result: &str) -> ValidationResult {
        let why = format!("{} in body must be of type {expected}: {}", self.path, crate::go::format::quote(result));
        ValidationResult::of(Some(FieldError::wrong_type(&self.field(), result, why)))
    }

    fn of_type(&self, schema: &Schema, value: &Value) -> ValidationResult {
        let has = |name: &str| schema.types.iter().any(|one| one == name);
        let passed = ValidationResult { passed: 1, ..ValidationResult::default() };
        let types = schema.types.join(",");
        let (result, format) = match value {
            Value::Null if schema.types.is_empty() || schema.nullable => return passed,
            Value::Null => return self.wrong_type(&types, "null"),
            Value::Bool(_) => ("boolean", ""),
            Value::Number(number) if number.as_i64().is_some() => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
        };
        let float = (result == "number").then(|| value.as_f64()).flatten();
        let whole_float = float.is_some_and(numbers::is_integer) && has("integer");
        let fits = has(result) || whole_float || result == "integer" && has("number");
        if matches!(value, Value::String(_) | Value::Array(_)) {
            // The format decides about a text with a format.
            if !schema.format.is_empty() && !has("number") && !has("integer") {
                return passed;
            }
        } else if !schema.format.is_empty() && !fits && format != schema.format {
            return self.wrong_type(&schema.format, format);
        }
        if fits { passed } else { self.wrong_type(&types, result) }
    }

    fn choice(&self, schema: &Schema, value: &Value) -> Option<FieldError> {
        if schema.choices.is_empty() || schema.choices.iter().any(|choice| equals_choice(value, choice)) {
            return None;
        }
        let plain = |value: &Value| value.as_str().map_or_else(|| crate::go::format::json(value), str::to_owned);
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

    fn format(&self, schema: &Schema, text: &str) -> ValidationResult {
        match check_format(&schema.format, text) {
            FormatMatch::Fits => ValidationResult::default(),
            FormatMatch::Fails => self.wrong_type(&schema.format, text),
            FormatMatch::Unknown => ValidationResult {
                undecided: Some(format!("the value {text:?} of the format {}", schema.format)),
                ..ValidationResult::default()
            },
        }
    }

    fn items(&self, schema: &Schema, items: &[Value], old: Option<&Value>) -> ValidationResult {
        let mut result = ValidationResult::default();
        if let Some(of) = &schema.items {
            let pairs = pairs(schema, old);
            for (at, item) in items.iter().enumerate() {
                let before =
                    if pairs.is_empty() { None } else { pairs.get(&keys_of(schema, item).to_string()).copied() };
                let path = format!("{}[{at}]", self.path);
                result.merge(validate(of, item, before, &Location { path: &path, ..*self }));
            }
        }
        let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(least) = schema.numbers.min_items.filter(|least| size < *least) {
            result.push(self.invalid(size, &format!("should have at least {least} items")));
        }
        if let Some(most) = schema.numbers.max_items.filter(|most| size > *most) {
            result.push(FieldError::too_many(&self.field(), items.len(), most));
        }
        result.passed += 1;
        result
    }

    fn fields(&self, schema: &Schema, fields: &Map<String, Value>, old: Option<&Value>) -> ValidationResult {
        let mut result = ValidationResult::default();
        let size = i64::try_from(fields.len()).unwrap_or(i64::MAX);
        if let Some(least) = schema.numbers.min_properties.filter(|least| size < *least) {
            result.push(self.invalid(size, &format!("should have at least {least} properties")));
        }
        if let Some(most) = schema.numbers.max_properties.filter(|most| size > *most) {
            result.push(FieldError::too_many(&self.field(), fields.len(), most));
        }
        for (name, value) in fields {
            let before = old.and_then(|old| old.get(name));
            let path = match (schema.properties.contains_key(name), self.path) {
                (true, "") => name.clone(),
                (_, path) => format!("{path}.{name}"),
            };
            if let Some(of) = schema.property(name) {
                result.merge(validate(of, value, before, &Location { path: &path, ..*self }));
            } else if matches!(schema.additional, AdditionalProperties::Any(false)) {
                let why = format!("{}.{name} in body is a forbidden property", self.path);
                result.push(FieldError::invalid(&self.field(), name.as_str(), why));
            }
        }
        for name in schema.required.iter().filter(|name| !fields.contains_key(*name)) {
            let path = format!("{}.{name}", self.path);
            result.push(FieldError::required(&self.below(path.trim_start_matches('.')), ""));
        }
        result
    }

    /// `allOf`, `anyOf`, `oneOf` and `not`.
    fn composition(&self, schema: &Schema, new: &Value, old: Option<&Value>) -> ValidationResult {
        let mut result = ValidationResult::default();
        // Ratcheting applies to nested values only.
        let old = old.filter(|old| *old != new);
        let attempt = |one: &Schema| validate(one, new, old, self);
        let path = crate::go::format::quote(self.path);
        if !schema.any_of.is_empty() {
            let (mut first, mut best): (Option<ValidationResult>, Option<ValidationResult>) = (None, None);
            for one in schema.any_of.iter().map(attempt) {
                result.undecided = result.undecided.take().or_else(|| one.undecided.clone());
                if one.errors.is_empty() {
                    (first, best) = (Some(one), None);
                    break;
                }
                if best.as_ref().is_none_or(|best| one.passed > best.passed) {
                    best = Some(one);
                }
            }
            if first.is_none() {
                result.push(self.general(format!("{path} must validate at least one schema (anyOf)")));
            }
            result.merge(best.or(first).unwrap_or_default());
        }
        if !schema.one_of.is_empty() {
            let (mut first, mut best, mut valid): (Option<ValidationResult>, Option<ValidationResult>, usize) =
                (None, None, 0);
            for one in schema.one_of.iter().map(attempt) {
                result.undecided = result.undecided.take().or_else(|| one.undecided.clone());
                if one.errors.is_empty() {
                    (valid, best, first) = (valid + 1, None, first.or(Some(one)));
                } else if valid == 0 && best.as_ref().is_none_or(|best| one.passed > best.passed) {
                    best = Some(one);
                }
            }
            let message = match valid {
                0 => "Found none valid".to_owned(),
                more => format!("Found {more} valid alternatives"),
            };
            if valid == 1 {
                result.merge(first.unwrap_or_default());
            } else {
                result.push(self.general(format!("{path} must validate one and only one schema (oneOf). {message}")));
                result.merge(best.unwrap_or_default());
            }
        }
        if !schema.all_of.is_empty() {
            let all: Vec<ValidationResult> = schema.all_of.iter().map(attempt).collect();
            let valid = all.iter().filter(|one| one.errors.is_empty()).count();
            let (whole, none) = (valid == all.len(), if valid == 0 { ". None validated" } else { "" });
            all.into_iter().for_each(|one| result.merge(one));
            if !whole {
                result.push(self.general(format!("{path} must validate all the schemas (allOf){none}")));
            }
        }
        if let Some(negated) = schema.not.as_deref().map(attempt) {
            result.undecided = result.undecided.take().or(negated.undecided);
            if negated.errors.is_empty() {
                result.push(self.general(format!("{path} must not validate the schema (not)")));
            }
        }
        result.passed += 1;
        result
    }
}

/// Whether a value equals an enum choice. Go converts the value to the type of the choice before
/// comparing; null never matches.
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

/// The items of an old `map` list by their keys; the first of equal ones.
fn pairs<'a>(schema: &Schema, old: Option<&'a Value>) -> BTreeMap<String, &'a Value> {
    let mut pairs = BTreeMap::new();
    let old = old.filter(|_| schema.list_type == "map").and_then(Value::as_array);
    for item in old.into_iter().flatten() {
        pairs.entry(keys_of(schema, item).to_string()).or_insert(item);
    }
    pairs
}

/// The keys of an item, with their defaults.
pub(crate) fn keys_of(schema: &Schema, item: &Value) -> Value {
    let default = |name: &String| schema.items.as_ref()?.properties.get(name)?.default.clone();
    let value = |name: &String| Some((name.clone(), item.get(name).cloned().or_else(|| default(name))?));
    Value::Object(schema.keys.iter().filter_map(value).collect())
}
