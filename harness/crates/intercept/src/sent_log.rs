//! Records what the subject sends, with queries and bodies, to compare two programs request by
//! request.
//!
//! The interceptor's log (`log`) has neither, because a case does not need them and bodies may
//! contain secrets. Here they are held in memory, and are not part of a recording.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::USER_AGENT;

use super::body::{BodyError, BodyStream, collect, stream};

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
    pub(super) fn answered(&self, number: usize, status: u16) {
        if let Some(request) = self.all().get_mut(number) {
            request.status = Some(status);
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<SentRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
