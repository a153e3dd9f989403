//! `spec.progressDeadlineSeconds`: reports in the condition Progressing whether a rollout makes
//! progress, is complete, or has exceeded the deadline.
//!
//! Upstream: `syncRolloutStatus`, `DeploymentProgressing`, `DeploymentTimedOut`,
//! `requeueStuckDeployment`. An exceeded deadline changes only the condition: the rollout
//! continues, and progress sets the condition back.
//!
//! Cases: `deadline/exceeded`, `deadline/progress-starts-it-anew`, `status/quota`.

use std::time::Duration;

use jiff::SignedDuration;
use rollout_model::{Condition, DeploymentStatus, names};

use super::replica_sets::OwnedReplicaSets;
use super::sync::{DeploymentSync, SyncStep};

impl DeploymentSync<'_> {
    /// Writes the status if a count, the progress or a failure has changed. Otherwise requeues the
    /// Deployment for the time when its deadline is exceeded.
    pub(super) fn update_rollout_status(&mut self, sets: &OwnedReplicaSets) -> SyncStep<()> {
        let mut status = self.calculate_status(sets);
        self.update_progress_condition(&mut status, sets);
        copy_replica_failure(&mut status, sets);
        if status == self.deployment.status {
            self.plan.requeue = self.requeue_delay(&status);
            return Ok(());
        }
        self.write_status(status)
    }

    fn update_progress_condition(&self, status: &mut DeploymentStatus, sets: &OwnedReplicaSets) {
        let kind = names::condition::PROGRESSING;
        if self.deployment.progress_deadline_seconds().is_none() {
            Condition::remove(&mut status.conditions, kind);
            return;
        }
        let current = Condition::find(&self.deployment.status.conditions, kind);
        let was_complete =
            current.is_some_and(|condition| condition.reason == names::reason::NEW_REPLICA_SET_AVAILABLE);
        if was_complete && status.replicas == status.updated_replicas {
            // The rollout is complete: later changes of its pods are not progress.
            return;
        }
        let subject = match &sets.new {
            Some(new) => format!("ReplicaSet {:?}", new.meta.name),
            None => format!("Deployment {:?}", self.deployment.meta.name),
        };
        if self.is_complete(status) {
            let message = format!("{subject} has successfully progressed.");
            let reason = names::reason::NEW_REPLICA_SET_AVAILABLE;
            let condition = Condition::new(kind, names::status::TRUE, reason, message, self.now);
            Condition::set(&mut status.conditions, condition);
        } else if self.is_progressing(status) {
            let message = format!("{subject} is progressing.");
            let reason = names::reason::REPLICA_SET_UPDATED;
            let mut condition = Condition::new(kind, names::status::TRUE, reason, message, self.now);
            // The condition is replaced even if it is equal, so that progress renews its time.
            if let Some(current) = current.filter(|current| current.status == names::status::TRUE) {
                condition.last_transition_time = current.last_transition_time;
            }
            Condition::remove(&mut status.conditions, kind);
            Condition::set(&mut status.conditions, condition);
        } else if self.is_timed_out(status) {
            let message = format!("{subject} has timed out progressing.");
            let reason = names::reason::TIMED_OUT;
            let condition = Condition::new(kind, names::status::FALSE, reason, message, self.now);
            Condition::set(&mut status.conditions, condition);
        }
    }

    /// Whether there are more new pods, fewer old pods, or more ready or available pods than in the
    /// cached status.
    pub(super) fn is_progressing(&self, status: &DeploymentStatus) -> bool {
        let before = &self.deployment.status;
        let old = |status: &DeploymentStatus| status.replicas.wrapping_sub(status.updated_replicas);
        status.updated_replicas > before.updated_replicas
            || old(status) < old(before)
            || status.ready_replicas > before.ready_replicas
            || status.available_replicas > before.available_replicas
    }

    fn is_timed_out(&self, status: &DeploymentStatus) -> bool {
        let Some(condition) = Condition::find(&status.conditions, names::condition::PROGRESSING) else {
            return false;
        };
        match condition.reason.as_str() {
            names::reason::NEW_REPLICA_SET_AVAILABLE => false,
            names::reason::TIMED_OUT => true,
            _ => self.time_until_deadline(condition).is_some_and(|left| left.is_negative()),
        }
    }

    /// The time until the deadline, which is counted from the last progress.
    fn time_until_deadline(&self, condition: &Condition) -> Option<SignedDuration> {
        let deadline = SignedDuration::from_secs(self.deployment.progress_deadline_seconds()?.into());
        let since = condition.last_update_time.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Some(since.checked_add(deadline).ok()?.duration_since(self.now))
    }

    /// When to sync a rollout again that makes no progress.
    ///
    /// Upstream syncs again one second after the deadline, and every five milliseconds when less
    /// than a second is left. One sync just after the deadline decides the same. A complete
    /// Deployment that has lost a pod has no deadline that it could exceed, and still is synced
    /// again (case `recreate/failed-pod-until-the-deadline`). From then on upstream syncs it in a
    /// tight loop; this controller does not.
    pub(super) fn requeue_delay(&self, status: &DeploymentStatus) -> Option<Duration> {
        let condition = Condition::find(&self.deployment.status.conditions, names::condition::PROGRESSING)?;
        if self.is_complete(status) || condition.reason == names::reason::TIMED_OUT {
            return None;
        }
        let left = self.time_until_deadline(condition)?;
        if left < SignedDuration::from_secs(1) && condition.reason == names::reason::NEW_REPLICA_SET_AVAILABLE {
            return None;
        }
        let slack = if left < SignedDuration::from_secs(1) {
            SignedDuration::from_millis(1)
        } else {
            SignedDuration::from_secs(1)
        };
        Duration::try_from(left.max(SignedDuration::ZERO).saturating_add(slack)).ok()
    }
}

/// Copies the condition ReplicaFailure of a ReplicaSet that cannot create pods: of the new one, or
/// else of the oldest that has it.
fn copy_replica_failure(status: &mut DeploymentStatus, sets: &OwnedReplicaSets) {
    let kind = names::condition::REPLICA_FAILURE;
    let failure =
        sets.new.as_deref().into_iter().chain(sets.all()).find_map(|rs| Condition::find(&rs.status.conditions, kind));
    match failure {
        None => Condition::remove(&mut status.conditions, kind),
        Some(failure) => {
            let condition = Condition { last_update_time: failure.last_transition_time, ..failure.clone() };
            Condition::set(&mut status.conditions, condition);
        }
    }
}
