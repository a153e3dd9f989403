//! The requests of a bubble that are under way, and its watches: which of them have something for
//! it, and what.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::Body as _;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER, USER_AGENT};
use kube::client::Body;
use kube_apiserver_sim::protobuf;

use super::chance::Chance;
use super::frames::{Request, Response, Turn};

/// What a client sees when its connection ends in the middle of a request.
const RESET: &str = "connection reset by peer";
/// How long a watch lasts at least, in seconds, and at most twice as long: as upstream's reflectors
/// have it.
const SHORTEST: usize = 300;

/// All of one bubble.
pub(super) struct Calls {
    calls: BTreeMap<u64, Call>,
    /// Draws how long watches last.
    lengths: Chance,
}

/// When something became ready, and in which order of those that did at one instant: watch events
/// in the order of the writes that they are of, as a server delivers them, and then answers.
type Since = (i64, u64);

/// One request, and the watch that comes of it.
struct Call {
    state: State,
    /// Since when it has something for the bubble.
    ready: Option<Since>,
}

enum State {
    Asked(Pin<Box<dyn Future<Output = Result<Answer, String>> + Send>>),
    Answered(Result<Answer, String>),
    Watch(Watch),
}

/// An answer; a watch's body comes later.
pub(super) struct Answer {
    pub(super) response: Response,
    watch: Option<Body>,
}

/// A watch that is open.
struct Watch {
    body: Pin<Box<Body>>,
    form: Form,
    /// What is not yet a whole event.
    rest: Vec<u8>,
    events: VecDeque<Vec<u8>>,
    end: Option<Result<(), String>>,
}

/// How a watch's events stand in its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Each is a line of JSON.
    Lines,
    /// Each is a frame of protobuf, after its length.
    Frames,
}

impl Calls {
    pub(super) fn new(seed: u64) -> Self {
        Self { calls: BTreeMap::new(), lengths: Chance::always(seed) }
    }

    /// A request begins; it is on its way once it is polled.
    pub(super) fn begin(&mut self, client: &kube::Client, mut request: Request) {
        if request.watches() {
            request.uri = lasting(&request.uri, SHORTEST + self.lengths.below(SHORTEST));
        }
        let (id, client) = (request.id, client.clone());
        let state = State::Asked(Box::pin(send(client, request)));
        self.calls.insert(id, Call { state, ready: None });
    }

    /// A request is no longer wanted, or a watch was closed: dropped, which takes it back from the
    /// server.
    pub(super) fn drop(&mut self, id: u64) {
        self.calls.remove(&id);
    }

    /// Look at all of them at this time; how many have something for the bubble.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, time: i64) -> usize {
        let mut ready = 0;
        for call in self.calls.values_mut() {
            if call.ready.is_none() && call.poll(cx).is_ready() {
                call.ready = Some((time, call.version()));
            }
            ready += usize::from(call.ready.is_some());
        }
        ready
    }

    /// Choose one that has something for the bubble.
    pub(super) fn choose(&self, chance: &mut Chance) -> Option<u64> {
        let mut ready: Vec<_> = self.calls.iter().filter_map(|(id, call)| Some((call.ready?, *id))).collect();
        if ready.is_empty() {
            return None;
        }
        ready.sort_unstable();
        Some(ready[chance.below(ready.len())].1)
    }

    /// What it has for the bubble. It has the same until it is said that it was handed over.
    pub(super) fn turn(&self, id: u64) -> Option<Turn<'_>> {
        match &self.calls.get(&id)?.state {
            State::Asked(_) => None,
            State::Answered(Ok(Answer { response, .. })) => Some(Turn::Response { id, response }),
            State::Answered(Err(message)) => Some(Turn::Fail { id, message }),
            State::Watch(watch) => match (watch.events.front(), &watch.end) {
                (Some(data), _) if watch.form == Form::Frames => Some(Turn::Bytes { id, data }),
                (Some(data), _) => Some(Turn::Chunk { id, data }),
                (None, Some(Ok(()))) => Some(Turn::Eof { id }),
                (None, Some(Err(message))) => Some(Turn::Fail { id, message }),
                (None, None) => None,
            },
        }
    }

    /// What it had was handed over. The bubble may have given it up meanwhile.
    pub(super) fn handed(&mut self, id: u64) {
        let Some(call) = self.calls.get_mut(&id) else { return };
        call.ready = None;
        let goes_on = match &mut call.state {
            State::Asked(_) => true,
            State::Answered(Ok(Answer { watch, response })) => match watch.take() {
                Some(body) => {
                    call.state = State::Watch(Watch::open(body, Form::of(&response.content_type)));
                    true
                }
                None => false,
            },
            State::Answered(Err(_)) => false,
            State::Watch(watch) => watch.events.pop_front().is_some(),
        };
        if !goes_on {
            self.drop(id);
        }
    }
}

