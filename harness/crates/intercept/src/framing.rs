//! Finds the boundaries between events of a watch: a line of JSON, or a frame of protobuf.
//!
//! Only the namespace and the version of an object are read, which both encodings have at the same
//! place for every kind; so a kind that this build does not know passes unchanged.

use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use hyper::{HeaderMap, StatusCode};
use kube_apiserver_sim::protobuf::{self, WireEvent};
use serde::Deserialize;
use serde_json::json;

use super::command::status_body;

/// The size of a protobuf frame's length prefix, in bytes.
const LENGTH_PREFIX: usize = 4;

/// The maximum size of a buffered event; a longer one passes unbuffered.
const MAX_EVENT: usize = 16 << 20;

/// Splits a watch's bytes into events, independent of HTTP frames.
#[derive(Debug)]
pub(super) struct Framing {
    encoding: WatchEncoding,
    skipped: SkippedEvent,
    /// An incomplete event.
    half: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WatchEncoding {
    Json,
    Protobuf,
}

/// An event of which a part has passed unread; the rest passes too.
#[derive(Debug, Default)]
struct SkippedEvent {
    /// For a line: whether it is unfinished.
    line: bool,
    /// For a frame: the bytes of its length so far.
    length: Vec<u8>,
    /// For a frame: the number of remaining bytes.
    remaining: usize,
}

/// A part of a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A complete event.
    Event(Bytes),
    /// The end of an event that has passed, or the beginning of one that is too long to buffer.
    Tail(Bytes),
}

impl Framing {
    /// The framing of an answer; `None` if its events cannot be distinguished: another encoding, or
    /// compressed.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let encoding = match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" => WatchEncoding::Json,
            protobuf::MEDIA_TYPE => WatchEncoding::Protobuf,
            _ => return None,
        };
        (!headers.contains_key(CONTENT_ENCODING)).then(|| Self::new(encoding))
    }

    fn new(encoding: WatchEncoding) -> Self {
        Self { encoding, skipped: SkippedEvent::default(), half: Vec::new() }
    }

    /// Whether there is no incomplete event.
    pub(super) fn is_whole(&self) -> bool {
        self.half.is_empty()
    }

    /// Records bytes that have passed unread.
    pub(super) fn skip(&mut self, data: &[u8]) {
        if let (WatchEncoding::Json, Some(last)) = (self.encoding, data.last()) {
            self.skipped.line = *last != b'\n';
            return;
        }
        let mut rest = data;
        while !rest.is_empty() {
            rest = &rest[self.skipped.take(self.encoding, rest)..];
        }
    }

    /// Returns the events that end in these bytes.
    pub(super) fn split(&mut self, data: &[u8]) -> Vec<Piece> {
        let (mut pieces, mut data) = (Vec::new(), data);
        while self.skipped.is_under_way() && !data.is_empty() {
            let taken = self.skipped.take(self.encoding, data);
            pieces.push(Piece::Tail(Bytes::copy_from_slice(&data[..taken])));
            data = &data[taken..];
        }
        // The earlier part of an unfinished line has no line break.
        let mut known = if self.encoding == WatchEncoding::Json { self.half.len() } else { 0 };
        self.half.extend_from_slice(data);
        let mut start = 0;
        while let Some(length) = self.encoding.first(&self.half[start + known..]).map(|length| known + length) {
            pieces.push(Piece::Event(Bytes::copy_from_slice(&self.half[start..start + length])));
            start += length;
            known = 0;
        }
        self.half.drain(..start);
        if self.half.len() > MAX_EVENT {
            let half = std::mem::take(&mut self.half);
            self.skip(&half);
            pieces.push(Piece::Tail(half.into()));
        }
        pieces
    }

    /// The incomplete event at the end of the watch.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        (!self.half.is_empty()).then(|| std::mem::take(&mut self.half).into())
    }

    /// The namespace of the event's object, empty for bookmarks and errors, and its version.
    pub(super) fn namespace_and_version(&self, event: &[u8]) -> (String, Option<u64>) {
        match self.encoding {
            WatchEncoding::Json => json_namespace_and_version(event),
            WatchEncoding::Protobuf => match WireEvent::take(&mut event.to_vec()) {
                Ok(Some(event)) => protobuf::namespace_and_version(&event.object).unwrap_or_default(),
                _ => Default::default(),
            },
        }
    }

    /// The event of an expired watch: the client must list again.
    pub(super) fn expired_event(&self) -> Bytes {
        let status = status_body("Expired", "too old resource version", StatusCode::GONE, None);
        match self.encoding {
            WatchEncoding::Json => format!("{}\n", json!({"type": "ERROR", "object": status})).into(),
            WatchEncoding::Protobuf => {
                let object = protobuf::encode(&status).expect("a Status is in the table of types");
                WireEvent { kind: "ERROR".to_owned(), object }.frame().into()
            }
        }
    }
}

impl WatchEncoding {
    /// The length of the first event, if it is complete.
    fn first(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Json => bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1),
            Self::Protobuf => {
                let length = LENGTH_PREFIX + u32::from_be_bytes(*bytes.first_chunk()?) as usize;
                (bytes.len() >= length).then_some(length)
            }
        }
    }
}

impl SkippedEvent {
    fn is_under_way(&self) -> bool {
        self.line || !self.length.is_empty() || self.remaining > 0
    }

