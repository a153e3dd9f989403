//! Carries a plan out: claims, then pods, then the status, and what each refusal means.
//!
//! Upstream: the requests of `syncReplicaSet`. Expectations are set before the first request of
//! their kind, so that no answer and no watch can be faster than they are.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::burst::{all_at_once, slow_start};
use super::decide::{plan, report};
use super::plan::{Claim, Observed, Plan, Report, Work};
use super::{ApplyError, Memory, availability, body};
use crate::api::{ApiServer, Key, Recorder, RequestError, Resource, Written, WrittenMeta};
use crate::clock;
use crate::model::{Event, EventKind, Meta, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, names, null_as_default};
use crate::settings::Settings;

/// What carrying out needs besides the plan.
#[derive(Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub(crate) api: &'a ApiServer,
    pub(crate) recorder: &'a Recorder,
    pub(crate) memory: &'a Memory,
    pub(crate) settings: &'a Settings,
}

/// Carries a plan out, and reports; returns when to look again even if nothing changes.
///
/// # Errors
/// The first failure, after everything that does not hang on what failed has been done; a status
/// that tells of pods that could not be made or deleted included.
pub(crate) async fn apply(
    tools: Tools<'_>,
    mut observed: Observed,
    mut decided: Plan,
) -> Result<Option<Duration>, ApplyError> {
    let rs = observed.replica_set.clone();
    let run = Run { tools, meta: &rs.meta, key: Key::new(&rs.meta.namespace, &rs.meta.name) };
    let lost = run.claims(&decided.claims).await?;
    if !lost.is_empty() {
        observed.pods.retain(|counted| !lost.contains(&counted.pod.name));
        decided = plan(&observed, run.now(), tools.settings)?;
    }
    // Without `..`: a new field does not compile until it is handled.
    let Plan { claims: _, active, work } = decided;
    let managed = run.manage(work).await;
    let failure = managed.as_ref().err().map(ToString::to_string);
    let told = run.now();
    let answer = run.tell(&observed, report(&observed, &active, failure.as_deref(), told, tools.settings)).await?;
    run.wrote(Resource::ReplicaSets, &answer.metadata.resource_version);
    managed?;
    Ok(availability::look_again(&active, answer.spec.min_ready_seconds, &answer.status, told, run.now()))
}

struct Run<'a> {
    tools: Tools<'a>,
    meta: &'a Meta,
    key: Key,
}