impl Call {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Asked(asked) => asked.as_mut().poll(cx).map(|answer| self.state = State::Answered(answer)),
            State::Answered(_) => Poll::Ready(()),
            State::Watch(watch) => watch.poll(cx),
        }
    }

    /// The resourceVersion of a watch's next event.
    fn version(&self) -> u64 {
        let State::Watch(watch) = &self.state else { return u64::MAX };
        watch.events.front().and_then(|event| watch.form.version(event)).unwrap_or(u64::MAX)
    }
}

/// The first resourceVersion in a JSON text; of an event that is its object's.
fn version(event: &[u8]) -> Option<u64> {
    const FIELD: &[u8] = b"\"resourceVersion\":\"";
    let at = event.windows(FIELD.len()).position(|part| part == FIELD)? + FIELD.len();
    let digits = event[at..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))))
}

impl Form {
    fn of(content_type: &str) -> Self {
        if content_type.starts_with(protobuf::MEDIA_TYPE) { Self::Frames } else { Self::Lines }
    }

    /// The length of the first event of a body, once that is whole.
    fn first(self, body: &[u8]) -> Option<usize> {
        match self {
            Self::Lines => body.iter().position(|byte| *byte == b'\n').map(|end| end + 1),
            Self::Frames => {
                let head = body.first_chunk::<4>()?;
                let length = head.len() + usize::try_from(u32::from_be_bytes(*head)).ok()?;
                (body.len() >= length).then_some(length)
            }
        }
    }

    fn version(self, event: &[u8]) -> Option<u64> {
        match self {
            Self::Lines => version(event),
            Self::Frames => {
                let event = protobuf::Event::take(&mut event.to_vec()).ok()??;
                protobuf::place(&event.object).ok()?.1
            }
        }
    }
}

impl Watch {
    fn open(body: Body, form: Form) -> Self {
        Self { body: Box::pin(body), form, rest: Vec::new(), events: VecDeque::new(), end: None }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while self.events.is_empty() && self.end.is_none() {
            match std::task::ready!(self.body.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => self.read(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(error)) => self.end = Some(Err(error.to_string())),
                None => self.end = Some(Ok(())),
            }
        }
        Poll::Ready(())
    }

    /// A line without its end, a frame with its length.
    fn read(&mut self, data: &[u8]) {
        self.rest.extend_from_slice(data);
        while let Some(length) = self.form.first(&self.rest) {
            let rest = self.rest.split_off(length);
            let mut event = std::mem::replace(&mut self.rest, rest);
            if self.form == Form::Lines {
                event.pop();
            }
            if !event.is_empty() {
                self.events.push_back(event);
            }
        }
    }
}

/// The same watch, to end after so many seconds. Upstream draws that itself, from one sequence for
/// watches that begin at one instant, so that it is its scheduler's chance which of them gets which
/// number.
fn lasting(uri: &str, seconds: usize) -> String {
    let Some((path, query)) = uri.split_once('?') else { return uri.to_owned() };
    let part = |part: &str| match part.split_once('=') {
        Some((name @ ("timeoutSeconds" | "timeout"), _)) => {
            format!("{name}={seconds}{}", if name == "timeout" { "s" } else { "" })
        }
        _ => part.to_owned(),
    };
    format!("{path}?{}", query.split('&').map(part).collect::<Vec<_>>().join("&"))
}

