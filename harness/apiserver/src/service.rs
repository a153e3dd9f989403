//! The server as a tower service: takes a request, waits as the latency model says, answers.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Request, Response, StatusCode};
use http_body::Body;
use jiff::Timestamp;
use tower_service::Service;

use crate::builder::{Builder, Controllers};
use crate::call::{Call, read as call};
use crate::clock::{self, Clock};
use crate::hook::{Disconnected, Hooked};
use crate::kinds::{Kind, Place};
use crate::latency::LatencyModel;
use crate::notify::{Listener, Notifier};
use crate::object::ManagedFields;
use crate::protobuf;
use crate::response::{ResponseBody, Watch};
use crate::server::{Answer, Server};
use crate::transcript::Transcript;
use crate::watch::{BEGINS, Event, Order};
use crate::watches::Steering;

/// A Kubernetes API server in this process. Clones share one state.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) managed: ManagedFields,
}

pub(crate) struct Shared {
    server: Mutex<Server>,
    pub(crate) controllers: Controllers,
    latency: Mutex<LatencyModel>,
    transcript: Mutex<Transcript>,
    pub(crate) hooked: Hooked,
    pub(crate) steering: Mutex<Steering>,
    clock: Clock,
    /// Notified of every write.
    pub(crate) written: Notifier,
    /// By the place of a kind: notified of the writes of its objects.
    of_kinds: Mutex<BTreeMap<Place, Notifier>>,
}

/// Between two steps of the controllers in the background. A real garbage collector learns from a
/// watch that an owner is gone; by then the other watches have delivered it too.
const STEP: Duration = Duration::from_millis(5);

impl ApiServer {
    /// A server with seed 0, fixed latency and controllers that act immediately. Within a runtime
    /// whose clock is paused, call it within that runtime.
    #[expect(clippy::new_without_default, reason = "it reads the clock and must be called in a runtime")]
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Configures a server.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(crate) fn start(server: Server, latency: LatencyModel, controllers: Controllers, clock: Clock) -> Self {
        let shared = Shared {
            server: Mutex::new(server),
            controllers,
            latency: Mutex::new(latency),
            transcript: Mutex::default(),
            hooked: Hooked::default(),
            steering: Mutex::default(),
            clock,
            written: Notifier::default(),
            of_kinds: Mutex::default(),
        };
        let started = Self { shared: Arc::new(shared), managed: ManagedFields::Shown };
        if controllers != Controllers::Off {
            started.settle_controllers();
        }
        started
    }

    /// A client of it, with `default` as its namespace. Needs a tokio runtime.
    #[cfg(feature = "kube")]
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// The same server for clients that do not read `managedFields`: its answers and watches leave
    /// them out. An object that a client sends back without them keeps those that it has.
    #[must_use]
    pub fn without_managed_fields(&self) -> Self {
        Self { managed: ManagedFields::LeftOut, ..self.clone() }
    }

    /// The requests so far that it does not support, each with the reason. They were refused with
    /// 501, 415 or 406 where the real server answers, so results that depend on one of them prove
    /// nothing; a test should assert that the list is empty.
    #[must_use]
    pub fn unsupported(&self) -> Vec<String> {
        self.server().unsupported.clone()
    }

