//! Bodies of either way to a server: over a socket, or in this process.

use std::error::Error;

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes};

/// What goes wrong with a body under way.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct BodyError(Box<dyn Error + Send + Sync>);

/// A body that comes frame by frame, whoever sends it.
pub(super) type Stream = UnsyncBoxBody<Bytes, BodyError>;

/// The most bytes of a request that are kept. No server takes as many.
const LONGEST: usize = 16 << 20;

/// All of a body, which is kept.
pub(super) async fn whole(body: Stream) -> Result<Bytes, BodyError> {
    Ok(Limited::new(body, LONGEST).collect().await.map_err(BodyError)?.to_bytes())
}

/// Any body as one of these.
pub(super) fn stream<B>(body: B) -> Stream
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
    async fn an_endless_request_is_not_kept() {
        let of = |length| whole(stream(Full::new(Bytes::from(vec![b' '; length]))));
        assert_eq!(of(LONGEST).await.unwrap().len(), LONGEST);
        assert!(of(LONGEST + 1).await.is_err());
    }
}
