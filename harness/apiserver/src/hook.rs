//! The hook of a test: it sees every request, and decides what becomes of it.
//!
//! A hook injects faults: a refusal, an answer that takes long or never comes, a broken connection.
//! It also stands in for what the server does not do, as authorization and reviews of tokens.
//!
//! A `tower` layer can do the same for clients in this process. A hook applies to clients over
//! HTTP too, and sees requests in the order in which the server handles them.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response, StatusCode};
use http_body::Body;
use serde_json::{Value, json};

use crate::clock;
use crate::handle::whole;
use crate::response::ResponseBody;
use crate::server::JSON;
use crate::service::{ApiServer, locked};

/// What becomes of a request.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Reaction {
    /// The server answers it.
    #[default]
    Pass,
    /// The server answers it after this time.
    Delay(Duration),
    /// This is the answer. The server does not see the request.
    Answer(Response<Bytes>),
    /// There is no answer, and the connection stays open. The server does not see the request.
    Hang,
    /// The connection breaks. The server does not see the request.
    Disconnect,
    /// The server handles the request, and the connection breaks before the answer: the client
    /// cannot know whether its write happened.
    LoseAnswer,
}

impl Reaction {
    /// An answer with this status and body.
    #[must_use]
    pub fn json(code: StatusCode, body: &Value) -> Self {
        let mut response = Response::new(Bytes::from(body.to_string()));
        *response.status_mut() = code;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        Self::Answer(response)
    }

    /// A refusal: a `Status` with this reason, such as `Conflict`, and this message.
    #[must_use]
    pub fn failure(code: StatusCode, reason: &str, message: &str) -> Self {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code.as_u16()});
        Self::json(code, &status)
    }
}

/// The connection of a request broke before its answer.
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

/// The hook, if a test has set one.
#[derive(Default)]
pub(crate) struct Hooked(Mutex<Option<Hook>>);

impl Hooked {
    fn react(&self, request: &Request<Bytes>) -> Reaction {
        // Not locked while the hook runs, which may set another one.
        let hook = locked(&self.0).clone();
        hook.map_or(Reaction::Pass, |hook| locked(&hook)(request))
    }
}

impl ApiServer {
    /// Calls this function with every request of a client from now on, in place of the function
    /// that was set before. It decides what becomes of the request; to read from it which resource
    /// it is about, use [`Route::parse`](crate::Route::parse).
    ///
    /// It is called when the request arrives, once the latency model's delay has passed. Requests
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
        *locked(&self.shared.hooked.0) = Some(Arc::new(Mutex::new(hook)));
    }

    /// Answers a request of a client, as the hook decides.
    pub(crate) async fn receive<B: Body>(&self, request: Request<B>) -> Result<Response<ResponseBody>, Disconnected> {
        // A body that breaks off is a client that is gone: nothing is done.
        let request = whole(request).await.map_err(|_| Disconnected)?;
        let (there, back) = self.trips();
        clock::sleep(there).await;
        match self.shared.hooked.react(&request) {
            Reaction::Pass => {}
            Reaction::Delay(time) => clock::sleep(time).await,
            Reaction::Answer(response) => {
                self.note_instead(&request, &response);
                clock::sleep(back).await;
                return Ok(response.map(ResponseBody::whole));
            }
            Reaction::Hang => return std::future::pending().await,
            Reaction::Disconnect => return Err(Disconnected),
            Reaction::LoseAnswer => {
                self.await_version(&request).await;
                self.act(request);
                return Err(Disconnected);
            }
        }
        self.await_version(&request).await;
        let answer = self.act(request);
        clock::sleep(back).await;
        Ok(self.reply(answer))
    }
}
