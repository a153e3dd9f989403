//! Reads answers of the API server within bounds: an answer that does not end must not use up
//! memory.

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, future};
use http::{HeaderValue, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use kube::Client;
use kube::api::WatchEvent;
use kube::client::Body;
use kube::core::Status;
use serde::de::DeserializeOwned;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::io::StreamReader;

/// The largest body that is read. An object has up to 3 MiB, and a list is read in pages.
pub(crate) const LARGEST_BODY: usize = 32 << 20;
/// The longest line of a watch. An object of 3 MiB takes up to six times as much as escaped text.
pub(crate) const LONGEST_LINE: usize = 32 << 20;
/// The largest refusal that is read: a message with its causes.
const LARGEST_REFUSAL: usize = 1 << 20;

/// Why an answer cannot be used.
#[derive(Debug)]
pub(super) enum AnswerError {
    /// It is larger than this number of bytes.
    TooLarge(usize),
    /// The server refuses the request, or the connection breaks.
    Failed(kube::Error),
}

impl From<kube::Error> for AnswerError {
    fn from(error: kube::Error) -> Self {
        Self::Failed(error)
    }
}

/// Sends a request and reads the whole answer.
pub(super) async fn whole(client: &Client, request: http::Request<Vec<u8>>) -> Result<Bytes, AnswerError> {
    let response = client.send(request.map(Body::from)).await?;
    body(accepted(response).await?.into_body(), LARGEST_BODY).await
}

/// Sends a request for a watch. Its events end with the first error.
pub(super) async fn events<T: DeserializeOwned>(
    client: &Client,
    mut request: http::Request<Vec<u8>>,
) -> Result<impl Stream<Item = Result<WatchEvent<T>, AnswerError>> + use<T>, AnswerError> {
    // As in kube: a server may compress each event on its own, and only the first would be read.
    request.headers_mut().entry(header::ACCEPT_ENCODING).or_insert(HeaderValue::from_static("identity"));
    let response = accepted(client.send(request.map(Body::from)).await?).await?;
    let bytes = response.into_body().into_data_stream().map_err(std::io::Error::other);
    let lines = FramedRead::new(StreamReader::new(bytes), LinesCodec::new_with_max_length(LONGEST_LINE));
    Ok(lines.filter_map(|line| future::ready(event(line))))
}

/// The event of a line; `None` if the connection ended within it, for the watch goes on where it
/// was.
fn event<T: DeserializeOwned>(line: Result<String, LinesCodecError>) -> Option<Result<WatchEvent<T>, AnswerError>> {
    let line = match line {
        Ok(line) => line,
        Err(LinesCodecError::MaxLineLengthExceeded) => return Some(Err(AnswerError::TooLarge(LONGEST_LINE))),
        Err(LinesCodecError::Io(error)) => {
            return (!is_end(&error)).then_some(Err(AnswerError::Failed(kube::Error::ReadEvents(error))));
        }
    };
    match serde_json::from_str(&line) {
        Ok(event) => Some(Ok(event)),
        Err(error) if error.is_eof() => None,
        Err(error) => Some(Err(AnswerError::Failed(match serde_json::from_str::<Status>(&line) {
            Ok(status) => kube::Error::Api(status.boxed()),
            Err(_) => kube::Error::SerdeError(error),
        }))),
    }
}

/// Whether a connection was only closed, as servers close those of long watches.
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

/// An answer that is no refusal.
async fn accepted(response: Response<Body>) -> Result<Response<Body>, AnswerError> {
    let code = response.status();
    if !code.is_client_error() && !code.is_server_error() {
        return Ok(response);
    }
    let text = body(response.into_body(), LARGEST_REFUSAL).await?;
    // A proxy answers a text in place of a Status.
    let status = serde_json::from_slice::<Status>(&text).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(&text);
        Status::failure(text.trim(), "Failed to parse error data").with_code(code.as_u16())
    });
    Err(AnswerError::Failed(kube::Error::Api(status.boxed())))
}

async fn body(body: Body, most: usize) -> Result<Bytes, AnswerError> {
    match Limited::new(body, most).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(AnswerError::TooLarge(most)),
        Err(error) => Err(AnswerError::Failed(match error.downcast::<kube::Error>() {
            Ok(error) => *error,
            Err(error) => kube::Error::Service(error),
        })),
    }
}
