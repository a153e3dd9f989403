//! The body of a response to the subject: the server's, frame by frame, or the interceptor's own.
//!
//! A watch to the subject is a body, too: frames unchanged or, while a command affects its kind,
//! event by event. A cluster-wide watch mixes namespaces, and the probe's events must be delivered
//! whatever is withheld, so events are distinguished by their object's namespace. Without an armed
//! command only the boundaries of events are tracked (`framing`): a command may be armed when half
//! an event has passed.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use lockstep_support::clock::{self, Instant};

use super::control::{Control, EventDisposition, HeldEvent};
use super::framing::{Framing, Piece};
use super::ignored_status::StatusCheck;
use super::log::Ticket;
use super::refusal_reader::RefusalReader;
use super::request::{BodyError, BodyStream};
use super::version_reader::VersionReader;

/// The body of a response: the server's, frame by frame, or the interceptor's own. The request
/// counts as finished when this is dropped.
#[derive(Debug)]
pub(super) struct ForwardedBody {
    content: ResponseContent,
    refusal: Option<RefusalReader>,
    status: Option<StatusCheck>,
    version: Option<VersionReader>,
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
        let version = (refusal.is_none() && ticket.reads_version()).then(VersionReader::default);
        Self { content: ResponseContent::Stream(body), refusal, status, version, ticket }
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
        Self { content, refusal: None, status: None, version: None, ticket }
    }

    /// The interceptor's own body.
    pub(super) fn text(text: String, ticket: Ticket) -> Self {
        let content = ResponseContent::Text(Some(text.into()));
        Self { content, refusal: None, status: None, version: None, ticket }
    }
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let Self { content, refusal, status, version, .. } = self.get_mut();
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
            version.iter_mut().for_each(|version| version.push(bytes));
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
        if let Some(version) = self.version.take().and_then(|version| version.version()) {
            self.ticket.record_version(version);
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

struct WatchBody {
    body: BodyStream,
    control: Control,
    resource: String,
    id: u64,
    framing: Framing,
    withheld: VecDeque<HeldEvent>,
    ready: VecDeque<Bytes>,
    timer: Option<(Instant, Sleep)>,
    end: WatchBodyEnd,
}

/// A running timer.
type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The state of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchBodyEnd {
    Open,
    /// The server has ended it; withheld events are still delivered.
    Server,
    /// The interceptor has ended it.
    Interceptor,
}

impl WatchBody {
    fn new(body: BodyStream, control: Control, resource: String, framing: Framing) -> Self {
        let id = control.open_watch(&resource, true);
        let (withheld, ready) = Default::default();
        Self { body, control, resource, id, framing, withheld, ready, timer: None, end: WatchBodyEnd::Open }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.end == WatchBodyEnd::Interceptor {
                return Poll::Ready(None);
            }
            if self.withheld.is_empty() && self.framing.is_whole() && self.control.passes_watches_through() {
                let frame = ready!(self.poll_body(cx));
                if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref) {
                    self.framing.skip(data);
                }
                return Poll::Ready(frame);
            }
            self.release_due(cx);
            if !self.ready.is_empty() {
                continue;
            }
            match self.poll_body(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.split_events(&data),
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                Poll::Ready(None) => {
                    self.end = WatchBodyEnd::Server;
                    self.ready.extend(self.framing.rest());
                    if self.withheld.is_empty() && self.ready.is_empty() {
                        return Poll::Ready(None);
                    }
                    if self.ready.is_empty() {
                        return Poll::Pending;
                    }
                }
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn is_end(&self) -> bool {
        self.withheld.is_empty() && self.ready.is_empty() && self.framing.is_whole() && self.body.is_end_stream()
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.end == WatchBodyEnd::Server { Poll::Ready(None) } else { Pin::new(&mut self.body).poll_frame(cx) }
    }

    /// Releases the events that are due, and sets a timer for the next.
    fn release_due(&mut self, cx: &mut Context<'_>) {
        loop {
            let now = clock::instant();
            let Self { control, id, resource, withheld, ready, .. } = self;
            let next = control.release(*id, resource, (withheld, ready), now, cx.waker());
            let Some(next) = next.filter(|_| self.ready.is_empty()) else { return };
            let fits = self.timer.as_ref().is_some_and(|(due, _)| *due == next);
            if !fits {
                let pause = clock::pause(next.saturating_duration_since(now));
                self.timer = Some((next, Box::pin(pause)));
            }
            let Some((_, timer)) = &mut self.timer else { return };
            if timer.as_mut().poll(cx).is_pending() {
                return;
            }
            self.timer = None;
        }
    }

    /// Splits data into events and decides about each.
    fn split_events(&mut self, data: &[u8]) {
        for piece in self.framing.split(data) {
            let event = match piece {
                Piece::Event(event) => event,
                Piece::Tail(tail) => {
                    self.ready.push_back(tail);
                    continue;
                }
            };
            let (namespace, version) = self.framing.namespace_and_version(&event);
            match self.control.event(&self.resource, &namespace, version) {
                EventDisposition::Keep => {
                    self.withheld.push_back(HeldEvent { namespace, since: clock::instant(), event });
                }
                EventDisposition::Pass => self.ready.push_back(event),
                EventDisposition::Twice => self.ready.extend([event.clone(), event]),
                EventDisposition::Last => {
                    self.ready.extend([event, self.framing.expired_event()]);
                    self.end = WatchBodyEnd::Interceptor;
                    self.control.record_ended(&self.resource, &namespace);
                    return;
                }
            }
        }
    }
}

impl Drop for WatchBody {
    fn drop(&mut self) {
        self.control.close_watch(self.id, &self.resource, &self.withheld);
    }
}

impl std::fmt::Debug for WatchBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchBody").field("resource", &self.resource).field("held", &self.withheld.len()).finish()
    }
}
