//! The server as a tower service: receives a request, waits as the latency model says, and
//! responds.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::http::response::ApiResponse;
use crate::service::api_server::ApiServer;
use crate::service::reaction::Disconnection;
use crate::service::response::{ResponseBody, WatchStream};
use crate::storage::watch::WATCH_STATUS;
use crate::types::protobuf;

impl ApiServer {
    pub(crate) fn to_http_response(&self, response: ApiResponse) -> Response<ResponseBody> {
        let mut retry_seconds = None;
        let (code, body, warnings, content_type) = match response {
            ApiResponse::Complete { code, body, warnings, content_type } => {
                retry_seconds = if code.is_success() { None } else { retry_after(&body) };
                (code, ResponseBody::complete(body), warnings, content_type)
            }
            ApiResponse::Watch(cursor) => {
                let content_type = cursor.format.watch_media_type();
                (WATCH_STATUS, ResponseBody::watch(WatchStream::open(self.clone(), cursor)), Vec::new(), content_type)
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if let Some(seconds) = retry_seconds {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        for warning in warnings {
            if let Ok(value) = HeaderValue::from_str(&format!("299 - {warning:?}")) {
                headers.append(http::header::WARNING, value);
            }
        }
        response
    }
}

/// The seconds after which a client may retry, if a Status says so.
pub(crate) fn retry_after(body: &Bytes) -> Option<u64> {
    let status: Option<serde_json::Value> = protobuf::decode(body).ok();
    let status = status.or_else(|| serde_json::from_slice(body).ok()).or_else(|| serde_yaml::from_slice(body).ok())?;
    status["details"]["retryAfterSeconds"].as_u64().filter(|seconds| *seconds > 0)
}

impl<B> Service<Request<B>> for ApiServer
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<ResponseBody>;
    type Error = Disconnection;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Disconnection>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Disconnection>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { server.receive(request).await })
    }
}
