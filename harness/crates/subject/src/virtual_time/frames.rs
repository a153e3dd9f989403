//! The frames of the turn protocol, version 1: four bytes of length, big-endian, then one JSON
//! object with the frame's name as its only key. `harness/go/PROTOCOL.md` describes them.
//!
//! Objects are not decoded: a body is inserted into a frame as text, because decoding it would be
//! the most expensive part.

use std::io::{self, Read, Write};

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::{Value, json};

/// The version of the protocol.
pub(super) const PROTOCOL: u32 = 1;
/// The controllers' log level (`-v`), which includes why a sync failed and is retried.
const VERBOSITY: u32 = 2;
/// The maximum length of a frame; a list of many thousand pods is shorter.
const MAX_FRAME: usize = 256 << 20;

/// A frame from the bubble.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum BubbleFrame {
    Hello(Hello),
    Idle(IdleReport),
    Ask(ControllerRequest),
    Done(BubbleEnd),
    Failed(BubbleFailure),
}

/// The first frame of a program.
#[derive(Debug, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) program: String,
    pub(super) version: String,
    pub(super) controllers: Vec<String>,
    /// Features beyond the first version of the protocol.
    #[serde(default)]
    features: Vec<String>,
}

impl Hello {
    /// Whether it supports advancing its clock before a stimulus, in one turn. Older programs do
    /// not.
    pub(super) fn knows_after(&self) -> bool {
        self.features.iter().any(|feature| feature == "after")
    }
}

/// The bubble is idle: every goroutine waits.
#[derive(Debug, Default, Deserialize)]
pub(super) struct IdleReport {
    /// The bubble's time, in nanoseconds since 1970.
    pub(super) now: i64,
    /// When its next timer is due.
    pub(super) next: Option<i64>,
    /// The requests since the last idle frame, in order.
    #[serde(default)]
    pub(super) requests: Vec<ControllerRequest>,
    /// The cancelled requests.
    #[serde(default)]
    pub(super) cancelled: Vec<u64>,
    /// Watches that the client closed.
    #[serde(default)]
    pub(super) closed: Vec<u64>,
    /// The turn's stimulus was not delivered: a request, cancellation or close came first, while
    /// the clock advanced.
    #[serde(default)]
    pub(super) early: bool,
    /// How often timers fired in that time.
    #[serde(default)]
    pub(super) fired: u32,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ControllerRequest {
    pub(super) id: u64,
    #[serde(default)]
    pub(super) client: String,
    pub(super) method: String,
    pub(super) uri: String,
    #[serde(default)]
    pub(super) content_type: Option<String>,
    #[serde(default)]
    pub(super) accept: Option<String>,
    #[serde(default)]
    pub(super) body: Option<Value>,
    /// A body that is not JSON.
    #[serde(default)]
    pub(super) bytes: Option<ByteString>,
}

impl ControllerRequest {
    /// Whether it opens a watch.
    pub(super) fn is_watch(&self) -> bool {
        let query = self.uri.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|part| matches!(part, "watch=true" | "watch=1"))
    }
}

/// A bubble has ended.
#[derive(Debug, Deserialize)]
pub(super) struct BubbleEnd {
    /// Goroutines that could not be ended.
    #[serde(default)]
    pub(super) goroutines: u64,
}

/// A bubble cannot continue.
#[derive(Debug, Deserialize)]
pub(super) struct BubbleFailure {
    pub(super) message: String,
}

#[derive(Debug)]
pub(super) struct BubbleStart {
    /// Its time, in nanoseconds since 1970.
    pub(super) now: i64,
    pub(super) controllers: Vec<String>,
    pub(super) seed: u64,
}

/// A response; a watch's has no body, its events follow.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) code: u16,
    pub(super) content_type: String,
    pub(super) retry_after: Option<String>,
    /// `None`: a watch.
    pub(super) body: Option<Vec<u8>>,
}

