//! An answer on its way to the subject.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::body::{BodyError, Stream};
use super::control::Control;
use super::events::Events;
use super::framing::Framing;
use super::ignored_status::StatusCheck;
use super::log::Ticket;
use super::refusal::Refusal;

/// The body of an answer: the server's, frame by frame, or the interceptor's own words. The request
/// is finished when it is dropped.
#[derive(Debug)]
pub(super) struct Answer {
    content: Content,
    refusal: Option<Refusal>,
    status: Option<StatusCheck>,
    ticket: Ticket,
}

#[derive(Debug)]
enum Content {
    Stream(Stream),
    Watch(Box<Events>),
    /// A watch in a form that the interceptor does not read.
    Opaque {
        body: Stream,
        _until_it_ends: Opaque,
    },
    Words(Option<Bytes>),
}

impl Answer {
    /// What the server sends.
    pub(super) fn stream(body: Stream, refusal: Option<Refusal>, mut ticket: Ticket) -> Self {
        let status = ticket.take_sent().filter(|_| refusal.is_none()).map(StatusCheck::new);
        Self { content: Content::Stream(body), refusal, status, ticket }
    }

    /// What the server sends about a kind, on and on.
    pub(super) fn watch(
        body: Stream,
        ticket: Ticket,
        control: &Control,
        (resource, framing): (String, Option<Framing>),
    ) -> Self {
        let content = match framing {
            Some(framing) => Content::Watch(Box::new(Events::new(body, control.clone(), resource, framing))),
            None => {
                control.open_watch(&resource, false);
                Content::Opaque { body, _until_it_ends: Opaque { control: control.clone(), resource } }
            }
        };
        Self { content, refusal: None, status: None, ticket }
    }

    /// What the interceptor itself says.
    pub(super) fn words(text: String, ticket: Ticket) -> Self {
        Self { content: Content::Words(Some(text.into())), refusal: None, status: None, ticket }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Self { content, refusal, status, .. } = self.get_mut();
        let polled = match content {
            Content::Stream(body) | Content::Opaque { body, .. } => Pin::new(body).poll_frame(cx),
            Content::Watch(events) => events.poll(cx),
            Content::Words(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
        };
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(bytes) = frame.data_ref()
        {
            refusal.iter_mut().for_each(|refusal| refusal.push(bytes));
            status.iter_mut().for_each(|status| status.push(bytes));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Stream(body) | Content::Opaque { body, .. } => body.is_end_stream(),
            Content::Watch(events) => events.is_end(),
            Content::Words(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Stream(body) | Content::Opaque { body, .. } => body.size_hint(),
            Content::Watch(_) => SizeHint::default(),
            Content::Words(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(message) = self.refusal.take().and_then(|refusal| refusal.message()) {
            self.ticket.refused_with(message);
        }
        if self.status.take().is_some_and(|status| status.is_ignored()) {
            self.ticket.status_was_ignored();
        }
    }
}

/// Says that it is over when it is dropped.
#[derive(Debug)]
struct Opaque {
    control: Control,
    resource: String,
}

impl Drop for Opaque {
    fn drop(&mut self) {
        self.control.close_opaque(&self.resource);
    }
}