    /// Consumes bytes up to the end of the event; returns how many.
    fn take(&mut self, encoding: WatchEncoding, data: &[u8]) -> usize {
        if encoding == WatchEncoding::Json {
            let end = encoding.first(data);
            self.line = end.is_none();
            return end.unwrap_or(data.len());
        }
        if self.remaining == 0 {
            let taken = (LENGTH_PREFIX - self.length.len()).min(data.len());
            self.length.extend_from_slice(&data[..taken]);
            if let Some(length) = self.length.first_chunk() {
                self.remaining = u32::from_be_bytes(*length) as usize;
                self.length.clear();
            }
            return taken;
        }
        let taken = self.remaining.min(data.len());
        self.remaining -= taken;
        taken
    }
}

fn json_namespace_and_version(line: &[u8]) -> (String, Option<u64>) {
    #[derive(Deserialize)]
    struct WatchLine {
        object: EventObject,
    }
    #[derive(Deserialize)]
    struct EventObject {
        #[serde(default)]
        metadata: EventMetadata,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct EventMetadata {
        namespace: String,
        resource_version: String,
    }
    let metadata = serde_json::from_slice::<WatchLine>(line).map(|event| event.object.metadata).unwrap_or_default();
    (metadata.namespace, metadata.resource_version.parse().ok())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn json() -> Framing {
        Framing::new(WatchEncoding::Json)
    }

    fn frame(name: &str) -> Vec<u8> {
        let object = json!({"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "ns", "resourceVersion": "12"}});
        WireEvent { kind: "ADDED".to_owned(), object: protobuf::encode(&object).unwrap() }.frame()
    }

    fn event(bytes: &[u8]) -> Piece {
        Piece::Event(Bytes::copy_from_slice(bytes))
    }

    #[test]
    fn lines_are_complete_across_frames() {
        let mut lines = json();
        assert_eq!(lines.split(b"{\"a\""), []);
        assert_eq!(lines.split(b":1}\n{}\n{"), [event(b"{\"a\":1}\n"), event(b"{}\n")]);
        assert!(!lines.is_whole());
        assert_eq!(lines.rest().as_deref(), Some(b"{".as_slice()));
    }

    #[test]
    fn rest_of_a_skipped_line_passes() {
        let mut lines = json();
        lines.skip(b"{\"type\":");
        let tail = Piece::Tail(Bytes::from_static(b"1}\n"));
        assert_eq!(lines.split(b"1}\n{}\n"), [tail, event(b"{}\n")]);
    }

    /// Wherever the bytes are split, and wherever a command is armed.
    #[rstest]
    fn frames_are_complete_wherever_they_are_split(#[values(false, true)] passes_first: bool) {
        let stream = [frame("a"), frame("b")].concat();
        for cut in 0..=stream.len() {
            let mut frames = Framing::new(WatchEncoding::Protobuf);
            let mut pieces = Vec::new();
            if passes_first {
                frames.skip(&stream[..cut]);
            } else {
                pieces = frames.split(&stream[..cut]);
            }
            pieces.extend(frames.split(&stream[cut..]));
            let (mut whole, mut bytes) = (0, 0);
            for piece in pieces {
                let (Piece::Event(piece) | Piece::Tail(piece)) = &piece;
                bytes += piece.len();
                whole += usize::from(*piece == frame("a") || *piece == frame("b"));
            }
            assert_eq!(bytes, stream.len() - if passes_first { cut } else { 0 }, "cut at {cut}");
            assert!(frames.is_whole() && (passes_first || whole == 2), "cut at {cut}: {whole}");
        }
    }

    #[test]
    fn endless_event_is_not_buffered() {
        let chunk = vec![b' '; MAX_EVENT / 2];
        let (mut lines, mut frames) = (json(), Framing::new(WatchEncoding::Protobuf));
        frames.split(&u32::MAX.to_be_bytes());
        let (mut bytes, mut most) = (0, 0);
        for _ in 0..7 {
            for framing in [&mut lines, &mut frames] {
                let pieces = framing.split(&chunk);
                bytes += pieces.iter().map(|(Piece::Event(piece) | Piece::Tail(piece))| piece.len()).sum::<usize>();
                most = most.max(framing.half.len());
            }
        }
        assert!(most <= MAX_EVENT && lines.is_whole() && frames.is_whole(), "{most}");
        assert_eq!(bytes, MAX_EVENT * 7 + LENGTH_PREFIX);
        assert_eq!(lines.split(b"\n{}\n"), [Piece::Tail(Bytes::from_static(b"\n")), event(b"{}\n")]);
    }

    #[test]
    fn reads_namespace_and_version_of_event() {
        let event = br#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"ns","resourceVersion":"12"}}}"#;
        assert_eq!(json().namespace_and_version(event), ("ns".to_owned(), Some(12)));
        let bookmark = br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#;
        assert_eq!(json().namespace_and_version(bookmark), (String::new(), Some(7)));
        assert_eq!(json().namespace_and_version(b"no json"), (String::new(), None));
        assert_eq!(
            Framing::new(WatchEncoding::Protobuf).namespace_and_version(&frame("a")),
            ("ns".to_owned(), Some(12))
        );
        for encoding in [WatchEncoding::Json, WatchEncoding::Protobuf] {
            let framing = Framing::new(encoding);
            assert_eq!(framing.namespace_and_version(&framing.expired_event()).0, "");
        }
    }
}
