//! The body of an answer: all at once, or the events of a watch as they come.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::Full;
use tokio::time::Sleep;

use crate::clock;
use crate::notify::Listener;
use crate::service::ApiServer;
use crate::watch::{Event, Order};
use crate::watches::Signals;

/// The body of an answer. It does not fail.
#[derive(Debug)]
pub struct ResponseBody(Form);

#[derive(Debug)]
enum Form {
    Whole(Full<Bytes>),
    Watch(Box<Watch>),
}

impl ResponseBody {
    pub(crate) fn whole(body: Bytes) -> Self {
        Self(Form::Whole(Full::new(body)))
    }

    pub(crate) fn watch(watch: Watch) -> Self {
        Self(Form::Watch(Box::new(watch)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            Form::Whole(body) => Pin::new(body).poll_frame(cx),
            Form::Watch(watch) => watch.poll(cx).map(|event| event.map(|event| Ok(Frame::data(watch.dress(event))))),
        }
    }
}

/// A watch that is open.
pub(crate) struct Watch {
    server: ApiServer,
    order: Order,
    waiting: VecDeque<Event>,
    ends: Option<Pin<Box<Sleep>>>,
    /// While the next events lag.
    late: Option<Pin<Box<Sleep>>>,
    woken: Pin<Box<dyn Future<Output = Listener> + Send>>,
    /// The test's signals that it has followed.
    followed: Signals,
    /// Whether it has sent an event.
    began: bool,
}

impl Watch {
    pub(crate) fn open(server: ApiServer, mut order: Order) -> Self {
        let ends = order.timeout.map(|seconds| Box::pin(clock::sleep(Duration::from_secs(seconds))));
        let waiting = std::mem::take(&mut order.first).into();
        let woken = wait(server.writes_of(order.kind));
        let followed = server.signals(order.kind);
        Self { server, order, waiting, ends, late: None, woken, followed, began: false }
    }

    /// An event in the form that the client accepts.
    fn dress(&mut self, event: Event) -> Bytes {
        let line = self.order.line(event);
        let first = !std::mem::replace(&mut self.began, true);
        self.order.form.event(line, self.order.kind, first, self.server.now())
    }

    /// Goes on after a test has ended it, as a client that watches again from there; `false` where
    /// changes are missing.
    pub(crate) fn go_on(&mut self) -> bool {
        self.followed.ends = self.server.signals(self.order.kind).ends;
        !self.order.gone
    }

    /// What it delivers next; `None` at its end.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            let signals = self.server.signals(self.order.kind);
            if signals.ends != self.followed.ends {
                return Poll::Ready(None);
            }
            if signals.paused.is_none() {
                self.followed.paused = None;
            }
            // One that began while watches were paused holds back its first events too.
            let holds = self.followed.paused.is_some();
            if !holds && let Some(event) = self.waiting.pop_front() {
                return Poll::Ready(Some(event));
            }
            if !holds && self.order.gone {
                return Poll::Ready(None);
            }
            if let Some(until) = signals.paused {
                let unseen = if holds { Vec::new() } else { self.server.unseen(&mut self.order, until) };
                self.waiting.extend(unseen);
                if holds || self.waiting.is_empty() {
                    match self.woken.as_mut().poll(cx) {
                        Poll::Ready(listener) => self.woken = wait(listener),
                        Poll::Pending => return Poll::Pending,
                    }
                }
                continue;
            }
            if let Some(ends) = &mut self.ends
                && ends.as_mut().poll(cx).is_ready()
            {
                if !(self.order.bookmarks && self.order.kind.has_bookmarks()) {
                    return Poll::Ready(None);
                }
                // The last event says how far the watch got.
                self.server.server().move_on(&mut self.order);
                self.order.gone = true;
                return Poll::Ready(Some(Event::Line(self.order.bookmark(false))));
            }
            if let Some(late) = &mut self.late {
                match late.as_mut().poll(cx) {
                    Poll::Ready(()) => self.late = None,
                    Poll::Pending => return Poll::Pending,
                }
            }
            let unseen = self.server.unseen(&mut self.order, u64::MAX);
            if !unseen.is_empty() {
                self.waiting.extend(unseen);
                continue;
            }
            if signals.bookmarks != self.followed.bookmarks {
                self.followed.bookmarks = signals.bookmarks;
                if self.order.bookmarks && self.order.kind.has_bookmarks() {
                    return Poll::Ready(Some(Event::Line(self.order.bookmark(false))));
                }
            }
            match self.woken.as_mut().poll(cx) {
                Poll::Ready(listener) => {
                    self.woken = wait(listener);
                    self.late = self.server.lag().map(|lag| Box::pin(clock::sleep(lag)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("order", &self.order).finish_non_exhaustive()
    }
}

fn wait(mut written: Listener) -> Pin<Box<dyn Future<Output = Listener> + Send>> {
    Box::pin(async move {
        written.changed().await;
        written
    })
}
