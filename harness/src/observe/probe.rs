//! The probe: a logical clock that stretches with load.
//!
//! In a namespace of the test environment's own stands a Deployment. A flip makes its pod ready or
//! unready and waits until that has travelled pod → ReplicaSet status → Deployment status: two
//! legs, the first a ReplicaSet controller's, the second a Deployment controller's. Which of them
//! is the subject's, and which the test environment's, depends on what the subject brings. Watches
//! are ordered per kind, so whatever the subject was sent before the flip it has been sent by then.
//! Two such rounds in silence proved enough in every one of some four hundred measured runs; one
//! was not.
//!
//! A subject that reports no ready pods is asked for sizes instead: the Deployment's replicas
//! change, and so does the size of its ReplicaSet, which the subject restores.
//!
//! Beside it beats the test environment's pulse, which no subject has a part in: a flip that does
//! not travel while the test environment answers is whoever's leg it stopped at.
//!
//! Before a subject runs, the same Deployment, and a ReplicaSet without an owner, are the proof
//! that nobody else has the controllers that the subject brings.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::namespace::make_namespace;
use super::pace::Pace;
use super::pulse::{Pulse, READY, api, create, pod_of, set_ready, template};
use super::{Kind, Object, ObserveError, World};
use crate::clock::{self, Instant};
use crate::cluster::installation;
use crate::controllers::{Controller, Controllers};
use crate::recording::{Blame, Trouble};
use crate::workload::Claims;

const REPLICAS: &str = "/spec/replicas";
const DEPLOYMENT: &str = "probe";
/// The ReplicaSet that must stay without pods while no subject runs.
const BARE: &str = "bare";

/// See the module.
pub struct Probe {
    client: kube::Client,
    world: Arc<World>,
    under_test: Controllers,
    claims: Claims,
    pulse: Pulse,
    /// Since when a subject has had the probe's Deployment before it, and with it a reason for its
    /// first Event.
    asked: OnceLock<Instant>,
    pace: Pace,
    /// The namespace that the probe lives in.
    pub namespace: String,
}

/// How far a flip got before its time was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The test environment does not answer.
    Nowhere,
    /// The test environment answers, and the flip did not arrive.
    Environment,
    /// Through both legs.
    Subject,
}

/// An Event that did not come.
#[derive(Debug, Clone, Copy)]
struct Missing {
    controller: Controller,
    what: &'static str,
    /// Whether its controller has never published any.
    silent: bool,
}

/// What is looked at to tell which half a flip came through.
#[derive(Debug)]
struct Sight {
    /// What the Deployment's status says of ready pods.
    deployment: Option<i64>,
    /// The same of its ReplicaSet, and how many pods that wants.
    replica_set: Option<(i64, i64)>,
    /// Whether its pod is ready.
    pod: Option<bool>,
}

