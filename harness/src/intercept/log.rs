//! What passed the interceptor.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::Request;
use hyper::header::USER_AGENT;
use kube_apiserver_sim::notify::{Listener, Notifier};

use super::body::Stream;
use super::ignored_status::{self, Sent};
use super::request::InterceptedRequest;
use super::since_start::SinceStart;
use super::{Route, Verb};
use crate::clock::Instant;
use crate::{clock, recording};

/// The log of an interceptor; clones share it.
#[derive(Debug, Clone)]
pub struct InterceptorLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    finished: Notifier,
    /// Counts arrivals and answers.
    progress: Notifier,
}

#[derive(Debug, Default)]
struct State {
    arrived: u64,
    /// What was finished and no reader takes.
    waiting: Vec<InterceptedRequest>,
    /// What was finished since each reader looked last, by its number.
    readers: BTreeMap<u64, Unread>,
    counts: BTreeMap<Verb, u64>,
    /// Requests that the server refused, by what was asked.
    refused: BTreeMap<String, u64>,
    connections: Connections,
    /// Requests that have arrived and have no answer yet, by namespace; watches and Events aside.
    under_way: BTreeMap<String, u64>,
    /// Until when a client was told to wait before it tries a request again, by namespace.
    retries: BTreeMap<String, Instant>,
    since_start: SinceStart,
}

/// What one reader has not taken yet.
#[derive(Debug)]
struct Unread {
    namespace: String,
    requests: Vec<InterceptedRequest>,
}

/// Takes the requests about one namespace, and those about no reader's that the server refused, out
/// of the log.
#[derive(Debug)]
pub struct LogReader {
    log: InterceptorLog,
    number: u64,
}

/// The connections that clients have opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connections {
    /// All of them.
    pub opened: u64,
    /// Those that broke off in the TLS handshake, before any request.
    pub unsecured: u64,
    /// Why the last of these did.
    pub why: Option<String>,
}

impl InterceptorLog {
    pub(super) fn new() -> Self {
        let (finished, progress) = (Notifier::default(), Notifier::default());
        Self(Arc::new(Shared { state: Mutex::default(), finished, progress }))
    }

