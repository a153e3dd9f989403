//! Where one event of a watch ends and the next begins: a line of JSON, or a frame of protobuf.
//!
//! Nothing of an object is read but its namespace and its version, and both forms have them at the
//! same place for every kind; so a kind that this build does not know passes unchanged.

use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::body::Bytes;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE};
use kube_apiserver_sim::protobuf::{self, Event};
use serde::Deserialize;
use serde_json::json;

use super::command::status_body;

/// The bytes in which a protobuf frame says its length.
const LENGTH: usize = 4;

/// Of a longer event no more is kept: the rest passes as it comes.
const LONGEST: usize = 16 << 20;

/// A watch's bytes as events, whatever the frames of HTTP.
#[derive(Debug)]
pub(super) struct Framing {
    form: Form,
    passing: Passing,
    /// An event that waits for its end.
    half: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Protobuf,
}

/// An event of which a part went out unseen: the rest goes out too.
#[derive(Debug, Default)]
struct Passing {
    /// Of a line: whether it has not ended.
    line: bool,
    /// Of a frame: the bytes of its length so far.
    length: Vec<u8>,
    /// Of a frame: how many bytes are still to come.
    left: usize,
}

/// A part of a watch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A whole event.
    Event(Bytes),
    /// The end of one that has passed, or the beginning of one that is too long to be kept.
    Tail(Bytes),
}

impl Framing {
    /// Of an answer; `None` where its events cannot be told apart: another form, or packed.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let form = match kind.split(';').next().unwrap_or_default().trim() {
            "application/json" => Form::Json,
            protobuf::MEDIA_TYPE => Form::Protobuf,
            _ => return None,
        };
        (!headers.contains_key(CONTENT_ENCODING)).then(|| Self::new(form))
    }

    fn new(form: Form) -> Self {
        Self { form, passing: Passing::default(), half: Vec::new() }
    }

    /// Whether no event waits for its end.
    pub(super) fn is_whole(&self) -> bool {
        self.half.is_empty()
    }

    /// These bytes went out unseen.
    pub(super) fn passed(&mut self, data: &[u8]) {
        let mut rest = data;
        while !rest.is_empty() {
            rest = &rest[self.passing.take(self.form, rest)..];
        }
    }

    /// The events that end in these bytes.
    pub(super) fn split(&mut self, data: &[u8]) -> Vec<Piece> {
        let (mut pieces, mut data) = (Vec::new(), data);
        while self.passing.is_under_way() && !data.is_empty() {
            let taken = self.passing.take(self.form, data);
            pieces.push(Piece::Tail(Bytes::copy_from_slice(&data[..taken])));
            data = &data[taken..];
        }
        // A line that has not ended has no end in what came before.
        let mut known = if self.form == Form::Json { self.half.len() } else { 0 };
        self.half.extend_from_slice(data);
        let mut start = 0;
        while let Some(length) = self.form.first(&self.half[start + known..]).map(|length| known + length) {
            pieces.push(Piece::Event(Bytes::copy_from_slice(&self.half[start..start + length])));
            start += length;
            known = 0;
        }
        self.half.drain(..start);
        if self.half.len() > LONGEST {
            let half = std::mem::take(&mut self.half);
            self.passed(&half);
            pieces.push(Piece::Tail(half.into()));
        }
        pieces
    }

    /// What was never ended.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        (!self.half.is_empty()).then(|| std::mem::take(&mut self.half).into())
    }

    /// The namespace of the event's object, empty for bookmarks and errors, and its version.
    pub(super) fn place(&self, event: &[u8]) -> (String, Option<u64>) {
        match self.form {
            Form::Json => place_in_json(event),
            Form::Protobuf => match Event::take(&mut event.to_vec()) {
                Ok(Some(event)) => protobuf::place(&event.object).unwrap_or_default(),
                _ => Default::default(),
            },
        }
    }

    /// The event that says that the server has forgotten the place of this watch: the client must
    /// list again.
    pub(super) fn forgotten(&self) -> Bytes {
        let status = status_body("Expired", "too old resource version", StatusCode::GONE, None);
        match self.form {
            Form::Json => format!("{}\n", json!({"type": "ERROR", "object": status})).into(),
            Form::Protobuf => {
                let object = protobuf::encode(&status).expect("a Status is in the table of types");
                Event { kind: "ERROR".to_owned(), object }.frame().into()
            }
        }
    }
}

impl Form {
    /// The length of the first event, if it is whole.
    fn first(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Json => bytes.iter().position(|byte| *byte == b'\n').map(|end| end + 1),
            Self::Protobuf => {
                let length = LENGTH + u32::from_be_bytes(*bytes.first_chunk()?) as usize;
                (bytes.len() >= length).then_some(length)
            }
        }
    }
}

