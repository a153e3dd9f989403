//! Error responses: status, reason, message and details as in upstream's `apierrors`.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Value, json};

use crate::http::limits::MAX_DEPTH;
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;

/// An error response.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StatusError {
    pub(crate) code: StatusCode,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    /// Whether the request is unsupported: the real server would respond differently.
    pub(crate) unsupported: bool,
}

/// The result of handling a request.
pub(crate) type ApiResult<T> = Result<T, StatusError>;

impl StatusError {
    fn new(code: StatusCode, reason: &'static str, message: String) -> Self {
        Self { code, reason, message, details: None, unsupported: false }
    }

    fn about(mut self, kind: &ResourceKind, name: &str) -> Self {
        let mut details = json!({"name": name, "kind": kind.plural});
        if !kind.group.is_empty() {
            details["group"] = kind.group.into();
        }
        self.details = Some(details);
        self
    }

    pub(crate) fn not_found(kind: &ResourceKind, name: &str) -> Self {
        let message = format!("{} {} not found", kind.resource(), go_quoted(name));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(kind, name)
    }

    /// The path does not exist.
    pub(crate) fn no_path() -> Self {
        let mut error =
            Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource".to_owned());
        error.details = Some(json!({}));
        error
    }

    pub(crate) fn already_exists(kind: &ResourceKind, name: &str, is_deleting: bool) -> Self {
        let is_deleting = if is_deleting { "object is being deleted: " } else { "" };
        let message = format!("{is_deleting}{} \"{name}\" already exists", kind.resource());
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(kind, name)
    }

    /// Adds that no unique name could be generated. Upstream: `CheckGeneratedNameError`.
    pub(crate) fn not_unique(mut self) -> Self {
        self.message += ", the server was not able to generate a unique name for the object";
        if let Some(details) = &mut self.details {
            details["retryAfterSeconds"] = 1.into();
        }
        self
    }

    pub(crate) fn conflict(kind: &ResourceKind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource());
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(kind, name)
    }

    /// The resourceVersion of a write is not the latest.
    pub(crate) fn stale(kind: &ResourceKind, name: &str) -> Self {
        const WHY: &str = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, WHY)
    }

    /// An apply changes fields of other managers. Upstream: `NewApplyConflict`.
    pub(crate) fn apply_conflict(message: String, causes: &[Value]) -> Self {
        let mut error = Self::new(StatusCode::CONFLICT, "Conflict", message);
        error.details = Some(json!({"causes": causes}));
        error
    }

    pub(crate) fn forbidden(kind: &ResourceKind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.resource());
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(kind, name)
    }

    /// The namespace is being deleted.
    pub(crate) fn terminating(kind: &ResourceKind, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut error = Self::forbidden(kind, name, &why);
        if let Some(details) = &mut error.details {
            details["causes"] = json!([{"reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"}]);
        }
        error
    }

    /// The object is invalid; `group` and `kind` are those of the object in the errors.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        // The message omits duplicates, the causes do not.
        let mut known = BTreeSet::new();
        let all: Vec<String> =
            errors.iter().map(ToString::to_string).filter(|error| known.insert(error.clone())).collect();
        let all = if let [one] = all.as_slice() { one.clone() } else { format!("[{}]", all.join(", ")) };
        let causes: Vec<Value> = errors.iter().map(FieldError::cause).collect();
        let mut details = json!({"causes": causes});
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                details[key] = value.into();
            }
        }
        let message = format!("{qualified} \"{name}\" is invalid: {all}");
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        error.details = Some(details);
        error
    }

    pub(crate) fn bad_request(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// The patch cannot be applied.
    pub(crate) fn bad_patch(why: &str) -> Self {
        let message = "the server rejected our request due to an error in our request".to_owned();
        let mut error = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        error.details = Some(if why.is_empty() {
            json!({})
        } else {
            json!({"causes": [{"reason": "UnexpectedServerResponse", "message": why}]})
        });
        error
    }

    /// An internal error whose message upstream passes on unchanged.
    pub(crate) fn plain_internal(message: String) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    pub(crate) fn internal(message: &str) -> Self {
        let mut error = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        );
        error.details = Some(json!({"causes": [{"message": message}]}));
        error
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        let mut error = Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
        error.details = Some(json!({}));
        error
    }

    /// The media type of the patch is unknown.
    pub(crate) fn unknown_patch_type() -> Self {
        let message = "415: Unsupported Media Type".to_owned();
        let mut error = Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message);
        error.details = Some(json!({}));
        error
    }

    pub(crate) fn unsupported_media_type(supported: &str) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {supported}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// Upstream: `NewRequestEntityTooLargeError`.
    pub(crate) fn body_too_large(why: &str) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// A body or an object is nested deeper than this server supports. Upstream supports 10,000
    /// levels.
    pub(crate) fn too_deep() -> Self {
        Self::unsupported(format!("values nested deeper than {MAX_DEPTH} levels"))
    }

    /// A disruption budget does not allow the eviction. Upstream: `NewTooManyRequests`, with a
    /// cause.
    pub(crate) fn too_many_requests(message: &str, after: u64, why: &str) -> Self {
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message.to_owned());
        let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": why}]});
        if after > 0 {
            details["retryAfterSeconds"] = after.into();
        }
        error.details = Some(details);
        error
    }

    pub(crate) fn expired(message: String) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The requested resourceVersion is in the future.
    pub(crate) fn too_large(requested: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {requested}, current: {current}");
        let mut error = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", format!("Timeout: {message}"));
        error.details =
            Some(json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}));
        error
    }

    /// Asks the client to retry after some seconds.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        if let Some(details) = &mut self.details {
            details["retryAfterSeconds"] = seconds.into();
        }
        self
    }

    /// The real server supports this and this one does not.
    pub(crate) fn unsupported(feature: impl Into<String>) -> Self {
        let message = format!("kube-apiserver-sim does not support {}", feature.into());
        let mut error = Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message);
        error.unsupported = true;
        error
    }

    /// The resource does not support the requested media type.
    pub(crate) fn not_acceptable(message: String) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// No path supports the requested media type.
    pub(crate) fn not_served(message: String) -> Self {
        let mut error = Self::not_acceptable(message);
        error.details = Some(json!({}));
        error
    }

    pub(crate) fn status(&self) -> Value {
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code.as_u16()});
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

/// Quotes a text as Go's `%q` does.
fn go_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if letter.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}
