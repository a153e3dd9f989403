//! Sync: the state of one sync, which its rules share.
//!
//! [`DeploymentSync`] has a working copy of the Deployment, which it changes as upstream changes
//! its copy in memory, and the plan so far. It knows which cached objects the plan has already
//! written, so that the plan ends where upstream's next write would get a conflict. The order of
//! the rules is in `decide.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use rollout_model::{Deployment, DeploymentStatus, ReplicaSet, names};

use super::plan::{
    DeploymentAction, DeploymentPlan, Event, EventKind, FailurePolicy, ObservedDeployment, PlanError, PlanStep,
    ReplicaSetChange, StatusChange,
};
use crate::RuleSettings;

/// Why a sync ends early.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SyncEnd {
    /// The next write would use a version that this sync has already replaced. The watch delivers
    /// the new version.
    OutOfDate,
    /// A rule failed.
    Failed(PlanError),
}

impl From<PlanError> for SyncEnd {
    fn from(error: PlanError) -> Self {
        Self::Failed(error)
    }
}

pub(super) type SyncStep<T> = Result<T, SyncEnd>;

pub(super) struct DeploymentSync<'a> {
    pub(super) observed: &'a ObservedDeployment,
    pub(super) now: Timestamp,
    pub(super) settings: &'a RuleSettings,
    /// The Deployment with the conditions and the revision that this sync has set.
    pub(super) deployment: Deployment,
    pub(super) plan: DeploymentPlan,
    is_deployment_written: bool,
    written_replica_sets: BTreeSet<String>,
    /// How a failure of the next action is handled.
    pub(super) on_error: FailurePolicy,
}

impl<'a> DeploymentSync<'a> {
    pub(super) fn new(observed: &'a ObservedDeployment, now: Timestamp, settings: &'a RuleSettings) -> Self {
        Self {
            observed,
            now,
            settings,
            deployment: Deployment::clone(&observed.deployment),
            plan: DeploymentPlan::default(),
            is_deployment_written: false,
            written_replica_sets: BTreeSet::new(),
            on_error: FailurePolicy::Fail,
        }
    }

    pub(super) fn into_plan(self) -> DeploymentPlan {
        self.plan
    }

    /// Runs `part` so that the failure of an action skips its remaining actions, and the sync goes
    /// on.
    pub(super) fn skip_group_on_error<T>(&mut self, part: impl FnOnce(&mut Self) -> SyncStep<T>) -> SyncStep<T> {
        self.on_error = FailurePolicy::SkipGroup;
        let result = part(self);
        self.on_error = FailurePolicy::Fail;
        result
    }

    pub(super) fn push(&mut self, action: DeploymentAction) {
        self.plan.steps.push(PlanStep { action, on_error: self.on_error });
    }

    pub(super) fn event(&mut self, kind: EventKind, reason: &'static str, message: String) {
        self.push(DeploymentAction::Event(Event { kind, reason, message }));
    }

    /// Writes the Deployment's status and its revision. A sync does so at most once: a second write
    /// would get a conflict.
    pub(super) fn write_status(&mut self, status: DeploymentStatus) -> SyncStep<()> {
        self.mark_deployment_written()?;
        let revision = self.deployment.meta.annotations.get(names::REVISION);
        let changed = revision != self.observed.deployment.meta.annotations.get(names::REVISION);
        let revision = revision.filter(|_| changed).cloned();
        self.deployment.status = status.clone();
        self.push(DeploymentAction::UpdateStatus(StatusChange { revision, status }));
        Ok(())
    }

    /// Marks the Deployment as written, or ends the sync if it was written before.
    pub(super) fn mark_deployment_written(&mut self) -> SyncStep<()> {
        if self.is_deployment_written {
            return Err(SyncEnd::OutOfDate);
        }
        self.is_deployment_written = true;
        Ok(())
    }

    /// Marks the cached version of a ReplicaSet as out of date.
    pub(super) fn mark_out_of_date(&mut self, name: &str) {
        self.written_replica_sets.insert(name.to_owned());
    }

    /// Changes a ReplicaSet and returns it as the server will return it. A cached version can be
    /// written only once.
    pub(super) fn update_replica_set(
        &mut self,
        rs: &Arc<ReplicaSet>,
        mut change: ReplicaSetChange,
    ) -> SyncStep<Arc<ReplicaSet>> {
        let from_cache = !rs.meta.resource_version.is_empty();
        if from_cache && !self.written_replica_sets.insert(rs.meta.name.clone()) {
            return Err(SyncEnd::OutOfDate);
        }
        change.name.clone_from(&rs.meta.name);
        let mut answer = ReplicaSet::clone(rs);
        answer.meta.resource_version.clear();
        Arc::make_mut(&mut answer.meta.annotations).extend(change.annotations.clone());
        if let Some(replicas) = change.replicas {
            answer.spec.replicas = replicas;
        }
        if let Some(seconds) = change.min_ready_seconds {
            answer.spec.min_ready_seconds = seconds;
        }
        self.push(DeploymentAction::UpdateReplicaSet(change));
        Ok(Arc::new(answer))
    }
}
