//! The pending requests of a bubble, and its watches: which of them have a stimulus for it, and
//! which stimulus. The seed draws the order of those that are ready at one instant.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::body::Body as _;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER, USER_AGENT};
use kube::client::Body;
use kube_apiserver_sim::protobuf;

use super::frames::{BubbleTurn, ControllerRequest, Response};

/// The error of a client whose connection ends in the middle of a request.
const RESET: &str = "connection reset by peer";
/// The minimum duration of a watch, in seconds; the maximum is twice as long, as in upstream's
/// reflectors.
const SHORTEST: usize = 300;

pub(super) struct BubbleRequests {
    requests: BTreeMap<u64, BubbleRequest>,
    /// Draws the duration of watches.
    lengths: ReadyOrder,
}

/// When a stimulus became ready, and its order at that instant: watch events in the order of their
/// writes, as a server delivers them, then answers.
type ReadyInstant = (i64, u64);

/// One request, and the watch that it opens.
struct BubbleRequest {
    state: State,
    /// Since when it has a stimulus.
    ready: Option<ReadyInstant>,
}

enum State {
    Pending(Pin<Box<dyn Future<Output = Result<ServerResponse, String>> + Send>>),
    Answered(Result<ServerResponse, String>),
    Watch(OpenWatch),
}

/// A response; a watch's body follows.
pub(super) struct ServerResponse {
    pub(super) response: Response,
    watch: Option<Body>,
}

struct OpenWatch {
    body: Pin<Box<Body>>,
    form: EventEncoding,
    /// The incomplete event.
    rest: Vec<u8>,
    events: VecDeque<Vec<u8>>,
    end: Option<Result<(), String>>,
}

/// The encoding of a watch's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventEncoding {
    /// A line of JSON each.
    Lines,
    /// A frame of protobuf each, after its length.
    Frames,
}

impl BubbleRequests {
    pub(super) fn new(seed: u64) -> Self {
        Self { requests: BTreeMap::new(), lengths: ReadyOrder::always(seed) }
    }

    /// Adds a request, which is sent when it is polled.
    pub(super) fn begin(&mut self, client: &kube::Client, mut request: ControllerRequest) {
        if request.is_watch() {
            request.uri = lasting(&request.uri, SHORTEST + self.lengths.below(SHORTEST));
        }
        let (id, client) = (request.id, client.clone());
        let state = State::Pending(Box::pin(send(client, request)));
        self.requests.insert(id, BubbleRequest { state, ready: None });
    }

    /// Drops a cancelled request or a closed watch, which cancels it at the server.
    pub(super) fn drop(&mut self, id: u64) {
        self.requests.remove(&id);
    }

    /// Polls all of them; returns how many have a stimulus.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, time: i64) -> usize {
        let mut ready = 0;
        for call in self.requests.values_mut() {
            if call.ready.is_none() && call.poll(cx).is_ready() {
                call.ready = Some((time, call.version()));
            }
            ready += usize::from(call.ready.is_some());
        }
        ready
    }

    /// Chooses one that has a stimulus.
    pub(super) fn choose(&self, order: &mut ReadyOrder) -> Option<u64> {
        let mut ready: Vec<_> = self.requests.iter().filter_map(|(id, call)| Some((call.ready?, *id))).collect();
        if ready.is_empty() {
            return None;
        }
        ready.sort_unstable();
        Some(ready[order.below(ready.len())].1)
    }

    /// The stimulus of a request; unchanged until it is marked as delivered.
    pub(super) fn turn(&self, id: u64) -> Option<BubbleTurn<'_>> {
        match &self.requests.get(&id)?.state {
            State::Pending(_) => None,
            State::Answered(Ok(ServerResponse { response, .. })) => Some(BubbleTurn::Response { id, response }),
            State::Answered(Err(message)) => Some(BubbleTurn::Fail { id, message }),
            State::Watch(watch) => match (watch.events.front(), &watch.end) {
                (Some(data), _) if watch.form == EventEncoding::Frames => Some(BubbleTurn::Bytes { id, data }),
                (Some(data), _) => Some(BubbleTurn::Chunk { id, data }),
                (None, Some(Ok(()))) => Some(BubbleTurn::Eof { id }),
                (None, Some(Err(message))) => Some(BubbleTurn::Fail { id, message }),
                (None, None) => None,
            },
        }
    }

    /// Marks its stimulus as delivered. The bubble may have cancelled the request meanwhile.
    pub(super) fn mark_delivered(&mut self, id: u64) {
        let Some(call) = self.requests.get_mut(&id) else { return };
        call.ready = None;
        let goes_on = match &mut call.state {
            State::Pending(_) => true,
            State::Answered(Ok(ServerResponse { watch, response })) => match watch.take() {
                Some(body) => {
                    call.state = State::Watch(OpenWatch::open(body, EventEncoding::of(&response.content_type)));
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

impl BubbleRequest {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Pending(pending) => pending.as_mut().poll(cx).map(|answer| self.state = State::Answered(answer)),
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

/// The first resourceVersion in a JSON text; in an event it is the object's.
fn version(event: &[u8]) -> Option<u64> {
    const FIELD: &[u8] = b"\"resourceVersion\":\"";
    let at = event.windows(FIELD.len()).position(|part| part == FIELD)? + FIELD.len();
    let digits = event[at..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number: u64, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))))
}

impl EventEncoding {
    fn of(content_type: &str) -> Self {
        if content_type.starts_with(protobuf::MEDIA_TYPE) { Self::Frames } else { Self::Lines }
    }

    /// The length of the first event of a body, if it is complete.
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
                let event = protobuf::WireEvent::take(&mut event.to_vec()).ok()??;
                protobuf::namespace_and_version(&event.object).ok()?.1
            }
        }
    }
}

