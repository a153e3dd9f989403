//! Field errors, in the words of upstream's `field.Error`.

use std::fmt;

use serde_json::{Value, json};

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
    InvalidUntold,
    DuplicateUntold,
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

    pub(super) fn too_long(path: &str, most: usize) -> Self {
        Self { path: path.to_owned(), kind: Kind::TooLong, detail: format!("may not be more than {most} bytes") }
    }

    pub(super) fn unsupported(path: &str, value: impl Into<Value>, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|value| format!("\"{value}\"")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        Self { path: path.to_owned(), kind: Kind::Unsupported(value.into()), detail }
    }

    pub(super) fn unsupported_shown(path: &str, value: String, supported: &[&str]) -> Self {
        Self { kind: Kind::UnsupportedShown(value), ..Self::unsupported(path, Value::Null, supported) }
    }

    /// With no value: it is too large to show.
    pub(super) fn invalid_untold(path: &str, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::InvalidUntold, detail: detail.into() }
    }

    pub(super) fn duplicate_untold(path: &str) -> Self {
        Self { path: path.to_owned(), kind: Kind::DuplicateUntold, detail: String::new() }
    }

    /// A value of another type than its schema says.
    pub(super) fn wrong_type(path: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self { path: path.to_owned(), kind: Kind::WrongType(value.into()), detail: detail.into() }
    }

    pub(super) fn too_many(path: &str, found: usize, most: usize) -> Self {
        let detail = format!("must have at most {most} items");
        Self { path: path.to_owned(), kind: Kind::TooMany(found), detail }
    }

    /// Whether the rules of a custom resource are not evaluated besides. Upstream: `hasBlockingErr`.
    pub(super) fn prevents_rules(&self) -> bool {
        matches!(
            self.kind,
            Kind::Unsupported(_) | Kind::Required | Kind::TooLong | Kind::TooMany(_) | Kind::WrongType(_)
        )
    }

    /// Whether it is about `spec.selector` as a whole.
    pub(super) fn is_of_selector(&self) -> bool {
        self.path == "spec.selector"
    }

    /// As a cause in a Status.
    pub(super) fn cause(&self) -> Value {
        let reason = match self.kind {
            Kind::Invalid(_) | Kind::Shown(_) | Kind::InvalidUntold => "FieldValueInvalid",
            Kind::Unsupported(_) | Kind::UnsupportedShown(_) => "FieldValueNotSupported",
            Kind::Duplicate(_) | Kind::DuplicateShown(_) | Kind::DuplicateUntold => "FieldValueDuplicate",
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
            Kind::Invalid(value) => format!("Invalid value: {value}{detail}"),
            Kind::Shown(value) => format!("Invalid value: {value}{detail}"),
            Kind::DuplicateShown(value) => format!("Duplicate value: {value}{detail}"),
            Kind::Unsupported(value) => format!("Unsupported value: {value}{detail}"),
            Kind::UnsupportedShown(value) => format!("Unsupported value: {value}{detail}"),
            Kind::Duplicate(value) => format!("Duplicate value: {value}{detail}"),
            Kind::NotFound(value) => format!("Not found: {value}{detail}"),
            Kind::Required => format!("Required value{detail}"),
            Kind::Forbidden => format!("Forbidden{detail}"),
            Kind::TooLong => format!("Too long{detail}"),
            Kind::TooMany(found) => format!("Too many: {found}{detail}"),
            Kind::WrongType(value) => format!("Invalid value: {value}{detail}"),
            Kind::InvalidUntold => format!("Invalid value{detail}"),
            Kind::DuplicateUntold => format!("Duplicate value{detail}"),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}