impl Run<'_> {
    fn now(&self) -> Timestamp {
        self.tools.settings.clock.now()
    }

    fn wrote(&self, resource: Resource, version: &str) {
        self.tools.memory.writes().wrote(&self.key, &self.meta.uid, resource, version);
    }

    fn tell_event(&self, kind: EventKind, reason: &'static str, message: String) {
        self.tools.recorder.record(self.meta, &Event { kind, reason, message });
    }

    /// All claims, whatever happens to each; then the first error, or the names of pods that were
    /// gone before they were adopted.
    async fn claims(&self, claims: &[Claim]) -> Result<BTreeSet<String>, ApplyError> {
        let (mut lost, mut result, mut alive) = (BTreeSet::new(), Ok(()), None);
        for claim in claims {
            let outcome = match claim {
                Claim::Adopt { name, .. } => {
                    if alive.is_none() {
                        alive = Some(self.confirm_alive().await);
                    }
                    match &alive {
                        Some(Err(reason)) => Err(ApplyError::NotAlive { reason: reason.clone() }),
                        _ => match self.patch(name, claim).await {
                            Err(error) if error.is_not_found() => {
                                lost.insert(name.clone());
                                Ok(())
                            }
                            other => other.map_err(ApplyError::from),
                        },
                    }
                }
                Claim::Release { name, .. } => match self.patch(name, claim).await {
                    // Gone, or no longer ours in the first place: nothing is left to let go.
                    Err(error) if error.is_not_found() || error.is_invalid() => Ok(()),
                    other => other.map_err(ApplyError::from),
                },
            };
            result = result.and(outcome);
        }
        result.map(|()| lost)
    }

    async fn patch(&self, name: &str, claim: &Claim) -> Result<(), RequestError> {
        let patch = body::claim(self.meta, claim);
        let pod: Written = self.tools.api.patch_as(Resource::Pods, &self.meta.namespace, name, &patch).await?;
        // Counted for its owner, as upstream does; one that was let go has none.
        if matches!(claim, Claim::Adopt { .. }) {
            self.wrote(Resource::Pods, &pod.metadata.resource_version);
        }
        Ok(())
    }

    /// A live look, so that nothing is adopted by a ReplicaSet whose deletion the cache has not
    /// seen (issue 42639).
    async fn confirm_alive(&self) -> Result<(), String> {
        let path = self.meta.path();
        let fresh = self.tools.api.get(Resource::ReplicaSets, &self.meta.namespace, &self.meta.name).await;
        let fresh = fresh.map_err(|error| error.message())?;
        let text = |pointer| fresh.pointer(pointer).and_then(Value::as_str);
        let uid = text("/metadata/uid").unwrap_or_default();
        if uid != self.meta.uid {
            return Err(format!("replica set {path} has been made anew, with UID {uid}"));
        }
        text("/metadata/deletionTimestamp")
            .map_or(Ok(()), |time| Err(format!("replica set {path} is being deleted since {time}")))
    }

    async fn manage(&self, work: Work) -> Result<(), ApplyError> {
        match work {
            Work::Rest => Ok(()),
            Work::Impossible { why } => Err(ApplyError::Pods(why.to_owned())),
            Work::Create { count, pod } => self.create(count, &pod).await,
            Work::Delete { names } => self.delete(&names).await,
        }
    }

    async fn create(&self, count: usize, pod: &Value) -> Result<(), ApplyError> {
        let memory = self.tools.memory;
        memory.expectations().expect_creations(&self.key, &self.meta.uid, count, clock::instant());
        let (successes, failure) = slow_start(count, || self.create_one(pod)).await;
        // Those that were refused and those that were never tried will not be seen; they are tried
        // anew.
        for _ in successes..count {
            memory.expectations().creation_observed(&self.key);
        }
        failure.map_or(Ok(()), |message| Err(ApplyError::Pods(message)))
    }

    async fn create_one(&self, pod: &Value) -> Result<(), String> {
        match self.tools.api.create_as(Resource::Pods, &self.meta.namespace, pod).await {
            Ok(Written { metadata: WrittenMeta { name, resource_version } }) => {
                self.wrote(Resource::Pods, &resource_version);
                self.tell_event(EventKind::Normal, names::event::CREATED_POD, format!("Created pod: {name}"));
                Ok(())
            }
            // Whatever is tried there fails until the namespace is gone; a failure would only be
            // tried again.
            Err(error) if error.is_namespace_terminating() => Ok(()),
            Err(error) => {
                let message = error.message();
                let event = format!("Error creating: {message}");
                self.tell_event(EventKind::Warning, names::reason::FAILED_CREATE_POD, event);
                Err(message)
            }
        }
    }

    /// All of them, whatever happens to each; then the first error.
    async fn delete(&self, names: &[String]) -> Result<(), ApplyError> {
        let pod = |name: &String| Key::new(&self.meta.namespace, name);
        let (uid, pods) = (&self.meta.uid, names.iter().map(pod));
        self.tools.memory.expectations().expect_deletions(&self.key, uid, pods, clock::instant());
        let results = all_at_once(names.iter().map(|name| self.delete_one(name)).collect()).await;
        results.into_iter().find_map(Result::err).map_or(Ok(()), |message| Err(ApplyError::Pods(message)))
    }

    async fn delete_one(&self, name: &str) -> Result<(), String> {
        let namespace = &self.meta.namespace;
        let Err(error) = self.tools.api.delete(Resource::Pods, namespace, name).await else {
            self.tell_event(EventKind::Normal, names::event::DELETED_POD, format!("Deleted pod: {name}"));
            return Ok(());
        };
        // No watch will show that it goes: it was gone already, or it stays.
        self.tools.memory.expectations().deletion_observed(&self.key, &Key::new(namespace, name));
        if error.is_not_found() {
            return Ok(());
        }
        let message = error.message();
        let event = format!("Error deleting: {message}");
        self.tell_event(EventKind::Warning, names::reason::FAILED_DELETE_POD, event);
        Err(format!("unable to delete pods: {message}"))
    }

    /// Writes the status if it is news, and once more on what the ReplicaSet is by now if that is
    /// refused for any reason; returns the ReplicaSet as it then is. The numbers and the generation
    /// stay those that were observed.
    async fn tell(&self, observed: &Observed, report: Report) -> Result<Reported, ApplyError> {
        let Report { status, is_new } = report;
        let set = &*observed.replica_set;
        if !is_new {
            return Ok(Reported::of(set));
        }
        let (api, namespace, name) = (self.tools.api, &self.meta.namespace, &self.meta.name);
        let put = async |set: &ReplicaSet| {
            api.replace_status(Resource::ReplicaSets, namespace, name, set.with_status(&status)).await
        };
        match put(set).await {
            Ok(answer) => Ok(answer),
            Err(error) => {
                tracing::debug!(replica_set = %self.key, error = %error.message(), "A status is written once more.");
                let fresh = api.get(Resource::ReplicaSets, namespace, name).await?;
                Ok(put(&ReplicaSet::read(fresh)?).await?)
            }
        }
    }
}

/// What is read of a ReplicaSet once its status is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Reported {
    #[serde(deserialize_with = "null_as_default")]
    metadata: WrittenMeta,
    #[serde(deserialize_with = "null_as_default")]
    spec: ReplicaSetSpec,
    #[serde(deserialize_with = "null_as_default")]
    status: ReplicaSetStatus,
}

impl Reported {
    /// Nothing was written.
    fn of(set: &ReplicaSet) -> Self {
        let ReplicaSet { meta: Meta { name, resource_version, .. }, spec, status, .. } = set;
        let metadata = WrittenMeta { name: name.clone(), resource_version: resource_version.clone() };
        Self { metadata, spec: spec.clone(), status: status.clone() }
    }
}