impl OpenWatch {
    fn open(body: Body, form: EventEncoding) -> Self {
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

    /// Splits events: a line without its line break, a frame with its length.
    fn read(&mut self, data: &[u8]) {
        self.rest.extend_from_slice(data);
        while let Some(length) = self.form.first(&self.rest) {
            let rest = self.rest.split_off(length);
            let mut event = std::mem::replace(&mut self.rest, rest);
            if self.form == EventEncoding::Lines {
                event.pop();
            }
            if !event.is_empty() {
                self.events.push_back(event);
            }
        }
    }
}

/// Sets the duration of a watch. Upstream draws it from one sequence for watches that begin at one
/// instant, so its scheduler would decide which watch gets which number.
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

/// Sends a request through the interceptor. The error is what a client sees of a broken connection.
pub(super) async fn send(client: kube::Client, request: ControllerRequest) -> Result<ServerResponse, String> {
    let watches = request.is_watch();
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
        return Ok(ServerResponse { response: response(None), watch: Some(body) });
    }
    let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
    Ok(ServerResponse { response: response(Some(body.into())), watch: None })
}

fn http_request(request: ControllerRequest) -> Result<hyper::Request<Body>, String> {
    let ControllerRequest { client, method, uri, content_type, accept, body, bytes, .. } = request;
    let body = match (body, bytes) {
        (Some(body), _) => body.to_string().into_bytes(),
        (None, bytes) => bytes.map(|bytes| bytes.0).unwrap_or_default(),
    };
    let mut builder = hyper::Request::builder().method(method.as_str()).uri(uri.as_str());
    let mut headers = HeaderMap::new();
    for (name, value) in [(ACCEPT, accept), (CONTENT_TYPE, content_type), (USER_AGENT, Some(client))] {
        if let Some(value) = value.and_then(|value| value.parse().ok()) {
            headers.insert(name, value);
        }
    }
    builder.headers_mut().into_iter().for_each(|map| map.extend(headers.clone()));
    builder.body(Body::from(body)).map_err(|error| format!("{method} {uri} is not a request: {error}"))
}

/// A separate sequence of random numbers, so that the order changes no names and no delays.
#[derive(Debug, Clone)]
pub(super) struct ReadyOrder(Option<kube_apiserver_sim::SeededRng>);

impl ReadyOrder {
    /// With seed 0 the first is always chosen.
    pub(super) fn new(seed: u64) -> Self {
        if seed == 0 { Self(None) } else { Self::always(seed) }
    }

    /// Draws with seed 0 too.
    pub(super) fn always(seed: u64) -> Self {
        Self(Some(kube_apiserver_sim::SeededRng::new(seed ^ 0x0b0b_b1e5_0b0b_b1e5)))
    }

    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let Some(chance) = &mut self.0 else { return 0 };
        usize::try_from(chance.below(limit as u64)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_has_version_of_its_object() {
        let event = br#"{"type":"DELETED","object":{"kind":"Pod","metadata":{"name":"a","resourceVersion":"417"}}}"#;
        assert_eq!(version(event), Some(417));
        assert_eq!(version(b"{}"), None);
    }

    #[test]
    fn sets_duration_of_watch() {
        let uri = "/api/v1/pods?allowWatchBookmarks=true&timeout=5m16s&timeoutSeconds=316&watch=true";
        let drawn = "/api/v1/pods?allowWatchBookmarks=true&timeout=400s&timeoutSeconds=400&watch=true";
        assert_eq!(lasting(uri, 400), drawn);
        assert_eq!(lasting("/api/v1/pods?watch=true", 400), "/api/v1/pods?watch=true");
    }

    #[test]
    fn splits_json_events_at_any_boundary() {
        let mut watch = OpenWatch::open(Body::empty(), EventEncoding::Lines);
        watch.read(b"{\"a\":1}\n{\"b\"");
        watch.read(b":2}\n\n{\"c\":3}\n{");
        let events: Vec<_> = watch.events.iter().map(|event| String::from_utf8_lossy(event)).collect();
        assert_eq!(events, ["{\"a\":1}", "{\"b\":2}", "{\"c\":3}"]);
    }

    #[test]
    fn splits_protobuf_events_at_any_boundary() {
        let frame = |version: &str| {
            let metadata = serde_json::json!({"name": "a", "namespace": "ns", "resourceVersion": version});
            let object = serde_json::json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata});
            protobuf::WireEvent { kind: "ADDED".to_owned(), object: protobuf::encode(&object).unwrap() }.frame()
        };
        let mut watch =
            OpenWatch::open(Body::empty(), EventEncoding::of("application/vnd.kubernetes.protobuf;stream=watch"));
        for byte in [frame("417"), frame("10")].concat() {
            watch.read(&[byte]);
        }
        assert_eq!(watch.events, [frame("417"), frame("10")]);
        assert_eq!(watch.form.version(&watch.events[0]), Some(417));
    }

    #[test]
    fn seed_repeats_its_sequence_and_seed_0_takes_the_first() {
        let draws = |seed| {
            let mut chance = ReadyOrder::new(seed);
            (0..50).map(|_| chance.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(draws(0), [0; 50]);
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
        assert!((0..7).all(|number| draws(3).contains(&number)));
    }
}
