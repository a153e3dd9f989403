//! What the subject sends, with queries and bodies: kept where it is asked for, to compare two
//! programs request by request.
//!
//! The interceptor's own log (`log`) has neither, because a case needs neither and bodies may hold
//! secrets. Here they are kept in memory for whoever asked, and are in no recording.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::USER_AGENT;

use super::body::{BodyError, Stream, stream, whole};

/// One request, as it came to the interceptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentRequest {
    /// As in HTTP: `PUT`.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// How the client calls itself.
    pub client: String,
    /// The body, which is empty where there is none.
    pub body: Vec<u8>,
    /// The HTTP status of the answer; `None` while there is none.
    pub status: Option<u16>,
}

/// Requests in the order in which they arrived; clones share them.
#[derive(Debug, Clone, Default)]
pub struct SentLog(Arc<Mutex<Vec<SentRequest>>>);

impl SentLog {
    /// All of them so far.
    #[must_use]
    pub fn requests(&self) -> Vec<SentRequest> {
        self.all().clone()
    }

    /// Note a request whose body is read for it; the number under which it stands, and the same
    /// request.
    pub(super) async fn note(&self, request: Request<Stream>) -> Result<(usize, Request<Stream>), BodyError> {
        let (head, body) = request.into_parts();
        let body = whole(body).await?;
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

    /// It was answered.
    pub(super) fn answered(&self, number: usize, status: u16) {
        if let Some(request) = self.all().get_mut(number) {
            request.status = Some(status);
        }
    }

    fn all(&self) -> MutexGuard<'_, Vec<SentRequest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
