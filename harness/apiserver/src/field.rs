//! Field errors, in the words of upstream's `field.Error`.

use std::fmt;

use serde_json::{Value, json};

use super::go_format::{bad_value, quote};

/// One error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FieldError {
    /// `spec.replicas`.
    path: String,
    kind: Kind,
    detail: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Invalid(Value),
    /// With the value as upstream prints it, in the order of its declaration.
    Shown(String),
    DuplicateShown(String),
    Unsupported(Value),
    UnsupportedShown(String),
    Duplicate(Value),
    NotFound(Value),
    Required,
    Forbidden,
    TooLong,
    TooMany(usize),
    WrongType(Value),
}

impl FieldError {
    pub(super) fn invalid(path: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Invalid(value.into()), detail: detail.into() }
    }

    pub(super) fn invalid_shown(path: &str, value: String, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Shown(value), detail: detail.into() }
    }

    pub(super) fn duplicate_shown(path: &str, value: String, detail: &str) -> Self {
        Self { path: path.to_owned(), kind: Kind::DuplicateShown(value), detail: detail.to_owned() }
    }

    pub(super) fn required(path: &str, detail: &str) -> Self {
        Self { path: path.to_owned(), kind: Kind::Required, detail: detail.to_owned() }
    }

    pub(super) fn forbidden(path: &str, detail: &str) -> Self {
        Self { path: path.to_owned(), kind: Kind::Forbidden, detail: detail.to_owned() }
    }

    pub(super) fn duplicate(path: &str, value: impl Into<Value>) -> Self {
        Self { path: path.to_owned(), kind: Kind::Duplicate(value.into()), detail: String::new() }
    }

    pub(super) fn not_found(path: &str, value: impl Into<Value>) -> Self {
        Self { path: path.to_owned(), kind: Kind::NotFound(value.into()), detail: String::new() }
    }

    pub(super) fn too_long(path: &str, most: impl TryInto<i64>) -> Self {
        let detail = match most.try_into().unwrap_or(i64::MAX) {
            i64::MIN..=-1 => "value is too long".to_owned(),
            1 => "may not be more than 1 byte".to_owned(),
            most => format!("may not be more than {most} bytes"),
        };
        Self { path: path.to_owned(), kind: Kind::TooLong, detail }
    }

    pub(super) fn unsupported(path: &str, value: impl Into<Value>, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| quote(value)).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        Self { path: path.to_owned(), kind: Kind::Unsupported(value.into()), detail }
    }

    pub(super) fn unsupported_shown(path: &str, value: String, supported: &[&str]) -> Self {
        Self { kind: Kind::UnsupportedShown(value), ..Self::unsupported(path, Value::Null, supported) }
    }

    /// A value of another type than its schema says.
    pub(super) fn wrong_type(path: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::WrongType(value.into()), detail: detail.into() }
    }

    pub(super) fn too_many(path: &str, found: usize, most: i64) -> Self {
        let detail = match most {
            i64::MIN..=-1 => "has too many items".to_owned(),
            1 => "must have at most 1 item".to_owned(),
            _ => format!("must have at most {most} items"),
        };
        Self { path: path.to_owned(), kind: Kind::TooMany(found), detail }
    }

    /// Whether the rules of a custom resource are not evaluated besides. Upstream:
    /// `hasBlockingErr`.
    pub(super) fn prevents_rules(&self) -> bool {
        matches!(
            self.kind,
            Kind::Unsupported(_) | Kind::Required | Kind::TooLong | Kind::TooMany(_) | Kind::WrongType(_)
        )
    }

    /// The same error of an object that is at a path of another one.
    pub(super) fn below(mut self, path: &str) -> Self {
        self.path = format!("{path}.{}", self.path);
        self
    }

    /// Whether it is about the field at a path.
    pub(super) fn is_at(&self, path: &str) -> bool {
        self.path == path
    }

    /// Whether it is about `spec.selector` as a whole.
    pub(super) fn is_of_selector(&self) -> bool {
        self.path == "spec.selector"
    }

    /// As a cause in a Status.
    pub(super) fn cause(&self) -> Value {
        let reason = match self.kind {
            Kind::Invalid(_) | Kind::Shown(_) => "FieldValueInvalid",
            Kind::Unsupported(_) | Kind::UnsupportedShown(_) => "FieldValueNotSupported",
            Kind::Duplicate(_) | Kind::DuplicateShown(_) => "FieldValueDuplicate",
            Kind::NotFound(_) => "FieldValueNotFound",
            Kind::Required => "FieldValueRequired",
            Kind::Forbidden => "FieldValueForbidden",
            Kind::TooLong => "FieldValueTooLong",
            Kind::TooMany(_) => "FieldValueTooMany",
            Kind::WrongType(_) => "FieldValueTypeInvalid",
        };
        json!({"reason": reason, "message": self.body(), "field": self.path})
    }

    fn body(&self) -> String {
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        match &self.kind {
            Kind::Invalid(value) => format!("Invalid value: {}{detail}", bad_value(value)),
            Kind::Shown(value) => format!("Invalid value: {value}{detail}"),
            Kind::DuplicateShown(value) => format!("Duplicate value: {value}{detail}"),
            Kind::Unsupported(value) => format!("Unsupported value: {}{detail}", bad_value(value)),
            Kind::UnsupportedShown(value) => format!("Unsupported value: {value}{detail}"),
            Kind::Duplicate(value) => format!("Duplicate value: {}{detail}", bad_value(value)),
            Kind::NotFound(value) => format!("Not found: {}{detail}", bad_value(value)),
            Kind::Required => format!("Required value{detail}"),
            Kind::Forbidden => format!("Forbidden{detail}"),
            Kind::TooLong => format!("Too long{detail}"),
            Kind::TooMany(found) => format!("Too many: {found}{detail}"),
            Kind::WrongType(value) => format!("Invalid value: {}{detail}", bad_value(value)),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}
