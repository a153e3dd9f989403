//! The request hook: a test's function that sees every request and decides how it is handled.
//!
//! A hook injects faults: an error response, a delayed or missing response, a broken connection. It
//! also stands in for what the server does not implement, such as authorization and token reviews.
//!
//! A `tower` layer can do the same for clients in this process. A hook also applies to clients over
//! HTTP, and sees requests in the order in which the server handles them.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Body;
use serde_json::{Value, json};

use crate::clock;
use crate::handle::read_body;
use crate::http::request::JSON;
use crate::response::ResponseBody;
use crate::service::{ApiServer, locked};

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
pub struct Disconnected;

impl fmt::Display for Disconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection to the simulated API server broke before an answer")
    }
}

impl std::error::Error for Disconnected {}

type Hook = Arc<Mutex<dyn FnMut(&Request<Bytes>) -> Reaction + Send>>;

/// The hook that a test has set, if any.
#[derive(Default)]
pub(crate) struct RequestHook(Mutex<Option<Hook>>);

impl RequestHook {
    fn react(&self, request: &Request<Bytes>) -> Reaction {
        // The outer lock is not held while the hook runs, as the hook may set another one.
        let hook = locked(&self.0).clone();
        hook.map_or(Reaction::Pass, |hook| locked(&hook)(request))
    }
}

impl ApiServer {
    /// Calls this function for every request of a client from now on, instead of the previous one.
    /// It decides how the request is handled; to find out which resource a request is about, use
    /// [`RequestInfo::parse`](crate::RequestInfo::parse).
    ///
    /// It is called when the request arrives, after the delay of the latency model. Requests
    /// through [`ApiServer::handle`] do not reach it: their caller decides itself.
    ///
    /// ```
    /// use http::{Method, StatusCode};
    /// use kube_apiserver_sim::{ApiServer, Reaction};
    ///
    /// let server = ApiServer::new();
    /// let mut left = 3;
    /// // The first three writes meet an overloaded server.
    /// server.on_request(move |request| {
    ///     if left == 0 || request.method() == Method::GET {
    ///         return Reaction::Pass;
    ///     }
    ///     left -= 1;
    ///     Reaction::failure(StatusCode::TOO_MANY_REQUESTS, "TooManyRequests", "try again later")
    /// });
    /// ```
    pub fn on_request(&self, hook: impl FnMut(&Request<Bytes>) -> Reaction + Send + 'static) {
        *locked(&self.shared.request_hook.0) = Some(Arc::new(Mutex::new(hook)));
    }

    /// Handles a request of a client as the hook decides.
    pub(crate) async fn receive<B: Body>(&self, request: Request<B>) -> Result<Response<ResponseBody>, Disconnected> {
        // A failing body means that the client has gone: do nothing.
        let request = read_body(request).await.map_err(|_| Disconnected)?;
        let (request_delay, response_delay) = self.draw_delays();
        clock::sleep(request_delay).await;
        match self.shared.request_hook.react(&request) {
            Reaction::Pass => {}
            Reaction::Delay(time) => clock::sleep(time).await,
            Reaction::Answer(response) => {
                self.record_hook_response(&request, &response);
                clock::sleep(response_delay).await;
                return Ok(response.map(ResponseBody::complete));
            }
            Reaction::Hang => return std::future::pending().await,
            Reaction::Disconnect => return Err(Disconnected),
            Reaction::LoseAnswer => {
                self.await_version(&request).await;
                self.execute(request);
                return Err(Disconnected);
            }
        }
        self.await_version(&request).await;
        let answer = self.execute(request);
        clock::sleep(response_delay).await;
        Ok(self.to_http_response(answer))
    }
}