    /// The latest resourceVersion.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        self.server().store.version()
    }

    /// From now on objects that are created in a namespace have at least this creation time.
    /// Kubernetes' times have a resolution of one second; with this, a test need not wait for the
    /// next second to create two objects of which one is older.
    pub fn not_before(&self, namespace: &str, time: Timestamp) {
        self.server().not_before.insert(namespace.to_owned(), time);
    }

    /// Forgets the history up to a resourceVersion, as a real server does after some minutes:
    /// watches and lists from there are refused with 410. Open watches go on.
    pub fn forget(&self, version: u64) {
        self.server().store.forget(version);
    }

    /// Starts a transcript: one line for each request from now on.
    pub fn start_transcript(&self) {
        locked(&self.shared.transcript).begin();
    }

    /// The transcript so far: when a request arrived, what it was, and the answer's status. Bodies
    /// are in it as hashes, since they may hold secrets. Two runs that are equal in all requests
    /// and answers have equal transcripts.
    #[must_use]
    pub fn transcript(&self) -> Vec<String> {
        locked(&self.shared.transcript).lines()
    }

    /// Lets controllers and watches know of what is written after a version.
    pub(crate) fn wrote(&self, before: u64) {
        match self.shared.controllers {
            Controllers::Off => {}
            Controllers::Immediate | Controllers::WithoutGarbageCollector => self.settle_controllers(),
            Controllers::Background => self.server().run_urgent_controllers(self.now()),
        }
        self.tell_watches(before);
    }

    /// Wakes the watches of the kinds that have changed after a version, and who waits for any
    /// write.
    fn tell_watches(&self, before: u64) {
        let mut kinds = Vec::new();
        for change in self.server().store.since(before) {
            if !kinds.contains(&change.key.kind) {
                kinds.push(change.key.kind);
            }
        }
        let notifiers: Vec<Notifier> = {
            let all = locked(&self.shared.of_kinds);
            kinds.iter().filter_map(|kind| all.get(kind).cloned()).collect()
        };
        notifiers.iter().for_each(Notifier::notify);
        self.shared.written.notify();
    }

    /// Waits for writes of objects of a kind.
    pub(crate) fn writes_of(&self, kind: &'static Kind) -> Listener {
        locked(&self.shared.of_kinds).entry(kind.place()).or_default().listen()
    }

    /// Wakes the watches of a kind, for a signal to them.
    pub(crate) fn wake(&self, kind: &'static Kind) {
        if let Some(notifier) = locked(&self.shared.of_kinds).get(&kind.place()) {
            notifier.notify();
        }
    }

    /// Adds an answer of the hook to the transcript.
    pub(crate) fn note_instead(&self, request: &Request<Bytes>, answer: &Response<Bytes>) {
        if let Ok(call) = call(request.clone(), self.managed) {
            self.note(&call, self.now(), answer.status(), answer.body());
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    pub(crate) fn trips(&self) -> (Duration, Duration) {
        let mut latency = locked(&self.shared.latency);
        (latency.trip(), latency.trip())
    }

    /// How long the next delivery of a watch lags.
    pub(crate) fn lag(&self) -> Option<Duration> {
        locked(&self.shared.latency).lag()
    }

    pub(crate) fn note(&self, call: &Call, now: Timestamp, code: StatusCode, body: &Bytes) {
        locked(&self.shared.transcript).note(call, now.as_microsecond(), code, body);
    }

    /// Runs the cluster's own controllers for as long as the future is polled: they act on every
    /// write after this call. Spawn it where the server has [`Controllers::Background`].
    pub fn run_controllers(&self) -> impl Future<Output = ()> + Send + use<> {
        let (server, mut written) = (self.clone(), self.shared.written.listen());
        async move {
            loop {
                written.changed().await;
                server.quiet_for_a_step().await;
                while server.step_controllers() {
                    server.quiet_for_a_step().await;
                }
            }
        }
    }

    /// Waits until there was no write for a step, or for ten steps: each watch has had that long
    /// to deliver the last write.
    async fn quiet_for_a_step(&self) {
        for _ in 0..10 {
            let written = self.shared.written.count();
            clock::sleep(STEP).await;
            if self.shared.written.count() == written {
                return;
            }
        }
    }

    /// Lets the controllers do one thing; whether there was one to do.
    fn step_controllers(&self) -> bool {
        let (before, did) = {
            let mut server = self.server();
            let before = server.store.version();
            (before, server.step_controllers(self.now(), self.collects()))
        };
        if did {
            self.tell_watches(before);
        }
        did
    }

    /// Lets the controllers do all that is due.
    fn settle_controllers(&self) {
        let (now, collects) = (self.now(), self.collects());
        let mut server = self.server();
        while server.step_controllers(now, collects) {}
    }

    /// Whether its own garbage collector is on.
    fn collects(&self) -> bool {
        self.shared.controllers != Controllers::WithoutGarbageCollector
    }

    pub(crate) fn reply(&self, answer: Answer) -> Response<ResponseBody> {
        let mut again = None;
        let (code, body, warnings, form) = match answer {
            Answer::Whole { code, body, warnings, form } => {
                again = if code.is_success() { None } else { retry_after(&body) };
                (code, ResponseBody::whole(body), warnings, form)
            }
            Answer::Watch(order) => {
                let form = order.form.watch_media_type();
                (BEGINS, ResponseBody::watch(Watch::open(self.clone(), order)), Vec::new(), form)
            }
        };
        let mut response = Response::new(body);
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(form));
        if let Some(seconds) = again {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        for warning in warnings {
            if let Ok(value) = HeaderValue::from_str(&format!("299 - {warning:?}")) {
                headers.append(http::header::WARNING, value);
            }
        }
        response
    }

    /// The events up to a version that a watch has not delivered yet.
    pub(crate) fn unseen(&self, order: &mut Order, until: u64) -> Vec<Event> {
        self.server().unseen(order, until)
    }

    pub(crate) fn server(&self) -> MutexGuard<'_, Server> {
        locked(&self.shared.server)
    }
}

impl<B> Service<Request<B>> for ApiServer
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<ResponseBody>;
    type Error = Disconnected;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, Disconnected>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Disconnected>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { server.receive(request).await })
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

/// A request or a test's hook that panics while such a lock is held is answered for; others go on.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The seconds after which a refused request may be sent again, if its Status says so.
fn retry_after(body: &Bytes) -> Option<u64> {
    let status: Option<serde_json::Value> = protobuf::decode(body).ok();
    let status = status.or_else(|| serde_json::from_slice(body).ok()).or_else(|| serde_yaml::from_slice(body).ok())?;
    status["details"]["retryAfterSeconds"].as_u64().filter(|seconds| *seconds > 0)
}
