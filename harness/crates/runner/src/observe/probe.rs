//! The probe: a logical clock that stretches with load.
//!
//! The probe is a Deployment in a namespace of the test environment's own. A flip makes its pod
//! ready or unready and waits until that has travelled pod → ReplicaSet status → Deployment status.
//! The first leg is a ReplicaSet controller's, the second a Deployment controller's; which of them
//! is the subject's depends on what the subject brings. Watches are ordered per kind, so when the
//! flip arrives the subject has received everything that was sent before it. Two such rounds in
//! silence sufficed in every one of some four hundred measured runs; one did not.
//!
//! A subject that reports no ready pods is probed by sizes instead: the Deployment's replicas
//! change, and so does the size of its ReplicaSet, which the subject restores. One that does not
//! claim sizes either is probed by a new Deployment, which gets a ReplicaSet. So is one that shares
//! its work with another controller, whose part is the status of the new Deployment.
//!
//! The test environment's pulse, in which no subject takes part, runs beside it: if a flip does not
//! arrive while the pulse beats, the controller of the leg at which it stopped is to blame.
//!
//! Before a subject runs, the same Deployment and a ReplicaSet without an owner prove that no other
//! instance of the subject's controllers runs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use lockstep_cluster::installation;
use lockstep_intercept::InterceptorLog;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{Blame, Trouble, TroubleTopic};
use lockstep_support::clock::{self, Instant};
use lockstep_workload::Claims;
use serde_json::{Value, json};

use super::namespace::make_namespace;
use super::pulse::{Pulse, READY, api, create, pod_of, set_ready, template};
use super::reported_deployments::ReportedDeployments;
use super::response_times::ResponseTimes;
use super::{CachedObject, ObserveError, WatchCache, WatchedKind};

/// How long the test environment may take to answer once the subject's time is up.
pub(crate) const ANSWER: Duration = Duration::from_secs(5);
const REPLICAS: &str = "/spec/replicas";
const DEPLOYMENT: &str = "probe";
/// How the names of further Deployments begin.
const ANOTHER: &str = "another-";
/// The ReplicaSet that must stay without pods while no subject runs.
const BARE: &str = "bare";

/// The name of one of the probe's Deployments in a message to the author of a subject, who has made
/// none.
fn describe_deployment(name: &str) -> String {
    format!("lockstep's own deployment/{name}, in another namespace,")
}

/// A Deployment whose changes prove that the subject's watches are up to date.
pub(crate) struct Probe {
    client: kube::Client,
    cache: Arc<WatchCache>,
    under_test: ControllerSet,
    claims: Claims,
    pulse: Pulse,
    /// When the subject could first see the probe's Deployment, which is a reason for its first
    /// Event.
    offered_at: OnceLock<Instant>,
    response_times: ResponseTimes,
    /// Of which Deployments the controller beside the subject has written the status, if there is
    /// one.
    beside: Option<ReportedDeployments>,
    /// How many new Deployments it has had.
    created: AtomicU32,
    pub namespace: String,
}

/// How far a flip got within its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The test environment does not answer.
    Nowhere,
    /// The test environment answers, but the flip did not arrive.
    Environment,
    /// Through both legs.
    Subject,
}

/// An Event that did not arrive.
#[derive(Debug, Clone, Copy)]
struct MissingEvent {
    controller: Controller,
    description: &'static str,
    /// Whether its controller has never published any.
    silent: bool,
    /// Whether Events arrived until the end: it may come behind them.
    may_come: bool,
}

/// The objects that show where a flip stopped.
#[derive(Debug)]
struct ProbeSnapshot {
    /// The ready pods in the Deployment's status.
    deployment: Option<i64>,
    /// The ready pods in the ReplicaSet's status, and its replicas.
    replica_set: Option<(i64, i64)>,
    /// Whether its pod is ready.
    pod: Option<bool>,
}

