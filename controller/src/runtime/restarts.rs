//! The shell around restarts: its watches, and what goes in and out of the agent. What the agent
//! decides is carried out by `restart_worker`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use kube::Client;
use prometheus_client::encoding::DescriptorEncoder;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::controller::{Controller, Listed, Task};
use super::informer::Informers;
use super::reflector::{Sink, reflect};
use super::restart_wire::{
    ConfigMap, CronJob, DaemonSet, Deployment, Job, Namespace, Rollout, Secret, Seen, StatefulSet,
};
use super::shared::Shared;
use super::unlisted;
use super::webhook::Outbox;
use super::wire::Wire;
use crate::api::{ApiServer, Key, Recorder, Reports, RequestError, Resource, Source};
use crate::clock::{self, Clock};
use crate::connect::Poster;
use crate::metrics::Shown;
use crate::restart::{Agent, ConfigKind, Counts, Numbers, Work, WorkloadKind};
use crate::settings::{ControllerName, Profile, RestartSettings, SecretChecksums, Webhook};

const COMPONENT: &str = "config-restart-controller";

/// The controller.
pub(super) struct Restarts {
    pub(super) api: ApiServer,
    pub(super) settings: RestartSettings,
    is_of_all_namespaces: bool,
    pub(super) clock: Clock,
    pub(super) began: Instant,
    informers: Informers,
    agent: Mutex<Agent>,
    /// Work that came of what was seen, not of time.
    pub(super) said: Mutex<Vec<Work>>,
    pub(super) news: Notify,
    pub(super) phase: watch::Sender<Phase>,
    pub(super) recorders: BTreeMap<WorkloadKind, Recorder>,
    /// Kinds that could not be listed for lack of rights.
    refused: Mutex<BTreeSet<Resource>>,
    /// Kinds of which nobody need wait for a first list any more.
    waived: Mutex<BTreeMap<Resource, Listed>>,
    pub(super) fatal: Mutex<Option<String>>,
    pub(super) counts: Counts,
    numbers: Mutex<Numbers>,
    pub(super) outbox: Option<Arc<Outbox>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Looks,
    Acts,
    Ends,
}

impl Restarts {
    pub(super) fn new(client: &Client, shared: &Shared) -> (Arc<Self>, Vec<(ApiServer, Reports)>) {
        let Shared { settings, metrics, .. } = shared;
        let api = ApiServer::chosen(client.clone(), settings, metrics);
        let (mut recorders, mut all_reports) = (BTreeMap::new(), Vec::new());
        for kind in WorkloadKind::ALL {
            let source = Source { component: COMPONENT, kind: kind.as_str(), is_beside_others: true };
            let (recorder, reports) = Recorder::new(source, settings.clock);
            recorders.insert(kind, recorder);
            all_reports.push((api.clone(), reports));
        }
        let name = ControllerName::ConfigRestart.as_str();
        let restarts = Arc::new(Self {
            api,
            settings: settings.restart.clone(),
            is_of_all_namespaces: settings.namespace.is_none(),
            clock: settings.clock,
            began: clock::instant(),
            informers: Informers::new(name, settings.clock, metrics),
            agent: Mutex::new(Agent::new(settings.restart.clone())),
            said: Mutex::default(),
            news: Notify::new(),
            phase: watch::Sender::new(Phase::Looks),
            recorders,
            refused: Mutex::default(),
            waived: Mutex::default(),
            fatal: Mutex::default(),
            counts: Counts::default(),
            numbers: Mutex::default(),
            outbox: outbox(&settings.restart, client),
        });
        metrics.show(name, &restarts);
        (restarts, all_reports)
    }

