//! How much of an answer the harness's own clients take: a server, or what stands before it, may go
//! on for ever.
//!
//! A watch has no end, but each of its events is one object on one line. etcd stores 1.5 MiB of an
//! object by default.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::Limited;
use hyper::Uri;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tower::BoxError;

/// The most bytes of one event of a watch.
const EVENT: usize = 16 << 20;
/// The most bytes of any other answer. The largest is a page of a list, of 500 objects.
const ANSWER: usize = 128 << 20;
/// How many pages of a list are followed, which is more objects than the largest clusters have.
pub(crate) const PAGES: usize = 1_000;

/// Why an answer is not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMuch {
    /// An event of a watch.
    #[error("an event of a watch is longer than {} MiB, so it is not read", EVENT >> 20)]
    Event,
    /// Another answer.
    #[error("the answer is longer than {} MiB, so it is not read", ANSWER >> 20)]
    Answer,
    /// A list.
    #[error("the list has more than {PAGES} pages, so it is not read to its end")]
    Pages,
}

impl TooMuch {
    /// Why a client's request failed, if it is this.
    pub(crate) fn of(error: &kube::Error) -> Option<Self> {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(*found);
            }
            // An I/O error names the cause of what it wraps, not what it wraps.
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

/// The body of an answer, up to its limit.
#[derive(Debug)]
pub(super) enum Answer<B = Incoming> {
    /// A watch, and how long the event is that has not ended.
    Watch(B, usize),
    /// Anything else.
    Other(Limited<B>),
}

impl<B> Answer<B> {
    pub(super) fn new(body: B, is_watch: bool) -> Self {
        if is_watch { Self::Watch(body, 0) } else { Self::Other(Limited::new(body, ANSWER)) }
    }
}

impl<B> Body for Answer<B>
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
                    *length = longest(*length, frame.data_ref().map_or(&[], |data| data)).ok_or(TooMuch::Event)?;
                    Ok(frame)
                });
                return Poll::Ready(frame);
            }
            Self::Other(body) => std::task::ready!(Pin::new(body).poll_frame(context)),
        };
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| match error.downcast::<http_body_util::LengthLimitError>() {
                Ok(_) => TooMuch::Answer.into(),
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

/// The length of the line that has not ended after these bytes; `None` where a line is too long.
fn longest(before: usize, data: &[u8]) -> Option<usize> {
    let mut length = before;
    for (number, line) in data.split(|byte| *byte == b'\n').enumerate() {
        length = if number == 0 { length + line.len() } else { line.len() };
        if length > EVENT {
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

    /// How many bytes of so many chunks pass, and why no more.
    async fn passed(chunk: &'static [u8], chunks: usize, is_watch: bool) -> (usize, Option<TooMuch>) {
        let frames = (0..chunks).map(move |_| Ok::<_, BoxError>(Frame::data(Bytes::from_static(chunk))));
        let mut answer = Answer::new(StreamBody::new(futures::stream::iter(frames)), is_watch);
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
    #[case::endless_event(CHUNK, true, EVENT, Some(TooMuch::Event))]
    #[case::many_events(b"{}\n{}", true, 500 * 5, None)]
    #[case::endless_list(CHUNK, false, ANSWER, Some(TooMuch::Answer))]
    #[case::list(b"{}\n{}", false, 500 * 5, None)]
    #[tokio::test]
    async fn endless_answers_are_not_read(
        #[case] chunk: &'static [u8],
        #[case] is_watch: bool,
        #[case] bytes: usize,
        #[case] why: Option<TooMuch>,
    ) {
        assert_eq!(passed(chunk, 500, is_watch).await, (bytes, why));
    }

    #[test]
    fn a_limit_is_found_in_an_error_of_a_client() {
        let error = kube::Error::ReadEvents(std::io::Error::other(BoxError::from(TooMuch::Event)));
        assert_eq!(TooMuch::of(&error), Some(TooMuch::Event));
        assert_eq!(TooMuch::of(&kube::Error::Service(TooMuch::Answer.into())), Some(TooMuch::Answer));
        assert_eq!(TooMuch::of(&kube::Error::ReadEvents(std::io::ErrorKind::TimedOut.into())), None);
    }

    #[test]
    fn a_watch_is_known_by_its_address() {
        for (uri, expected) in [("/api/v1/pods?limit=1&watch=true", true), ("/api/v1/pods?limit=1", false)] {
            assert_eq!(is_watch(&uri.parse().unwrap()), expected, "{uri}");
        }
    }
}