    /// A log with nothing in it.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self::new()
    }

    /// A request was answered.
    #[cfg(test)]
    pub(crate) fn passed<B>(&self, request: &Request<B>, status: u16) {
        self.open(request).answered(status);
    }

    /// Take what was finished since the last time while there was no [`reader`](Self::reader): in
    /// order of completion, watches when their answer began.
    pub fn drain(&self) -> Vec<InterceptedRequest> {
        std::mem::take(&mut self.state().waiting)
    }

    /// From now on keep what is about this namespace for this reader.
    pub fn reader(&self, namespace: &str) -> LogReader {
        let mut state = self.state();
        let number = state.readers.last_key_value().map_or(0, |(last, _)| last + 1);
        state.readers.insert(number, Unread { namespace: namespace.to_owned(), requests: Vec::new() });
        LogReader { log: self.clone(), number }
    }

    /// How many requests were finished in all, by verb.
    pub fn counts(&self) -> BTreeMap<Verb, u64> {
        self.state().counts.clone()
    }

    /// Connections so far.
    pub fn connections(&self) -> Connections {
        self.state().connections.clone()
    }

    /// A client connected.
    pub(super) fn connected(&self) {
        self.state().connections.opened += 1;
    }

    /// A client's connection broke off in the TLS handshake.
    pub(super) fn unsecured(&self, why: &std::io::Error) {
        let connections = &mut self.state().connections;
        connections.unsecured += 1;
        connections.why = Some(why.to_string());
    }

    /// What the server refused, 401 or 403, and how often: `update deployments/status in
    /// NAMESPACE`.
    pub fn refused(&self) -> BTreeMap<String, u64> {
        self.state().refused.clone()
    }

    /// How many requests about a namespace have no answer yet, watches and Events aside.
    pub fn under_way(&self, namespace: &str) -> u64 {
        self.state().under_way.get(namespace).copied().unwrap_or(0)
    }

    /// A client was told to try a request about this namespace again after this time.
    pub(super) fn told_to_retry(&self, namespace: &str, after: Duration) {
        let until = clock::instant() + after;
        let mut state = self.state();
        let latest = state.retries.entry(namespace.to_owned()).or_insert(until);
        *latest = until.max(*latest);
    }

    /// Whether a client may still wait, as it was told to, before it tries a request about a
    /// namespace again.
    pub fn retries_later(&self, namespace: &str) -> bool {
        self.state().retries.get(namespace).is_some_and(|until| clock::instant() <= *until)
    }

    /// How many requests have arrived in all, finished or not.
    pub fn arrived(&self) -> u64 {
        self.state().arrived
    }

    /// Wait until more than `seen` requests were finished in all, and say how many. Start with 0.
    pub async fn beyond(&self, seen: u64) -> u64 {
        let mut finished = self.0.finished.listen();
        while self.0.finished.count() <= seen {
            finished.changed().await;
        }
        self.0.finished.count()
    }

    /// The subject is about to be started: what was asked before is not its own.
    pub fn subject_starts(&self) {
        let mut state = self.state();
        let arrived = state.arrived;
        state.since_start.start(arrived);
    }

    /// The subject runs.
    pub fn subject_runs(&self) {
        self.state().since_start.run();
    }

    /// What the subject has asked for since it was started.
    pub fn since_start(&self) -> SinceStart {
        self.state().since_start.clone()
    }

    /// Notified of each request that arrives or is answered.
    pub fn listen(&self) -> Listener {
        self.0.progress.listen()
    }

    /// A request arrived.
    pub(super) fn open<B>(&self, request: &Request<B>) -> Ticket {
        let uri = request.uri();
        let route = Route::parse(request.method(), uri.path(), uri.query());
        let user_agent = request.headers().get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let mut state = self.state();
        state.arrived += 1;
        let about_a_case = state.readers.values().any(|unread| unread.namespace == route.namespace);
        state.since_start.arrived(&route, about_a_case);
        let Route { verb, group, namespace, resource, subresource, name } = route;
        if is_awaited(verb, &resource) {
            *state.under_way.entry(namespace.clone()).or_default() += 1;
        }
        let seq = state.arrived;
        drop(state);
        self.0.progress.notify();
        Ticket {
            log: self.clone(),
            sent: None,
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
                user_agent: user_agent.unwrap_or_default().into_owned(),
            }),
        }
    }

    fn finish(&self, mut request: InterceptedRequest) {
        request.took = request.started.elapsed();
        {
            let mut state = self.state();
            *state.counts.entry(request.verb).or_default() += 1;
            state.since_start.answered(&request);
            if request.is_refused() {
                *state.refused.entry(request.to_string()).or_default() += 1;
            }
            if is_awaited(request.verb, &request.resource) {
                let left = state.under_way.get(&request.namespace).map_or(0, |open| open.saturating_sub(1));
                match left {
                    0 => state.under_way.remove(&request.namespace),
                    _ => state.under_way.insert(request.namespace.clone(), left),
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
    /// Take what was finished since the last time, in order of completion.
    pub fn drain(&self) -> Vec<InterceptedRequest> {
        let mut state = self.log.state();
        state.readers.get_mut(&self.number).map(|unread| std::mem::take(&mut unread.requests)).unwrap_or_default()
    }

    /// The whole log.
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
    /// To the readers of its namespace; if there is none, to all readers, if it was refused.
    /// Without any reader it waits for
    /// [`drain`](InterceptorLog::drain).
    fn hand_out(&mut self, request: InterceptedRequest) {
        if self.readers.is_empty() {
            self.waiting.push(request);
            return;
        }
        let about_a_case = self.readers.values().any(|unread| unread.namespace == request.namespace);
        let refused_elsewhere = !about_a_case && request.is_refused();
        // A message names no namespace; a case whose subject sends any is played alone.
        let of_all = refused_elsewhere || request.resource == recording::Request::WEBHOOK;
        let concerned = self.readers.values_mut().filter(|it| of_all || it.namespace == request.namespace);
        concerned.for_each(|unread| unread.requests.push(request.clone()));
    }
}

/// A watch has no end of its own, and Events decide nothing.
fn is_awaited(verb: Verb, resource: &str) -> bool {
    verb != Verb::Watch && resource != "events"
}

/// A request on its way. It is in the log when this is dropped, however the request ends.
#[derive(Debug)]
pub(super) struct Ticket {
    log: InterceptorLog,
    request: Option<InterceptedRequest>,
    /// What the subject has sent, where it may have meant to change a status.
    sent: Option<Sent>,
}

impl Ticket {
    /// What it is about, plural; empty once it is written down.
    pub(super) fn resource(&self) -> &str {
        self.request.as_ref().map_or("", |request| &request.resource)
    }

    /// The same request, of whose body a copy is taken where it may mean to change a status.
    pub(super) fn tap(&mut self, request: Request<Stream>) -> Request<Stream> {
        if !self.request.as_ref().is_some_and(ignored_status::may_write) {
            return request;
        }
        let (head, body) = request.into_parts();
        let (body, sent) = ignored_status::tapped(body);
        self.sent = Some(sent);
        Request::from_parts(head, body)
    }

    /// What the subject has sent, where it may have meant to change a status.
    pub(super) fn take_sent(&mut self) -> Option<Sent> {
        self.sent.take()
    }

    /// It meant to change a status, and the server did not.
    pub(super) fn status_was_ignored(&mut self) {
        if let Some(request) = &mut self.request {
            request.ignored_status = true;
        }
    }

    /// The server said why it refuses.
    pub(super) fn refused_with(&mut self, message: String) {
        if let Some(request) = &mut self.request {
            request.message = Some(message);
        }
    }

    /// It is a message to the webhook.
    pub(super) fn message(&mut self, text: String) {
        if let Some(request) = &mut self.request {
            (request.verb, request.message) = (Verb::Create, Some(text));
            recording::Request::WEBHOOK.clone_into(&mut request.resource);
        }
    }

    /// The server's answer began. A watch that goes on is written down now, as it has no end of its
    /// own; returns what it is of.
    pub(super) fn answered(&mut self, status: u16) -> Option<String> {
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
        if let Some(request) = self.request.take() {
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
    use super::*;

    fn get(path: &str) -> Request<()> {
        Request::get(path).header(USER_AGENT, "mine/1").body(()).unwrap()
    }

    #[tokio::test]
    async fn requests_are_logged_as_they_finish_and_watches_as_they_begin() {
        let log = InterceptorLog::new();
        let first = log.open(&get("/api/v1/pods"));
        let mut watch = log.open(&get("/api/v1/pods?watch=true"));
        assert!(log.drain().is_empty());
        assert_eq!(log.under_way(""), 1);
        watch.answered(200);
        assert_eq!(log.beyond(0).await, 1);
        drop(first);
        assert_eq!(log.under_way(""), 0);
        let seen: Vec<_> = log.drain().into_iter().map(|r| (r.seq, r.verb, r.status, r.user_agent)).collect();
        let mine = || "mine/1".to_owned();
        assert_eq!(seen, [(2, Verb::Watch, Some(200), mine()), (1, Verb::List, None, mine())]);
        drop(watch);
        assert!(log.drain().is_empty());
        assert_eq!(log.counts(), BTreeMap::from([(Verb::List, 1), (Verb::Watch, 1)]));
    }

    #[test]
    fn each_reader_gets_its_namespace_and_what_is_refused_elsewhere() {
        let log = InterceptorLog::new();
        let [a, b] = ["a", "b"].map(|namespace| log.reader(namespace));
        let answered = |path: &str, status| drop(log.open(&get(path)).answered(status));
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

    #[tokio::test(start_paused = true)]
    async fn a_client_that_was_told_to_wait_waits_until_then() {
        let log = InterceptorLog::new();
        let waits = || ["ns", "elsewhere"].map(|namespace| log.retries_later(namespace));
        assert_eq!(waits(), [false, false]);
        log.told_to_retry("ns", Duration::from_secs(2));
        log.told_to_retry("ns", Duration::from_secs(1));
        clock::pause(Duration::from_secs(2)).await;
        assert_eq!(waits(), [true, false], "the longest counts, and its last instant");
        clock::pause(Duration::from_millis(1)).await;
        assert_eq!(waits(), [false, false]);
    }

    #[tokio::test]
    async fn what_the_server_refuses_is_counted() {
        let log = InterceptorLog::new();
        for (path, status) in [
            ("/api/v1/pods?watch=true", 403),
            ("/apis/apps/v1/namespaces/a/deployments/web/status", 403),
            ("/apis/apps/v1/namespaces/a/deployments/api/status", 403),
            ("/version", 401),
            ("/api/v1/pods", 404),
        ] {
            log.open(&get(path)).answered(status);
        }
        let refused = log.refused();
        let seen: Vec<_> = refused.iter().map(|(what, times)| (what.as_str(), *times)).collect();
        assert_eq!(seen, [("get /version", 1), ("get deployments/status in a", 2), ("watch pods", 1)]);
    }
}
