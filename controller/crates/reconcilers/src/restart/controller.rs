//! The config-restart controller: its watches, and the inputs and outputs of its reconciler.
//! `worker` carries out what the reconciler decides.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use controller_client::api::{ApiServer, EventSource, NamespacedName, Recorder, RequestError, Resource};
use controller_client::clock::{self, Clock};
use controller_client::connect::WebhookClient;
use controller_client::metrics::EncodeMetrics;
use controller_client::runtime::{
    Controller, EventQueues, Informers, SharedState, SyncedCallback, Task, WatchSink, WireObject, reflect,
};
use kube::Client;
use prometheus_client::encoding::DescriptorEncoder;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::metrics::RestartCounters;
use super::unlistable;
use super::webhook::WebhookQueue;
use super::wire::{
    ConfigMap, CronJob, DaemonSet, Deployment, Job, Namespace, RestartUpdate, Rollout, Secret, StatefulSet,
    config_resource, workload_resource,
};
use crate::decisions::restarts::{
    ConfigKind, Profile, RestartGauges, RestartReconciler, RestartSettings, SecretChecksums, Webhook, WorkItem,
    WorkloadKind,
};

const COMPONENT: &str = "config-restart-controller";

/// The config-restart controller.
pub struct RestartController {
    pub(super) api: ApiServer,
    pub(super) settings: RestartSettings,
    watches_all_namespaces: bool,
    pub(super) clock: Clock,
    pub(super) start: Instant,
    informers: Informers,
    reconciler: Mutex<RestartReconciler>,
    /// Work that results from watched changes, not from time.
    pub(super) change_work: Mutex<Vec<WorkItem>>,
    pub(super) wakeup: Notify,
    pub(super) phase: watch::Sender<ControllerPhase>,
    pub(super) recorders: BTreeMap<WorkloadKind, Recorder>,
    /// Kinds that may not be listed.
    refused: Mutex<BTreeSet<Resource>>,
    /// Kinds whose first list is outstanding, with the callback for it.
    first_lists: Mutex<BTreeMap<Resource, SyncedCallback>>,
    pub(super) fatal: Mutex<Option<String>>,
    pub(super) counts: RestartCounters,
    gauges: Mutex<RestartGauges>,
    pub(super) webhook: Option<Arc<WebhookQueue>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ControllerPhase {
    Watching,
    Active,
    Ending,
}

impl RestartController {
    /// The name of the controller and of its metrics.
    pub const NAME: &str = "config-restart";

    /// The controller with the watches, and its queues of events.
    pub fn new(client: &Client, restart: &RestartSettings, shared: &SharedState) -> (Arc<Self>, EventQueues) {
        let SharedState { settings, metrics, .. } = shared;
        let api = ApiServer::with_settings(client.clone(), settings, metrics);
        let (mut recorders, mut event_queues) = (BTreeMap::new(), Vec::new());
        for kind in WorkloadKind::ALL {
            let source = EventSource { component: COMPONENT, kind: kind.as_str(), shares_objects: true };
            let (recorder, events) = Recorder::new(source, settings.clock);
            recorders.insert(kind, recorder);
            event_queues.push((api.clone(), events));
        }
        let name = Self::NAME;
        let restarts = Arc::new(Self {
            api,
            settings: restart.clone(),
            watches_all_namespaces: settings.namespace.is_none(),
            clock: settings.clock,
            start: clock::instant(),
            informers: Informers::new(name, settings.clock, metrics),
            reconciler: Mutex::new(RestartReconciler::new(restart.clone())),
            change_work: Mutex::default(),
            wakeup: Notify::new(),
            phase: watch::Sender::new(ControllerPhase::Watching),
            recorders,
            refused: Mutex::default(),
            first_lists: Mutex::default(),
            fatal: Mutex::default(),
            counts: RestartCounters::default(),
            gauges: Mutex::default(),
            webhook: webhook_queue(restart, client),
        });
        metrics.register(name, &restarts);
        (restarts, event_queues)
    }

