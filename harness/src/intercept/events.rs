//! A watch towards the subject, as a body: frames as they come, or, while a command is about its kind, event by event.
//!
//! A watch is a row of lines, one JSON object each. A cluster-wide watch mixes namespaces, and the probe's events must
//! travel whatever is held: so events are told apart by their object's namespace. With no command in force frames are not looked into, but for
//! the byte they end in: a command may come when half an event has passed.

use crate::clock::Instant;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::StatusCode;
use hyper::body::{Body, Bytes, Frame};
use serde::Deserialize;
use serde_json::json;

use super::body::{BodyError, Stream};
use super::command::status_body;
use super::control::{Control, EventFate, Kept};
use crate::clock;

/// See the module.
pub(super) struct Events {
    body: Stream,
    control: Control,
    resource: String,
    id: u64,
    lines: Lines,
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
    pub(super) fn new(body: Stream, control: Control, resource: String) -> Self {
        let id = control.open_watch(&resource, true);
        let (kept, ready) = Default::default();
        Self { body, control, resource, id, lines: Lines::default(), kept, ready, timer: None, end: End::Open }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            if let Some(bytes) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            if self.end == End::Interceptor {
                return Poll::Ready(None);
            }
            if self.kept.is_empty() && self.lines.is_whole() && self.control.leaves_watches_alone() {
                let frame = ready!(self.poll_body(cx));
                if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref) {
                    self.lines.passed(data);
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
                    self.ready.extend(self.lines.rest());
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
        self.kept.is_empty() && self.ready.is_empty() && self.lines.is_whole() && self.body.is_end_stream()
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
        for line in self.lines.split(data) {
            let Line::Event(line) = line else {
                self.ready.extend(line.into_bytes());
                continue;
            };
            let (namespace, version) = place(&line);
            match self.control.event(&self.resource, &namespace, version) {
                EventFate::Keep => self.kept.push_back(Kept { namespace, since: clock::instant(), line }),
                EventFate::Pass => self.ready.push_back(line),
                EventFate::Twice => self.ready.extend([line.clone(), line]),
                EventFate::Last => {
                    self.ready.extend([line, forgotten()]);
                    self.end = End::Interceptor;
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

/// The namespace of the event's object, empty for bookmarks and errors, and its version.
fn place(line: &[u8]) -> (String, Option<u64>) {
    #[derive(Deserialize)]
    struct Event {
        object: Object,
    }
    #[derive(Deserialize)]
    struct Object {
        #[serde(default)]
        metadata: Metadata,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Metadata {
        namespace: String,
        resource_version: String,
    }
    let metadata = serde_json::from_slice::<Event>(line).map(|event| event.object.metadata).unwrap_or_default();
    (metadata.namespace, metadata.resource_version.parse().ok())
}

/// The server has forgotten the place of this watch: the client must list again.
fn forgotten() -> Bytes {
    let status = status_body("Expired", "too old resource version", StatusCode::GONE, None);
    format!("{}\n", json!({"type": "ERROR", "object": status})).into()
}

/// Bytes as lines, whatever the frames.
#[derive(Debug, Default)]
struct Lines {
    /// Half a line that has passed already: its other half passes too.
    passing: bool,
    /// Half a line that waits for its end.
    half: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum Line {
    /// A whole event.
    Event(Bytes),
    /// The end of one that has passed.
    Tail(Bytes),
}

impl Lines {
    /// Whether nothing waits for its end.
    fn is_whole(&self) -> bool {
        self.half.is_empty()
    }

    /// These bytes went out unseen.
    fn passed(&mut self, data: &[u8]) {
        if let Some(last) = data.last() {
            self.passing = *last != b'\n';
        }
    }

    /// The lines that end in these bytes.
    fn split(&mut self, data: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        for piece in data.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if self.passing {
                self.passing = !ends;
                lines.push(Line::Tail(Bytes::copy_from_slice(piece)));
                continue;
            }
            self.half.extend_from_slice(piece);
            if ends {
                lines.push(Line::Event(std::mem::take(&mut self.half).into()));
            }
        }
        lines
    }

    /// What was never ended.
    fn rest(&mut self) -> Option<Bytes> {
        (!self.half.is_empty()).then(|| std::mem::take(&mut self.half).into())
    }
}

impl Line {
    fn into_bytes(self) -> Option<Bytes> {
        match self {
            Self::Event(bytes) | Self::Tail(bytes) => Some(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_whole_whatever_the_frames() {
        let mut lines = Lines::default();
        assert_eq!(lines.split(b"{\"a\""), []);
        let event = |text: &'static [u8]| Line::Event(Bytes::from_static(text));
        assert_eq!(lines.split(b":1}\n{}\n{"), [event(b"{\"a\":1}\n"), event(b"{}\n")]);
        assert!(!lines.is_whole());
        assert_eq!(lines.rest().as_deref(), Some(b"{".as_slice()));
    }

    #[test]
    fn half_an_event_that_has_passed_is_followed_by_its_other_half() {
        let mut lines = Lines::default();
        lines.passed(b"{\"type\":");
        let tail = Line::Tail(Bytes::from_static(b"1}\n"));
        assert_eq!(lines.split(b"1}\n{}\n"), [tail, Line::Event(Bytes::from_static(b"{}\n"))]);
    }

    #[test]
    fn an_event_says_whose_it_is() {
        let event = br#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"ns","resourceVersion":"12"}}}"#;
        assert_eq!(place(event), ("ns".to_owned(), Some(12)));
        let bookmark = br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#;
        assert_eq!((place(bookmark), place(b"no json")), ((String::new(), Some(7)), (String::new(), None)));
        assert_eq!(place(&forgotten()).0, "");
    }
}
