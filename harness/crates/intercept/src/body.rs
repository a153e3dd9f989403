//! Bodies of requests and responses, over a socket or in this process.

use std::error::Error;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes};

/// An error while a body is transferred.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct BodyError(Box<dyn Error + Send + Sync>);

/// A body of any origin, frame by frame.
pub(super) type BodyStream = UnsyncBoxBody<Bytes, BodyError>;

/// The maximum size of a collected request, in bytes; no server accepts as many.
const MAX_REQUEST: usize = 16 << 20;

/// Collects a body.
pub(super) async fn collect(body: BodyStream) -> Result<Bytes, BodyError> {
    Ok(Limited::new(body, MAX_REQUEST).collect().await.map_err(BodyError)?.to_bytes())
}

/// Converts any body.
pub(super) fn stream<B>(body: B) -> BodyStream
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    body.map_err(|error| BodyError(error.into())).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    #[tokio::test]
    async fn endless_request_is_refused() {
        let of = |length| collect(stream(Full::new(Bytes::from(vec![b' '; length]))));
        assert_eq!(of(MAX_REQUEST).await.unwrap().len(), MAX_REQUEST);
        assert!(of(MAX_REQUEST + 1).await.is_err());
    }
}
