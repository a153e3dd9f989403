//! Response bodies: a complete body, or the events of a watch.

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
use crate::notify::Subscription;
use crate::service::api_server::ApiServer;
use crate::service::watch_signals::WatchSignals;
use crate::storage::watch::{WatchCursor, WatchEvent};

/// The body of a response. It never fails.
#[derive(Debug)]
pub struct ResponseBody(BodyContent);

#[derive(Debug)]
enum BodyContent {
    Complete(Full<Bytes>),
    Watch(Box<WatchStream>),
}

impl ResponseBody {
    pub(crate) fn complete(body: Bytes) -> Self {
        Self(BodyContent::Complete(Full::new(body)))
    }

    pub(crate) fn watch(watch: WatchStream) -> Self {
        Self(BodyContent::Watch(Box::new(watch)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            BodyContent::Complete(body) => Pin::new(body).poll_frame(cx),
            BodyContent::Watch(watch) => {
                watch.poll(cx).map(|event| event.map(|event| Ok(Frame::data(watch.encode(event)))))
            }
        }
    }
}

/// An open watch as a stream of events.
pub(crate) struct WatchStream {
    server: ApiServer,
    cursor: WatchCursor,
    queue: VecDeque<WatchEvent>,
    timeout_timer: Option<Pin<Box<Sleep>>>,
    /// The lag of the next delivery.
    lag_timer: Option<Pin<Box<Sleep>>>,
    wakeup: Pin<Box<dyn Future<Output = Subscription> + Send>>,
    /// The signals of the test that have been handled.
    handled_signals: WatchSignals,
    has_sent_event: bool,
}

impl WatchStream {
    pub(crate) fn open(server: ApiServer, mut cursor: WatchCursor) -> Self {
        let timeout_timer = cursor.timeout.map(|seconds| Box::pin(clock::sleep(Duration::from_secs(seconds))));
        let queue = std::mem::take(&mut cursor.initial_events).into();
        let wakeup = wait(server.writes_of_kind(cursor.kind));
        let handled_signals = server.signals(cursor.kind);
        Self { server, cursor, queue, timeout_timer, lag_timer: None, wakeup, handled_signals, has_sent_event: false }
    }

    /// Encodes an event in the format that the client accepts.
    fn encode(&mut self, event: WatchEvent) -> Bytes {
        let line = self.cursor.encode(event);
        let first = !std::mem::replace(&mut self.has_sent_event, true);
        self.cursor.format.event(line, self.cursor.kind, first, self.server.now())
    }

    /// Continues after a test has ended the watch, like a client that reconnects at the same
    /// version; `false` if changes are missing.
    pub(crate) fn reconnect(&mut self) -> bool {
        self.handled_signals.ends = self.server.signals(self.cursor.kind).ends;
        !self.cursor.is_finished
    }

    /// Polls the next event; `None` at the end of the watch.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<WatchEvent>> {
        loop {
            let signals = self.server.signals(self.cursor.kind);
            if signals.ends != self.handled_signals.ends {
                return Poll::Ready(None);
            }
            if signals.paused.is_none() {
                self.handled_signals.paused = None;
            }
            // A watch that was opened while watches are paused also holds back its initial events.
            let is_paused = self.handled_signals.paused.is_some();
            if !is_paused && let Some(event) = self.queue.pop_front() {
                return Poll::Ready(Some(event));
            }
            if !is_paused && self.cursor.is_finished {
                return Poll::Ready(None);
            }
            if let Some(until) = signals.paused {
                let pending_events =
                    if is_paused { Vec::new() } else { self.server.pending_events(&mut self.cursor, until) };
                self.queue.extend(pending_events);
                if is_paused || self.queue.is_empty() {
                    match self.wakeup.as_mut().poll(cx) {
                        Poll::Ready(listener) => self.wakeup = wait(listener),
                        Poll::Pending => return Poll::Pending,
                    }
                }
                continue;
            }
            if let Some(timeout_timer) = &mut self.timeout_timer
                && timeout_timer.as_mut().poll(cx).is_ready()
            {
                if !(self.cursor.bookmarks && self.cursor.kind.is_in_watch_cache) {
                    return Poll::Ready(None);
                }
                // The last event is a bookmark with the latest version.
                self.server.server().advance_idle(&mut self.cursor);
                self.cursor.is_finished = true;
                return Poll::Ready(Some(WatchEvent::Encoded(self.cursor.bookmark(false))));
            }
            if let Some(lag_timer) = &mut self.lag_timer {
                match lag_timer.as_mut().poll(cx) {
                    Poll::Ready(()) => self.lag_timer = None,
                    Poll::Pending => return Poll::Pending,
                }
            }
            let pending_events = self.server.pending_events(&mut self.cursor, u64::MAX);
            if !pending_events.is_empty() {
                self.queue.extend(pending_events);
                continue;
            }
            if self.cursor.is_finished {
                return Poll::Ready(None);
            }
            if signals.bookmarks != self.handled_signals.bookmarks {
                self.handled_signals.bookmarks = signals.bookmarks;
                if self.cursor.bookmarks && self.cursor.kind.is_in_watch_cache {
                    return Poll::Ready(Some(WatchEvent::Encoded(self.cursor.bookmark(false))));
                }
            }
            match self.wakeup.as_mut().poll(cx) {
                Poll::Ready(listener) => {
                    self.wakeup = wait(listener);
                    self.lag_timer = self.server.lag().map(|lag| Box::pin(clock::sleep(lag)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl fmt::Debug for WatchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("order", &self.cursor).finish_non_exhaustive()
    }
}

fn wait(mut writes: Subscription) -> Pin<Box<dyn Future<Output = Subscription> + Send>> {
    Box::pin(async move {
        writes.changed().await;
        writes
    })
}
