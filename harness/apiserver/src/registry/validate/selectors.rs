//! Validates label selectors. Upstream: `ValidateLabelSelector`.

use serde_json::Value;

use crate::registry::validate::meta;
use crate::types::field_error::FieldError;
use crate::types::names;

/// Validates a selector.
pub(crate) fn selector_of(selector: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = meta::labels(&selector["matchLabels"], &format!("{at}.matchLabels"));
    for (index, one) in selector["matchExpressions"].as_array().into_iter().flatten().enumerate() {
        let path = format!("{at}.matchExpressions[{index}]");
        let values = one["values"].as_array().map_or(0, Vec::len);
        match one["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values == 0 => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(&format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if values > 0 => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(&format!("{path}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let why = "not a valid selector operator";
                errors.push(FieldError::invalid(&format!("{path}.operator"), other, why));
            }
        }
        let key = one["key"].as_str().unwrap_or_default();
        let path = format!("{path}.key");
        errors.extend(names::key(key).into_iter().map(|wrong| FieldError::invalid(&path, key, wrong)));
        for (place, value) in one["values"].as_array().into_iter().flatten().enumerate() {
            let (path, value) =
                (format!("{at}.matchExpressions[{index}].values[{place}]"), value.as_str().unwrap_or_default());
            errors.extend(names::label_value(value).into_iter().map(|wrong| FieldError::invalid(&path, value, wrong)));
        }
    }
    errors
}
