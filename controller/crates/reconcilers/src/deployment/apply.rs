//! Applies a plan: sends its requests one after the other, and stops where a failure requires it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controller_client::Clock;
use controller_client::api::{ApiServer, Recorder, RequestError, Resource, WriteResponse};
use rollout_model::{Deployment, Meta, ReplicaSet};
use serde_json::Value;

use super::error::DeploymentSyncError;
use crate::claims::Claimant;
use crate::decisions::rollouts::deployment::{
    DeploymentAction, DeploymentPlan, FailurePolicy, NameConflict, NewReplicaSet, ObservedDeployment, PlanError,
    PlanStep, StatusChange, body, plan_after_conflict, plan_after_refusal, reapply_creation_status,
};
use crate::decisions::rollouts::{OwnershipChange, RuleSettings};

/// The clients and settings that applying a plan needs.
#[derive(Clone, Copy)]
pub(crate) struct DeploymentContext<'a> {
    pub(crate) api: &'a ApiServer,
    pub(crate) recorder: &'a Recorder,
    pub(crate) clock: Clock,
    pub(crate) settings: &'a RuleSettings,
    /// Returns the ReplicaSet of this namespace and name from the current cache.
    pub(crate) cached: &'a (dyn Fn(&str, &str) -> Option<Arc<ReplicaSet>> + Sync),
    /// Records a write by the resourceVersion that the server returned.
    pub(crate) record_write: &'a (dyn Fn(Resource, &str) + Sync),
}

/// Applies the claims of a plan. Returns the names of ReplicaSets that were deleted before they
/// were adopted, without which the plan must be made again.
///
/// # Errors
/// The first failure; the other claims have been applied all the same.
pub(crate) async fn apply_claims(
    context: DeploymentContext<'_>,
    deployment: &Meta,
    claims: &[OwnershipChange],
) -> Result<BTreeSet<String>, DeploymentSyncError> {
    let record_write = |_: &OwnershipChange, version: &str| (context.record_write)(Resource::ReplicaSets, version);
    let claimant = Claimant {
        api: context.api,
        meta: deployment,
        resource: Resource::Deployments,
        kind: "Deployment",
        kind_text: "deployment",
        claimed: Resource::ReplicaSets,
        record_write: &record_write,
    };
    Ok(claimant.apply(claims).await?)
}

/// Applies a plan whose claims have been applied.
///
/// # Errors
/// The first failure that the plan does not ignore. All steps before it have been applied.
pub(crate) async fn apply(
    context: DeploymentContext<'_>,
    observed: &ObservedDeployment,
    plan: &DeploymentPlan,
) -> Result<(), DeploymentSyncError> {
    // Without `..`, so that a new field does not compile until it is handled. The queue handles
    // `requeue`.
    let DeploymentPlan { claims: _, steps, requeue: _, failure } = plan;
    let mut executor = DeploymentExecutor {
        context,
        observed,
        meta: &observed.deployment.meta,
        answers: BTreeMap::new(),
        has_created: false,
    };
    executor.apply_steps(steps).await?;
    failure.clone().map_or(Ok(()), |error| Err(error.into()))
}

struct DeploymentExecutor<'a> {
    context: DeploymentContext<'a>,
    observed: &'a ObservedDeployment,
    meta: &'a Meta,
    /// The ReplicaSets that the server has returned to this plan's writes, latest versions.
    answers: BTreeMap<String, Value>,
    has_created: bool,
}

