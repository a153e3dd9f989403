//! Responses: a complete body, or a watch that starts.

use bytes::Bytes;
use http::StatusCode;
use serde_json::Value;

use crate::http::request::{JSON, NOT_UTF8};
use crate::http::route::PathError;
use crate::storage::watch::WatchCursor;
use crate::types::decode::to_json_bytes;

#[derive(Debug)]
pub(crate) enum ApiResponse {
    /// A complete body.
    Complete {
        code: StatusCode,
        body: Bytes,
        warnings: Vec<String>,
        /// The media type of the body.
        content_type: &'static str,
    },
    /// A watch that starts.
    Watch(WatchCursor),
}

pub(crate) fn json_response(code: StatusCode, body: &Value) -> ApiResponse {
    json_bytes_response(code, to_json_bytes(body))
}

pub(crate) fn json_bytes_response(code: StatusCode, body: Vec<u8>) -> ApiResponse {
    ApiResponse::Complete { code, body: body.into(), warnings: Vec::new(), content_type: JSON }
}

/// The response to a request whose path cannot be decoded.
pub(crate) fn path_error_response(why: PathError) -> ApiResponse {
    let (code, text) = match why {
        PathError::Encoding => (StatusCode::BAD_REQUEST, "400 Bad Request"),
        PathError::NotUtf8 => (StatusCode::NOT_IMPLEMENTED, NOT_UTF8),
    };
    ApiResponse::Complete { code, body: text.into(), warnings: Vec::new(), content_type: "text/plain; charset=utf-8" }
}
