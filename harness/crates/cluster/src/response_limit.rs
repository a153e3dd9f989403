//! Limits the size of the responses that the harness's clients read: a server, or a proxy before
//! it, could send an endless body.
//!
//! A watch does not end, but each event is one object on one line, and etcd stores at most 1.5 MiB
//! of an object by default.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::Limited;
use hyper::Uri;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tower::BoxError;

/// The maximum size of one watch event, in bytes.
const MAX_EVENT_BYTES: usize = 16 << 20;
/// The maximum size of any other response, in bytes. The largest is a page of 500 objects of a
/// list.
const MAX_RESPONSE_BYTES: usize = 128 << 20;
/// The maximum number of pages of a list; the largest clusters have fewer objects.
pub const MAX_PAGES: usize = 1_000;

/// Why a response is not read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseTooLarge {
    /// An event of a watch is too long.
    #[error("an event of a watch is longer than {} MiB, so it is not read", MAX_EVENT_BYTES >> 20)]
    Event,
    /// Another response is too long.
    #[error("the answer is longer than {} MiB, so it is not read", MAX_RESPONSE_BYTES >> 20)]
    LimitedBody,
    /// A list has too many pages.
    #[error("the list has more than {MAX_PAGES} pages, so it is not read to its end")]
    Pages,
}

impl ResponseTooLarge {
    /// Finds this error among the causes of a failed request.
    pub fn find(error: &kube::Error) -> Option<Self> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(*found);
            }
            // `source()` of an I/O error skips the error that it wraps, so look at that first.
            let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            cause = wrapped.map(|wrapped| wrapped as &(dyn std::error::Error + 'static)).or_else(|| error.source());
        }
        None
    }
}

/// Whether a request opens a watch.
pub(super) fn is_watch(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|part| matches!(part, "watch=true" | "watch=1" | "watch=")))
}

/// A response body that fails at its limit.
#[derive(Debug)]
pub(super) enum LimitedBody<B = Incoming> {
    /// A watch, and the length so far of its unfinished event.
    Watch(B, usize),
    /// Any other response.
    Other(Limited<B>),
}

impl<B> LimitedBody<B> {
    pub(super) fn new(body: B, is_watch: bool) -> Self {
        if is_watch { Self::Watch(body, 0) } else { Self::Other(Limited::new(body, MAX_RESPONSE_BYTES)) }
    }
}

impl<B> Body for LimitedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let frame = match self.get_mut() {
            Self::Watch(body, length) => {
                let frame = std::task::ready!(Pin::new(body).poll_frame(context)).map(|frame| {
                    let frame = frame.map_err(Into::into)?;
                    *length = unfinished_line_length(*length, frame.data_ref().map_or(&[], |data| data))
                        .ok_or(ResponseTooLarge::Event)?;
                    Ok(frame)
                });
                return Poll::Ready(frame);
            }
            Self::Other(body) => std::task::ready!(Pin::new(body).poll_frame(context)),
        };
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| match error.downcast::<http_body_util::LengthLimitError>() {
                Ok(_) => ResponseTooLarge::LimitedBody.into(),
                Err(error) => error,
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Watch(body, _) => body.is_end_stream(),
            Self::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Watch(body, _) => body.size_hint(),
            Self::Other(body) => body.size_hint(),
        }
    }
}

/// The length of the unfinished line after these bytes; `None` if a line is too long.
fn unfinished_line_length(before: usize, data: &[u8]) -> Option<usize> {
    let mut length = before;
    for (number, line) in data.split(|byte| *byte == b'\n').enumerate() {
        length = if number == 0 { length + line.len() } else { line.len() };
        if length > MAX_EVENT_BYTES {
            return None;
        }
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, StreamBody};
    use rstest::rstest;

    use super::*;

    const CHUNK: &[u8] = &[b' '; 1 << 20];

    /// Reads this many chunks: the number of bytes read, and the error if reading stopped.
    async fn read_chunks(chunk: &'static [u8], chunks: usize, is_watch: bool) -> (usize, Option<ResponseTooLarge>) {
        let frames = (0..chunks).map(move |_| Ok::<_, BoxError>(Frame::data(Bytes::from_static(chunk))));
        let mut answer = LimitedBody::new(StreamBody::new(futures::stream::iter(frames)), is_watch);
        let mut bytes = 0;
        while let Some(frame) = answer.frame().await {
            match frame {
                Ok(frame) => bytes += frame.data_ref().map_or(0, Bytes::len),
                Err(error) => return (bytes, error.downcast_ref().copied()),
            }
        }
        (bytes, None)
    }

    #[rstest]
    #[case::endless_event(CHUNK, true, MAX_EVENT_BYTES, Some(ResponseTooLarge::Event))]
    #[case::many_events(b"{}\n{}", true, 500 * 5, None)]
    #[case::endless_list(CHUNK, false, MAX_RESPONSE_BYTES, Some(ResponseTooLarge::LimitedBody))]
    #[case::list(b"{}\n{}", false, 500 * 5, None)]
    #[tokio::test]
    async fn stops_reading_endless_responses(
        #[case] chunk: &'static [u8],
        #[case] is_watch: bool,
        #[case] bytes: usize,
        #[case] why: Option<ResponseTooLarge>,
    ) {
        assert_eq!(read_chunks(chunk, 500, is_watch).await, (bytes, why));
    }

    #[test]
    fn finds_limit_in_client_error() {
        let error = kube::Error::ReadEvents(std::io::Error::other(BoxError::from(ResponseTooLarge::Event)));
        assert_eq!(ResponseTooLarge::find(&error), Some(ResponseTooLarge::Event));
        assert_eq!(
            ResponseTooLarge::find(&kube::Error::Service(ResponseTooLarge::LimitedBody.into())),
            Some(ResponseTooLarge::LimitedBody)
        );
        assert_eq!(ResponseTooLarge::find(&kube::Error::ReadEvents(std::io::ErrorKind::TimedOut.into())), None);
    }

    #[test]
    fn recognises_watch_by_address() {
        for (uri, expected) in [("/api/v1/pods?limit=1&watch=true", true), ("/api/v1/pods?limit=1", false)] {
            assert_eq!(is_watch(&uri.parse().unwrap()), expected, "{uri}");
        }
    }
}
