//! The shell around restarts: five watches, one task that decides, and one for each write.
//!
//! Unlike the other controllers' this one decides about all workloads in one place, for its changes are gathered over time and its
//! profiles differ in how; what it decides is carried out side by side, so no workload waits for another (in xing's profile one after
//! the other, as there).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::events::{Reports, Source};
use super::informer::Informers;
use super::reflector::{Sink, reflect};
use super::restart_wire::{ConfigMap, DaemonSet, Deployment, Secret, Seen, StatefulSet};
use super::{ApiServer, Recorder, RequestError, Resource};
use crate::clock::{self, Clock};
use crate::metrics::{Metrics, RestartNumbers};
use crate::restart::{
    Agent, ApplyError, ConfigKind, Numbers, Outcome, Profile, RestartSettings, SecretChecksums, Tools, Work,
    WorkloadKind, apply,
};
use crate::settings::Settings;

/// Writes at the same time.
const WRITES: usize = 16;
const COMPONENT: &str = "config-restart-controller";

/// The controller.
pub(super) struct Restarts {
    api: ApiServer,
    settings: RestartSettings,
    clock: Clock,
    began: Instant,
    informers: Informers,
    agent: Mutex<Agent>,
    /// Work that came of what was seen, not of time.
    said: Mutex<Vec<Work>>,
    news: Notify,
    phase: watch::Sender<Phase>,
    recorders: BTreeMap<WorkloadKind, Recorder>,
    /// Kinds that could not be listed for lack of rights.
    refused: Mutex<BTreeSet<Resource>>,
    /// Kinds of which nobody need wait for a first list any more.
    waived: Mutex<BTreeMap<Resource, Box<dyn FnOnce() + Send>>>,
    fatal: Mutex<Option<String>>,
    updates: AtomicU64,
    restarts: AtomicU64,
    deferred: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Looks,
    Acts,
    Ends,
}

impl Restarts {
    pub(super) fn new(client: &Client, settings: &Settings, metrics: &Metrics) -> (Arc<Self>, Vec<Reports>) {
        let (mut recorders, mut all_reports) = (BTreeMap::new(), Vec::new());
        for kind in WorkloadKind::ALL {
            let source = Source { component: COMPONENT, kind: kind.as_str() };
            let (recorder, reports) = Recorder::of(source, settings.clock);
            recorders.insert(kind, recorder);
            all_reports.push(reports);
        }
        let restarts = Arc::new(Self {
            api: ApiServer::chosen(client.clone(), settings, metrics),
            settings: settings.restart.clone(),
            clock: settings.clock,
            began: clock::instant(),
            informers: Informers::new("config-restart", settings.clock, metrics),
            agent: Mutex::new(Agent::new(settings.restart.clone())),
            said: Mutex::default(),
            news: Notify::new(),
            phase: watch::Sender::new(Phase::Looks),
            recorders,
            refused: Mutex::default(),
            waived: Mutex::default(),
            fatal: Mutex::default(),
            updates: AtomicU64::new(0),
            restarts: AtomicU64::new(0),
            deferred: AtomicU64::new(0),
        });
        metrics.show_restarts(&restarts);
        (restarts, all_reports)
    }

    pub(super) fn events_api(&self) -> ApiServer {
        self.api.clone()
    }

    /// Kinds that are watched.
    pub(super) fn watched(&self) -> usize {
        3 + usize::from(self.settings.follows(ConfigKind::Secret)) + usize::from(self.knows_daemon_sets())
    }

    /// xing's controller does not.
    fn knows_daemon_sets(&self) -> bool {
        self.settings.profile != Profile::Xing
    }

