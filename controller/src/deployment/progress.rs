//! Whether a rollout moves, is done, or has stalled.
//!
//! Upstream: `syncRolloutStatus`, `DeploymentProgressing`, `DeploymentTimedOut`,
//! `requeueStuckDeployment`. Stalling changes nothing but the condition: the rollout goes on, and
//! progress turns it back.
//!
//! Cases: `deadline/exceeded`, `deadline/progress-starts-it-anew`, `status/quota`.

use std::time::Duration;

use jiff::SignedDuration;

use super::select::Sets;
use super::sync::{Flow, Sync};
use crate::model::{Condition, DeploymentStatus, names};

impl Sync<'_> {
    /// Writes numbers, progress and failures if any of them changed; else sees to it that a
    /// deadline is not slept through.
    pub(super) fn report_progress(&mut self, sets: &Sets) -> Flow<()> {
        let mut status = self.counts(sets);
        self.judge_progress(&mut status, sets);
        copy_failure(&mut status, sets);
        if status == self.deployment.status {
            self.plan.requeue = self.until_deadline(&status);
            return Ok(());
        }
        self.write_status(status)
    }

    fn judge_progress(&self, status: &mut DeploymentStatus, sets: &Sets) {
        let kind = names::condition::PROGRESSING;
        if self.deployment.progress_deadline().is_none() {
            Condition::remove(&mut status.conditions, kind);
            return;
        }
        let current = Condition::find(&self.deployment.status.conditions, kind);
        let was_complete =
            current.is_some_and(|condition| condition.reason == names::reason::NEW_REPLICA_SET_AVAILABLE);
        if was_complete && status.replicas == status.updated_replicas {
            // No rollout is going on; pods that come and go are not its progress.
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
            // Written anew each time, so that its date moves on with the progress.
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

    /// More new pods, fewer old ones, more ready or more available ones than the cached status
    /// knows.
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
            _ => self.left(condition).is_some_and(|left| left.is_negative()),
        }
    }

    /// Time left until the deadline, counted from the last progress.
    fn left(&self, condition: &Condition) -> Option<SignedDuration> {
        let deadline = SignedDuration::from_secs(self.deployment.progress_deadline()?.into());
        let since = condition.last_update_time.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Some(since.checked_add(deadline).ok()?.duration_since(self.now))
    }

    /// When to look again at a rollout in which nothing moves.
    ///
    /// Upstream looks again a second after the deadline, and every five milliseconds when less than
    /// a second is left. Looking once, just behind the deadline, decides the same. A complete
    /// Deployment that has lost a pod has no deadline that could pass, and is looked at again all
    /// the same (case `recreate/failed-pod-until-the-deadline`); there upstream spins from then on,
    /// and this controller does not.
    pub(super) fn until_deadline(&self, status: &DeploymentStatus) -> Option<Duration> {
        let condition = Condition::find(&self.deployment.status.conditions, names::condition::PROGRESSING)?;
        if self.is_complete(status) || condition.reason == names::reason::TIMED_OUT {
            return None;
        }
        let left = self.left(condition)?;
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

/// A ReplicaSet that cannot make pods makes its Deployment say so: the new one first, then the
/// oldest.
fn copy_failure(status: &mut DeploymentStatus, sets: &Sets) {
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
