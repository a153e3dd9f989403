//! Validation errors of fields. Upstream: `field.Error`.

use std::fmt;

use serde_json::{Value, json};

use crate::go::format::{bad_value, quote};

/// An error about one field of an object, worded as upstream words it.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// Such as `spec.replicas`.
    path: String,
    kind: FieldErrorType,
    detail: String,
}

#[derive(Debug, Clone, PartialEq)]
enum FieldErrorType {
    Invalid(Value),
    /// With a value printed like upstream's Go value, in the order of its declaration.
    InvalidPrinted(String),
    DuplicatePrinted(String),
    Unsupported(Value),
    UnsupportedPrinted(String),
    Duplicate(Value),
    NotFound(Value),
    Required,
    Forbidden,
    TooLong,
    TooMany(usize),
    WrongType(Value),
}

impl FieldError {
    /// A value that the field may not have.
    pub fn invalid(path: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::Invalid(value.into()), detail: detail.into() }
    }

    /// The same, with the value as Go prints it.
    pub fn invalid_printed(path: &str, value: String, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::InvalidPrinted(value), detail: detail.into() }
    }

    /// A value that another item has too, as Go prints it.
    pub fn duplicate_printed(path: &str, value: String, detail: &str) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::DuplicatePrinted(value), detail: detail.to_owned() }
    }

    /// A field that must have a value.
    pub fn required(path: &str, detail: &str) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::Required, detail: detail.to_owned() }
    }

    /// A field that may not have a value.
    pub fn forbidden(path: &str, detail: &str) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::Forbidden, detail: detail.to_owned() }
    }

    /// A value that another item has too.
    pub fn duplicate(path: &str, value: impl Into<Value>) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::Duplicate(value.into()), detail: String::new() }
    }

    /// A value that refers to nothing.
    pub fn not_found(path: &str, value: impl Into<Value>) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::NotFound(value.into()), detail: String::new() }
    }

    /// A value of more bytes than `most`.
    pub fn too_long(path: &str, most: impl TryInto<i64>) -> Self {
        let detail = match most.try_into().unwrap_or(i64::MAX) {
            i64::MIN..=-1 => "value is too long".to_owned(),
            1 => "may not be more than 1 byte".to_owned(),
            most => format!("may not be more than {most} bytes"),
        };
        Self { path: path.to_owned(), kind: FieldErrorType::TooLong, detail }
    }

    /// A value that is none of the supported ones.
    pub fn unsupported(path: &str, value: impl Into<Value>, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| quote(value)).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        Self { path: path.to_owned(), kind: FieldErrorType::Unsupported(value.into()), detail }
    }

    /// The same, with the value as Go prints it.
    pub fn unsupported_printed(path: &str, value: String, supported: &[&str]) -> Self {
        Self { kind: FieldErrorType::UnsupportedPrinted(value), ..Self::unsupported(path, Value::Null, supported) }
    }

    /// A value of the wrong type.
    pub fn wrong_type(path: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: FieldErrorType::WrongType(value.into()), detail: detail.into() }
    }

    /// A list of `count` items, more than `most`.
    pub fn too_many(path: &str, count: usize, most: i64) -> Self {
        let detail = match most {
            i64::MIN..=-1 => "has too many items".to_owned(),
            1 => "must have at most 1 item".to_owned(),
            _ => format!("must have at most {most} items"),
        };
        Self { path: path.to_owned(), kind: FieldErrorType::TooMany(count), detail }
    }

    /// Whether the CEL rules of a custom resource are skipped. Upstream: `hasBlockingErr`.
    pub fn prevents_rules(&self) -> bool {
        matches!(
            self.kind,
            FieldErrorType::Unsupported(_)
                | FieldErrorType::Required
                | FieldErrorType::TooLong
                | FieldErrorType::TooMany(_)
                | FieldErrorType::WrongType(_)
        )
    }

    /// The same error in an object embedded at `path`.
    pub fn below(mut self, path: &str) -> Self {
        self.path = format!("{path}.{}", self.path);
        self
    }

    /// Whether the error is about the field at `path`.
    pub fn is_at(&self, path: &str) -> bool {
        self.path == path
    }

    /// Whether the error is about `spec.selector` itself.
    pub fn is_of_selector(&self) -> bool {
        self.path == "spec.selector"
    }

    /// The error as a cause of a Status.
    pub fn cause(&self) -> Value {
        let reason = match self.kind {
            FieldErrorType::Invalid(_) | FieldErrorType::InvalidPrinted(_) => "FieldValueInvalid",
            FieldErrorType::Unsupported(_) | FieldErrorType::UnsupportedPrinted(_) => "FieldValueNotSupported",
            FieldErrorType::Duplicate(_) | FieldErrorType::DuplicatePrinted(_) => "FieldValueDuplicate",
            FieldErrorType::NotFound(_) => "FieldValueNotFound",
            FieldErrorType::Required => "FieldValueRequired",
            FieldErrorType::Forbidden => "FieldValueForbidden",
            FieldErrorType::TooLong => "FieldValueTooLong",
            FieldErrorType::TooMany(_) => "FieldValueTooMany",
            FieldErrorType::WrongType(_) => "FieldValueTypeInvalid",
        };
        json!({"reason": reason, "message": self.body(), "field": self.path})
    }

    fn body(&self) -> String {
        let detail = if self.detail.is_empty() { String::new() } else { format!(": {}", self.detail) };
        match &self.kind {
            FieldErrorType::Invalid(value) => format!("Invalid value: {}{detail}", bad_value(value)),
            FieldErrorType::InvalidPrinted(value) => format!("Invalid value: {value}{detail}"),
            FieldErrorType::DuplicatePrinted(value) => format!("Duplicate value: {value}{detail}"),
            FieldErrorType::Unsupported(value) => format!("Unsupported value: {}{detail}", bad_value(value)),
            FieldErrorType::UnsupportedPrinted(value) => format!("Unsupported value: {value}{detail}"),
            FieldErrorType::Duplicate(value) => format!("Duplicate value: {}{detail}", bad_value(value)),
            FieldErrorType::NotFound(value) => format!("Not found: {}{detail}", bad_value(value)),
            FieldErrorType::Required => format!("Required value{detail}"),
            FieldErrorType::Forbidden => format!("Forbidden{detail}"),
            FieldErrorType::TooLong => format!("Too long{detail}"),
            FieldErrorType::TooMany(count) => format!("Too many: {count}{detail}"),
            FieldErrorType::WrongType(value) => format!("Invalid value: {}{detail}", bad_value(value)),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}
