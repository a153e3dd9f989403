//! One request of the subject's, as the interceptor keeps it.

use std::fmt;
use std::time::Duration;

use super::Verb;
use crate::clock::Instant;

/// One request that passed the interceptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterceptedRequest {
    /// In order of arrival at the interceptor, from 1.
    pub seq: u64,
    /// When it arrived.
    pub started: Instant,
    /// How long it took; for a watch, until its answer began.
    pub took: Duration,
    /// What it did.
    pub verb: Verb,
    /// The API group; empty for the core group.
    pub group: String,
    /// Its namespace, or empty.
    pub namespace: String,
    /// The resource, plural; empty for a path that names none.
    pub resource: String,
    /// `status`, `scale`, … or empty.
    pub subresource: String,
    /// The object's name, or empty.
    pub name: String,
    /// The path without its query, as it was sent.
    pub path: String,
    /// The HTTP status that the server answered with; `None` if its client went away before.
    pub status: Option<u16>,
    /// What the server said with it where it is an error, though not about Secrets; of a message to
    /// the webhook, the message.
    pub message: Option<String>,
    /// Whether it meant to change a status with the object, where the server ignores that.
    pub ignored_status: bool,
    /// How the client calls itself.
    pub user_agent: String,
}

impl InterceptedRequest {
    /// Whether the server would not have it from this client: 401 or 403. It need not be for want
    /// of rights: in a namespace that goes, or that is full, nobody may create anything.
    pub fn is_refused(&self) -> bool {
        matches!(self.status, Some(401 | 403))
    }
}

/// `update deployments/status`, and where: what was asked, without the object's name.
impl fmt::Display for InterceptedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.resource.is_empty() { &self.path } else { &self.resource };
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        write!(f, "{} {what}{slash}{}", self.verb, self.subresource)?;
        if self.namespace.is_empty() { Ok(()) } else { write!(f, " in {}", self.namespace) }
    }
}
