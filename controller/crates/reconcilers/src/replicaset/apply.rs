//! Applies a plan: claims, then pods, then the status; and interprets each refusal.
//!
//! Upstream: the requests of `syncReplicaSet`. Expectations are set before the first request of
//! their kind, so that neither an answer nor a watch event can arrive earlier.

use std::collections::BTreeSet;
use std::time::Duration;

use controller_client::api::{ApiServer, NamespacedName, Recorder, Resource, WriteResponse, WriteResponseMeta};
use controller_client::{Clock, clock};
use jiff::Timestamp;
use rollout_model::{Event, EventKind, Meta, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, names, null_as_default};
use serde::Deserialize;
use serde_json::Value;

use super::error::ReplicaSetSyncError;
use super::slow_start::{all_at_once, slow_start};
use super::tracker::ReplicaSetTracker;
use crate::claims::Claimant;
use crate::decisions::rollouts::replicaset::{
    ObservedReplicaSet, PodAdjustment, ReplicaSetPlan, ReplicaSetReport, availability, plan, report,
};
use crate::decisions::rollouts::{OwnershipChange, RuleSettings};

/// The clients, settings and records that applying a plan needs.
#[derive(Clone, Copy)]
pub(crate) struct ReplicaSetContext<'a> {
    pub(crate) api: &'a ApiServer,
    pub(crate) recorder: &'a Recorder,
    pub(crate) tracker: &'a ReplicaSetTracker,
    pub(crate) clock: Clock,
    pub(crate) settings: &'a RuleSettings,
}

/// Applies a plan and writes the status. Returns when to sync again even if no object changes.
///
/// # Errors
/// The first failure, after everything that does not depend on the failed request: if pods could
/// not be created or deleted, the status that reports it is still written.
pub(crate) async fn apply(
    context: ReplicaSetContext<'_>,
    mut observed: ObservedReplicaSet,
    mut plan_to_apply: ReplicaSetPlan,
) -> Result<Option<Duration>, ReplicaSetSyncError> {
    let rs = observed.replica_set.clone();
    let executor =
        ReplicaSetExecutor { context, meta: &rs.meta, key: NamespacedName::new(&rs.meta.namespace, &rs.meta.name) };
    let lost = executor.apply_claims(&plan_to_apply.claims).await?;
    if !lost.is_empty() {
        observed.pods.retain(|counted| !lost.contains(&counted.pod.name));
        plan_to_apply = plan(&observed, executor.now())?;
    }
    // Without `..`, so that a new field does not compile until it is handled.
    let ReplicaSetPlan { claims: _, active, adjustment } = plan_to_apply;
    let pod_result = executor.apply_adjustment(adjustment).await;
    let failure = pod_result.as_ref().err().map(ToString::to_string);
    let status_time = executor.now();
    let answer = executor
        .write_status(&observed, report(&observed, &active, failure.as_deref(), status_time, context.settings))
        .await?;
    executor.record_write(Resource::ReplicaSets, &answer.metadata.resource_version);
    pod_result?;
    Ok(availability::requeue_after(&active, answer.spec.min_ready_seconds, &answer.status, status_time, executor.now()))
}

struct ReplicaSetExecutor<'a> {
    context: ReplicaSetContext<'a>,
    meta: &'a Meta,
    key: NamespacedName,
}