impl DeploymentExecutor<'_> {
    async fn apply_steps(&mut self, steps: &[PlanStep]) -> Result<(), DeploymentSyncError> {
        let mut is_skipping = false;
        for PlanStep { action, on_error } in steps {
            is_skipping &= *on_error == FailurePolicy::SkipGroup;
            if is_skipping {
                continue;
            }
            match (self.apply_step(action).await, on_error) {
                (Ok(()), _) => {}
                (Err(error), FailurePolicy::Fail) => return Err(error),
                (Err(error), forgiven) => {
                    tracing::debug!(deployment = %self.meta.path(), %error, "A step failed and is forgiven.");
                    is_skipping = *forgiven == FailurePolicy::SkipGroup;
                }
            }
        }
        Ok(())
    }

    async fn apply_step(&mut self, action: &DeploymentAction) -> Result<(), DeploymentSyncError> {
        let (api, namespace) = (self.context.api, self.meta.namespace.as_str());
        match action {
            DeploymentAction::CreateReplicaSet(new) => self.create_replica_set(new).await?,
            DeploymentAction::UpdateReplicaSet(change) => {
                let body = body::replica_set(self.latest_object(&change.name), change);
                let answer = api.replace(Resource::ReplicaSets, namespace, &change.name, &body).await?;
                self.record_write(Resource::ReplicaSets, &answer);
                self.answers.insert(change.name.clone(), answer);
            }
            DeploymentAction::DeleteReplicaSet { name } => {
                match api.delete(Resource::ReplicaSets, namespace, name).await {
                    Err(error) if !error.is_not_found() => return Err(error.into()),
                    _ => {}
                }
            }
            DeploymentAction::UpdateDeployment(change) => {
                let body = body::deployment(self.observed.deployment.raw(), change);
                let answer = api.replace(Resource::Deployments, namespace, &self.meta.name, &body).await?;
                self.record_write(Resource::Deployments, &answer);
            }
            DeploymentAction::UpdateStatus(change) if self.has_created => self.write_creation_status(change).await?,
            DeploymentAction::UpdateStatus(change) => {
                self.write_status(body::status(&self.observed.deployment, change)).await?;
            }
            DeploymentAction::Event(event) => self.context.recorder.record(self.meta, event),
        }
        Ok(())
    }

    async fn write_status(&self, body: Vec<u8>) -> Result<(), RequestError> {
        let Meta { namespace, name, .. } = self.meta;
        let answer: WriteResponse =
            self.context.api.replace_status(Resource::Deployments, namespace, name, body).await?;
        (self.context.record_write)(Resource::Deployments, &answer.metadata.resource_version);
        Ok(())
    }

    fn record_write(&self, resource: Resource, answer: &Value) {
        let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        (self.context.record_write)(resource, version.unwrap_or_default());
    }

    /// The latest known version of a ReplicaSet.
    fn latest_object(&self, name: &str) -> Value {
        let observed = || self.observed.replica_sets.iter().find(|rs| rs.meta.name == name).map(|rs| rs.raw());
        self.answers.get(name).cloned().or_else(observed).unwrap_or_default()
    }

    async fn create_replica_set(&mut self, new: &NewReplicaSet) -> Result<(), DeploymentSyncError> {
        let namespace = self.meta.namespace.as_str();
        let error = match self.context.api.create(Resource::ReplicaSets, namespace, &new.object).await {
            Ok(answer) => {
                self.record_write(Resource::ReplicaSets, &answer);
                self.answers.insert(new.name.clone(), answer);
                self.has_created = true;
                return Ok(());
            }
            Err(error) => error,
        };
        let now = self.context.clock.now();
        let settings = self.context.settings;
        if error.is_already_exists() {
            let existing = (self.context.cached)(namespace, &new.name);
            if let NameConflict::Collision(plan) =
                plan_after_conflict(self.observed, existing.as_deref(), now, settings)
            {
                self.apply_follow_up(&plan).await;
            }
            return Err(DeploymentSyncError::Collision { name: new.name.clone() });
        }
        if error.is_namespace_terminating() {
            return Err(DeploymentSyncError::NamespaceTerminating);
        }
        self.apply_follow_up(&plan_after_refusal(self.observed, &new.name, &error.message(), now, settings)).await;
        Err(error.into())
    }

    /// Writes the status after the creation of a ReplicaSet. If the Deployment has changed
    /// meanwhile, writes it again on the fresh version. The sync still fails with the conflict,
    /// because its remaining steps were planned for the old version (case
    /// `during/scaled-after-creation`).
    ///
    /// Upstream does not write it again. Its next sync then finds an existing ReplicaSet, keeps the
    /// previous rollout's condition "complete", and never checks the deadline again. In upstream
    /// this is rare because of the API calls in between. Here it would be common, because this
    /// write immediately follows the end of the last pod.
    async fn write_creation_status(&self, change: &StatusChange) -> Result<(), DeploymentSyncError> {
        let (api, meta) = (self.context.api, self.meta);
        let conflict = match self.write_status(body::status(&self.observed.deployment, change)).await {
            Err(error) if error.is_conflict() => error,
            other => return Ok(other?),
        };
        let fresh = api.get(Resource::Deployments, &meta.namespace, &meta.name).await?;
        let fresh = Deployment::read(fresh).map_err(PlanError::from)?;
        if fresh.meta.uid != meta.uid {
            return Err(DeploymentSyncError::NotAlive {
                reason: format!("deployment {} has been recreated", meta.path()),
            });
        }
        if let Some(change) = reapply_creation_status(&self.observed.deployment, &fresh, change) {
            self.write_status(body::status(&fresh, &change)).await?;
        }
        Err(conflict.into())
    }

    /// Applies the plan that follows from a failure. Its own errors are only logged, because the
    /// sync fails anyway.
    async fn apply_follow_up(&mut self, plan: &DeploymentPlan) {
        if let Err(error) = Box::pin(self.apply_steps(&plan.steps)).await {
            tracing::debug!(deployment = %self.meta.path(), %error, "The consequence of a failure could not be written.");
        }
    }
}
