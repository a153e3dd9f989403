//! The server as its clients and tests share it: its state behind a lock, its clock, and the
//! controllers in the background.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use jiff::Timestamp;

use crate::clock::{self, ServerClock};
use crate::http::request::{ApiRequest, ManagedFieldsPolicy, parse};
use crate::notify::{Notifier, Subscription};
use crate::registry::apiextensions::custom_resource_definition;
use crate::registry::state::Server;
use crate::service::latency::LatencyModel;
use crate::service::lock::locked;
use crate::service::reaction::RequestHook;
use crate::service::transcript::Transcript;
use crate::service::watch_signals::SignalsByKind;
use crate::storage::watch::{WatchCursor, WatchEvent};
use crate::types::kinds::{KindOrder, ResourceKind};

/// A Kubernetes API server in this process. Clones share one state.
#[derive(Clone)]
pub struct ApiServer {
    pub(crate) shared: Arc<ServiceState>,
    pub(crate) managed_fields: ManagedFieldsPolicy,
}

pub(crate) struct ServiceState {
    server: Mutex<Server>,
    pub(crate) controllers: ControllerMode,
    latency: Mutex<LatencyModel>,
    transcript: Mutex<Transcript>,
    pub(crate) request_hook: RequestHook,
    pub(crate) watch_signals: Mutex<SignalsByKind>,
    clock: ServerClock,
    /// Notified after every write.
    pub(crate) writes: Notifier,
    /// Notified after writes of objects of one kind.
    writes_by_kind: Mutex<BTreeMap<KindOrder, Notifier>>,
}

/// The time between two steps of background controllers. A real garbage collector learns from a
/// watch that an owner was deleted; by then the other watches have delivered it too.
const STEP: Duration = Duration::from_millis(5);

impl ApiServer {
    pub(crate) fn start(
        server: Server,
        latency: LatencyModel,
        controllers: ControllerMode,
        clock: ServerClock,
    ) -> Self {
        let shared = ServiceState {
            server: Mutex::new(server),
            controllers,
            latency: Mutex::new(latency),
            transcript: Mutex::default(),
            request_hook: RequestHook::default(),
            watch_signals: Mutex::default(),
            clock,
            writes: Notifier::default(),
            writes_by_kind: Mutex::default(),
        };
        let server_handle = Self { shared: Arc::new(shared), managed_fields: ManagedFieldsPolicy::Include };
        if controllers != ControllerMode::Off {
            server_handle.settle_controllers();
        }
        server_handle
    }

    /// A client of this server, with `default` as its namespace. Requires a tokio runtime.
    #[cfg(feature = "kube")]
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// The same server for clients that do not read `managedFields`: responses and watches omit
    /// them. An object that a client sends back without them keeps its managers.
    #[must_use]
    pub fn without_managed_fields(&self) -> Self {
        Self { managed_fields: ManagedFieldsPolicy::Omit, ..self.clone() }
    }

    /// The unsupported requests so far, each with the reason. They got 501, 415 or 406 where the
    /// real server responds differently, so results that depend on one of them prove nothing; a
    /// test should assert that the list is empty.
    #[must_use]
    pub fn unsupported(&self) -> Vec<String> {
        self.server().unsupported.clone()
    }