impl ReplicaSetExecutor<'_> {
    fn now(&self) -> Timestamp {
        self.context.clock.now()
    }

    fn record_write(&self, resource: Resource, version: &str) {
        self.context.tracker.writes().record_write(&self.key, &self.meta.uid, resource, version);
    }

    fn record_event(&self, kind: EventKind, reason: &'static str, message: String) {
        self.context.recorder.record(self.meta, &Event { kind, reason, message });
    }

    /// Returns the names of pods that were deleted before they were adopted.
    async fn apply_claims(&self, claims: &[OwnershipChange]) -> Result<BTreeSet<String>, ReplicaSetSyncError> {
        let record_write = |claim: &OwnershipChange, version: &str| {
            // Recorded for the owner, as upstream does; a released pod has no owner.
            if matches!(claim, OwnershipChange::Adopt { .. }) {
                self.record_write(Resource::Pods, version);
            }
        };
        let claimant = Claimant {
            api: self.context.api,
            meta: self.meta,
            resource: Resource::ReplicaSets,
            kind: "ReplicaSet",
            kind_text: "replica set",
            claimed: Resource::Pods,
            record_write: &record_write,
        };
        Ok(claimant.apply(claims).await?)
    }

    async fn apply_adjustment(&self, adjustment: PodAdjustment) -> Result<(), ReplicaSetSyncError> {
        match adjustment {
            PodAdjustment::Nothing => Ok(()),
            PodAdjustment::Impossible { why } => Err(ReplicaSetSyncError::Pods(why.to_owned())),
            PodAdjustment::Create { count, pod } => self.create_pods(count, &pod).await,
            PodAdjustment::Delete { names } => self.delete_pods(&names).await,
        }
    }

    async fn create_pods(&self, count: usize, pod: &Value) -> Result<(), ReplicaSetSyncError> {
        let tracker = self.context.tracker;
        tracker.expectations().expect_creations(&self.key, &self.meta.uid, count, clock::instant());
        let (successes, failure) = slow_start(count, || self.create_pod(pod)).await;
        // No watch event follows for refused requests and for requests that were not sent. The next
        // sync sends them again.
        for _ in successes..count {
            tracker.expectations().creation_observed(&self.key);
        }
        failure.map_or(Ok(()), |message| Err(ReplicaSetSyncError::Pods(message)))
    }

    async fn create_pod(&self, pod: &Value) -> Result<(), String> {
        match self.context.api.create_as(Resource::Pods, &self.meta.namespace, pod).await {
            Ok(WriteResponse { metadata: WriteResponseMeta { name, resource_version } }) => {
                self.record_write(Resource::Pods, &resource_version);
                self.record_event(EventKind::Normal, names::event::CREATED_POD, format!("Created pod: {name}"));
                Ok(())
            }
            // Every creation fails until the namespace is deleted. Reporting the failure would only
            // cause retries.
            Err(error) if error.is_namespace_terminating() => Ok(()),
            Err(error) => {
                let message = error.message();
                let event = format!("Error creating: {message}");
                self.record_event(EventKind::Warning, names::reason::FAILED_CREATE_POD, event);
                Err(message)
            }
        }
    }

    /// Deletes all pods, even if some requests fail, and returns the first error.
    async fn delete_pods(&self, names: &[String]) -> Result<(), ReplicaSetSyncError> {
        let pod = |name: &String| NamespacedName::new(&self.meta.namespace, name);
        let (uid, pods) = (&self.meta.uid, names.iter().map(pod));
        self.context.tracker.expectations().expect_deletions(&self.key, uid, pods, clock::instant());
        let results = all_at_once(names.iter().map(|name| self.delete_pod(name)).collect()).await;
        results.into_iter().find_map(Result::err).map_or(Ok(()), |message| Err(ReplicaSetSyncError::Pods(message)))
    }

    async fn delete_pod(&self, name: &str) -> Result<(), String> {
        let namespace = &self.meta.namespace;
        let Err(error) = self.context.api.delete(Resource::Pods, namespace, name).await else {
            self.record_event(EventKind::Normal, names::event::DELETED_POD, format!("Deleted pod: {name}"));
            return Ok(());
        };
        // No watch event will follow: the pod was deleted before, or it stays.
        self.context.tracker.expectations().deletion_observed(&self.key, &NamespacedName::new(namespace, name));
        if error.is_not_found() {
            return Ok(());
        }
        let message = error.message();
        let event = format!("Error deleting: {message}");
        self.record_event(EventKind::Warning, names::reason::FAILED_DELETE_POD, event);
        Err(format!("unable to delete pods: {message}"))
    }

    /// Writes the status if it has changed. If the server refuses that for any reason, writes it
    /// once more on the fresh version; counts and generation stay those that were observed. Returns
    /// the ReplicaSet afterwards.
    async fn write_status(
        &self,
        observed: &ObservedReplicaSet,
        report: ReplicaSetReport,
    ) -> Result<ReplicaSetAnswer, ReplicaSetSyncError> {
        let ReplicaSetReport { status, is_changed } = report;
        let set = &*observed.replica_set;
        if !is_changed {
            return Ok(ReplicaSetAnswer::unchanged(set));
        }
        let (api, namespace, name) = (self.context.api, &self.meta.namespace, &self.meta.name);
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

/// The fields that are read of a ReplicaSet after its status was written.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReplicaSetAnswer {
    #[serde(deserialize_with = "null_as_default")]
    metadata: WriteResponseMeta,
    #[serde(deserialize_with = "null_as_default")]
    spec: ReplicaSetSpec,
    #[serde(deserialize_with = "null_as_default")]
    status: ReplicaSetStatus,
}

impl ReplicaSetAnswer {
    /// The fields of a ReplicaSet that was not written.
    fn unchanged(set: &ReplicaSet) -> Self {
        let ReplicaSet { meta: Meta { name, resource_version, .. }, spec, status, .. } = set;
        let metadata = WriteResponseMeta { name: name.clone(), resource_version: resource_version.clone() };
        Self { metadata, spec: spec.clone(), status: status.clone() }
    }
}
