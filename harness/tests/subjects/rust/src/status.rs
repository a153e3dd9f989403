//! The status of a Deployment: counts, and the conditions Available, Progressing and
//! ReplicaFailure.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{DeploymentCondition, DeploymentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::replica_sets::counts;
use crate::rollout::Rollout;

const PROGRESSING: &str = "Progressing";
const DONE: &str = "NewReplicaSetAvailable";
const TIMED_OUT: &str = "ProgressDeadlineExceeded";
/// The delay after a deadline, which has passed only after the exact time.
const MARGIN: Duration = Duration::from_millis(50);

/// A count as the server stores it: zero is absent.
fn counter(count: i32) -> Option<i32> {
    Some(count).filter(|count| *count != 0)
}

impl Rollout {
    /// Computes the status without writing it.
    pub fn report(&mut self, updates_progress: bool) {
        let before = self.status.clone();
        let available = self.sum(|set| counts(set).available);
        self.status.observed_generation = self.deployment.metadata.generation;
        self.status.replicas = counter(self.sum(|set| counts(set).replicas));
        self.status.ready_replicas = counter(self.sum(|set| counts(set).ready));
        self.status.available_replicas = counter(available);
        self.status.unavailable_replicas = counter((self.total_size() - available).max(0));
        self.status.updated_replicas = self.current.and_then(|at| counter(counts(&self.sets[at]).replicas));
        self.status.terminating_replicas = self.terminating();
        if available >= self.replicas - self.max_unavailable() {
            self.set("Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability.");
        } else {
            self.set(
                "Available",
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            );
        }
        if updates_progress {
            self.judge_progress(&before);
            self.report_failure();
        }
    }

    /// The terminating pods; unknown if one of the ReplicaSets does not report them.
    fn terminating(&self) -> Option<i32> {
        let statuses = self.sets.iter().map(|set| set.status.clone().unwrap_or_default());
        let known = statuses.map(|status| match (status.terminating_replicas, status.observed_generation) {
            (None, Some(1..)) => None,
            (count, _) => Some(count.unwrap_or(0)),
        });
        known.sum()
    }

    fn judge_progress(&mut self, before: &DeploymentStatus) {
        let Some(_) = self.deadline() else {
            self.status.conditions.get_or_insert_default().retain(|one| one.type_ != PROGRESSING);
            return;
        };
        let was = self.condition(PROGRESSING).cloned();
        let was_done = was.as_ref().is_some_and(|was| was.reason.as_deref() == Some(DONE));
        if was_done && self.status.replicas == self.status.updated_replicas {
            return;
        }
        let subject = match self.current {
            Some(at) => format!("ReplicaSet \"{}\"", self.sets[at].name_any()),
            None => format!("Deployment \"{}\"", self.deployment.name_any()),
        };
        let is_late = was.as_ref().is_some_and(|was| !was_done && self.remaining(was).is_none());
        if self.is_complete() {
            self.set(PROGRESSING, "True", DONE, &format!("{subject} has successfully progressed."));
        } else if has_progressed(before, &self.status) {
            // Replaced each time, so that the deadline counts from now.
            if let Some(was) = self.condition_mut(PROGRESSING)
                && was.reason.as_deref() == Some("ReplicaSetUpdated")
            {
                was.last_update_time = Some(now());
            }
            self.set(PROGRESSING, "True", "ReplicaSetUpdated", &format!("{subject} is progressing."));
        } else if is_late {
            self.set(PROGRESSING, "False", TIMED_OUT, &format!("{subject} has timed out progressing."));
        }
    }

