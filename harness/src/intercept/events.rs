//! A watch towards the subject, as a body: frames as they come, or, while a command is about its
//! kind, event by event.
//!
//! A cluster-wide watch mixes namespaces, and the probe's events must travel whatever is held: so
//! events are told apart by their object's namespace. With no command in force only the borders of
//! events are looked for (`framing`): a command may come when half an event has passed.

use crate::clock::Instant;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame};

use super::body::{BodyError, Stream};
use super::control::{Control, EventFate, Kept};
use super::framing::{Framing, Piece};
use crate::clock;

/// See the module.
pub(super) struct Events {
    body: Stream,
    control: Control,
    resource: String,
    id: u64,
    framing: Framing,
    kept: VecDeque<Kept>,
    ready: VecDeque<Bytes>,
    timer: Option<(Instant, Sleep)>,
    end: End,
}

/// A wait under way.
type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How far a watch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It goes on.
    Open,
    /// The server has ended it; what is kept still goes out.
    Server,
    /// The interceptor has ended it.
    Interceptor,
}

impl Events {
    pub(super) fn new(body: Stream, control: Control, resource: String, framing: Framing) -> Self {
        let id = control.open_watch(&resource, true);
        let (kept, ready) = Default::default();
        Self { body, control, resource, id, framing, kept, ready, timer: None, end: End::Open }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.end == End::Interceptor {
                return Poll::Ready(None);
            }
            if self.kept.is_empty() && self.framing.is_whole() && self.control.leaves_watches_alone() {
                let frame = ready!(self.poll_body(cx));
                if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref) {
                    self.framing.passed(data);
                }
                return Poll::Ready(frame);
            }
            self.let_go(cx);
            if !self.ready.is_empty() {
                continue;
            }
            match self.poll_body(cx) {
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => self.take(&data),
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                Poll::Ready(None) => {
                    self.end = End::Server;
                    self.ready.extend(self.framing.rest());
                    if self.kept.is_empty() && self.ready.is_empty() {
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

    pub(super) fn is_end(&self) -> bool {
        self.kept.is_empty() && self.ready.is_empty() && self.framing.is_whole() && self.body.is_end_stream()
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.end == End::Server { Poll::Ready(None) } else { Pin::new(&mut self.body).poll_frame(cx) }
    }

    /// What is kept and may go now; a timer for what may go later.
    fn let_go(&mut self, cx: &mut Context<'_>) {
        loop {
            let now = clock::instant();
            let Self { control, id, resource, kept, ready, .. } = self;
            let next = control.release(*id, resource, (kept, ready), now, cx.waker());
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

    /// Sort what has come by event.
    fn take(&mut self, data: &[u8]) {
        for piece in self.framing.split(data) {
            let event = match piece {
                Piece::Event(event) => event,
                Piece::Tail(tail) => {
                    self.ready.push_back(tail);
                    continue;
                }
            };
            let (namespace, version) = self.framing.place(&event);
            match self.control.event(&self.resource, &namespace, version) {
                EventFate::Keep => self.kept.push_back(Kept { namespace, since: clock::instant(), event }),
                EventFate::Pass => self.ready.push_back(event),
                EventFate::Twice => self.ready.extend([event.clone(), event]),
                EventFate::Last => {
                    self.ready.extend([event, self.framing.forgotten()]);
                    self.end = End::Interceptor;
                    self.control.ended(&self.resource, &namespace);
                    return;
                }
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.control.close_watch(self.id, &self.resource, &self.kept);
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("resource", &self.resource).field("kept", &self.kept.len()).finish()
    }
}
