//! Bodies of either way to a server: over a socket, or in this process.

use std::error::Error;

use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Bytes};

/// What goes wrong with a body under way.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct BodyError(Box<dyn Error + Send + Sync>);

/// A body that comes frame by frame, whoever sends it.
pub(super) type Stream = UnsyncBoxBody<Bytes, BodyError>;

/// Any body as one of these.
pub(super) fn stream<B>(body: B) -> Stream
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    body.map_err(|error| BodyError(error.into())).boxed_unsync()
}
