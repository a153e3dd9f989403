//! Validates label selectors. Upstream: `ValidateLabelSelector`.

use serde_json::Value;

use crate::registry::validate::meta;
use crate::registry::validate::scalars::{invalid, items, text};
use crate::types::field_error::FieldError;
use crate::types::names;

/// Validates a selector.
pub(crate) fn selector_of(selector: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = meta::labels(&selector["matchLabels"], &format!("{at}.matchLabels"));
    for (requirement, path) in items(selector, "matchExpressions", at) {
        operator_and_key(&mut errors, requirement, &path, false);
        label_values(&mut errors, requirement, &path);
    }
    errors
}

/// Validates that the operator of a requirement has as many values as it takes, and the key. The
/// labels of nodes can be compared as numbers (`Gt`, `Lt`) as well.
pub(crate) fn operator_and_key(errors: &mut Vec<FieldError>, requirement: &Value, path: &str, compares: bool) {
    let values = requirement["values"].as_array().map_or(0, Vec::len);
    let at = || format!("{path}.values");
    match text(requirement, "operator") {
        "In" | "NotIn" if values == 0 => {
            errors.push(FieldError::required(&at(), "must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if values > 0 => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(&at(), why));
        }
        "Gt" | "Lt" if compares && values != 1 => {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            errors.push(FieldError::required(&at(), why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        "Gt" | "Lt" if compares => {}
        other => errors.push(unknown_operator(other, path)),
    }
    let key = text(requirement, "key");
    errors.extend(invalid(&format!("{path}.key"), key, names::key(key)));
}

pub(crate) fn unknown_operator(operator: &str, path: &str) -> FieldError {
    FieldError::invalid(&format!("{path}.operator"), operator, "not a valid selector operator")
}

/// Validates the values of a requirement as those of labels.
pub(crate) fn label_values(errors: &mut Vec<FieldError>, requirement: &Value, path: &str) {
    for (value, at) in items(requirement, "values", path) {
        let value = value.as_str().unwrap_or_default();
        errors.extend(invalid(&at, value, names::label_value(value)));
    }
}