    /// The kinds to watch.
    fn kinds(&self) -> BTreeSet<Resource> {
        let settings = &self.settings;
        let configs = [ConfigKind::ConfigMap, ConfigKind::Secret].into_iter().filter(|kind| settings.follows(*kind));
        let workloads = WorkloadKind::ALL.into_iter().filter(|kind| settings.restarts(*kind));
        let namespaces = settings.follows_namespaces(self.watches_all_namespaces).then_some(Resource::Namespaces);
        configs.map(config_resource).chain(workloads.map(workload_resource)).chain(namespaces).collect()
    }

    /// A watch of one kind. A kind that may not be listed does not delay the start; a later list of
    /// it has no further effect.
    fn watch<W: WireObject<Update = RestartUpdate>>(self: &Arc<Self>, on_synced: SyncedCallback) -> Task {
        lock(&self.first_lists).insert(W::RESOURCE, on_synced);
        let this = self.clone();
        Box::pin(reflect::<W, _>(self.clone(), move || this.finish_first_list(W::RESOURCE)))
    }

    /// Logs at start whether Secrets restart workloads, and what to do if they do not.
    fn log_secret_handling(&self) {
        match self.settings.secret_checksums() {
            SecretChecksums::Keyed(keys) => tracing::info!(key = keys.id(), "The checksums of Secrets are keyed."),
            SecretChecksums::Unkeyed if self.settings.reloader.webhook.is_some() => {}
            SecretChecksums::Unkeyed => tracing::warn!(
                "The checksums of Secrets have no key: users who can read workloads can find out the content of \
                 a Secret by guessing it. The safe profile writes keyed checksums."
            ),
            SecretChecksums::None if self.settings.profile == Profile::Reloader => {}
            SecretChecksums::None => tracing::warn!(
                "There is no key for the checksums of Secrets: only ConfigMaps restart workloads, and no Secret is \
                 read. Make a key (rollout-controller config-restart-key | kubectl create -f -), mount that Secret, \
                 name the folder with --secret-checksum-keys, and start again."
            ),
        }
    }

    fn finish_first_list(&self, resource: Resource) {
        let on_synced = lock(&self.first_lists).remove(&resource);
        if let Some(on_synced) = on_synced {
            on_synced();
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        clock::instant().saturating_duration_since(self.start)
    }

    pub(super) fn reconciler(&self) -> MutexGuard<'_, RestartReconciler> {
        lock(&self.reconciler)
    }

    /// Values for the metrics; the last ones while the reconciler is busy.
    fn gauges(&self) -> RestartGauges {
        let mut gauges = lock(&self.gauges);
        match self.reconciler.try_lock() {
            Ok(reconciler) => *gauges = reconciler.gauges(),
            Err(TryLockError::Poisoned(reconciler)) => *gauges = reconciler.into_inner().gauges(),
            Err(TryLockError::WouldBlock) => {}
        }
        *gauges
    }
}

impl Controller for RestartController {
    fn watch_count(&self) -> usize {
        self.kinds().len()
    }

    fn background_tasks(self: Arc<Self>, on_synced: &dyn Fn() -> SyncedCallback) -> Vec<Task> {
        self.log_secret_handling();
        let watch = |resource| match resource {
            Resource::ConfigMaps => Some(self.watch::<ConfigMap>(on_synced())),
            Resource::Secrets => Some(self.watch::<Secret>(on_synced())),
            Resource::Deployments => Some(self.watch::<Deployment>(on_synced())),
            Resource::StatefulSets => Some(self.watch::<StatefulSet>(on_synced())),
            Resource::DaemonSets => Some(self.watch::<DaemonSet>(on_synced())),
            Resource::CronJobs => Some(self.watch::<CronJob>(on_synced())),
            Resource::Jobs => Some(self.watch::<Job>(on_synced())),
            Resource::Rollouts => Some(self.watch::<Rollout>(on_synced())),
            Resource::Namespaces => Some(self.watch::<Namespace>(on_synced())),
            _ => None,
        };
        // The configs before the workloads, in a fixed order.
        let configs = [Resource::ConfigMaps, Resource::Secrets];
        let (first, rest): (Vec<_>, Vec<_>) = self.kinds().into_iter().partition(|kind| configs.contains(kind));
        first.into_iter().chain(rest).filter_map(watch).collect()
    }

