//! The log of requests through the interceptor.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Request;
use hyper::header::USER_AGENT;
use kube_apiserver_sim::notify::{Notifier, Subscription};
use lockstep_recording as recording;
use lockstep_support::clock;
use lockstep_support::clock::Instant;

use super::ignored_status::{self, SentBody};
use super::request::{BodyStream, InterceptedRequest};
use super::since_start::RequestsSinceStart;
use super::{RequestInfo, Verb};

/// The log of an interceptor; clones share it.
#[derive(Debug, Clone)]
pub struct InterceptorLog(Arc<LogShared>);

#[derive(Debug)]
struct LogShared {
    state: Mutex<State>,
    finished: Notifier,
    /// Notified of arrivals and answers.
    progress: Notifier,
}

#[derive(Debug, Default)]
struct State {
    arrived: u64,
    /// Finished requests that no reader takes.
    waiting: Vec<InterceptedRequest>,
    /// Finished requests since each reader's last drain, by its number.
    readers: BTreeMap<u64, UnreadRequests>,
    counts: BTreeMap<Verb, u64>,
    /// The number of requests that the server refused, by their description.
    refused: BTreeMap<String, u64>,
    connections: ConnectionStats,
    /// The number of unanswered requests, by namespace, except watches and Events.
    under_way: BTreeMap<String, u64>,
    /// The time after which a client may retry a request, by namespace.
    retries: BTreeMap<String, Instant>,
    since_start: RequestsSinceStart,
    /// Whether the versions that writes are answered with are read.
    reads_versions: bool,
}

/// The requests that a reader has not taken yet.
#[derive(Debug)]
struct UnreadRequests {
    namespace: String,
    requests: Vec<InterceptedRequest>,
}

/// Reads the requests of one namespace from the log, and refused requests of namespaces without a
/// reader.
#[derive(Debug)]
pub struct LogReader {
    log: InterceptorLog,
    number: u64,
}

/// The connections that clients have opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionStats {
    /// The number of opened connections.
    pub opened: u64,
    /// Those that failed in the TLS handshake, before any request.
    pub unsecured: u64,
    /// Why the last of these failed.
    pub why: Option<String>,
}

impl Default for InterceptorLog {
    /// An empty log.
    fn default() -> Self {
        let (finished, progress) = (Notifier::default(), Notifier::default());
        Self(Arc::new(LogShared { state: Mutex::default(), finished, progress }))
    }
}

impl InterceptorLog {
    /// Records an answered request.
    pub fn passed<B>(&self, request: &Request<B>, status: u16) {
        self.open(request).record_answer(status);
    }

    /// Takes the requests that were finished since the last call while there was no
    /// [`reader`](Self::reader), in order of completion; watches count as finished when their
    /// answer begins.
    pub fn drain(&self) -> Vec<InterceptedRequest> {
        std::mem::take(&mut self.state().waiting)
    }

    /// Creates a reader for this namespace.
    pub fn reader(&self, namespace: &str) -> LogReader {
        let mut state = self.state();
        let number = state.readers.last_key_value().map_or(0, |(last, _)| last + 1);
        state.readers.insert(number, UnreadRequests { namespace: namespace.to_owned(), requests: Vec::new() });
        LogReader { log: self.clone(), number }
    }

    /// The number of finished requests, by verb.
    pub fn counts(&self) -> BTreeMap<Verb, u64> {
        self.state().counts.clone()
    }

    /// The connections so far.
    pub fn connections(&self) -> ConnectionStats {
        self.state().connections.clone()
    }

    /// Records a connection.
    pub(super) fn record_connection(&self) {
        self.state().connections.opened += 1;
    }

    /// Records a connection that failed in the TLS handshake.
    pub(super) fn record_failed_handshake(&self, why: &std::io::Error) {
        let connections = &mut self.state().connections;
        connections.unsecured += 1;
        connections.why = Some(why.to_string());
    }

    /// The requests that the server refused with 401 or 403, with their numbers: `update
    /// deployments/status in NAMESPACE`.
    pub fn refused(&self) -> BTreeMap<String, u64> {
        self.state().refused.clone()
    }

    /// The number of unanswered requests of a namespace, except watches and Events.
    pub fn pending(&self, namespace: &str) -> u64 {
        self.state().under_way.get(namespace).copied().unwrap_or(0)
    }

