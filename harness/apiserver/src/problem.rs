//! Error answers: status, reason, message and details as upstream's `apierrors` makes them.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Value, json};

use super::call::DEEPEST;
use super::field::FieldError;
use super::kinds::Kind;

/// An answer that is an error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    pub(super) code: StatusCode,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) details: Option<Value>,
    /// The real server answers otherwise: the request is not supported here.
    pub(super) unsupported: bool,
}

/// The result of an operation.
pub(super) type Outcome<T> = Result<T, Problem>;

impl Problem {
    fn new(code: StatusCode, reason: &'static str, message: String) -> Self {
        Self { code, reason, message, details: None, unsupported: false }
    }

    fn about(mut self, kind: &Kind, name: &str) -> Self {
        let mut details = json!({"name": name, "kind": kind.plural});
        if !kind.group.is_empty() {
            details["group"] = kind.group.into();
        }
        self.details = Some(details);
        self
    }

    pub(super) fn not_found(kind: &Kind, name: &str) -> Self {
        let message = format!("{} {} not found", kind.resource(), go_quoted(name));
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).about(kind, name)
    }

    /// No such path.
    pub(super) fn no_path() -> Self {
        let mut problem =
            Self::new(StatusCode::NOT_FOUND, "NotFound", "the server could not find the requested resource".to_owned());
        problem.details = Some(json!({}));
        problem
    }

    pub(super) fn exists(kind: &Kind, name: &str, going: bool) -> Self {
        let going = if going { "object is being deleted: " } else { "" };
        let message = format!("{going}{} \"{name}\" already exists", kind.resource());
        Self::new(StatusCode::CONFLICT, "AlreadyExists", message).about(kind, name)
    }

    /// The same for a generated name. Upstream: `CheckGeneratedNameError`.
    pub(super) fn not_unique(mut self) -> Self {
        self.message += ", the server was not able to generate a unique name for the object";
        if let Some(details) = &mut self.details {
            details["retryAfterSeconds"] = 1.into();
        }
        self
    }

    pub(super) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", kind.resource());
        Self::new(StatusCode::CONFLICT, "Conflict", message).about(kind, name)
    }

    /// The resourceVersion of a write is not the latest.
    pub(super) fn stale(kind: &Kind, name: &str) -> Self {
        const WHY: &str = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(kind, name, WHY)
    }

    /// Fields that an apply changes are other managers'. Upstream: `NewApplyConflict`.
    pub(super) fn apply_conflict(message: String, causes: &[Value]) -> Self {
        let mut problem = Self::new(StatusCode::CONFLICT, "Conflict", message);
        problem.details = Some(json!({"causes": causes}));
        problem
    }

    pub(super) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.resource());
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).about(kind, name)
    }

    /// Nothing can be created in a namespace that is being deleted.
    pub(super) fn terminating(kind: &Kind, name: &str, namespace: &str) -> Self {
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let mut problem = Self::forbidden(kind, name, &why);
        if let Some(details) = &mut problem.details {
            details["causes"] = json!([{"reason": "NamespaceTerminating",
                "message": format!("namespace {namespace} is being terminated"), "field": "metadata.namespace"}]);
        }
        problem
    }

    /// An invalid object; `qualified` and `kind` are those of the errors' object.
    pub(super) fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        // The message has no duplicates, the causes do.
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
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        problem.details = Some(details);
        problem
    }

    pub(super) fn bad_request(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// A patch that cannot be applied.
    pub(super) fn bad_patch(why: &str) -> Self {
        let message = "the server rejected our request due to an error in our request".to_owned();
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", message);
        problem.details = Some(if why.is_empty() {
            json!({})
        } else {
            json!({"causes": [{"reason": "UnexpectedServerResponse", "message": why}]})
        });
        problem
    }

    /// An error that upstream passes on as it is.
    pub(super) fn plain_internal(message: String) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "", message)
    }

    pub(super) fn internal(message: &str) -> Self {
        let mut problem = Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "InternalError",
            format!("Internal error occurred: {message}"),
        );
        problem.details = Some(json!({"causes": [{"message": message}]}));
        problem
    }

    pub(super) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        let mut problem = Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message);
        problem.details = Some(json!({}));
        problem
    }

    /// A patch in an unknown media type.
    pub(super) fn no_patch_form() -> Self {
        let message = "415: Unsupported Media Type".to_owned();
        let mut problem = Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message);
        problem.details = Some(json!({}));
        problem
    }

    pub(super) fn media_type(supported: &str) -> Self {
        let message =
            format!("the body of the request was in an unknown format - accepted media types include: {supported}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)
    }

    /// Upstream: `NewRequestEntityTooLargeError`.
    pub(super) fn body_too_large(why: &str) -> Self {
        let message = format!("Request entity too large: {why}");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message)
    }

    /// A body or an object that is nested deeper than this server reads. Upstream reads 10,000
    /// levels.
    pub(super) fn too_deep() -> Self {
        Self::unsupported(format!("values nested deeper than {DEEPEST} levels"))
    }

    /// A disruption budget does not allow it. Upstream: `NewTooManyRequests`, with a cause.
    pub(super) fn too_many_requests(message: &str, after: u64, why: &str) -> Self {
        let mut problem = Self::new(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", message.to_owned());
        let mut details = json!({"causes": [{"reason": "DisruptionBudget", "message": why}]});
        if after > 0 {
            details["retryAfterSeconds"] = after.into();
        }
        problem.details = Some(details);
        problem
    }

    pub(super) fn expired(message: String) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// A resourceVersion of the future.
    pub(super) fn too_large(wanted: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {wanted}, current: {current}");
        let mut problem = Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", format!("Timeout: {message}"));
        problem.details =
            Some(json!({"causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]}));
        problem
    }

    /// Asks the client to try again after some seconds.
    pub(super) fn again_after(mut self, seconds: u64) -> Self {
        if let Some(details) = &mut self.details {
            details["retryAfterSeconds"] = seconds.into();
        }
        self
    }

    /// Something that the real server supports and this one does not.
    pub(super) fn unsupported(what: impl Into<String>) -> Self {
        let message = format!("kube-apiserver-sim does not support {}", what.into());
        let mut problem = Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message);
        problem.unsupported = true;
        problem
    }

    /// An answer in a media type that the resource does not have.
    pub(super) fn not_acceptable(message: String) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// An answer in a media type that no path has.
    pub(super) fn not_served(message: String) -> Self {
        let mut problem = Self::not_acceptable(message);
        problem.details = Some(json!({}));
        problem
    }

    /// The body.
    pub(super) fn status(&self) -> Value {
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

/// A text in Go's `%q`.
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
