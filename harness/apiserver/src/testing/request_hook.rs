//! The request hook: a test's function that sees every request and decides how it is handled.
//!
//! A hook injects faults: an error response, a delayed or missing response, a broken connection. It
//! also stands in for what the server does not implement, such as authorization and token reviews.
//!
//! A `tower` layer can do the same for clients in this process. A hook also applies to clients over
//! HTTP, and sees requests in the order in which the server handles them.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;

use crate::clock;
use crate::service::api_server::ApiServer;
use crate::service::handle::read_body;
use crate::service::lock::locked;
use crate::service::reaction::{Disconnection, Reaction};
use crate::service::response::ResponseBody;

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
    pub(crate) async fn receive<B: Body>(&self, request: Request<B>) -> Result<Response<ResponseBody>, Disconnection> {
        // A failing body means that the client has gone: do nothing.
        let request = read_body(request).await.map_err(|_| Disconnection)?;
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
            Reaction::Disconnect => return Err(Disconnection),
            Reaction::LoseAnswer => {
                self.await_version(&request).await;
                self.execute(request);
                return Err(Disconnection);
            }
        }
        self.await_version(&request).await;
        let answer = self.execute(request);
        clock::sleep(response_delay).await;
        Ok(self.to_http_response(answer))
    }
}