impl Probe {
    /// Make the probe and prove the test environment: its half answers, and while no subject runs
    /// the Deployment stays without ReplicaSets, or the ReplicaSet without pods, for as long as
    /// there is reason to doubt that.
    ///
    /// # Errors
    /// When the test environment does not answer within the budget, or somebody's controller is on
    /// that the subject brings.
    pub async fn prove(
        client: &kube::Client,
        world: &Arc<World>,
        namespace: &str,
        (under_test, claims): (&Controllers, Claims),
        (budget, doubt): (Duration, Duration),
    ) -> Result<Self, ObserveError> {
        world.follow(namespace);
        let pulse = Pulse::new(client, world, namespace, under_test);
        let (client, world, namespace) = (client.clone(), Arc::clone(world), namespace.to_owned());
        let (under_test, asked, pace) = (under_test.clone(), OnceLock::new(), Pace::default());
        let probe = Self { client, world, under_test, claims, pulse, asked, pace, namespace };
        let made = make_namespace(&probe.client, &probe.namespace, Some(installation())).await;
        made.map_err(|e| ObserveError::Probe(Box::new(e)))?;
        probe.create(Kind::Deployment, DEPLOYMENT).await?;
        if probe.under_test.has(Controller::ReplicaSet) {
            probe.create(Kind::ReplicaSet, BARE).await?;
        }
        probe.pulse.start().await?;
        let since = clock::instant();
        for _ in 0..2 {
            if !probe.pulse.beat(budget).await {
                return Err(ObserveError::Proof(format!(
                    "the test environment's {} did not answer within {budget:?}: is a kube-controller-manager running on this cluster?",
                    probe.pulse.whose()
                )));
            }
        }
        // A stock controller that has just been started needs a moment to find its feet.
        probe.world.until(doubt.saturating_sub(since.elapsed()), || probe.somebody_elses().is_some()).await;
        if let Some(why) = probe.world.gap() {
            return Err(ObserveError::Proof(why));
        }
        match probe.somebody_elses() {
            Some((controller, what)) => Err(ObserveError::Proof(format!(
                "a {} is already on: it {what} before any subject ran; start kube-controller-manager with \
                 --controllers=*,-{controller}",
                controller.title(),
            ))),
            None => Ok(probe),
        }
    }

    /// What a controller that only the subject may bring has done, if there is one.
    fn somebody_elses(&self) -> Option<(Controller, String)> {
        if let (true, Some(rs)) = (self.under_test.has(Controller::Deployment), self.replica_set()) {
            return Some((Controller::Deployment, format!("made ReplicaSet {} for the probe", rs.name)));
        }
        let bare = self.world.get(Kind::ReplicaSet, &self.namespace, BARE)?;
        let pod = pod_of(&self.world, &self.namespace, bare.text("/metadata/uid"));
        pod.map(|pod| (Controller::ReplicaSet, format!("made pod {} for the probe", pod.name)))
    }

    /// Whether the subject has taken the probe's Deployment up.
    pub fn is_taken_up(&self) -> bool {
        let is_counted = |deployment: Object| !self.claims.replicas || deployment.int("/status/replicas") == 1;
        self.pod().is_some() && self.deployment().is_some_and(is_counted)
    }

