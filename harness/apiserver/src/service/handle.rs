//! Handles one request: reads its body, executes it, and turns a panic into a response.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;

use crate::clock;
use crate::http::limits::MAX_BODY_BYTES;
use crate::http::request::{NOT_UTF8, parse};
use crate::http::response::{ApiResponse, path_error_response};
use crate::http::route::PathError;
use crate::service::api_server::{ApiServer, ControllerMode};
use crate::service::response::ResponseBody;
use crate::storage::watch::WATCH_STATUS;

/// Upstream: `WithPanicRecovery`.
const PANICKED: &str = "This request caused apiserver to panic. Look in the logs.\n";

impl ApiServer {
    /// Responds to one request. The body of a watch response lasts as long as the watch. The
    /// request body cannot fail; a caller whose body can fail decides itself what to do then.
    /// [`ApiServer::on_request`] does not apply.
    pub async fn handle<B: Body<Error = Infallible>>(&self, request: Request<B>) -> Response<ResponseBody> {
        let Ok(request) = read_body(request).await;
        // The response takes time too, so watches mostly deliver a write before its response
        // arrives.
        let (request_delay, response_delay) = self.draw_delays();
        clock::sleep(request_delay).await;
        self.await_version(&request).await;
        let response = self.execute(request);
        clock::sleep(response_delay).await;
        self.to_http_response(response)
    }

    /// Waits a limited time for a future resourceVersion that a read requests.
    pub(crate) async fn await_version(&self, request: &Request<Bytes>) {
        /// Upstream: `blockTimeout` of the watch cache.
        const MAX_WAIT: Duration = Duration::from_secs(3);
        if !request.uri().query().is_some_and(|query| query.contains("resourceVersion")) {
            return;
        }
        let Ok(api_request) = parse(request.clone(), self.managed_fields) else { return };
        let mut writes = self.shared.writes.listen();
        let reached = async {
            while self.server().version_to_await(&api_request).is_some() {
                writes.changed().await;
            }
        };
        clock::within(MAX_WAIT, reached).await;
    }

    /// Executes a request at once. A panic is a bug of this server: the response is upstream's, and
    /// the request is recorded as unsupported.
    pub(crate) fn execute(&self, request: Request<Bytes>) -> ApiResponse {
        let name = format!("{} {}", request.method(), request.uri().path());
        self.catch(&name, || self.try_execute(request))
    }

    /// Runs `act`, and responds to a panic. Locks held during a panic are not poisoned for later
    /// requests (`locked`).
    fn catch(&self, name: &str, execute: impl FnOnce() -> ApiResponse) -> ApiResponse {
        catch_unwind(AssertUnwindSafe(execute)).unwrap_or_else(|_| {
            let mut server = self.server();
            server.unsupported.push(format!("{name}: the server panicked; see its standard error"));
            // The panicked request may have been a dry run; the next one is not.
            server.dry_run = false;
            ApiResponse::Complete {
                code: StatusCode::INTERNAL_SERVER_ERROR,
                body: PANICKED.into(),
                warnings: Vec::new(),
                content_type: "text/plain; charset=utf-8",
            }
        })
    }

    fn try_execute(&self, request: Request<Bytes>) -> ApiResponse {
        let now = self.now();
        let api_request = match parse(request, self.managed_fields) {
            Ok(api_request) => api_request,
            Err(why) => {
                if why == PathError::NotUtf8 {
                    self.server().unsupported.push(NOT_UTF8.to_owned());
                }
                return path_error_response(why);
            }
        };
        let (response, before, has_written) = {
            let mut server = self.server();
            let before = server.store.version();
            // A resync of the quotas may be due.
            while self.shared.controllers != ControllerMode::Off && server.recount_quota(now) {}
            let response = server.respond(&api_request, now);
            (response, before, server.store.version() != before)
        };
        match &response {
            ApiResponse::Complete { code, body, .. } => self.record(&api_request, now, *code, body),
            ApiResponse::Watch(_) => self.record(&api_request, now, WATCH_STATUS, &Bytes::new()),
        }
        if has_written {
            self.after_write(before);
        }
        response
    }
}

/// Reads the body of a request. Of a body that is too long, reading stops at the limit.
///
/// # Errors
/// If the body fails.
pub(crate) async fn read_body<B: Body>(request: Request<B>) -> Result<Request<Bytes>, B::Error> {
    let (parts, body) = request.into_parts();
    let mut body = pin!(body);
    let mut read = BytesMut::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame?.into_data() {
            read.put(data.take(MAX_BODY_BYTES + 1 - read.len()));
        }
        if read.len() > MAX_BODY_BYTES {
            break;
        }
    }
    Ok(Request::from_parts(parts, read.freeze()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_after_a_panic_under_the_lock() {
        let server = ApiServer::new();
        let panics = || -> ApiResponse {
            let mut locked = server.server();
            locked.dry_run = true;
            panic!("a test's");
        };
        let response = server.to_http_response(server.catch("PUT /a", panics));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), PANICKED);
        assert_eq!(server.unsupported(), ["PUT /a: the server panicked; see its standard error"]);
        let map = Request::post("/api/v1/namespaces/default/configmaps");
        let map = map.header("content-type", "application/json").body(r#"{"metadata":{"name":"a"}}"#.to_owned());
        assert_eq!(server.handle(map.unwrap()).await.status(), StatusCode::CREATED);
        assert_eq!(server.storage("configmaps").unwrap().list("default").len(), 1, "this was no dry run");
    }
}
