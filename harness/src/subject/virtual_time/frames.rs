//! The frames of the turn protocol, version 1: four bytes of length, the first the highest, then
//! one JSON object with the frame's name as its only key. What each means stands in
//! `harness/go/PROTOCOL.md`.
//!
//! Objects pass as they are: a body is put into a frame as text, because decoding it would cost
//! more than all else here.

use std::io::{self, Read, Write};

use k8s_openapi::ByteString;
use serde::Deserialize;
use serde_json::{Value, json};

/// The version of the protocol.
pub(super) const PROTOCOL: u32 = 1;
/// How much the controllers log (`-v`): also why a sync failed and is tried again.
const VERBOSITY: u32 = 2;
/// The longest frame that is read: a list of many thousand pods is shorter.
const LONGEST: usize = 256 << 20;

/// From the bubble.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Said {
    Hello(Hello),
    Idle(Idle),
    Ask(Request),
    Done(Done),
    Failed(Failed),
}

/// The first frame of a program.
#[derive(Debug, Deserialize)]
pub(super) struct Hello {
    pub(super) protocol: u32,
    pub(super) program: String,
    pub(super) version: String,
    pub(super) controllers: Vec<String>,
    /// What it understands beyond the first version of the protocol.
    #[serde(default)]
    features: Vec<String>,
}

impl Hello {
    /// Whether it lets time pass before a stimulus, in one turn. A program that was built before
    /// that was added does not.
    pub(super) fn knows_after(&self) -> bool {
        self.features.iter().any(|feature| feature == "after")
    }
}

/// Every goroutine waits.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Idle {
    /// The bubble's time, in nanoseconds since 1970.
    pub(super) now: i64,
    /// When its next timer is due.
    pub(super) next: Option<i64>,
    /// The requests since the last time, in the order in which they were made.
    #[serde(default)]
    pub(super) requests: Vec<Request>,
    /// Requests that are no longer wanted.
    #[serde(default)]
    pub(super) cancelled: Vec<u64>,
    /// Watches that the client closed.
    #[serde(default)]
    pub(super) closed: Vec<u64>,
    /// The turn's stimulus was not played: one of these three came first, in the time that was to
    /// pass before it.
    #[serde(default)]
    pub(super) early: bool,
    /// How often timers were let fire in that time.
    #[serde(default)]
    pub(super) fired: u32,
}

/// A request of the controllers.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
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
    /// In place of a body that is not JSON.
    #[serde(default)]
    pub(super) bytes: Option<ByteString>,
}

impl Request {
    /// Whether it asks for a watch.
    pub(super) fn watches(&self) -> bool {
        let query = self.uri.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|part| matches!(part, "watch=true" | "watch=1"))
    }
}

/// A bubble is gone.
#[derive(Debug, Deserialize)]
pub(super) struct Done {
    /// Goroutines that could not be ended.
    #[serde(default)]
    pub(super) goroutines: u64,
}

/// A bubble cannot go on.
#[derive(Debug, Deserialize)]
pub(super) struct Failed {
    pub(super) message: String,
}

/// What a bubble begins with.
#[derive(Debug)]
pub(super) struct Start {
    /// Its time, in nanoseconds since 1970.
    pub(super) now: i64,
    pub(super) controllers: Vec<String>,
    pub(super) seed: u64,
    /// Those of the real program that are wanted besides.
    pub(super) flags: Vec<String>,
}

/// An answer; a watch's has no body, its events follow.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) code: u16,
    pub(super) content_type: String,
    pub(super) retry_after: Option<String>,
    /// `None`: a watch.
    pub(super) body: Option<Vec<u8>>,
}