    /// The kinds that are watched.
    fn kinds(&self) -> BTreeSet<Resource> {
        let RestartSettings { profile, reloader, .. } = &self.settings;
        let is_reloader = *profile == Profile::Reloader;
        let all = [
            (Resource::ConfigMaps, self.settings.follows(ConfigKind::ConfigMap)),
            (Resource::Secrets, self.settings.follows(ConfigKind::Secret)),
            (Resource::Deployments, true),
            (Resource::StatefulSets, true),
            // xing's controller does not know them.
            (Resource::DaemonSets, *profile != Profile::Xing),
            (Resource::CronJobs, is_reloader && !reloader.ignores_cron_jobs),
            (Resource::Jobs, is_reloader && !reloader.ignores_jobs),
            (Resource::Rollouts, is_reloader && reloader.rollouts),
            (Resource::Namespaces, self.follows_namespaces()),
        ];
        all.into_iter().filter(|(_, is_watched)| *is_watched).map(|(resource, _)| resource).collect()
    }

    /// Whether namespaces are watched: for their restart windows, unless this controller looks
    /// after one namespace and so has no right to list them, or for Reloader's selector.
    fn follows_namespaces(&self) -> bool {
        match self.settings.profile {
            Profile::Safe => self.is_of_all_namespaces,
            Profile::Xing => false,
            Profile::Reloader => self.settings.reloader.namespace_labels().is_some(),
        }
    }

    /// A watch of one kind. One that may not be listed holds nothing up; were it to be listed
    /// later, that counts no more.
    fn watch<W: Wire<Change = Seen>>(self: &Arc<Self>, listed: Listed) -> Task {
        lock(&self.waived).insert(W::RESOURCE, listed);
        let this = self.clone();
        Box::pin(reflect::<W, _>(self.clone(), move || this.waive(W::RESOURCE)))
    }

    /// Says at start whether Secrets restart workloads, and what is to be done where they do not.
    fn say_of_secrets(&self) {
        match self.settings.secret_checksums() {
            SecretChecksums::Keyed(keys) => tracing::info!(key = keys.id(), "The checksums of Secrets are keyed."),
            SecretChecksums::Unkeyed if self.settings.reloader.webhook.is_some() => {}
            SecretChecksums::Unkeyed => tracing::warn!(
                "The checksums of Secrets have no key: whoever may read workloads can find out what a Secret holds if \
                 it can be guessed. The safe profile has keyed ones."
            ),
            SecretChecksums::None if self.settings.profile == Profile::Reloader => {}
            SecretChecksums::None => tracing::warn!(
                "There is no key for the checksums of Secrets: only ConfigMaps restart workloads, and no Secret is \
                 read. Make a key (rollout-controller config-restart-key | kubectl create -f -), mount that Secret, \
                 name the folder with --secret-checksum-keys, and start again."
            ),
        }
    }

    fn waive(&self, resource: Resource) {
        let seen = lock(&self.waived).remove(&resource);
        if let Some(seen) = seen {
            seen();
        }
    }

    pub(super) fn moment(&self) -> Duration {
        clock::instant().saturating_duration_since(self.began)
    }

    pub(super) fn agent(&self) -> MutexGuard<'_, Agent> {
        lock(&self.agent)
    }

    /// Numbers for the metrics; while something is being decided, the last ones.
    fn numbers(&self) -> Numbers {
        let mut numbers = lock(&self.numbers);
        match self.agent.try_lock() {
            Ok(agent) => *numbers = agent.numbers(),
            Err(TryLockError::Poisoned(agent)) => *numbers = agent.into_inner().numbers(),
            Err(TryLockError::WouldBlock) => {}
        }
        *numbers
    }
}

impl Controller for Restarts {
    fn watched(&self) -> usize {
        self.kinds().len()
    }

    fn background(self: Arc<Self>, listed: &dyn Fn() -> Listed) -> Vec<Task> {
        self.say_of_secrets();
        let watch = |resource| match resource {
            Resource::ConfigMaps => Some(self.watch::<ConfigMap>(listed())),
            Resource::Secrets => Some(self.watch::<Secret>(listed())),
            Resource::Deployments => Some(self.watch::<Deployment>(listed())),
            Resource::StatefulSets => Some(self.watch::<StatefulSet>(listed())),
            Resource::DaemonSets => Some(self.watch::<DaemonSet>(listed())),
            Resource::CronJobs => Some(self.watch::<CronJob>(listed())),
            Resource::Jobs => Some(self.watch::<Job>(listed())),
            Resource::Rollouts => Some(self.watch::<Rollout>(listed())),
            Resource::Namespaces => Some(self.watch::<Namespace>(listed())),
            _ => None,
        };
        // The first two before the workloads: as they always were.
        let configs = [Resource::ConfigMaps, Resource::Secrets];
        let (first, rest): (Vec<_>, Vec<_>) = self.kinds().into_iter().partition(|kind| configs.contains(kind));
        first.into_iter().chain(rest).filter_map(watch).collect()
    }