/// Ask the server, through the interceptor. The error is what a client sees of a connection that
/// breaks.
pub(super) async fn send(client: kube::Client, request: Request) -> Result<Answer, String> {
    let watches = request.watches();
    let answer = client.send(http_request(request)?).await.map_err(|error| {
        tracing::debug!(%error, "a request in virtual time has no answer");
        RESET.to_owned()
    })?;
    let (head, body) = answer.into_parts();
    let text = |name: HeaderName| Some(head.headers.get(name)?.to_str().ok()?.to_owned());
    let response = |body| Response {
        code: head.status.as_u16(),
        content_type: text(CONTENT_TYPE).unwrap_or_default(),
        retry_after: text(RETRY_AFTER),
        body,
    };
    if watches && head.status.is_success() {
        return Ok(Answer { response: response(None), watch: Some(body) });
    }
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    Ok(Answer { response: response(Some(body.into())), watch: None })
}

fn http_request(request: Request) -> Result<hyper::Request<Body>, String> {
    let Request { client, method, uri, content_type, accept, body, bytes, .. } = request;
    let body = match (body, bytes) {
        (Some(body), _) => body.to_string().into_bytes(),
        (None, bytes) => bytes.map(|bytes| bytes.0).unwrap_or_default(),
    };
    let mut made = hyper::Request::builder().method(method.as_str()).uri(uri.as_str());
    let mut headers = HeaderMap::new();
    for (name, value) in [(ACCEPT, accept), (CONTENT_TYPE, content_type), (USER_AGENT, Some(client))] {
        if let Some(value) = value.and_then(|value| value.parse().ok()) {
            headers.insert(name, value);
        }
    }
    made.headers_mut().into_iter().for_each(|made| made.extend(headers.clone()));
    made.body(Body::from(body)).map_err(|error| format!("{method} {uri} is not a request: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_as_old_as_its_object() {
        let event = br#"{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"417"}}}"#;
        assert_eq!(version(event), Some(417));
        assert_eq!(version(b"{}"), None);
    }

    #[test]
    fn a_watch_lasts_as_long_as_the_seed_says() {
        let uri = "/api/v1/pods?allowWatchBookmarks=true&timeout=5m16s&timeoutSeconds=316&watch=true";
        let drawn = "/api/v1/pods?allowWatchBookmarks=true&timeout=400s&timeoutSeconds=400&watch=true";
        assert_eq!(lasting(uri, 400), drawn);
        assert_eq!(lasting("/api/v1/pods?watch=true", 400), "/api/v1/pods?watch=true");
    }

    #[test]
    fn events_are_lines_however_they_come() {
        let mut watch = Watch::open(Body::empty(), Form::Lines);
        watch.read(b"{\"a\":1}\n{\"b\"");
        watch.read(b":2}\n\n{\"c\":3}\n{");
        let events: Vec<_> = watch.events.iter().map(|event| String::from_utf8_lossy(event)).collect();
        assert_eq!(events, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
    }

    #[test]
    fn events_in_protobuf_are_frames_however_they_come() {
        let frame = |version: &str| {
            let metadata = serde_json::json!({"name": "a", "namespace": "ns", "resourceVersion": version});
            let object = serde_json::json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata});
            protobuf::Event { kind: "ADDED".to_owned(), object: protobuf::encode(&object).unwrap() }.frame()
        };
        let mut watch = Watch::open(Body::empty(), Form::of("application/vnd.kubernetes.protobuf;stream=watch"));
        for byte in [frame("417"), frame("10")].concat() {
            watch.read(&[byte]);
        }
        assert_eq!(watch.events, [frame("417"), frame("10")]);
        assert_eq!(watch.form.version(&watch.events[0]), Some(417));
    }
}
