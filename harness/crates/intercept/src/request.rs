//! A request of the subject, as logged by the interceptor.

use std::fmt;
use std::time::Duration;

use lockstep_support::clock::Instant;

use super::Verb;

/// A request that passed the interceptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterceptedRequest {
    /// Its number in order of arrival, from 1.
    pub seq: u64,
    /// When it arrived.
    pub started: Instant,
    /// Its duration; for a watch, until its answer began.
    pub took: Duration,
    /// Its verb.
    pub verb: Verb,
    /// The API group; empty for the core group.
    pub group: String,
    /// Its namespace, or empty.
    pub namespace: String,
    /// The resource, plural; empty if the path names none.
    pub resource: String,
    /// `status`, `scale`, … or empty.
    pub subresource: String,
    /// The object's name, or empty.
    pub name: String,
    /// The path without its query, as it was sent.
    pub path: String,
    /// The HTTP status of the answer; `None` if the client disconnected before.
    pub status: Option<u16>,
    /// The server's message for an error, except about Secrets; for a webhook message, its text.
    pub message: Option<String>,
    /// Whether it tried to change the status with the object, which the server ignores.
    pub ignored_status: bool,
    /// The client's user agent.
    pub user_agent: String,
}

impl InterceptedRequest {
    /// Whether the server refused it with 401 or 403. The cause need not be missing permissions: in
    /// a terminating or full namespace nothing can be created.
    pub fn is_refused(&self) -> bool {
        matches!(self.status, Some(401 | 403))
    }
}

/// `update deployments/status in NAMESPACE`: the request, without the object's name.
impl fmt::Display for InterceptedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.resource.is_empty() { &self.path } else { &self.resource };
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        write!(f, "{} {what}{slash}{}", self.verb, self.subresource)?;
        if self.namespace.is_empty() { Ok(()) } else { write!(f, " in {}", self.namespace) }
    }
}
