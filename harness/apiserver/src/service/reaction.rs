//! How a request hook decides that a request is handled.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::http::request::JSON;
use crate::service::lock::locked;

/// How a request is handled.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Reaction {
    /// The server handles it.
    #[default]
    Pass,
    /// The server handles it after this time.
    Delay(Duration),
    /// This is the response. The server does not see the request.
    Answer(Response<Bytes>),
    /// No response is sent, and the connection stays open. The server does not see the request.
    Hang,
    /// The connection breaks. The server does not see the request.
    Disconnect,
    /// The server handles the request, and the connection breaks before the response: the client
    /// cannot know whether its write happened.
    LoseAnswer,
}

impl Reaction {
    /// A response with this status and JSON body.
    #[must_use]
    pub fn json(code: StatusCode, body: &Value) -> Self {
        let mut response = Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = code;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        Self::Answer(response)
    }

    /// An error response: a `Status` with this reason, such as `Conflict`, and this message.
    #[must_use]
    pub fn failure(code: StatusCode, reason: &str, message: &str) -> Self {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code.as_u16()});
        Self::json(code, &status)
    }
}

/// The connection broke before the response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disconnection;

impl fmt::Display for Disconnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection to the simulated API server broke before an answer")
    }
}

impl std::error::Error for Disconnection {}

pub(crate) type Hook = Arc<Mutex<dyn FnMut(&Request<Bytes>) -> Reaction + Send>>;

/// The hook that a test has set, if any.
#[derive(Default)]
pub(crate) struct RequestHook(pub(crate) Mutex<Option<Hook>>);

impl RequestHook {
    pub(crate) fn react(&self, request: &Request<Bytes>) -> Reaction {
        // The outer lock is not held while the hook runs, as the hook may set another one.
        let hook = locked(&self.0).clone();
        hook.map_or(Reaction::Pass, |hook| locked(&hook)(request))
    }
}
