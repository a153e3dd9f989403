//! The body of a response to the subject.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};

use super::body::{BodyError, BodyStream};
use super::control::Control;
use super::framing::Framing;
use super::ignored_status::StatusCheck;
use super::log::Ticket;
use super::refusal_reader::RefusalReader;
use super::watch_body::WatchBody;

/// The body of a response: the server's, frame by frame, or the interceptor's own. The request
/// counts as finished when this is dropped.
#[derive(Debug)]
pub(super) struct ForwardedBody {
    content: ResponseContent,
    refusal: Option<RefusalReader>,
    status: Option<StatusCheck>,
    ticket: Ticket,
}

#[derive(Debug)]
enum ResponseContent {
    Stream(BodyStream),
    Watch(Box<WatchBody>),
    /// A watch in an encoding that the interceptor does not read.
    Opaque {
        body: BodyStream,
        _until_it_ends: OpaqueWatch,
    },
    Text(Option<Bytes>),
}

impl ForwardedBody {
    /// The server's body.
    pub(super) fn stream(body: BodyStream, refusal: Option<RefusalReader>, mut ticket: Ticket) -> Self {
        let status = ticket.take_sent().filter(|_| refusal.is_none()).map(StatusCheck::new);
        Self { content: ResponseContent::Stream(body), refusal, status, ticket }
    }

    /// The server's watch of a kind.
    pub(super) fn watch(
        body: BodyStream,
        ticket: Ticket,
        control: &Control,
        (resource, framing): (String, Option<Framing>),
    ) -> Self {
        let content = match framing {
            Some(framing) => ResponseContent::Watch(Box::new(WatchBody::new(body, control.clone(), resource, framing))),
            None => {
                control.open_watch(&resource, false);
                ResponseContent::Opaque { body, _until_it_ends: OpaqueWatch { control: control.clone(), resource } }
            }
        };
        Self { content, refusal: None, status: None, ticket }
    }

    /// The interceptor's own body.
    pub(super) fn text(text: String, ticket: Ticket) -> Self {
        Self { content: ResponseContent::Text(Some(text.into())), refusal: None, status: None, ticket }
    }
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Self { content, refusal, status, .. } = self.get_mut();
        let polled = match content {
            ResponseContent::Stream(body) | ResponseContent::Opaque { body, .. } => Pin::new(body).poll_frame(cx),
            ResponseContent::Watch(events) => events.poll(cx),
            ResponseContent::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
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
            ResponseContent::Stream(body) | ResponseContent::Opaque { body, .. } => body.is_end_stream(),
            ResponseContent::Watch(events) => events.is_end(),
            ResponseContent::Text(text) => text.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            ResponseContent::Stream(body) | ResponseContent::Opaque { body, .. } => body.size_hint(),
            ResponseContent::Watch(_) => SizeHint::default(),
            ResponseContent::Text(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
        }
    }
}

impl Drop for ForwardedBody {
    fn drop(&mut self) {
        if let Some(message) = self.refusal.take().and_then(|refusal| refusal.message()) {
            self.ticket.refused_with(message);
        }
        if self.status.take().is_some_and(|status| status.is_ignored()) {
            self.ticket.status_was_ignored();
        }
    }
}

/// Reports the end of the watch when it is dropped.
#[derive(Debug)]
struct OpaqueWatch {
    control: Control,
    resource: String,
}

impl Drop for OpaqueWatch {
    fn drop(&mut self) {
        self.control.close_opaque(&self.resource);
    }
}
