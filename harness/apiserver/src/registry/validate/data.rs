//! Validates what ConfigMaps and Secrets share: the keys, the size and the immutability of their
//! data. Upstream: `ValidateConfigMap`, `ValidateSecret`.

use serde_json::Value;

use crate::types::field_error::FieldError;
use crate::types::names;

/// The size limit of the data of a ConfigMap or Secret.
const DATA: usize = 1 << 20;

/// Validates the data of an object; `path` is where upstream reports data that are too long.
pub(crate) fn data(object: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for field in ["data", "binaryData"] {
        for (key, value) in object[field].as_object().into_iter().flatten() {
            size += value.as_str().unwrap_or_default().len();
            let path = format!("{field}[{key}]");
            errors
                .extend(names::config_key(key).into_iter().map(|wrong| FieldError::invalid(&path, key.clone(), wrong)));
            if field == "data" && object["binaryData"].get(key).is_some() {
                errors.push(FieldError::invalid(&path, key.clone(), "duplicate of key present in binaryData"));
            }
        }
    }
    if size > DATA {
        errors.push(FieldError::too_long(path, DATA));
    }
    errors
}

/// Rejects changes of an object that is immutable.
pub(crate) fn immutable_data(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old["immutable"] == true {
        let why = "field is immutable when `immutable` is set";
        if new["immutable"] != true {
            errors.push(FieldError::forbidden("immutable", why));
        }
        for field in ["data", "binaryData"] {
            if new[field] != old[field] {
                errors.push(FieldError::forbidden(field, why));
            }
        }
    }
    errors
}