impl Passing {
    fn is_under_way(&self) -> bool {
        self.line || !self.length.is_empty() || self.left > 0
    }

    /// Takes bytes up to the end of the event; how many.
    fn take(&mut self, form: Form, data: &[u8]) -> usize {
        if form == Form::Json {
            let end = form.first(data);
            self.line = end.is_none();
            return end.unwrap_or(data.len());
        }
        if self.left == 0 {
            let taken = (LENGTH - self.length.len()).min(data.len());
            self.length.extend_from_slice(&data[..taken]);
            if let Some(length) = self.length.first_chunk() {
                self.left = u32::from_be_bytes(*length) as usize;
                self.length.clear();
            }
            return taken;
        }
        let taken = self.left.min(data.len());
        self.left -= taken;
        taken
    }
}

fn place_in_json(line: &[u8]) -> (String, Option<u64>) {
    #[derive(Deserialize)]
    struct Line {
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
    let metadata = serde_json::from_slice::<Line>(line).map(|event| event.object.metadata).unwrap_or_default();
    (metadata.namespace, metadata.resource_version.parse().ok())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn json() -> Framing {
        Framing::new(Form::Json)
    }

    fn frame(name: &str) -> Vec<u8> {
        let object = json!({"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "ns", "resourceVersion": "12"}});
        Event { kind: "ADDED".to_owned(), object: protobuf::encode(&object).unwrap() }.frame()
    }

    fn event(bytes: &[u8]) -> Piece {
        Piece::Event(Bytes::copy_from_slice(bytes))
    }

    #[test]
    fn lines_are_whole_whatever_the_frames() {
        let mut lines = json();
        assert_eq!(lines.split(b"{\"a\""), []);
        assert_eq!(lines.split(b":1}\n{}\n{"), [event(b"{\"a\":1}\n"), event(b"{}\n")]);
        assert!(!lines.is_whole());
        assert_eq!(lines.rest().as_deref(), Some(b"{".as_slice()));
    }

    #[test]
    fn half_a_line_that_has_passed_is_followed_by_its_other_half() {
        let mut lines = json();
        lines.passed(b"{\"type\":");
        let tail = Piece::Tail(Bytes::from_static(b"1}\n"));
        assert_eq!(lines.split(b"1}\n{}\n"), [tail, event(b"{}\n")]);
    }

    /// Wherever the bytes are cut, and wherever a command begins.
    #[rstest]
    fn frames_are_whole_wherever_they_are_cut(#[values(false, true)] passes_first: bool) {
        let stream = [frame("a"), frame("b")].concat();
        for cut in 0..=stream.len() {
            let mut frames = Framing::new(Form::Protobuf);
            let mut pieces = Vec::new();
            if passes_first {
                frames.passed(&stream[..cut]);
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
    fn an_endless_event_is_not_kept() {
        let chunk = vec![b' '; LONGEST / 2];
        let (mut lines, mut frames) = (json(), Framing::new(Form::Protobuf));
        frames.split(&u32::MAX.to_be_bytes());
        let (mut bytes, mut most) = (0, 0);
        for _ in 0..7 {
            for framing in [&mut lines, &mut frames] {
                let pieces = framing.split(&chunk);
                bytes += pieces.iter().map(|(Piece::Event(piece) | Piece::Tail(piece))| piece.len()).sum::<usize>();
                most = most.max(framing.half.len());
            }
        }
        assert!(most <= LONGEST && lines.is_whole() && frames.is_whole(), "{most}");
        assert_eq!(bytes, LONGEST * 7 + LENGTH);
        assert_eq!(lines.split(b"\n{}\n"), [Piece::Tail(Bytes::from_static(b"\n")), event(b"{}\n")]);
    }

    #[test]
    fn an_event_says_whose_it_is() {
        let event = br#"{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"ns","resourceVersion":"12"}}}"#;
        assert_eq!(json().place(event), ("ns".to_owned(), Some(12)));
        let bookmark = br#"{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}"#;
        assert_eq!(json().place(bookmark), (String::new(), Some(7)));
        assert_eq!(json().place(b"no json"), (String::new(), None));
        assert_eq!(Framing::new(Form::Protobuf).place(&frame("a")), ("ns".to_owned(), Some(12)));
        for form in [Form::Json, Form::Protobuf] {
            let framing = Framing::new(form);
            assert_eq!(framing.place(&framing.forgotten()).0, "");
        }
    }
}
