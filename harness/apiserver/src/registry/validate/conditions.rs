//! Validates conditions of the type that kinds share. Upstream: `ValidateConditions`.

use serde_json::Value;

use crate::registry::validate::scalars::{invalid, items, text};
use crate::types::field_error::FieldError;
use crate::types::names;

const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
/// The maximum lengths of reasons and messages, in bytes.
const REASON: usize = 1 << 10;
const MESSAGE: usize = 32 << 10;

/// Validates the conditions of a status at `path`.
pub(crate) fn conditions(status: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut types: Vec<&str> = Vec::new();
    for (condition, path) in items(status, "conditions", path) {
        let at = |name: &str| format!("{path}.{name}");
        let name = text(condition, "type");
        if types.contains(&name) {
            errors.push(FieldError::duplicate(&at("type"), name));
        }
        types.push(name);
        errors.extend(invalid(&at("type"), name, names::key(name)));
        if !STATUSES.contains(&text(condition, "status")) {
            errors.push(FieldError::unsupported(&at("status"), text(condition, "status"), &STATUSES));
        }
        if let Some(generation) = condition["observedGeneration"].as_i64().filter(|generation| *generation < 0) {
            let why = "must be greater than or equal to zero";
            errors.push(FieldError::invalid(&at("observedGeneration"), generation, why));
        }
        if condition["lastTransitionTime"].is_null() {
            errors.push(FieldError::required(&at("lastTransitionTime"), ""));
        }
        let reason = text(condition, "reason");
        if reason.is_empty() {
            errors.push(FieldError::required(&at("reason"), ""));
        } else if !is_reason(reason) {
            errors.push(FieldError::invalid(&at("reason"), reason, NO_REASON));
        }
        for (name, most) in [("reason", REASON), ("message", MESSAGE)] {
            if text(condition, name).len() > most {
                errors.push(FieldError::too_long(&at(name), most));
            }
        }
    }
    errors
}

const NO_REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of \
                         alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. \
                         'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex \
                         used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

fn is_reason(text: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.ends_with(is_word)
        && text.chars().all(|letter| is_word(letter) || matches!(letter, ',' | ':'))
}