/// A turn: one stimulus for the bubble.
#[derive(Debug, Clone, Copy)]
pub(super) enum BubbleTurn<'a> {
    /// An answer.
    Response { id: u64, response: &'a Response },
    /// A network error instead of an answer, or of the rest of a watch.
    Fail { id: u64, message: &'a str },
    /// One event of a watch, in JSON.
    Chunk { id: u64, data: &'a [u8] },
    /// One event of a watch, in another encoding.
    Bytes { id: u64, data: &'a [u8] },
    /// The end of a watch.
    Eof { id: u64 },
    /// The clock advances, up to this instant or the bubble's next request.
    Advance { until: i64 },
    /// The case is over.
    End,
}

/// What happens before a stimulus, in the same turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Preamble {
    /// The clock advances up to this instant.
    pub(super) until: i64,
    /// Then due timers fire, at most this often.
    pub(super) timers: u32,
}

impl BubbleStart {
    pub(super) fn frame(&self) -> Vec<u8> {
        let Self { now, controllers, seed } = self;
        // The program may support signed numbers only.
        let seed = seed & (u64::MAX >> 1);
        let start = json!({"now": now, "controllers": controllers, "seed": seed, "verbosity": VERBOSITY});
        json!({ "start": start }).to_string().into_bytes()
    }
}

impl BubbleTurn<'_> {
    pub(super) fn frame(self, after: Option<Preamble>) -> Vec<u8> {
        let after = after.map_or_else(String::new, |Preamble { until, timers }| {
            format!("\"after\":{{\"until\":{until},\"timers\":{timers}}},")
        });
        let turn = |what: &Value| {
            let what = what.to_string();
            format!("{{\"turn\":{{{after}{}}}", what.trim_start_matches('{')).into_bytes()
        };
        match self {
            Self::Response { id, response } => {
                spliced(&format!("{{\"turn\":{{{after}\"response\":"), &response.head(id), response, "}}")
            }
            Self::Chunk { id, data } => {
                let mut frame = format!("{{\"turn\":{{{after}\"chunk\":{{\"id\":{id},\"data\":").into_bytes();
                frame.extend_from_slice(data);
                frame.extend_from_slice(b"}}}");
                frame
            }
            Self::Bytes { id, data } => turn(&json!({"chunk": {"id": id, "bytes": ByteString(data.to_vec())}})),
            Self::Fail { id, message } => turn(&json!({"fail": {"id": id, "message": message}})),
            Self::Eof { id } => turn(&json!({"eof": {"id": id}})),
            Self::Advance { until } => turn(&json!({"advance": {"until": until}})),
            Self::End => turn(&json!({"end": {}})),
        }
    }
}

impl Response {
    /// The answer to a request that must be answered before the bubble can become idle.
    pub(super) fn answer(&self, id: u64) -> Vec<u8> {
        spliced("{\"answer\":", &self.head(id), self, "}")
    }

    /// No answer to such a request: the client sees a broken connection.
    pub(super) fn no_answer(id: u64, message: &str) -> Vec<u8> {
        json!({"answer": {"id": id, "fail": message}}).to_string().into_bytes()
    }

    fn head(&self, id: u64) -> Value {
        let Self { code, content_type, retry_after, body } = self;
        let mut head = json!({"id": id, "code": code, "contentType": content_type, "stream": body.is_none()});
        if let Some(text) = body.as_ref().filter(|body| !body.is_empty() && !self.is_json()) {
            head["bytes"] = json!(ByteString(text.clone()));
        }
        if let Some(after) = retry_after {
            head["headers"] = json!({"Retry-After": after});
        }
        head
    }

    /// Whether its body can be inserted into a frame unchanged.
    fn is_json(&self) -> bool {
        self.content_type.starts_with("application/json")
    }
}

/// An object with the response's body as an additional field.
fn spliced(before: &str, head: &Value, response: &Response, after: &str) -> Vec<u8> {
    let head = head.to_string();
    let mut frame = Vec::with_capacity(before.len() + head.len() + response.body.as_ref().map_or(0, Vec::len) + 16);
    frame.extend_from_slice(before.as_bytes());
    match response.body.as_deref().filter(|body| !body.is_empty() && response.is_json()) {
        None => frame.extend_from_slice(head.as_bytes()),
        Some(body) => {
            frame.extend_from_slice(head.trim_end_matches('}').as_bytes());
            frame.extend_from_slice(b",\"body\":");
            frame.extend_from_slice(body);
            frame.push(b'}');
        }
    }
    frame.extend_from_slice(after.as_bytes());
    frame
}

/// Writes a frame.
pub(super) fn write(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).map_err(|_| io::Error::other("a frame is longer than 4 GiB"))?;
    let mut whole = Vec::with_capacity(frame.len() + 4);
    whole.extend_from_slice(&length.to_be_bytes());
    whole.extend_from_slice(frame);
    to.write_all(&whole)
}