    /// Starts the watches; `seen` makes what each calls when its first list is complete.
    pub(super) fn watch<F: FnOnce() + Send + 'static>(
        self: &Arc<Self>,
        tasks: &mut JoinSet<()>,
        seen: &impl Fn() -> F,
    ) {
        self.say_of_secrets();
        // A kind that may not be listed holds nobody up; were it to be listed later, that counts no more.
        let once = |resource| {
            lock(&self.waived).insert(resource, Box::new(seen()));
            let this = self.clone();
            move || this.waive(resource)
        };
        tasks.spawn(reflect::<ConfigMap, _>(self.clone(), once(Resource::ConfigMaps)));
        if self.settings.follows(ConfigKind::Secret) {
            tasks.spawn(reflect::<Secret, _>(self.clone(), once(Resource::Secrets)));
        }
        tasks.spawn(reflect::<Deployment, _>(self.clone(), once(Resource::Deployments)));
        tasks.spawn(reflect::<StatefulSet, _>(self.clone(), once(Resource::StatefulSets)));
        if self.knows_daemon_sets() {
            tasks.spawn(reflect::<DaemonSet, _>(self.clone(), once(Resource::DaemonSets)));
        }
    }

    /// Says at start whether Secrets restart workloads, and what is to be done where they do not.
    fn say_of_secrets(&self) {
        match self.settings.secret_checksums() {
            SecretChecksums::Keyed(keys) => tracing::info!(key = keys.id(), "The checksums of Secrets are keyed."),
            SecretChecksums::Unkeyed => tracing::warn!(
                "The checksums of Secrets have no key: whoever may read workloads can find out what a Secret holds if \
                 it can be guessed. The safe profile has keyed ones."
            ),
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

    /// From now on it acts.
    pub(super) fn begin(&self) {
        self.phase.send_replace(Phase::Acts);
    }

    /// It looks at all workloads again.
    pub(super) fn look_again(&self) {
        self.agent().look_again(self.moment());
        self.news.notify_one();
    }

    /// It is to end; [`Restarts::work`] returns when what must be written has been.
    pub(super) fn end(&self) {
        self.phase.send_replace(Phase::Ends);
    }

    /// Takes no more events; returns why it ended, if it did so by itself.
    pub(super) fn close(&self) -> Option<String> {
        self.recorders.values().for_each(Recorder::close);
        lock(&self.fatal).take()
    }

    fn moment(&self) -> Duration {
        clock::instant().saturating_duration_since(self.began)
    }

    fn agent(&self) -> MutexGuard<'_, Agent> {
        lock(&self.agent)
    }

    /// Decides and carries out until the end, or until an error that xing's profile ends over.
    pub(super) async fn work(self: Arc<Self>) {
        let mut phase = self.phase.subscribe();
        let begun = phase.wait_for(|phase| *phase != Phase::Looks).await.is_ok_and(|phase| *phase == Phase::Acts);
        let mut writes = JoinSet::new();
        let mut goes_on = begun;
        while goes_on {
            let mut works = std::mem::take(&mut *lock(&self.said));
            works.extend(self.agent().take(self.moment(), self.clock.now()));
            if !self.carry_out(works, &mut writes).await {
                return;
            }
            let next = self.agent().next().map(|next| self.began + next);
            tokio::select! {
                () = self.news.notified() => {}
                () = clock::sleep_until(next) => {}
                Some(_) = writes.join_next() => {}
                ended = phase.wait_for(|phase| *phase == Phase::Ends) => goes_on = ended.is_err(),
            }
        }
        let works = self.agent().flush(self.moment(), self.clock.now());
        if begun && self.carry_out(works, &mut writes).await {
            while writes.join_next().await.is_some() {}
        }
    }

    /// Whether it is to go on.
    async fn carry_out(self: &Arc<Self>, works: Vec<Work>, writes: &mut JoinSet<()>) -> bool {
        for work in works {
            if self.settings.profile == Profile::Xing {
                if let Some(error) = self.one(&work).await {
                    *lock(&self.fatal) = Some(error.to_string());
                    return false;
                }
                continue;
            }
            while writes.len() >= WRITES {
                writes.join_next().await;
            }
            let this = self.clone();
            writes.spawn(async move { drop(this.one(&work).await) });
        }
        true
    }

    /// Carries out one piece of work; an error is one that is not to be ignored.
    async fn one(&self, work: &Work) -> Option<ApplyError> {
        let tell = |kind, about: &_, event: &_| self.recorders[&kind].record(about, event);
        let tools = Tools { api: &self.api, tell: &tell, settings: &self.settings };
        let (outcome, error) = apply(tools, work).await;
        self.count(work, outcome.as_ref());
        if let Some(outcome) = outcome {
            self.agent().finished(&work.observed, outcome, self.moment());
            self.news.notify_one();
        }
        error
    }

    fn count(&self, work: &Work, outcome: Option<&Outcome>) {
        let crate::restart::Action::Write(write) = &work.action else { return };
        let is_done = matches!(outcome, Some(Outcome::Written(_)));
        // xing's counts attempts (X7).
        if is_done || (self.settings.profile == Profile::Xing && !self.settings.dry_run) {
            self.updates.fetch_add(1, Ordering::Relaxed);
        }
        if let (true, Some(restart)) = (is_done, &write.restart) {
            let counter = if restart.held.is_some() { &self.deferred } else { &self.restarts };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl RestartNumbers for Restarts {
    fn numbers(&self) -> (Numbers, [u64; 3], usize) {
        let counts = [&self.updates, &self.restarts, &self.deferred].map(|count| count.load(Ordering::Relaxed));
        (self.agent().numbers(), counts, lock(&self.refused).len())
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
                None
            }
            Seen::Workload(name, now) => self.agent().workload(&name, now.map(|now| *now), at),
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
        if error.is_forbidden() && lock(&self.refused).insert(resource) {
            let what = resource.plural();
            tracing::error!(
                resource = what,
                "May not be listed; workloads that use them are left as they are, others are not."
            );
            self.informers.of(resource).waive();
            self.waive(resource);
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics while it holds the lock, so what is behind it is whole.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