    /// The latest resourceVersion.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        self.server().store.version()
    }

    /// Sets the earliest creation time of new objects in a namespace. Kubernetes' times have a
    /// resolution of one second; this lets a test create an older and a newer object without
    /// waiting for the next second.
    pub fn not_before(&self, namespace: &str, time: Timestamp) {
        self.server().not_before.insert(namespace.to_owned(), time);
    }

    /// Forgets the history up to a resourceVersion, as a real server does after some minutes:
    /// watches and lists from there get 410. Open watches continue.
    pub fn forget(&self, version: u64) {
        self.server().store.forget(version);
    }

    /// Starts a transcript: one line for each request from now on.
    pub fn start_transcript(&self) {
        locked(&self.shared.transcript).start();
    }

    /// The transcript so far: the time of each request, the request, and the status of the
    /// response. Bodies are hashed, since they may contain secrets. Runs with equal requests and
    /// responses have equal transcripts.
    #[must_use]
    pub fn transcript(&self) -> Vec<String> {
        locked(&self.shared.transcript).lines()
    }

    /// Runs controllers and notifies watches after writes since a version.
    pub(crate) fn after_write(&self, before: u64) {
        match self.shared.controllers {
            ControllerMode::Off => {}
            ControllerMode::Immediate | ControllerMode::WithoutGarbageCollector => self.settle_controllers(),
            ControllerMode::Background => self.server().run_urgent_controllers(self.now()),
        }
        self.notify_watches(before);
    }

    /// Notifies the watches of the kinds that changed since a version, and tasks that wait for any
    /// write.
    fn notify_watches(&self, before: u64) {
        let (mut kinds, mut definitions) = (Vec::new(), Vec::new());
        for change in self.server().store.since(before) {
            if !kinds.contains(&change.key.kind) {
                kinds.push(change.key.kind);
            }
            if change.key.kind == custom_resource_definition::KIND.order() {
                definitions.push(change.key.name.clone());
            }
        }
        let notifiers: Vec<Notifier> = {
            let all = locked(&self.shared.writes_by_kind);
            // The watches of a kind end when its definition changes.
            for name in &definitions {
                kinds.extend(all.keys().filter(|kind| kind.is_defined_by(name)));
            }
            kinds.iter().filter_map(|kind| all.get(kind).cloned()).collect()
        };
        notifiers.iter().for_each(Notifier::notify);
        self.shared.writes.notify();
    }

    /// Subscribes to writes of objects of a kind.
    pub(crate) fn writes_of_kind(&self, kind: &'static ResourceKind) -> Subscription {
        locked(&self.shared.writes_by_kind).entry(kind.order()).or_default().listen()
    }

    /// Wakes the watches of a kind, to deliver a signal.
    pub(crate) fn wake(&self, kind: &'static ResourceKind) {
        if let Some(notifier) = locked(&self.shared.writes_by_kind).get(&kind.order()) {
            notifier.notify();
        }
    }

    /// Adds a response of the hook to the transcript.
    pub(crate) fn record_hook_response(&self, request: &Request<Bytes>, response: &Response<Bytes>) {
        if let Ok(api_request) = parse(request.clone(), self.managed_fields) {
            self.record(&api_request, self.now(), response.status(), response.body());
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    pub(crate) fn draw_delays(&self) -> (Duration, Duration) {
        let mut latency = locked(&self.shared.latency);
        (latency.trip(), latency.trip())
    }

    /// The lag of the next delivery of a watch.
    pub(crate) fn lag(&self) -> Option<Duration> {
        locked(&self.shared.latency).lag()
    }

    pub(crate) fn record(&self, api_request: &ApiRequest, now: Timestamp, code: StatusCode, body: &Bytes) {
        locked(&self.shared.transcript).record(api_request, now.as_microsecond(), code, body);
    }

    /// Runs the built-in controllers while the future is polled: they act on every write after this
    /// call. Spawn it for a server with [`ControllerMode::Background`].
    pub fn run_controllers(&self) -> impl Future<Output = ()> + Send + use<> {
        let (server, mut writes) = (self.clone(), self.shared.writes.listen());
        async move {
            loop {
                writes.changed().await;
                server.wait_for_quiet_step().await;
                while server.step_controllers() {
                    server.wait_for_quiet_step().await;
                }
            }
        }
    }

    /// Waits for a step without a write, or for at most ten steps: each watch then had that long to
    /// deliver the last write.
    async fn wait_for_quiet_step(&self) {
        for _ in 0..10 {
            let writes = self.shared.writes.count();
            clock::sleep(STEP).await;
            if self.shared.writes.count() == writes {
                return;
            }
        }
    }

    /// Performs one step of the controllers; returns whether there was one.
    fn step_controllers(&self) -> bool {
        let (before, acted) = {
            let mut server = self.server();
            let before = server.store.version();
            (before, server.step_controllers(self.now(), self.collects_garbage()))
        };
        if acted {
            self.notify_watches(before);
        }
        acted
    }

    /// Runs the controllers until nothing is due.
    fn settle_controllers(&self) {
        let (now, collects_garbage) = (self.now(), self.collects_garbage());
        let mut server = self.server();
        while server.step_controllers(now, collects_garbage) {}
    }

    /// Whether the built-in garbage collector is enabled.
    fn collects_garbage(&self) -> bool {
        self.shared.controllers != ControllerMode::WithoutGarbageCollector
    }

    /// The undelivered events of a watch up to a version.
    pub(crate) fn pending_events(&self, cursor: &mut WatchCursor, until: u64) -> Vec<WatchEvent> {
        self.server().pending_events(cursor, until)
    }

    pub(crate) fn server(&self) -> MutexGuard<'_, Server> {
        locked(&self.shared.server)
    }
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

/// When the built-in controllers act.
///
/// They are the garbage collector (owner references, and finalizers of cascading deletion), the
/// namespace controller (deletes the content of a namespace), the service account controller
/// (creates the `default` account of each namespace) and the resource quota controller (counts used
/// resources). None of them creates pods or ReplicaSets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ControllerMode {
    /// During the write that triggers them, before its response is sent. Dependents are gone when
    /// the deletion of their owner is answered, so a test does not have to wait.
    #[default]
    Immediate,
    /// Some milliseconds after the write, one object at a time, as in a real cluster, while
    /// [`ApiServer::run_controllers`] is polled. Service accounts and quotas are still updated at
    /// once.
    Background,
    /// As [`ControllerMode::Immediate`], but without the garbage collector: another program, such
    /// as a real kube-controller-manager, deletes dependents and removes the finalizers `orphan`
    /// and `foregroundDeletion`.
    WithoutGarbageCollector,
    /// Never, as for kube-apiserver alone. Creating a pod then requires a service account, which
    /// the test has to create.
    Off,
}