pub(super) fn read(from: &mut impl Read) -> io::Result<BubbleFrame> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
    if length > MAX_FRAME {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
    }
    let mut frame = vec![0; length];
    from.read_exact(&mut frame)?;
    serde_json::from_slice(&frame).map_err(|error| {
        let begin = String::from_utf8_lossy(&frame[..frame.len().min(200)]).into_owned();
        io::Error::new(io::ErrorKind::InvalidData, format!("{error}: {begin}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(frame: &[u8]) -> Value {
        serde_json::from_slice(frame).unwrap()
    }

    #[test]
    fn bodies_are_inserted_unchanged() {
        let body = Some(br#"{"z":1,"a":{"b":"}"}}"#.to_vec());
        let response = Response { code: 200, content_type: "application/json".to_owned(), retry_after: None, body };
        let answer = String::from_utf8(response.answer(7)).unwrap();
        assert!(answer.contains(r#""body":{"z":1,"a":{"b":"}"}}"#), "{answer}");
        assert_eq!(parsed(answer.as_bytes())["answer"]["id"], 7);
        let turn = parsed(&BubbleTurn::Response { id: 7, response: &response }.frame(None));
        assert_eq!(turn["turn"]["response"]["body"]["a"]["b"], "}");
        let chunk = BubbleTurn::Chunk { id: 3, data: br#"{"type":"ADDED"}"# };
        let expected = json!({"id": 3, "data": {"type": "ADDED"}});
        assert_eq!(parsed(&chunk.frame(None)), json!({"turn": {"chunk": expected}}));
        let after = Some(Preamble { until: 9, timers: 2 });
        let both = json!({"turn": {"after": {"until": 9, "timers": 2}, "chunk": expected}});
        assert_eq!(parsed(&chunk.frame(after)), both);
        let bytes = parsed(&BubbleTurn::Bytes { id: 3, data: &[0, 1] }.frame(None));
        assert_eq!(bytes, json!({"turn": {"chunk": {"id": 3, "bytes": "AAE="}}}));
        assert_eq!(parsed(&BubbleTurn::Eof { id: 3 }.frame(after))["turn"]["after"]["until"], 9);
        let turn = parsed(&BubbleTurn::Response { id: 7, response: &response }.frame(after));
        assert_eq!((&turn["turn"]["after"]["timers"], &turn["turn"]["response"]["id"]), (&json!(2), &json!(7)));
    }

    #[test]
    fn body_that_is_not_json_is_encoded() {
        let (content_type, body) = ("text/plain".to_owned(), Some(b"ok".to_vec()));
        let answer = parsed(&Response { code: 200, content_type, retry_after: None, body }.answer(1));
        assert_eq!((&answer["answer"]["bytes"], answer["answer"].get("body")), (&json!("b2s="), None));
    }

    #[test]
    fn watch_has_no_body_and_429_has_retry_after() {
        let response = |body| Response {
            code: 429,
            content_type: "application/json".to_owned(),
            retry_after: Some("1".to_owned()),
            body,
        };
        let watch = parsed(&response(None).answer(1));
        assert_eq!((&watch["answer"]["stream"], watch["answer"].get("body")), (&json!(true), None));
        let answer = parsed(&response(Some(Vec::new())).answer(1));
        assert_eq!(answer["answer"]["headers"]["Retry-After"], "1");
    }

    #[test]
    fn frames_round_trip() {
        let idle = json!({"idle": {"now": 5, "next": 9, "requests": [
            {"id": 1, "client": "x", "method": "POST", "uri": "/api", "contentType": "application/json", "body": {"a": 1}},
            {"id": 2, "method": "POST", "uri": "/api", "bytes": "AAE="}
        ]}});
        let mut bytes = Vec::new();
        write(&mut bytes, idle.to_string().as_bytes()).unwrap();
        write(&mut bytes, br#"{"done":{"goroutines":0}}"#).unwrap();
        let mut from = bytes.as_slice();
        let BubbleFrame::Idle(idle) = read(&mut from).unwrap() else { panic!("it is idle") };
        assert_eq!((idle.now, idle.next, idle.requests.len()), (5, Some(9), 2));
        assert_eq!(idle.requests[1].bytes.as_ref().unwrap().0, [0, 1]);
        assert!(matches!(read(&mut from).unwrap(), BubbleFrame::Done(BubbleEnd { goroutines: 0 })));
        assert_eq!(read(&mut from).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
