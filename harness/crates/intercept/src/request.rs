//! Requests of the subject: as the interceptor logs them, and, for a comparison of two programs
//! request by request, as they were sent, with queries and bodies. And bodies, of requests and
//! responses, over a socket or in this process.
//!
//! The interceptor's log (`log`) has neither queries nor bodies, because a case does not need them
//! and bodies may contain secrets. [`SentLog`] holds them in memory; they are not part of a
//! recording.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper::body::{Body, Bytes};
use hyper::header::USER_AGENT;
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
    /// From the method, the path and `watch` in the query.
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
    /// The beginning of a patch, except of Secrets.
    pub patch: Option<String>,
    /// The client's user agent.
    pub user_agent: String,
    /// The resourceVersion of the object that a successful write was answered with, if the log
    /// reads it.
    pub version: Option<u64>,
}

impl InterceptedRequest {
    /// Whether it wrote something.
    pub fn is_successful_write(&self) -> bool {
        self.verb.is_write() && matches!(self.status, Some(200..300))
    }

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

/// A request, as it arrived at the interceptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    /// The HTTP method, such as `PUT`.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The client's user agent.
    pub client: String,
    /// The body; empty if there is none.
    pub body: Vec<u8>,
    /// The HTTP status of the answer; `None` while there is none.
    pub status: Option<u16>,
}

/// Requests in the order in which they arrived; clones share them.
#[derive(Debug, Clone, Default)]
pub struct SentLog(Arc<Mutex<Vec<SentRequest>>>);

impl SentLog {
    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<SentRequest> {
        self.all().clone()
    }

    /// Records a request, reading its body; returns its index and the same request.
    pub(super) async fn record(&self, request: Request<BodyStream>) -> Result<(usize, Request<BodyStream>), BodyError> {
        let (head, body) = request.into_parts();
        let body = collect(body).await?;
        let client = head.headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        let mut all = self.all();
        all.push(SentRequest {
            method: head.method.to_string(),
            uri: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            client: client.unwrap_or_default(),
            body: body.to_vec(),
            status: None,
        });
        Ok((all.len() - 1, Request::from_parts(head, stream(Full::<Bytes>::new(body)))))
    }

    /// Records the status of its answer.
    pub(super) fn record_status(&self, number: usize, status: u16) {
        if let Some(request) = self.all().get_mut(number) {
            request.status = Some(status);
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<SentRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error while a body is transferred.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct BodyError(Box<dyn Error + Send + Sync>);

/// A body of any origin, frame by frame.
pub(super) type BodyStream = UnsyncBoxBody<Bytes, BodyError>;

/// The maximum size of a collected request, in bytes; no server accepts as many.
const MAX_REQUEST: usize = 16 << 20;

pub(super) async fn collect(body: BodyStream) -> Result<Bytes, BodyError> {
    Ok(Limited::new(body, MAX_REQUEST).collect().await.map_err(BodyError)?.to_bytes())
}

/// Converts any body.
pub(super) fn stream<B>(body: B) -> BodyStream
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    body.map_err(|error| BodyError(error.into())).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn endless_request_is_refused() {
        let of = |length| collect(stream(Full::new(Bytes::from(vec![b' '; length]))));
        assert_eq!(of(MAX_REQUEST).await.unwrap().len(), MAX_REQUEST);
        assert!(of(MAX_REQUEST + 1).await.is_err());
    }
}