impl Probe {
    /// Create the probe and prove the test environment: it answers, and while no subject runs the
    /// Deployment gets no ReplicaSets, or the ReplicaSet no pods, for as long as there is reason to
    /// doubt that.
    ///
    /// # Errors
    /// The test environment does not answer within the budget, or another instance of the subject's
    /// controllers runs.
    pub(crate) async fn prove(
        client: &kube::Client,
        cache: &Arc<WatchCache>,
        namespace: &str,
        (under_test, claims): (&ControllerSet, Claims),
        (budget, doubt): (Duration, Duration),
    ) -> Result<Self, ObserveError> {
        cache.follow(namespace);
        let pulse = Pulse::new(client, cache, namespace, under_test);
        let (client, cache, namespace) = (client.clone(), Arc::clone(cache), namespace.to_owned());
        let (under_test, offered_at, response_times) = (under_test.clone(), OnceLock::new(), ResponseTimes::default());
        let created = AtomicU32::default();
        let beside = None;
        let probe =
            Self { client, cache, under_test, claims, pulse, offered_at, response_times, beside, created, namespace };
        make_namespace(&probe.client, &probe.namespace, Some(installation()))
            .await
            .map_err(|error| ObserveError::Probe(Box::new(error)))?;
        probe.create(WatchedKind::Deployment, DEPLOYMENT).await?;
        if probe.under_test.has(Controller::ReplicaSet) {
            probe.create(WatchedKind::ReplicaSet, BARE).await?;
        }
        probe.pulse.start().await?;
        let since = clock::instant();
        for _ in 0..2 {
            if !probe.pulse.beat(budget).await {
                return Err(ObserveError::Proof(format!(
                    "the test environment's {} did not answer within {budget:?}: is a kube-controller-manager running on this cluster?",
                    probe.pulse.responder()
                )));
            }
        }
        // A controller that has just been started needs a moment before it acts.
        probe.cache.until(doubt.saturating_sub(since.elapsed()), || probe.foreign_controller().is_some()).await;
        if let Some(why) = probe.cache.gap() {
            return Err(ObserveError::Proof(why));
        }
        match probe.foreign_controller() {
            Some((controller, description)) => Err(ObserveError::Proof(format!(
                "a {} is already on: it {description} before any subject ran; start kube-controller-manager with \
                 --controllers=*,-{controller}",
                controller.title(),
            ))),
            None => Ok(probe),
        }
    }

    /// The probe of a subject that shares its work with another controller, of which this is the
    /// log.
    #[must_use]
    pub(crate) fn beside(self, log: &InterceptorLog) -> Self {
        Self { beside: Some(ReportedDeployments::of(log, &self.namespace)), ..self }
    }

    /// What another instance of the subject's controllers has done, if there is one.
    fn foreign_controller(&self) -> Option<(Controller, String)> {
        if let (true, Some(rs)) = (self.under_test.has(Controller::Deployment), self.replica_set()) {
            return Some((Controller::Deployment, format!("made ReplicaSet {} for the probe", rs.name)));
        }
        let bare = self.cache.get(WatchedKind::ReplicaSet, &self.namespace, BARE)?;
        let pod = pod_of(&self.cache, &self.namespace, bare.text("/metadata/uid"));
        pod.map(|pod| (Controller::ReplicaSet, format!("made pod {} for the probe", pod.name)))
    }

    /// Whether the subject acts on the probe's Deployment.
    pub(crate) fn is_taken_up(&self) -> bool {
        let is_counted =
            |deployment: CachedObject| !self.claims.status.replicas || deployment.int("/status/replicas") == 1;
        // Without a promise about sizes, its ReplicaSet may be empty.
        let has_pod = if self.claims.sizes { self.pod().is_some() } else { self.replica_set().is_some() };
        has_pod && self.deployment().is_some_and(is_counted)
    }