    /// Copies the failure condition of a ReplicaSet.
    fn report_failure(&mut self) {
        const FAILURE: &str = "ReplicaFailure";
        let sets = self.current.into_iter().chain(self.old().collect::<Vec<_>>());
        let mut conditions =
            sets.flat_map(|at| self.sets[at].status.iter().flat_map(|status| status.conditions.iter().flatten()));
        match conditions.find(|one| one.type_ == FAILURE).cloned() {
            Some(found) => {
                let (reason, message) = (found.reason.unwrap_or_default(), found.message.unwrap_or_default());
                self.set(FAILURE, &found.status, &reason, &message);
            }
            None => self.status.conditions.get_or_insert_default().retain(|one| one.type_ != FAILURE),
        }
    }

    /// Sets the progress condition of a paused or resumed rollout, to distinguish it from a stuck
    /// one.
    pub fn note_pause(&mut self) {
        let reason = self.condition(PROGRESSING).and_then(|was| was.reason.clone()).unwrap_or_default();
        if self.deadline().is_none() || reason == TIMED_OUT {
            return;
        }
        match (self.spec.paused == Some(true), reason == "DeploymentPaused") {
            (true, false) => self.set(PROGRESSING, "Unknown", "DeploymentPaused", "Deployment is paused"),
            (false, true) => self.set(PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed"),
            _ => {}
        }
    }

    /// Restarts the progress deadline.
    pub fn note_progress(&mut self, reason: &str, message: String) {
        if self.deadline().is_some() {
            self.set(PROGRESSING, "True", reason, &message);
        }
    }

    pub fn note_first(&mut self, reason: &str, message: String) {
        if self.condition(PROGRESSING).is_none() {
            self.note_progress(reason, message);
        }
    }

    fn deadline(&self) -> Option<Duration> {
        let seconds = self.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)?;
        u64::try_from(seconds).ok().map(Duration::from_secs)
    }

    /// The time until a condition exceeds the deadline; `None` after that.
    fn remaining(&self, condition: &DeploymentCondition) -> Option<Duration> {
        let since = condition.last_update_time.as_ref()?.0;
        let passed = Duration::try_from(Timestamp::now().duration_since(since)).unwrap_or_default();
        self.deadline()?.checked_sub(passed)
    }

    /// When to reconcile again without a change: no watch reports that time has passed.
    pub fn until_deadline(&self) -> Option<Duration> {
        let progressing = self.condition(PROGRESSING)?;
        self.deadline()?;
        let is_over = matches!(progressing.reason.as_deref(), Some(DONE | TIMED_OUT));
        (!is_over && !self.is_complete()).then(|| self.remaining(progressing).unwrap_or_default() + MARGIN)
    }

    fn condition(&self, kind: &str) -> Option<&DeploymentCondition> {
        self.status.conditions.iter().flatten().find(|one| one.type_ == kind)
    }

    fn condition_mut(&mut self, kind: &str) -> Option<&mut DeploymentCondition> {
        self.status.conditions.iter_mut().flatten().find(|one| one.type_ == kind)
    }

    /// Sets a condition, unless it already has this status and reason.
    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let mut new = DeploymentCondition {
            type_: kind.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_update_time: Some(now()),
            last_transition_time: Some(now()),
        };
        match self.condition_mut(kind) {
            Some(was) if was.status == new.status && was.reason == new.reason => {}
            Some(was) => {
                if was.status == new.status {
                    new.last_transition_time = was.last_transition_time.take();
                }
                *was = new;
            }
            None => self.status.conditions.get_or_insert_default().push(new),
        }
    }
}

/// Whether there are more new pods, fewer old ones, or more ready or available ones than before.
fn has_progressed(before: &DeploymentStatus, now: &DeploymentStatus) -> bool {
    let fields: [fn(&DeploymentStatus) -> Option<i32>; 3] =
        [|one| one.updated_replicas, |one| one.ready_replicas, |one| one.available_replicas];
    let old = |one: &DeploymentStatus| one.replicas.unwrap_or(0) - one.updated_replicas.unwrap_or(0);
    fields.iter().any(|field| field(now).unwrap_or(0) > field(before).unwrap_or(0)) || old(now) < old(before)
}

fn now() -> Time {
    Time(Timestamp::now())
}