    /// Records that a client was asked to retry a request of this namespace after this delay.
    pub(super) fn note_retry_after(&self, namespace: &str, after: Duration) {
        let until = clock::instant() + after;
        let mut state = self.state();
        let latest = state.retries.entry(namespace.to_owned()).or_insert(until);
        *latest = until.max(*latest);
    }

    /// Whether a client may still wait before it retries a request of a namespace.
    pub fn may_retry(&self, namespace: &str) -> bool {
        self.state().retries.get(namespace).is_some_and(|until| clock::instant() <= *until)
    }

    /// The number of arrived requests, finished or not.
    #[cfg(test)]
    pub(crate) fn arrivals(&self) -> u64 {
        self.state().arrived
    }

    /// Waits until more than `count` requests are finished, and returns their number. Start with 0.
    pub async fn wait_for_more_than(&self, count: u64) -> u64 {
        let mut finished = self.0.finished.listen();
        while self.0.finished.count() <= count {
            finished.changed().await;
        }
        self.0.finished.count()
    }

    /// From now on also read which version of its object each write is answered with.
    pub fn read_versions(&self) {
        self.state().reads_versions = true;
    }

    /// Records that the subject is being started: earlier requests are not its own.
    pub fn subject_starts(&self) {
        let mut state = self.state();
        let arrived = state.arrived;
        state.since_start.start(arrived);
    }

    /// Records that the subject runs.
    pub fn subject_runs(&self) {
        self.state().since_start.run();
    }

    /// What the subject has requested since it was started.
    pub fn since_start(&self) -> RequestsSinceStart {
        self.state().since_start.clone()
    }

    /// A listener for arrivals and answers.
    pub fn listen(&self) -> Subscription {
        self.0.progress.listen()
    }

    /// Records an arrived request.
    pub(super) fn open<B>(&self, request: &Request<B>) -> Ticket {
        let uri = request.uri();
        let route = RequestInfo::parse(request.method(), uri.path(), uri.query());
        let user_agent = request.headers().get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let mut state = self.state();
        state.arrived += 1;
        let about_a_case = state.readers.values().any(|unread| unread.namespace == route.namespace);
        state.since_start.record_arrival(&route, about_a_case);
        let RequestInfo { verb, group, namespace, resource, subresource, name } = route;
        if is_awaited(verb, &resource) {
            *state.under_way.entry(namespace.clone()).or_default() += 1;
        }
        let seq = state.arrived;
        drop(state);
        self.0.progress.notify();
        Ticket {
            log: self.clone(),
            sent: None,
            patch: None,
            request: Some(InterceptedRequest {
                seq,
                started: clock::instant(),
                took: Duration::ZERO,
                verb,
                group,
                namespace,
                resource,
                subresource,
                name,
                path: uri.path().to_owned(),
                status: None,
                message: None,
                ignored_status: false,
                patch: None,
                user_agent: user_agent.unwrap_or_default().into_owned(),
                version: None,
            }),
        }
    }