    fn worker_tasks(self: Arc<Self>) -> Vec<Task> {
        let webhook = self.webhook.clone();
        vec![Box::pin(async move {
            match webhook {
                None => self.work().await,
                Some(webhook) => webhook.send_during(self.work()).await,
            }
        })]
    }

    fn problems(&self, now: Instant) -> Vec<String> {
        self.informers.problems(now)
    }

    fn start(&self, _all: Vec<NamespacedName>) {
        self.reconciler().activate();
        self.phase.send_replace(ControllerPhase::Active);
    }

    fn resync(&self, _all: Vec<NamespacedName>) {
        self.reconciler().wake_all(self.elapsed());
        self.wakeup.notify_one();
    }

    fn stop(&self) {
        self.phase.send_replace(ControllerPhase::Ending);
    }

    fn close(&self) -> Option<String> {
        self.recorders.values().for_each(Recorder::close);
        lock(&self.fatal).take()
    }
}

impl EncodeMetrics for RestartController {
    fn encode(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let gauges = self.gauges();
        let refused = lock(&self.refused).len();
        let webhook_counts = self.webhook.as_ref().map(|webhook| webhook.counts()).unwrap_or_default();
        self.counts.encode(to, &gauges, refused, webhook_counts)
    }
}

impl WatchSink<RestartUpdate> for RestartController {
    fn api(&self) -> &ApiServer {
        &self.api
    }

    fn informers(&self) -> &Informers {
        &self.informers
    }

    fn apply(&self, update: RestartUpdate) {
        let at = self.elapsed();
        let work = match update {
            RestartUpdate::Config(name, now) => {
                self.reconciler().on_config(&name, now, at);
                Vec::new()
            }
            RestartUpdate::Workload(name, now) => self.reconciler().on_workload(&name, now.map(|now| *now), at),
            RestartUpdate::Namespace(name, now) => {
                self.reconciler().on_namespace(&name, now.as_ref(), at);
                Vec::new()
            }
        };
        lock(&self.change_work).extend(work);
        self.wakeup.notify_one();
    }

    fn on_listed(&self, resource: Resource, _version: &str) {
        lock(&self.refused).remove(&resource);
        let kind = match resource {
            Resource::ConfigMaps => ConfigKind::ConfigMap,
            Resource::Secrets => ConfigKind::Secret,
            _ => return,
        };
        self.reconciler().on_listed(kind, self.elapsed());
        self.wakeup.notify_one();
    }

    fn on_version(&self, _resource: Resource, _version: &str) {}

    fn on_list_error(&self, resource: Resource, error: &RequestError) {
        let mut optional = WorkloadKind::ALL.into_iter().filter(|kind| kind.is_optional()).map(workload_resource);
        let is_absent = error.is_not_served() && optional.any(|kind| kind == resource);
        let is_refused = error.is_forbidden() && lock(&self.refused).insert(resource);
        if is_refused || is_absent && lock(&self.first_lists).contains_key(&resource) {
            unlistable::log(resource, is_absent);
            self.informers.of(resource).make_optional();
            self.finish_first_list(resource);
        }
    }
}

/// The queue of messages for the webhook, if there is one.
fn webhook_queue(settings: &RestartSettings, client: &Client) -> Option<Arc<WebhookQueue>> {
    let Webhook { url, proxy, .. } = settings.webhook.as_ref()?;
    let poster = match url.is_path() {
        true => WebhookClient::for_api_path(client.clone(), &url.0),
        false => WebhookClient::new(&url.0, proxy.as_ref().map(|proxy| proxy.0.as_str())),
    };
    match poster {
        Ok(poster) => Some(WebhookQueue::new(poster)),
        Err(error) => {
            tracing::error!(error = error.to_string(), "Nothing is reported to the webhook.");
            None
        }
    }
}

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock, so the state is consistent.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
