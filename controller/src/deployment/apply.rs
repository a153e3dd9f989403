//! Carries a plan out: one request after the other, in its order, and no further than it should.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::create::{Taken, plan_after_conflict, plan_after_refusal, restate_creation};
use super::plan::{Action, Claim, NewReplicaSet, Observed, OnError, Plan, StatusChange, Step};
use super::{ApplyError, PlanError, body};
use crate::api::{ApiServer, Recorder, RequestError, Resource, Written};
use crate::model::{Deployment, Meta, ReplicaSet};
use crate::settings::Settings;

/// What carrying out needs besides the plan.
#[derive(Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub(crate) api: &'a ApiServer,
    pub(crate) recorder: &'a Recorder,
    pub(crate) settings: &'a Settings,
    /// What the cache holds now under the name of a ReplicaSet.
    pub(crate) cached: &'a (dyn Fn(&str, &str) -> Option<Arc<ReplicaSet>> + Sync),
    /// Takes note of an object that was written, by the resourceVersion that the server returned.
    pub(crate) wrote: &'a (dyn Fn(Resource, &str) + Sync),
}

/// Carries a plan out.
///
/// # Errors
/// The first failure that the plan does not forgive; everything before it has been done.
pub(crate) async fn apply(tools: Tools<'_>, observed: &Observed, plan: &Plan) -> Result<(), ApplyError> {
    // Without `..`: a new field does not compile until it is handled. The queue sees to `requeue`.
    let Plan { claims, steps, requeue: _, failure } = plan;
    let mut run =
        Run { tools, observed, meta: &observed.deployment.meta, answers: BTreeMap::new(), has_created: false };
    run.claims(claims).await?;
    run.steps(steps).await?;
    failure.clone().map_or(Ok(()), |error| Err(error.into()))
}

struct Run<'a> {
    tools: Tools<'a>,
    observed: &'a Observed,
    meta: &'a Meta,
    /// ReplicaSets as the server last returned them in this run.
    answers: BTreeMap<String, Value>,
    has_created: bool,
}

