//! Validates what update strategies share. Upstream: `ValidatePositiveIntOrPercent`.

use serde_json::Value;

use crate::types::field_error::FieldError;
use crate::types::names;

/// Prints a strategy as upstream's internal type, with its names and without pointers.
pub(crate) fn strategy_text(kind: &str, rolling: &Value, fields: &[&str]) -> String {
    let rolling = if rolling.is_null() {
        "null".to_owned()
    } else {
        let number = |name: &str| if rolling[name].is_null() { Value::from(0) } else { rolling[name].clone() };
        let fields =
            fields.iter().map(|name| format!("\"{}{}\":{}", name[..1].to_uppercase(), &name[1..], number(name)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", Value::from(kind))
}

/// Upstream: `ValidatePositiveIntOrPercent` and `IsNotMoreThan100Percent`.
pub(crate) fn int_or_percent(value: &Value, path: &str) -> Vec<FieldError> {
    number_or_percent(value, path).into_iter().chain(above_100_percent(value, path)).collect()
}

/// Upstream: `ValidatePositiveIntOrPercent`.
pub(crate) fn number_or_percent(value: &Value, path: &str) -> Option<FieldError> {
    match value {
        Value::String(text) => names::percent(text).map(|why| FieldError::invalid(path, text.clone(), why)),
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            Some(FieldError::invalid(path, value.clone(), "must be greater than or equal to 0"))
        }
        _ => None,
    }
}

/// Upstream: `IsNotMoreThan100Percent`.
pub(crate) fn above_100_percent(value: &Value, path: &str) -> Option<FieldError> {
    let above = value.as_str().is_some_and(|text| names::percent(text).is_none()) && amount(value) > 100;
    above.then(|| FieldError::invalid(path, value.clone(), "must not be greater than 100%"))
}

/// The number of an int-or-percent; 0 if it is invalid.
pub(crate) fn amount(value: &Value) -> i64 {
    match value {
        Value::String(text) => text.strip_suffix('%').unwrap_or(text).parse().unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    }
}