    /// Wait until the subject has taken the probe's Deployment up; false if it did not within the
    /// budget.
    pub async fn taken_up(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> bool {
        self.asked.get_or_init(clock::instant);
        self.world.until(budget, || exited() || self.is_taken_up()).await && !exited()
    }

    /// Flip the pod's readiness and see how far that gets; no further than the test environment
    /// once the subject has ended.
    pub async fn flip(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> Reach {
        if !self.claims.ready {
            return self.resize(budget, exited).await;
        }
        self.world.until(budget, || exited() || self.pod().is_some() && self.deployment().is_some()).await;
        let (Some(pod), Some(deployment)) = (self.pod(), self.deployment()) else {
            return self.reach_of_environment(Duration::from_secs(5)).await;
        };
        let since = clock::instant();
        // Away from what the far end says now: only then does an arrival prove a journey.
        let ready = deployment.int(READY) == 0;
        if set_ready(&self.client, &self.namespace, &pod.name, ready).await.is_err() {
            return self.reach_of_environment(Duration::from_secs(5)).await;
        }
        let wanted = i64::from(ready);
        let travelled = |object: Option<Object>| object.is_some_and(|o| o.int(READY) == wanted);
        let arrived = || travelled(self.replica_set()) && travelled(self.deployment());
        if self.world.until(budget, || exited() || arrived()).await && arrived() {
            self.pace.took(since.elapsed());
            Reach::Subject
        } else {
            self.reach_of_environment(Duration::from_secs(5)).await
        }
    }

    /// The same of a subject that reports no ready pods: it follows the Deployment's replicas, and
    /// restores the size of the ReplicaSet. So it has received what it was sent before, of
    /// Deployments and of ReplicaSets.
    async fn resize(&self, budget: Duration, exited: &(dyn Fn() -> bool + Sync)) -> Reach {
        self.world.until(budget, || exited() || self.deployment().is_some() && self.replica_set().is_some()).await;
        let (Some(deployment), Some(set)) = (self.deployment(), self.replica_set()) else {
            return self.reach_of_environment(Duration::from_secs(5)).await;
        };
        let since = clock::instant();
        // Away from what the ReplicaSet wants now: only then does an arrival prove a journey.
        let wanted = if set.int(REPLICAS) == 1 { 2 } else { 1 };
        let size = |replicas: i64| Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let has_size = || self.replica_set().is_some_and(|set| set.int(REPLICAS) == wanted);
        let write = async |kind: Kind, name: &str, replicas: i64| {
            let api = api(&self.client, &self.namespace, kind);
            let answer = api.patch(name, &PatchParams::default(), &size(replicas)).await.ok()?;
            answer.metadata.resource_version?.parse::<u64>().ok()
        };
        let travelled = async || {
            write(Kind::Deployment, &deployment.name, wanted).await?;
            let left = || budget.saturating_sub(since.elapsed());
            self.world.until(left(), || exited() || has_size()).await;
            if !has_size() {
                return None;
            }
            let version = write(Kind::ReplicaSet, &set.name, wanted + 1).await?;
            let restored = || self.world.has_seen(Kind::ReplicaSet, version) && has_size();
            self.world.until(left(), || exited() || restored()).await;
            restored().then_some(())
        };
        if travelled().await.is_some() {
            self.pace.took(since.elapsed());
            Reach::Subject
        } else {
            self.reach_of_environment(Duration::from_secs(5)).await
        }
    }

    /// How long a silence fits the subject, by how fast it has answered so far.
    pub(super) fn silence(&self) -> Duration {
        self.pace.silence()
    }

    /// What is wrong about the probe when a flip did not travel although the test environment
    /// answers, and whose leg that is.
    pub fn discrepancy(&self) -> Trouble {
        if !self.claims.ready
            && let (Some(deployment), Some(set)) = (self.deployment(), self.replica_set())
        {
            let (wanted, found) = (deployment.int(REPLICAS), set.int(REPLICAS));
            // A description says nothing of who restores the size of a ReplicaSet.
            let (blame, what) = match found == wanted + 1 {
                true => (
                    Blame::Environment,
                    "is not restored, and without status.readyReplicas nothing else shows that the subject has settled",
                ),
                false => (self.whose(Controller::Deployment), "does not follow"),
            };
            let why = format!(
                "deployment/probe, in a namespace of its own, wants {wanted} replicas, and its ReplicaSet's {found} {what}"
            );
            return Trouble::new(blame, why);
        }
        let sight = Sight {
            deployment: self.deployment().map(|it| it.int(READY)),
            replica_set: self.replica_set().map(|it| (it.int(READY), it.int("/spec/replicas"))),
            pod: self.pod().map(|pod| pod.ready()),
        };
        let (controller, what) = sight.stopped_at();
        let why = format!("deployment/probe, in a namespace of its own, {what}");
        Trouble::new(self.whose(controller), why)
    }

    /// Whether the test environment's controllers alone answers; for telling whose fault a silence
    /// is.
    pub async fn reach_of_environment(&self, budget: Duration) -> Reach {
        if self.pulse.beat(budget).await { Reach::Environment } else { Reach::Nowhere }
    }

    /// What to say of a test environment that does not answer.
    pub fn dead_environment(&self) -> String {
        format!("the test environment's {} no longer answers", self.pulse.whose())
    }

    /// Make an event of the probe's own be published by each controller, and wait for them: events
    /// are written in order, so all earlier ones are there then. A new Deployment each time,
    /// because clients throttle events per object. What is wrong, if they do not come within the
    /// budget.
    ///
    /// The probe itself is a reason for a first Event. A controller that has published none since
    /// it was started, for as long as the budget, is taken for one that never does, and is not
    /// waited for again until it publishes one.
    pub async fn await_event(
        &self,
        number: u32,
        budget: Duration,
        exited: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Trouble> {
        let environment = |why: String| Trouble::new(Blame::Environment, why);
        let missing = self.missing_event(&format!("event-{number}"), budget, exited).await;
        let Some(Missing { controller, what, silent }) = missing.map_err(|error| environment(error.to_string()))?
        else {
            return Ok(());
        };
        if self.reach_of_environment(Duration::from_secs(5)).await == Reach::Nowhere {
            return Err(environment(self.dead_environment()));
        }
        let why = match silent {
            true => format!("published no Event {what}, nor any other in {budget:?} since it was started"),
            false => format!("published no Event {what} within {budget:?}"),
        };
        Err(match self.whose(controller) {
            Blame::Subject => Trouble::new(Blame::Subject, why),
            Blame::Environment => environment(format!("the test environment's {} {why}", controller.title())),
        })
    }

    /// Make a Deployment of this name and wait for the Events about it; the one that did not come.
    async fn missing_event(
        &self,
        name: &str,
        budget: Duration,
        exited: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Missing>, ObserveError> {
        let asked = *self.asked.get_or_init(clock::instant);
        let prefix = format!("{name}-");
        let missing = || {
            let events = self.world.list(Kind::Event, &self.namespace);
            let of = |controller: Controller, what, is: &dyn Fn(&str) -> bool| {
                let kind = if controller == Controller::Deployment { Kind::Deployment } else { Kind::ReplicaSet };
                let mut named = about(&events, kind).peekable();
                let silent = named.peek().is_none();
                (!named.any(is)).then_some(Missing { controller, what, silent })
            };
            let deployment = of(Controller::Deployment, "about scaling a new Deployment up", &|found| found == name);
            let sets = || {
                let of_set = &|found: &str| found.starts_with(&prefix);
                of(Controller::ReplicaSet, "about making a new ReplicaSet's pod", of_set)
            };
            deployment.or_else(|| self.under_test.has(Controller::ReplicaSet).then(sets).flatten())
        };
        if missing().is_some_and(|missing| missing.silent && asked.elapsed() >= budget) {
            return Ok(missing());
        }
        self.create(Kind::Deployment, name).await?;
        let since = clock::instant();
        let over = || match missing() {
            Some(missing) if missing.silent => asked.elapsed() >= budget,
            Some(_) => since.elapsed() >= budget,
            None => true,
        };
        self.world.until(budget, || exited() || over()).await;
        api(&self.client, &self.namespace, Kind::Deployment).delete(name, &DeleteParams::background()).await.ok();
        Ok(missing())
    }

    fn whose(&self, controller: Controller) -> Blame {
        if self.under_test.has(controller) { Blame::Subject } else { Blame::Environment }
    }

    fn deployment(&self) -> Option<Object> {
        self.world.get(Kind::Deployment, &self.namespace, DEPLOYMENT)
    }

    fn replica_set(&self) -> Option<Object> {
        let uid = self.deployment()?.text("/metadata/uid").to_owned();
        self.world.list(Kind::ReplicaSet, &self.namespace).into_iter().find(|rs| rs.owner() == Some(&uid))
    }

    fn pod(&self) -> Option<Object> {
        pod_of(&self.world, &self.namespace, self.replica_set()?.text("/metadata/uid"))
    }

    /// An object with one pod, of a name of its own.
    async fn create(&self, kind: Kind, name: &str) -> Result<(), ObserveError> {
        let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template(name)});
        let object: Value =
            json!({"apiVersion": "apps/v1", "kind": kind.to_string(), "metadata": {"name": name}, "spec": spec});
        create(&self.client, &self.namespace, kind, object).await.map(drop)
    }
}

/// The names of a kind's objects that Events are about.
fn about(events: &[Object], kind: Kind) -> impl Iterator<Item = &str> {
    let of = move |event: &&Object| event.text("/involvedObject/kind") == kind.to_string();
    events.iter().filter(of).map(|event| event.text("/involvedObject/name"))
}

impl Sight {
    /// The controller that did not do its part, the earliest on the way, and what is wrong.
    fn stopped_at(&self) -> (Controller, String) {
        let Some((counted, wanted)) = self.replica_set else {
            return (Controller::Deployment, "has no ReplicaSet".to_owned());
        };
        match (self.pod, self.deployment) {
            (None, _) if wanted == 0 => (Controller::Deployment, "has a ReplicaSet that wants no pod".to_owned()),
            (None, _) => (Controller::ReplicaSet, "has a ReplicaSet without a pod".to_owned()),
            (Some(ready), _) if counted != i64::from(ready) => {
                let right = i64::from(ready);
                let what = format!("has a ReplicaSet with status.readyReplicas {counted}, and {right} is right");
                (Controller::ReplicaSet, what)
            }
            (Some(_), found) => {
                let found = found.unwrap_or_default();
                (Controller::Deployment, format!("has status.readyReplicas {found}, and {counted} is right"))
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
    fn a_flip_stops_at_the_first_that_did_not_pass_it_on(
        #[case] replica_set: Option<(i64, i64)>,
        #[case] pod: Option<bool>,
        #[case] controller: Controller,
        #[case] words: &str,
    ) {
        let (found, what) = Sight { deployment: Some(0), replica_set, pod }.stopped_at();
        assert_eq!(found, controller);
        assert!(what.contains(words), "{what}");
    }

    /// A probe of a subject that has just been started, on a server that says yes to everything.
    fn asking() -> Probe {
        let yes = tower::service_fn(async |_: hyper::Request<kube::client::Body>| {
            let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}});
            Ok::<_, std::convert::Infallible>(hyper::Response::new(object.to_string().into_bytes().into()))
        });
        let client = kube::Client::new::<_, kube::client::Body, _>(yes, "probe");
        let (world, under_test) = (Arc::new(World::default()), Controllers::from_iter([Controller::Deployment]));
        world.follow("probe");
        let pulse = Pulse::new(&client, &world, "probe", &under_test);
        let (asked, pace, namespace) = (OnceLock::new(), Pace::default(), "probe".to_owned());
        let claims = Claims::default();
        let probe = Probe { client, world, under_test, claims, pulse, asked, pace, namespace };
        probe.asked.get_or_init(clock::instant);
        probe
    }

    async fn waited(probe: &Probe, name: &str) -> (Option<bool>, Duration) {
        let (since, budget) = (clock::instant(), Duration::from_secs(20));
        let missing = probe.missing_event(name, budget, &|| false).await.unwrap();
        (missing.map(|missing| missing.silent), since.elapsed())
    }

    fn publish(probe: &Probe, name: &str) {
        let event = json!({"metadata": {"name": name, "namespace": "probe", "resourceVersion": "1"},
            "involvedObject": {"kind": "Deployment", "name": name}});
        probe.world.deliver(Kind::Event, crate::recording::Change::Added, event);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_publishes_no_events_is_waited_for_once() {
        let probe = asking();
        clock::pause(Duration::from_secs(15)).await;
        let (silent, took) = waited(&probe, "event-0").await;
        assert!(silent == Some(true) && took >= Duration::from_secs(5), "{silent:?} {took:?}");
        assert!(took < Duration::from_secs(6), "the probe asked 15 s before: {took:?}");
        assert_eq!(waited(&probe, "event-1").await, (Some(true), Duration::ZERO));
        // It does publish them, if late: from now on it is waited for.
        publish(&probe, "probe");
        let (silent, took) = waited(&probe, "event-2").await;
        assert!(silent == Some(false) && took >= Duration::from_secs(20), "{silent:?} {took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_ends_the_wait_for_it() {
        let probe = asking();
        publish(&probe, "event-0");
        assert_eq!(waited(&probe, "event-0").await.0, None);
    }
}