impl Run<'_> {
    /// All of them, whatever happens to each; then the first error.
    async fn claims(&self, claims: &[Claim]) -> Result<(), ApplyError> {
        if claims.iter().any(|claim| matches!(claim, Claim::Adopt { .. })) {
            self.confirm_alive().await?;
        }
        let mut result = Ok(());
        for claim in claims {
            let outcome = self.claim(claim).await;
            result = result.and(outcome);
        }
        result
    }

    async fn claim(&self, claim: &Claim) -> Result<(), ApplyError> {
        let (name, releasing) = match claim {
            Claim::Adopt { name, .. } => (name, false),
            Claim::Release { name, .. } => (name, true),
        };
        let patch = body::claim(self.meta, claim);
        match self.tools.api.patch(Resource::ReplicaSets, &self.meta.namespace, name, &patch).await {
            Ok(answer) => {
                self.wrote(Resource::ReplicaSets, &answer);
                Ok(())
            }
            // Gone, or no longer ours in the first place: nothing is left to let go.
            Err(error) if releasing && (error.is_not_found() || error.is_invalid()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A live look, so that nothing is adopted by a Deployment whose deletion the cache has not
    /// seen (issue 42639).
    async fn confirm_alive(&self) -> Result<(), ApplyError> {
        let fresh = self.tools.api.get(Resource::Deployments, &self.meta.namespace, &self.meta.name).await?;
        let uid = fresh.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
        let path = self.meta.path();
        if uid != self.meta.uid {
            return Err(ApplyError::NotAlive {
                reason: format!("deployment {path} has been made anew, with UID {uid}"),
            });
        }
        match fresh.pointer("/metadata/deletionTimestamp").and_then(Value::as_str) {
            Some(time) => {
                Err(ApplyError::NotAlive { reason: format!("deployment {path} is being deleted since {time}") })
            }
            None => Ok(()),
        }
    }

    async fn steps(&mut self, steps: &[Step]) -> Result<(), ApplyError> {
        let mut left_out = false;
        for Step { action, on_error } in steps {
            left_out &= *on_error == OnError::LeaveGroup;
            if left_out {
                continue;
            }
            match (self.step(action).await, on_error) {
                (Ok(()), _) => {}
                (Err(error), OnError::Fail) => return Err(error),
                (Err(error), forgiven) => {
                    tracing::debug!(deployment = %self.meta.path(), %error, "A step failed and is forgiven.");
                    left_out = *forgiven == OnError::LeaveGroup;
                }
            }
        }
        Ok(())
    }

    async fn step(&mut self, action: &Action) -> Result<(), ApplyError> {
        let (api, namespace) = (self.tools.api, self.meta.namespace.as_str());
        match action {
            Action::CreateReplicaSet(new) => self.create(new).await?,
            Action::UpdateReplicaSet(change) => {
                let body = body::replica_set(self.latest(&change.name), change);
                let answer = api.replace(Resource::ReplicaSets, namespace, &change.name, &body).await?;
                self.wrote(Resource::ReplicaSets, &answer);
                self.answers.insert(change.name.clone(), answer);
            }
            Action::DeleteReplicaSet { name } => match api.delete(Resource::ReplicaSets, namespace, name).await {
                Err(error) if !error.is_not_found() => return Err(error.into()),
                _ => {}
            },
            Action::UpdateDeployment(change) => {
                let body = body::deployment(self.observed.deployment.raw(), change);
                let answer = api.replace(Resource::Deployments, namespace, &self.meta.name, &body).await?;
                self.wrote(Resource::Deployments, &answer);
            }
            Action::UpdateStatus(change) if self.has_created => self.tell_of_creation(change).await?,
            Action::UpdateStatus(change) => self.write_status(body::status(&self.observed.deployment, change)).await?,
            Action::Event(event) => self.tools.recorder.record(self.meta, event),
        }
        Ok(())
    }

    async fn write_status(&self, body: Vec<u8>) -> Result<(), RequestError> {
        let Meta { namespace, name, .. } = self.meta;
        let answer: Written = self.tools.api.replace_status(Resource::Deployments, namespace, name, body).await?;
        (self.tools.wrote)(Resource::Deployments, &answer.metadata.resource_version);
        Ok(())
    }

    fn wrote(&self, resource: Resource, answer: &Value) {
        let version = answer.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        (self.tools.wrote)(resource, version.unwrap_or_default());
    }

    /// A ReplicaSet as this run last saw it.
    fn latest(&self, name: &str) -> Value {
        let observed = || self.observed.replica_sets.iter().find(|rs| rs.meta.name == name).map(|rs| rs.raw());
        self.answers.get(name).cloned().or_else(observed).unwrap_or_default()
    }

    async fn create(&mut self, new: &NewReplicaSet) -> Result<(), ApplyError> {
        let namespace = self.meta.namespace.as_str();
        let error = match self.tools.api.create(Resource::ReplicaSets, namespace, &new.object).await {
            Ok(answer) => {
                self.wrote(Resource::ReplicaSets, &answer);
                self.answers.insert(new.name.clone(), answer);
                self.has_created = true;
                return Ok(());
            }
            Err(error) => error,
        };
        let now = self.tools.settings.clock.now();
        let settings = self.tools.settings;
        if error.is_already_exists() {
            let existing = (self.tools.cached)(namespace, &new.name);
            if let Taken::Collision(plan) = plan_after_conflict(self.observed, existing.as_deref(), now, settings) {
                self.follow(&plan).await;
            }
            return Err(ApplyError::Collision { name: new.name.clone() });
        }
        if error.is_namespace_terminating() {
            return Err(ApplyError::NamespaceTerminating);
        }
        self.follow(&plan_after_refusal(self.observed, &new.name, &error.message(), now, settings)).await;
        Err(error.into())
    }

    /// Writes the status that tells of a new ReplicaSet; if the Deployment has changed, once more
    /// on what it is by now. The sync fails at the conflict all the same: what it would go on with
    /// is what the Deployment was before (case `during/scaled-after-creation`).
    ///
    /// Upstream leaves it at the conflict. Its next sync then finds the ReplicaSet as one that was
    /// always there, keeps the word of the rollout before, "complete", and so never again asks
    /// whether the deadline has passed. What upstream's own API calls make rare there is common
    /// here, where nothing lies between the last pod's end and this write.
    async fn tell_of_creation(&self, change: &StatusChange) -> Result<(), ApplyError> {
        let (api, meta) = (self.tools.api, self.meta);
        let conflict = match self.write_status(body::status(&self.observed.deployment, change)).await {
            Err(error) if error.is_conflict() => error,
            other => return Ok(other?),
        };
        let fresh = api.get(Resource::Deployments, &meta.namespace, &meta.name).await?;
        let fresh = Deployment::read(fresh).map_err(PlanError::from)?;
        if fresh.meta.uid != meta.uid {
            return Err(ApplyError::NotAlive { reason: format!("deployment {} has been made anew", meta.path()) });
        }
        if let Some(change) = restate_creation(&self.observed.deployment, &fresh, change) {
            self.write_status(body::status(&fresh, &change)).await?;
        }
        Err(conflict.into())
    }

    /// Carries out what follows from a failure. The sync fails anyway, so how that goes changes
    /// nothing.
    async fn follow(&mut self, plan: &Plan) {
        if let Err(error) = Box::pin(self.steps(&plan.steps)).await {
            tracing::debug!(deployment = %self.meta.path(), %error, "The consequence of a failure could not be written.");
        }
    }
}