    fn workers(self: Arc<Self>) -> Vec<Task> {
        let outbox = self.outbox.clone();
        vec![Box::pin(async move {
            match outbox {
                None => self.work().await,
                // What is still to be told at the end is, for a short time.
                Some(outbox) => {
                    let tells = tokio::spawn(outbox.clone().work());
                    self.work().await;
                    outbox.close();
                    Outbox::finish(tells).await;
                }
            }
        })]
    }

    fn complaints(&self, now: Instant) -> Vec<String> {
        self.informers.complaints(now)
    }

    fn begin(&self, _all: Vec<Key>) {
        self.agent().begin();
        self.phase.send_replace(Phase::Acts);
    }

    fn look_again(&self, _all: Vec<Key>) {
        self.agent().look_again(self.moment());
        self.news.notify_one();
    }

    fn end(&self) {
        self.phase.send_replace(Phase::Ends);
    }

    fn close(&self) -> Option<String> {
        self.recorders.values().for_each(Recorder::close);
        lock(&self.fatal).take()
    }
}

impl Shown for Restarts {
    fn encode(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let numbers = self.numbers();
        let refused = lock(&self.refused).len();
        let told = self.outbox.as_ref().map(|outbox| outbox.counts()).unwrap_or_default();
        self.counts.encode(to, &numbers, refused, told)
    }
}

impl Sink<Seen> for Restarts {
    fn api(&self) -> &ApiServer {
        &self.api
    }

    fn informers(&self) -> &Informers {
        &self.informers
    }

    fn take(&self, change: Seen) {
        let at = self.moment();
        let work = match change {
            Seen::Config(name, now) => {
                self.agent().config(&name, now, at);
                Vec::new()
            }
            Seen::Workload(name, now) => self.agent().workload(&name, now.map(|now| *now), at),
            Seen::Namespace(name, now) => {
                self.agent().namespace(&name, now.as_ref(), at);
                Vec::new()
            }
        };
        lock(&self.said).extend(work);
        self.news.notify_one();
    }

    fn listed(&self, resource: Resource, _version: &str) {
        let kind = match resource {
            Resource::ConfigMaps => ConfigKind::ConfigMap,
            Resource::Secrets => ConfigKind::Secret,
            _ => return,
        };
        lock(&self.refused).remove(&resource);
        self.agent().listed(kind, self.moment());
        self.news.notify_one();
    }

    fn reached(&self, _resource: Resource, _version: &str) {}

    fn cannot_list(&self, resource: Resource, error: &RequestError) {
        let is_absent = resource == Resource::Rollouts && error.is_not_served();
        let is_refused = error.is_forbidden() && lock(&self.refused).insert(resource);
        if is_refused || is_absent && lock(&self.waived).contains_key(&resource) {
            unlisted::say(resource, is_absent);
            self.informers.of(resource).waive();
            self.waive(resource);
        }
    }
}

/// What waits to be sent to the webhook, if there is one.
fn outbox(settings: &RestartSettings, client: &Client) -> Option<Arc<Outbox>> {
    let Webhook { url, proxy, .. } = settings.webhook.as_ref()?;
    let poster = match url.is_path() {
        true => Poster::by(client.clone(), &url.0),
        false => Poster::new(&url.0, proxy.as_ref().map(|proxy| proxy.0.as_str())),
    };
    match poster {
        Ok(poster) => Some(Outbox::new(poster)),
        Err(error) => {
            tracing::error!(error = error.to_string(), "Nothing is reported to the webhook.");
            None
        }
    }
}

pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock, so what is behind it is whole.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
