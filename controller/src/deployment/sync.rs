//! One sync under construction: what its rules share.
//!
//! [`Sync`] holds a working copy of the Deployment, changed as upstream changes its own in memory,
//! and the plan so far. It knows which cached objects the plan has already written, so that the
//! plan ends where upstream's next write would meet a conflict. The order of the rules is in
//! `decide.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::PlanError;
use super::plan::{Action, Event, EventKind, Observed, OnError, Plan, ReplicaSetChange, StatusChange, Step};
use crate::model::{Deployment, DeploymentStatus, ReplicaSet, names};
use crate::settings::Settings;

/// Why a sync ends before its last rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The next write would be of an object that this sync has itself made out of date. The watch
    /// brings the new version.
    OutOfDate,
    /// No rule can go on.
    Failed(PlanError),
}

impl From<PlanError> for End {
    fn from(error: PlanError) -> Self {
        Self::Failed(error)
    }
}

pub(super) type Flow<T> = Result<T, End>;

pub(super) struct Sync<'a> {
    pub(super) observed: &'a Observed,
    pub(super) now: Timestamp,
    pub(super) settings: &'a Settings,
    /// The Deployment with the conditions and the revision that this sync has given it.
    pub(super) deployment: Deployment,
    pub(super) plan: Plan,
    deployment_written: bool,
    written: BTreeSet<String>,
    /// What the failure of the next action means.
    pub(super) on_error: OnError,
}

impl<'a> Sync<'a> {
    pub(super) fn new(observed: &'a Observed, now: Timestamp, settings: &'a Settings) -> Self {
        Self {
            observed,
            now,
            settings,
            deployment: Deployment::clone(&observed.deployment),
            plan: Plan::default(),
            deployment_written: false,
            written: BTreeSet::new(),
            on_error: OnError::Fail,
        }
    }

    pub(super) fn into_plan(self) -> Plan {
        self.plan
    }

    /// Does `part` with its failures forgiven: the rest of it is left out, the sync goes on.
    pub(super) fn forgiving<T>(&mut self, part: impl FnOnce(&mut Self) -> Flow<T>) -> Flow<T> {
        self.on_error = OnError::LeaveGroup;
        let result = part(self);
        self.on_error = OnError::Fail;
        result
    }

    pub(super) fn push(&mut self, action: Action) {
        self.plan.steps.push(Step { action, on_error: self.on_error });
    }

    pub(super) fn event(&mut self, kind: EventKind, reason: &'static str, message: String) {
        self.push(Action::Event(Event { kind, reason, message }));
    }

    /// Writes the Deployment's status and, with it, its revision. At most once in a sync: a second
    /// write would meet a conflict.
    pub(super) fn write_status(&mut self, status: DeploymentStatus) -> Flow<()> {
        self.claim_deployment_write()?;
        let revision = self.deployment.meta.annotations.get(names::REVISION);
        let changed = revision != self.observed.deployment.meta.annotations.get(names::REVISION);
        let revision = revision.filter(|_| changed).cloned();
        self.deployment.status = status.clone();
        self.push(Action::UpdateStatus(StatusChange { revision, status }));
        Ok(())
    }

    /// Marks the Deployment as written, or ends the sync if it was.
    pub(super) fn claim_deployment_write(&mut self) -> Flow<()> {
        if self.deployment_written {
            return Err(End::OutOfDate);
        }
        self.deployment_written = true;
        Ok(())
    }

    /// Marks the cached version of a ReplicaSet as out of date.
    pub(super) fn outdate(&mut self, name: &str) {
        self.written.insert(name.to_owned());
    }

    /// Changes a ReplicaSet and returns it as the server will. One that came from the cache can be
    /// written only once.
    pub(super) fn update_replica_set(
        &mut self,
        rs: &Arc<ReplicaSet>,
        mut change: ReplicaSetChange,
    ) -> Flow<Arc<ReplicaSet>> {
        let from_cache = !rs.meta.resource_version.is_empty();
        if from_cache && !self.written.insert(rs.meta.name.clone()) {
            return Err(End::OutOfDate);
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
        self.push(Action::UpdateReplicaSet(change));
        Ok(Arc::new(answer))
    }
}
