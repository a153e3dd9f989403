//! Reads responses of the API server up to a limit, so that an endless response cannot exhaust
//! memory.

use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, future};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::Client;
use kube::api::WatchEvent;
use kube::client::Body;
use kube::core::Status;
use serde::de::DeserializeOwned;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::io::StreamReader;

/// Largest body in bytes. An object has up to 3 MiB, and a list is read in pages.
pub(crate) const MAX_BODY_BYTES: usize = 32 << 20;
/// Longest line of a watch in bytes. An object of 3 MiB can take six times as much as escaped text.
pub(crate) const MAX_LINE_BYTES: usize = 32 << 20;
/// Largest error response in bytes: a message with its causes.
const MAX_STATUS_BYTES: usize = 1 << 20;

/// Why a response cannot be used.
#[derive(Debug)]
pub(super) enum ResponseError {
    /// It has more bytes than this limit.
    TooLarge(usize),
    /// The server refuses the request, and asks to send it again after this time.
    RetryAfter(Duration, kube::Error),
    /// The server refuses the request, or the connection breaks.
    Failed(kube::Error),
}

impl From<kube::Error> for ResponseError {
    fn from(error: kube::Error) -> Self {
        Self::Failed(error)
    }
}

/// Sends a request and reads the body of its response.
pub(super) async fn read_body(client: &Client, request: http::Request<Bytes>) -> Result<Bytes, ResponseError> {
    let response = client.send(request.map(Body::from)).await?;
    collect_body(check_status(response).await?.into_body(), MAX_BODY_BYTES).await
}

/// Sends a watch request. The stream ends after the first error.
pub(super) async fn watch_events<T: DeserializeOwned>(
    client: &Client,
    mut request: http::Request<Vec<u8>>,
) -> Result<impl Stream<Item = Result<WatchEvent<T>, ResponseError>> + use<T>, ResponseError> {
    // As in kube: a server may compress each event separately, and only the first one would be
    // decoded.
    request.headers_mut().entry(header::ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
    let response = check_status(client.send(request.map(Body::from)).await?).await?;
    let bytes = response.into_body().into_data_stream().map_err(std::io::Error::other);
    let lines = FramedRead::new(StreamReader::new(bytes), LinesCodec::new_with_max_length(MAX_LINE_BYTES));
    Ok(lines.filter_map(|line| future::ready(parse_event(line))))
}

/// Parses one line. Returns `None` for a line that the connection cut off: the watch resumes where
/// it was.
fn parse_event<T: DeserializeOwned>(
    line: Result<String, LinesCodecError>,
) -> Option<Result<WatchEvent<T>, ResponseError>> {
    let line = match line {
        Ok(line) => line,
        Err(LinesCodecError::MaxLineLengthExceeded) => return Some(Err(ResponseError::TooLarge(MAX_LINE_BYTES))),
        Err(LinesCodecError::Io(error)) => {
            return (!is_end(&error)).then_some(Err(ResponseError::Failed(kube::Error::ReadEvents(error))));
        }
    };
    match serde_json::from_str(&line) {
        Ok(event) => Some(Ok(event)),
        Err(error) if error.is_eof() => None,
        Err(error) => Some(Err(ResponseError::Failed(match serde_json::from_str::<Status>(&line) {
            Ok(status) => kube::Error::Api(status.boxed()),
            Err(_) => kube::Error::SerdeError(error),
        }))),
    }
}

/// Whether the connection was only closed, as servers close long watches.
fn is_end(error: &std::io::Error) -> bool {
    let is_eof = |error: &(dyn std::error::Error + 'static)| {
        let error = error.downcast_ref::<std::io::Error>();
        error.is_some_and(|error| error.kind() == std::io::ErrorKind::UnexpectedEof)
    };
    let first: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    error.kind() == std::io::ErrorKind::TimedOut
        || error.to_string().contains("unexpected EOF during chunk")
        || causes.any(is_eof)
}

/// Returns the response unless its status is an error.
async fn check_status(response: Response<Body>) -> Result<Response<Body>, ResponseError> {
    let code = response.status();
    if !code.is_client_error() && !code.is_server_error() {
        return Ok(response);
    }
    let retry_after = retry_after(&response);
    let text = collect_body(response.into_body(), MAX_STATUS_BYTES).await?;
    // A proxy answers with plain text instead of a Status.
    let status = serde_json::from_slice::<Status>(&text).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&text);
        Status::failure(text.trim(), "Failed to parse error data").with_code(code.as_u16())
    });
    let error = kube::Error::Api(status.boxed());
    Err(match retry_after {
        Some(wait) => ResponseError::RetryAfter(wait, error),
        None => ResponseError::Failed(error),
    })
}

/// How long the server asks to wait, if client-go would wait that long: after 429 or 5xx, and only
/// for a number of seconds.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let code = response.status();
    let seconds = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    (code == StatusCode::TOO_MANY_REQUESTS || code.is_server_error()).then(|| Duration::from_secs(seconds))
}

async fn collect_body(body: Body, limit: usize) -> Result<Bytes, ResponseError> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(ResponseError::TooLarge(limit)),
        Err(error) => Err(ResponseError::Failed(match error.downcast::<kube::Error>() {
            Ok(error) => *error,
            Err(error) => kube::Error::Service(error),
        })),
    }
}