/// One thing that happens to the bubble.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turn<'a> {
    /// An answer.
    Response { id: u64, response: &'a Response },
    /// An error of the network in place of an answer, or of the rest of a watch.
    Fail { id: u64, message: &'a str },
    /// One event of a watch, in JSON.
    Chunk { id: u64, data: &'a [u8] },
    /// One event of a watch, in another form.
    Bytes { id: u64, data: &'a [u8] },
    /// The end of a watch.
    Eof { id: u64 },
    /// Time passes, up to this instant or the bubble's next request.
    Advance { until: i64 },
    /// The case is over.
    End,
}

/// What passes before a stimulus, in the same turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct After {
    /// Time, up to this instant.
    pub(super) until: i64,
    /// Then timers that are due, so often at most.
    pub(super) timers: u32,
}

impl Start {
    pub(super) fn frame(&self) -> Vec<u8> {
        let Self { now, controllers, seed, flags } = self;
        // Whoever reads it may have signed numbers only.
        let seed = seed & (u64::MAX >> 1);
        let start =
            json!({"now": now, "controllers": controllers, "seed": seed, "flags": flags, "verbosity": VERBOSITY});
        json!({ "start": start }).to_string().into_bytes()
    }
}

impl Turn<'_> {
    /// The frame of this and of what passes before it.
    pub(super) fn frame(self, after: Option<After>) -> Vec<u8> {
        let after = after.map_or_else(String::new, |After { until, timers }| {
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
    /// The answer to a request that had to be answered before the bubble could become idle.
    pub(super) fn answer(&self, id: u64) -> Vec<u8> {
        spliced("{\"answer\":", &self.head(id), self, "}")
    }

    /// No answer to such a request: a client sees that its connection broke.
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

    /// Whether its body can stand in a frame as it is.
    fn is_json(&self) -> bool {
        self.content_type.starts_with("application/json")
    }
}

/// An object with the answer's body as one more field, as it is.
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

/// Write a frame.
pub(super) fn write(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).map_err(|_| io::Error::other("a frame is longer than 4 GiB"))?;
    let mut whole = Vec::with_capacity(frame.len() + 4);
    whole.extend_from_slice(&length.to_be_bytes());
    whole.extend_from_slice(frame);
    to.write_all(&whole)
}

/// Read a frame.
pub(super) fn read(from: &mut impl Read) -> io::Result<Said> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
    if length > LONGEST {
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
    fn bodies_pass_as_they_are() {
        let body = Some(br#"{"z":1,"a":{"b":"}"}}"#.to_vec());
        let response = Response { code: 200, content_type: "application/json".to_owned(), retry_after: None, body };
        let answer = String::from_utf8(response.answer(7)).unwrap();
        assert!(answer.contains(r#""body":{"z":1,"a":{"b":"}"}}"#), "{answer}");
        assert_eq!(parsed(answer.as_bytes())["answer"]["id"], 7);
        let turn = parsed(&Turn::Response { id: 7, response: &response }.frame(None));
        assert_eq!(turn["turn"]["response"]["body"]["a"]["b"], "}");
        let chunk = Turn::Chunk { id: 3, data: br#"{"type":"ADDED"}"# };
        let expected = json!({"id": 3, "data": {"type": "ADDED"}});
        assert_eq!(parsed(&chunk.frame(None)), json!({"turn": {"chunk": expected}}));
        let after = Some(After { until: 9, timers: 2 });
        let both = json!({"turn": {"after": {"until": 9, "timers": 2}, "chunk": expected}});
        assert_eq!(parsed(&chunk.frame(after)), both);
        let bytes = parsed(&Turn::Bytes { id: 3, data: &[0, 1] }.frame(None));
        assert_eq!(bytes, json!({"turn": {"chunk": {"id": 3, "bytes": "AAE="}}}));
        assert_eq!(parsed(&Turn::Eof { id: 3 }.frame(after))["turn"]["after"]["until"], 9);
        let turn = parsed(&Turn::Response { id: 7, response: &response }.frame(after));
        assert_eq!((&turn["turn"]["after"]["timers"], &turn["turn"]["response"]["id"]), (&json!(2), &json!(7)));
    }

    #[test]
    fn a_body_that_is_not_json_is_encoded() {
        let (content_type, body) = ("text/plain".to_owned(), Some(b"ok".to_vec()));
        let answer = parsed(&Response { code: 200, content_type, retry_after: None, body }.answer(1));
        assert_eq!((&answer["answer"]["bytes"], answer["answer"].get("body")), (&json!("b2s="), None));
    }

    #[test]
    fn a_watch_has_no_body_and_a_429_says_when_to_come_again() {
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
    fn frames_are_read_as_they_are_written() {
        let idle = json!({"idle": {"now": 5, "next": 9, "requests": [
            {"id": 1, "client": "x", "method": "POST", "uri": "/api", "contentType": "application/json", "body": {"a": 1}},
            {"id": 2, "method": "POST", "uri": "/api", "bytes": "AAE="}
        ]}});
        let mut bytes = Vec::new();
        write(&mut bytes, idle.to_string().as_bytes()).unwrap();
        write(&mut bytes, br#"{"done":{"goroutines":0}}"#).unwrap();
        let mut from = bytes.as_slice();
        let Said::Idle(idle) = read(&mut from).unwrap() else { panic!("it is idle") };
        assert_eq!((idle.now, idle.next, idle.requests.len()), (5, Some(9), 2));
        assert_eq!(idle.requests[1].bytes.as_ref().unwrap().0, [0, 1]);
        assert!(matches!(read(&mut from).unwrap(), Said::Done(Done { goroutines: 0 })));
        assert_eq!(read(&mut from).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