    fn finish(&self, mut request: InterceptedRequest) {
        request.took = request.started.elapsed();
        {
            let mut state = self.state();
            *state.counts.entry(request.verb).or_default() += 1;
            state.since_start.record_answer(&request);
            if request.is_refused() {
                *state.refused.entry(request.to_string()).or_default() += 1;
            }
            if is_awaited(request.verb, &request.resource) {
                let still_open = state.under_way.get(&request.namespace).map_or(0, |open| open.saturating_sub(1));
                match still_open {
                    0 => state.under_way.remove(&request.namespace),
                    _ => state.under_way.insert(request.namespace.clone(), still_open),
                };
            }
            state.hand_out(request);
        }
        self.0.finished.notify();
        self.0.progress.notify();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogReader {
    /// Takes the requests that were finished since the last call, in order of completion.
    pub fn drain(&self) -> Vec<InterceptedRequest> {
        let mut state = self.log.state();
        state.readers.get_mut(&self.number).map(|unread| std::mem::take(&mut unread.requests)).unwrap_or_default()
    }

    /// The log.
    pub fn log(&self) -> &InterceptorLog {
        &self.log
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        self.log.state().readers.remove(&self.number);
    }
}

impl State {
    fn hand_out(&mut self, request: InterceptedRequest) {
        if self.readers.is_empty() {
            self.waiting.push(request);
            return;
        }
        let about_a_case = self.readers.values().any(|unread| unread.namespace == request.namespace);
        let refused_elsewhere = !about_a_case && request.is_refused();
        // A webhook message names no namespace; a case whose subject sends any runs alone.
        let of_all = refused_elsewhere || request.resource == recording::SubjectRequest::WEBHOOK;
        let concerned = self.readers.values_mut().filter(|it| of_all || it.namespace == request.namespace);
        concerned.for_each(|unread| unread.requests.push(request.clone()));
    }
}

/// Whether a request delays settling: a watch does not end, and Events decide nothing.
fn is_awaited(verb: Verb, resource: &str) -> bool {
    verb != Verb::Watch && resource != "events"
}

/// The maximum length of a logged patch, in bytes.
const MOST_LOGGED: usize = 16 << 10;

/// A patch as text; `None` if it is not text, as in CBOR.
fn readable(patch: &SentBody) -> Option<String> {
    let patch = patch.lock().unwrap_or_else(PoisonError::into_inner);
    let text = std::str::from_utf8(&patch).ok().filter(|text| !text.is_empty())?;
    if text.len() <= MOST_LOGGED {
        return Some(text.to_owned());
    }
    let end = (0..=MOST_LOGGED).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    Some(format!("{}\n[... {} bytes]", &text[..end], text.len() - end))
}

/// A pending request. It is logged when this is dropped, however the request ends.
#[derive(Debug)]
pub(super) struct Ticket {
    log: InterceptorLog,
    request: Option<InterceptedRequest>,
    /// The request's body, if it may try to change a status.
    sent: Option<SentBody>,
    /// The request's body, if it is a patch that is logged.
    patch: Option<SentBody>,
}

impl Ticket {
    /// Its resource, plural; empty once it is logged.
    pub(super) fn resource(&self) -> &str {
        self.request.as_ref().map_or("", |request| &request.resource)
    }

    /// Copies the request's body as it passes, if it may try to change a status, or is a patch.
    pub(super) fn tap(&mut self, request: Request<BodyStream>) -> Request<BodyStream> {
        let is_logged = |it: &InterceptedRequest| it.verb == Verb::Patch && it.resource != "secrets";
        let may_write_status = self.request.as_ref().is_some_and(ignored_status::may_write);
        let is_patch = self.request.as_ref().is_some_and(is_logged);
        if !may_write_status && !is_patch {
            return request;
        }
        let (head, body) = request.into_parts();
        let (body, sent) = ignored_status::tap_body(body);
        self.patch = is_patch.then(|| Arc::clone(&sent));
        self.sent = may_write_status.then_some(sent);
        Request::from_parts(head, body)
    }

    /// The request's body, if it may try to change a status.
    pub(super) fn take_sent(&mut self) -> Option<SentBody> {
        self.sent.take()
    }

    /// Whether the answer tells which version a write has made.
    pub(super) fn reads_version(&self) -> bool {
        self.request.as_ref().is_some_and(|request| request.verb.is_write()) && self.log.state().reads_versions
    }

    /// Records the version that a write has made.
    pub(super) fn record_version(&mut self, version: u64) {
        if let Some(request) = &mut self.request {
            request.version = Some(version);
        }
    }

    /// Records that the server ignored a change of the status.
    pub(super) fn status_was_ignored(&mut self) {
        if let Some(request) = &mut self.request {
            request.ignored_status = true;
        }
    }

    /// Records the server's message.
    pub(super) fn refused_with(&mut self, message: String) {
        if let Some(request) = &mut self.request {
            request.message = Some(message);
        }
    }

    /// Records a message to the webhook.
    pub(super) fn message(&mut self, text: String) {
        if let Some(request) = &mut self.request {
            (request.verb, request.message) = (Verb::Create, Some(text));
            recording::SubjectRequest::WEBHOOK.clone_into(&mut request.resource);
        }
    }

    /// Records the beginning of the answer. A successful watch is logged now, because it does not
    /// end; returns its resource.
    pub(super) fn record_answer(&mut self, status: u16) -> Option<String> {
        let request = self.request.as_mut()?;
        request.status = Some(status);
        if request.verb != Verb::Watch || !(200..300).contains(&status) {
            return None;
        }
        let resource = request.resource.clone();
        self.finish();
        Some(resource)
    }

    fn finish(&mut self) {
        if let Some(mut request) = self.request.take() {
            request.patch = self.patch.take().and_then(|patch| readable(&patch));
            self.log.finish(request);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::Full;
    use hyper::body::Bytes;

    use super::super::request::{collect, stream};
    use super::*;

    fn get(path: &str) -> Request<()> {
        Request::get(path).header(USER_AGENT, "mine/1").body(()).unwrap()
    }

    #[tokio::test]
    async fn requests_are_logged_as_they_finish_and_watches_as_they_begin() {
        let log = InterceptorLog::default();
        let first = log.open(&get("/api/v1/pods"));
        let mut watch = log.open(&get("/api/v1/pods?watch=true"));
        assert!(log.drain().is_empty());
        assert_eq!(log.pending(""), 1);
        watch.record_answer(200);
        assert_eq!(log.wait_for_more_than(0).await, 1);
        drop(first);
        assert_eq!(log.pending(""), 0);
        let seen: Vec<_> = log.drain().into_iter().map(|r| (r.seq, r.verb, r.status, r.user_agent)).collect();
        let mine = || "mine/1".to_owned();
        assert_eq!(seen, [(2, Verb::Watch, Some(200), mine()), (1, Verb::List, None, mine())]);
        drop(watch);
        assert!(log.drain().is_empty());
        assert_eq!(log.counts(), BTreeMap::from([(Verb::List, 1), (Verb::Watch, 1)]));
    }

    #[test]
    fn reader_gets_its_namespace_and_refusals_elsewhere() {
        let log = InterceptorLog::default();
        let [a, b] = ["a", "b"].map(|namespace| log.reader(namespace));
        let answered = |path: &str, status| drop(log.open(&get(path)).record_answer(status));
        answered("/api/v1/namespaces/a/pods", 200);
        answered("/api/v1/namespaces/b/pods", 403);
        answered("/api/v1/namespaces/c/pods", 200);
        answered("/version", 403);
        let paths = |requests: Vec<InterceptedRequest>| requests.into_iter().map(|r| r.path).collect::<Vec<_>>();
        assert_eq!(paths(a.drain()), ["/api/v1/namespaces/a/pods", "/version"]);
        assert_eq!(paths(b.drain()), ["/api/v1/namespaces/b/pods", "/version"]);
        assert!(a.drain().is_empty() && log.drain().is_empty());
        drop((a, b));
        answered("/api/v1/namespaces/a/pods", 200);
        assert_eq!(paths(log.drain()), ["/api/v1/namespaces/a/pods"]);
    }

    #[tokio::test]
    async fn patches_are_logged_except_of_secrets() {
        let log = InterceptorLog::default();
        let long = "ä".repeat(MOST_LOGGED);
        let pods = "/api/v1/namespaces/a/pods/x";
        let patches = [(pods, "{\"spec\":{}}"), (pods, &long), ("/api/v1/namespaces/a/secrets/x", "{}"), (pods, "")];
        for (path, body) in patches {
            let body = stream(Full::<Bytes>::new(body.to_owned().into()));
            let request = Request::patch(path).body(body).unwrap();
            let mut ticket = log.open(&request);
            collect(ticket.tap(request).into_body()).await.unwrap();
            ticket.record_answer(200);
        }
        let logged: Vec<_> = log.drain().into_iter().map(|request| request.patch).collect();
        let cut = format!("{}\n[... {MOST_LOGGED} bytes]", "ä".repeat(MOST_LOGGED / 2));
        assert_eq!(logged, [Some("{\"spec\":{}}".to_owned()), Some(cut), None, None]);
    }

    #[tokio::test(start_paused = true)]
    async fn client_may_retry_until_the_delay_has_passed() {
        let log = InterceptorLog::default();
        let waits = || ["ns", "elsewhere"].map(|namespace| log.may_retry(namespace));
        assert_eq!(waits(), [false, false]);
        log.note_retry_after("ns", Duration::from_secs(2));
        log.note_retry_after("ns", Duration::from_secs(1));
        clock::pause(Duration::from_secs(2)).await;
        assert_eq!(waits(), [true, false], "the longest counts, and its last instant");
        clock::pause(Duration::from_millis(1)).await;
        assert_eq!(waits(), [false, false]);
    }

    #[tokio::test]
    async fn counts_refused_requests() {
        let log = InterceptorLog::default();
        for (path, status) in [
            ("/api/v1/pods?watch=true", 403),
            ("/apis/apps/v1/namespaces/a/deployments/web/status", 403),
            ("/apis/apps/v1/namespaces/a/deployments/api/status", 403),
            ("/version", 401),
            ("/api/v1/pods", 404),
        ] {
            log.open(&get(path)).record_answer(status);
        }
        let refused = log.refused();
        let seen: Vec<_> = refused.iter().map(|(what, times)| (what.as_str(), *times)).collect();
        assert_eq!(seen, [("get /version", 1), ("get deployments/status in a", 2), ("watch pods", 1)]);
    }
}
