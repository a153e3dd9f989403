//! The scale of a custom resource: the paths of replicas and selector in its definition.

use serde_json::{Value, json};

use crate::go::format::{printed, type_name};
use crate::types::field_error::FieldError;

#[derive(Debug)]
pub(crate) struct ScalePaths {
    /// The path as the definition has it.
    pub(crate) spec: String,
    status: String,
    selector: String,
    /// The fields of the `spec` path.
    pub(crate) fields: &'static [&'static str],
}

impl ScalePaths {
    pub(crate) fn read(value: &Value) -> Result<Self, String> {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let spec = text("specReplicasPath");
        let fields = spec.trim_start_matches('.').split('.').map(|name| -> &'static str { name.to_owned().leak() });
        let fields: Vec<&'static str> = fields.collect();
        if !spec.starts_with('.') || spec.contains('[') {
            return Err(format!("a scale whose specReplicasPath is {spec:?}"));
        }
        Ok(Self {
            spec,
            status: text("statusReplicasPath"),
            selector: text("labelSelectorPath"),
            fields: fields.leak(),
        })
    }

    /// The replicas of `spec` and of `status`, and the selector.
    pub(crate) fn of(&self, object: &Value) -> (Option<i64>, i64, String) {
        let replicas = |path: &str| at(object, path).and_then(Value::as_i64);
        let selector = at(object, &self.selector).and_then(Value::as_str).unwrap_or_default();
        (replicas(&self.spec), replicas(&self.status).unwrap_or(0), selector.to_owned())
    }

    /// Sets the replicas of `spec`.
    pub(crate) fn set(&self, object: &mut Value, replicas: i64) {
        let (last, before) = self.fields.split_last().expect("a path has a field");
        let mut at = object;
        for name in before {
            if !at[*name].is_object() {
                at[*name] = json!({});
            }
            at = &mut at[*name];
        }
        at[*last] = replicas.into();
    }

    pub(crate) fn check_spec(&self, object: &Value) -> Option<FieldError> {
        number(object, &self.spec)
    }

    pub(crate) fn check_status(&self, object: &Value) -> Vec<FieldError> {
        let mut errors: Vec<FieldError> = number(object, &self.status).into_iter().collect();
        let fault = match (blocking_value(object, &self.selector), at(object, &self.selector)) {
            _ if self.selector.is_empty() => None,
            (Some(other), _) => Some(accessor(&self.selector, other, "map[string]interface{}")),
            (None, Some(found)) if !found.is_string() => Some(accessor(&self.selector, found, "string")),
            _ => None,
        };
        errors.extend(fault.map(|why| FieldError::invalid(&self.selector, "", why)));
        errors
    }
}

/// The value on a path that is not an object, if any.
fn blocking_value<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut at = object;
    for name in path.trim_start_matches('.').split('.') {
        if !at.is_object() {
            return (!at.is_null()).then_some(at);
        }
        at = at.get(name)?;
    }
    None
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |at, name| at.get(name))
}

/// Validates a replica count.
fn number(object: &Value, path: &str) -> Option<FieldError> {
    if let Some(other) = blocking_value(object, path) {
        return Some(FieldError::invalid(path, 0, accessor(path, other, "map[string]interface{}")));
    }
    let found = at(object, path)?;
    let Some(replicas) = found.as_i64() else {
        return Some(FieldError::invalid(path, 0, accessor(path, found, "int64")));
    };
    if replicas < 0 {
        return Some(FieldError::invalid(path, replicas, "should be a non-negative integer"));
    }
    let most = i64::from(i32::MAX);
    (replicas > most).then(|| FieldError::invalid(path, replicas, format!("should be less than or equal to {most}")))
}

/// Upstream's error for a value of the wrong type, with Go type names.
fn accessor(path: &str, value: &Value, expected_type: &str) -> String {
    let (shown, kind) = (printed(value), type_name(value));
    format!("{path} accessor error: {shown} is of the type {kind}, expected {expected_type}")
}