    /// Wait until the subject acts on the probe's Deployment; false if it did not within the
    /// budget.
    pub(crate) async fn wait_until_taken_up(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> bool {
        self.offered_at.get_or_init(clock::instant);
        self.cache.until(budget, || exited() || self.is_taken_up()).await && !exited()
    }

    /// Flip the pod's readiness and see how far the change gets; no further than the test
    /// environment once the subject has ended.
    pub(crate) async fn flip(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> Reach {
        match self.claims {
            _ if self.beside.is_some() => return self.create_another(budget, exited).await,
            Claims { status, sizes: true, .. } if !status.ready => return self.resize(budget, exited).await,
            Claims { sizes: false, .. } => return self.create_another(budget, exited).await,
            _ => {}
        }
        self.cache.until(budget, || exited() || self.pod().is_some() && self.deployment().is_some()).await;
        let (Some(pod), Some(deployment)) = (self.pod(), self.deployment()) else {
            return self.reach_of_environment(ANSWER).await;
        };
        let since = clock::instant();
        // The opposite of what the far end has now, so that only this flip can cause an arrival.
        let ready = deployment.int(READY) == 0;
        if set_ready(&self.client, &self.namespace, &pod.name, ready).await.is_err() {
            return self.reach_of_environment(ANSWER).await;
        }
        let wanted = i64::from(ready);
        let travelled = |object: Option<CachedObject>| object.is_some_and(|o| o.int(READY) == wanted);
        let counted = || !self.claims.owned.ready || travelled(self.replica_set());
        let arrived = || counted() && travelled(self.deployment());
        self.cache.until(budget, || exited() || arrived()).await;
        self.reach(since, arrived).await
    }

    /// How far a flip got that was sent at `since`, when it has `arrived` or its time is up. It is
    /// looked at again when the environment has answered: if the harness did not run for a while,
    /// its time was up before it had read what the watches had delivered.
    async fn reach(&self, since: Instant, arrived: impl Fn() -> bool) -> Reach {
        let took = since.elapsed();
        if !arrived() {
            let reach = self.reach_of_environment(ANSWER).await;
            if reach == Reach::Nowhere || !arrived() {
                return reach;
            }
        }
        self.response_times.record(took);
        Reach::Subject
    }

    /// Flip the size for a subject that reports no ready pods: it follows the Deployment's
    /// replicas, and restores the size of the ReplicaSet. So it has received what was sent before,
    /// for Deployments and for ReplicaSets.
    async fn resize(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> Reach {
        self.cache.until(budget, || exited() || self.deployment().is_some() && self.replica_set().is_some()).await;
        let (Some(deployment), Some(set)) = (self.deployment(), self.replica_set()) else {
            return self.reach_of_environment(ANSWER).await;
        };
        let since = clock::instant();
        // Another size than the ReplicaSet has now, so that only this flip can cause an arrival.
        let wanted = if set.int(REPLICAS) == 1 { 2 } else { 1 };
        let size = |replicas: i64| Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let has_size = || self.replica_set().is_some_and(|set| set.int(REPLICAS) == wanted);
        let write = async |kind: WatchedKind, name: &str, replicas: i64| {
            let api = api(&self.client, &self.namespace, kind);
            let answer = api.patch(name, &PatchParams::default(), &size(replicas)).await.ok()?;
            answer.metadata.resource_version?.parse::<u64>().ok()
        };
        let left = || budget.saturating_sub(since.elapsed());
        let resized = async {
            write(WatchedKind::Deployment, &deployment.name, wanted).await?;
            self.cache.until(left(), || exited() || has_size()).await;
            if !has_size() {
                return None;
            }
            write(WatchedKind::ReplicaSet, &set.name, wanted + 1).await
        };
        let Some(version) = resized.await else { return self.reach_of_environment(ANSWER).await };
        let restored = || self.cache.has_seen(WatchedKind::ReplicaSet, version) && has_size();
        self.cache.until(left(), || exited() || restored()).await;
        self.reach(since, restored).await
    }

    /// Create another Deployment, for a subject that does not claim sizes, or that shares them: it
    /// gets a ReplicaSet. So the subject has received what was sent before, for Deployments. The
    /// controller beside it writes the status.
    async fn create_another(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> Reach {
        let since = clock::instant();
        let name = format!("{ANOTHER}{}", self.created.fetch_add(1, Ordering::Relaxed));
        if self.create(WatchedKind::Deployment, &name).await.is_err() {
            return self.reach_of_environment(ANSWER).await;
        }
        let has_set = || self.replica_set_of(&name).is_some();
        self.cache.until(budget, || exited() || has_set()).await;
        if let (true, Some(beside)) = (has_set(), &self.beside) {
            beside.wait_for(&name, budget.saturating_sub(since.elapsed()), exited).await;
        }
        let is_reported = || self.beside.as_ref().is_none_or(|beside| beside.has(&name));
        let reach = self.reach(since, || has_set() && is_reported()).await;
        if reach != Reach::Subject {
            return reach;
        }
        let api = api(&self.client, &self.namespace, WatchedKind::Deployment);
        api.delete(&name, &DeleteParams::background()).await.ok();
        Reach::Subject
    }

    /// The silence that fits the subject, by how fast it has answered so far.
    pub(super) fn silence(&self) -> Duration {
        self.response_times.silence()
    }

    /// What is wrong with the probe when a flip did not arrive although the test environment
    /// answers, and who is to blame.
    pub(crate) fn discrepancy(&self) -> Trouble {
        if !self.claims.sizes || self.beside.is_some() {
            let created = self.created.load(Ordering::Relaxed).saturating_sub(1);
            let name = format!("{ANOTHER}{created}");
            let why = describe_deployment(&name);
            let is_reported = self.beside.as_ref().is_none_or(|beside| beside.has(&name));
            return match is_reported || self.replica_set_of(&name).is_none() {
                true => Trouble::new(self.blame_of(Controller::Deployment), format!("{why} has no ReplicaSet")),
                false => Trouble::new(
                    Blame::Environment,
                    format!("the controller beside the subject writes no status of {why} which has a ReplicaSet"),
                ),
            };
        }
        if !self.claims.status.ready
            && let (Some(deployment), Some(set)) = (self.deployment(), self.replica_set())
        {
            let (wanted, found) = (deployment.int(REPLICAS), set.int(REPLICAS));
            // The description does not say which controller restores the size of a ReplicaSet.
            let (blame, description) = match found == wanted + 1 {
                true => (
                    Blame::Environment,
                    "is not restored, and without status.readyReplicas nothing else shows that the subject has settled",
                ),
                false => (self.blame_of(Controller::Deployment), "does not follow"),
            };
            let why = format!(
                "{} wants {wanted} replicas, and its ReplicaSet's {found} {description}",
                describe_deployment(DEPLOYMENT)
            );
            return Trouble::new(blame, why);
        }
        let sight = ProbeSnapshot {
            deployment: self.deployment().map(|it| it.int(READY)),
            replica_set: self.replica_set().map(|it| (it.int(READY), it.int("/spec/replicas"))),
            pod: self.pod().map(|pod| pod.ready()),
        };
        let (controller, about, description) = sight.stopped_at();
        let why = format!("{} {description}", describe_deployment(DEPLOYMENT));
        Trouble::new(self.blame_of(controller), why).about(about)
    }

    /// Whether the test environment's own controllers answer, which shows who is to blame for a
    /// silence.
    pub(crate) async fn reach_of_environment(&self, budget: Duration) -> Reach {
        if self.pulse.beat(budget).await { Reach::Environment } else { Reach::Nowhere }
    }

    /// The message about a test environment that does not answer.
    pub(crate) fn dead_environment(&self) -> String {
        format!("the test environment's {} no longer answers", self.pulse.responder())
    }

    /// Make each controller publish an Event about the probe, and wait for them. Events are written
    /// in order, so all earlier ones have arrived then. Each call uses a new Deployment, because
    /// clients throttle events per object. Returns what is wrong if they do not arrive within the
    /// budget.
    ///
    /// The probe itself is a reason for a first Event. A controller that has published none since
    /// it was started, for as long as the budget, is assumed to publish none, and is not waited for
    /// again until it publishes one.
    pub(crate) async fn await_event(
        &self,
        number: u32,
        budget: Duration,
        exited: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Trouble> {
        let environment = |why: String| Trouble::new(Blame::Environment, why);
        let missing = self.missing_event(&format!("event-{number}"), budget, exited).await;
        let Some(MissingEvent { controller, description, silent, may_come }) =
            missing.map_err(|error| environment(error.to_string()))?
        else {
            return Ok(());
        };
        if self.reach_of_environment(ANSWER).await == Reach::Nowhere {
            return Err(environment(self.dead_environment()));
        }
        let why = match silent {
            true => format!("published no Event {description}, nor any other in {budget:?} since it was started"),
            false => format!("published no Event {description} within {budget:?}"),
        };
        if may_come {
            return Err(environment(format!("the {} still writes Events of before: it {why}", controller.title())));
        }
        Err(match self.blame_of(controller) {
            Blame::Subject => Trouble::new(Blame::Subject, why).about(TroubleTopic::Events),
            Blame::Environment => environment(format!("the test environment's {} {why}", controller.title())),
        })
    }

    /// Create a Deployment of this name and wait for the Events about it; returns the first that
    /// did not arrive.
    async fn missing_event(
        &self,
        name: &str,
        budget: Duration,
        exited: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<MissingEvent>, ObserveError> {
        let offered_at = *self.offered_at.get_or_init(clock::instant);
        let prefix = format!("{name}-");
        let missing = || {
            let events = self.cache.list(WatchedKind::Event, &self.namespace);
            let of = |controller: Controller, description, is: &dyn Fn(&str) -> bool| {
                let kind = if controller == Controller::Deployment {
                    WatchedKind::Deployment
                } else {
                    WatchedKind::ReplicaSet
                };
                let mut names = involved_names(&events, kind).peekable();
                let silent = names.peek().is_none();
                (!names.any(is)).then_some(MissingEvent { controller, description, silent, may_come: false })
            };
            let deployment = of(Controller::Deployment, "about scaling a new Deployment up", &|found| found == name);
            let sets = || {
                let of_set = &|found: &str| found.starts_with(&prefix);
                of(Controller::ReplicaSet, "about making a new ReplicaSet's pod", of_set)
            };
            deployment.or_else(|| self.under_test.has(Controller::ReplicaSet).then(sets).flatten())
        };
        if missing().is_some_and(|missing| missing.silent && offered_at.elapsed() >= budget) {
            return Ok(missing());
        }
        self.create(WatchedKind::Deployment, name).await?;
        let since = clock::instant();
        let over = || match missing() {
            Some(missing) if missing.silent => offered_at.elapsed() >= budget,
            Some(_) => since.elapsed() >= budget,
            None => true,
        };
        let mut latest = (self.cache.events(), since);
        let is_over = || {
            let events = self.cache.events();
            if events != latest.0 {
                latest = (events, clock::instant());
            }
            exited() || over()
        };
        self.cache.until(budget, is_over).await;
        api(&self.client, &self.namespace, WatchedKind::Deployment)
            .delete(name, &DeleteParams::background())
            .await
            .ok();
        let may_come = since < latest.1 && latest.1.elapsed() < budget / 4;
        Ok(missing().map(|missing| MissingEvent { may_come, ..missing }))
    }

    fn blame_of(&self, controller: Controller) -> Blame {
        if self.under_test.has(controller) { Blame::Subject } else { Blame::Environment }
    }

    fn deployment(&self) -> Option<CachedObject> {
        self.cache.get(WatchedKind::Deployment, &self.namespace, DEPLOYMENT)
    }

    fn replica_set(&self) -> Option<CachedObject> {
        self.replica_set_of(DEPLOYMENT)
    }

    fn replica_set_of(&self, deployment: &str) -> Option<CachedObject> {
        let deployment = self.cache.get(WatchedKind::Deployment, &self.namespace, deployment)?;
        let uid = deployment.text("/metadata/uid").to_owned();
        self.cache.list(WatchedKind::ReplicaSet, &self.namespace).into_iter().find(|rs| rs.owner() == Some(&uid))
    }

    fn pod(&self) -> Option<CachedObject> {
        pod_of(&self.cache, &self.namespace, self.replica_set()?.text("/metadata/uid"))
    }

    /// An object of this name with one pod.
    async fn create(&self, kind: WatchedKind, name: &str) -> Result<(), ObserveError> {
        let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template(name)});
        let object: Value =
            json!({"apiVersion": "apps/v1", "kind": kind.to_string(), "metadata": {"name": name}, "spec": spec});
        create(&self.client, &self.namespace, kind, object).await.map(drop)
    }
}

/// The names of the objects of a kind that Events are about.
fn involved_names(events: &[CachedObject], kind: WatchedKind) -> impl Iterator<Item = &str> {
    let of = move |event: &&CachedObject| event.text("/involvedObject/kind") == kind.to_string();
    events.iter().filter(of).map(|event| event.text("/involvedObject/name"))
}

impl ProbeSnapshot {
    /// The first controller on the way that did not do its part, and what is wrong.
    fn stopped_at(&self) -> (Controller, TroubleTopic, String) {
        let other = |controller, description: &str| (controller, TroubleTopic::Other, description.to_owned());
        let Some((counted, wanted)) = self.replica_set else {
            return other(Controller::Deployment, "has no ReplicaSet");
        };
        match (self.pod, self.deployment) {
            (None, _) if wanted == 0 => other(Controller::Deployment, "has a ReplicaSet that wants no pod"),
            (None, _) => other(Controller::ReplicaSet, "has a ReplicaSet without a pod"),
            (Some(ready), _) if counted != i64::from(ready) => {
                let right = i64::from(ready);
                let description = format!("has a ReplicaSet with status.readyReplicas {counted}, and {right} is right");
                (Controller::ReplicaSet, TroubleTopic::ReplicaSetStatus, description)
            }
            (Some(_), found) => {
                let found = found.unwrap_or_default();
                let description = format!("has status.readyReplicas {found}, and {counted} is right");
                (Controller::Deployment, TroubleTopic::DeploymentStatus, description)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing_made(None, None, Controller::Deployment, "has no ReplicaSet")]
    #[case::scaled_away(Some((0, 0)), None, Controller::Deployment, "wants no pod")]
    #[case::no_pod(Some((0, 1)), None, Controller::ReplicaSet, "without a pod")]
    #[case::not_counted(Some((0, 1)), Some(true), Controller::ReplicaSet, "readyReplicas 0, and 1 is right")]
    #[case::not_summed(Some((1, 1)), Some(true), Controller::Deployment, "has status.readyReplicas 0, and 1 is right")]
    fn blames_the_first_controller_that_did_not_pass_a_flip_on(
        #[case] replica_set: Option<(i64, i64)>,
        #[case] pod: Option<bool>,
        #[case] controller: Controller,
        #[case] words: &str,
    ) {
        let (found, about, description) = ProbeSnapshot { deployment: Some(0), replica_set, pod }.stopped_at();
        assert_eq!(found, controller);
        assert_eq!(about != TroubleTopic::Other, words.contains("readyReplicas"), "{about:?}");
        assert!(description.contains(words), "{description}");
    }

    /// A probe of a subject that has just been started, on a server that accepts every request.
    fn asking() -> Probe {
        let yes = tower::service_fn(async |_: hyper::Request<kube::client::Body>| {
            let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}});
            Ok::<_, std::convert::Infallible>(hyper::Response::new(object.to_string().into_bytes().into()))
        });
        let client = kube::Client::new::<_, kube::client::Body, _>(yes, "probe");
        let (cache, under_test) = (Arc::new(WatchCache::default()), ControllerSet::from_iter([Controller::Deployment]));
        cache.follow("probe");
        let pulse = Pulse::new(&client, &cache, "probe", &under_test);
        let (offered_at, response_times, namespace) = (OnceLock::new(), ResponseTimes::default(), "probe".to_owned());
        let claims = Claims::default();
        let created = AtomicU32::default();
        let beside = None;
        let probe =
            Probe { client, cache, under_test, claims, pulse, offered_at, response_times, beside, created, namespace };
        probe.offered_at.get_or_init(clock::instant);
        probe
    }

    /// Deliver an object of the probe's namespace.
    fn deliver(probe: &Probe, kind: WatchedKind, name: &str, owner: Option<&str>, status: &Value) {
        let owners = owner.map(|uid| json!([{"kind": "x", "name": "x", "uid": uid, "controller": true}]));
        let metadata = json!({"name": name, "namespace": "probe", "uid": name, "resourceVersion": "1",
            "ownerReferences": owners.unwrap_or_default()});
        let object = json!({"metadata": metadata, "spec": {"replicas": 1}, "status": status});
        probe.cache.deliver(kind, lockstep_recording::ChangeType::Modified, object);
    }

    /// A flip whose arrival is read so much later than its time was up.
    async fn flip_read_late(late: Duration) -> Reach {
        let probe = asking();
        let ready = |number: i64| json!({"readyReplicas": number});
        deliver(&probe, WatchedKind::Deployment, DEPLOYMENT, None, &ready(0));
        for (set, pod, owner) in [("set", "pod", Some(DEPLOYMENT)), ("environment", "beat", None)] {
            deliver(&probe, WatchedKind::ReplicaSet, set, owner, &ready(0));
            deliver(&probe, WatchedKind::Pod, pod, Some(set), &json!({"phase": "Running"}));
        }
        let budget = Duration::from_secs(20);
        let arrival = async {
            clock::pause(budget + late).await;
            deliver(&probe, WatchedKind::ReplicaSet, "set", Some(DEPLOYMENT), &ready(1));
            deliver(&probe, WatchedKind::Deployment, DEPLOYMENT, None, &ready(1));
            deliver(&probe, WatchedKind::ReplicaSet, "environment", None, &ready(1));
        };
        futures::join!(probe.flip(budget, &|| false), arrival).0
    }

    #[tokio::test(start_paused = true)]
    async fn flip_that_is_read_before_the_answer_of_the_environment_has_arrived() {
        assert_eq!(flip_read_late(Duration::from_millis(10)).await, Reach::Subject);
        assert_eq!(flip_read_late(Duration::from_secs(6)).await, Reach::Nowhere);
    }

    async fn waited(probe: &Probe, name: &str) -> (Option<bool>, Duration) {
        let (since, budget) = (clock::instant(), Duration::from_secs(20));
        let missing = probe.missing_event(name, budget, &|| false).await.unwrap();
        (missing.map(|missing| missing.silent), since.elapsed())
    }

    fn publish(probe: &Probe, name: &str) {
        let event = json!({"metadata": {"name": name, "namespace": "probe", "resourceVersion": "1"},
            "involvedObject": {"kind": "Deployment", "name": name}});
        probe.cache.deliver(WatchedKind::Event, lockstep_recording::ChangeType::Added, event);
    }

    #[tokio::test(start_paused = true)]
    async fn waits_only_once_for_a_controller_without_events() {
        let probe = asking();
        clock::pause(Duration::from_secs(15)).await;
        let (silent, took) = waited(&probe, "event-0").await;
        assert!(silent == Some(true) && took >= Duration::from_secs(5), "{silent:?} {took:?}");
        assert!(took < Duration::from_secs(6), "the probe asked 15 s before: {took:?}");
        assert_eq!(waited(&probe, "event-1").await, (Some(true), Duration::ZERO));
        // It publishes them late, so it is waited for from now on.
        publish(&probe, "probe");
        let (silent, took) = waited(&probe, "event-2").await;
        assert!(silent == Some(false) && took >= Duration::from_secs(20), "{silent:?} {took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn event_may_come_behind_others_that_arrive_until_the_end() {
        for (seconds, may_come) in [(2, true), (12, false)] {
            let probe = asking();
            publish(&probe, "probe");
            let late = async {
                for n in 0..20 / seconds {
                    publish(&probe, &format!("other-{n}"));
                    clock::pause(Duration::from_secs(seconds)).await;
                }
            };
            let budget = Duration::from_secs(20);
            let (missing, ()) = futures::join!(probe.missing_event("event-0", budget, &|| false), late);
            assert_eq!(missing.unwrap().map(|missing| missing.may_come), Some(may_come), "{seconds}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_ends_the_wait() {
        let probe = asking();
        publish(&probe, "event-0");
        assert_eq!(waited(&probe, "event-0").await.0, None);
    }
}
