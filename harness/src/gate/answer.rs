//! An answer on its way to the subject.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::log::Ticket;

/// The body of an answer: the server's, frame by frame, or the gate's own words. The request is finished when it is dropped.
#[derive(Debug)]
pub(super) struct Answer {
    content: Content,
    _ticket: Ticket,
}

#[derive(Debug)]
enum Content {
    Stream(Incoming),
    Words(Option<Bytes>),
}

impl Answer {
    /// What the server sends.
    pub(super) fn stream(body: Incoming, ticket: Ticket) -> Self {
        Self { content: Content::Stream(body), _ticket: ticket }
    }

    /// What the gate itself says.
    pub(super) fn words(text: String, ticket: Ticket) -> Self {
        Self { content: Content::Words(Some(text.into())), _ticket: ticket }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.get_mut().content {
            Content::Stream(body) => Pin::new(body).poll_frame(cx),
            Content::Words(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Stream(body) => body.is_end_stream(),
            Content::Words(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Stream(body) => body.size_hint(),
            Content::Words(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
        }
    }
}
