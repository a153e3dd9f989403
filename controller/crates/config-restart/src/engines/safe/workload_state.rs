//! The state that the safe profile has for one workload: its memory, when to plan it again, and
//! what blocks its restart.
//!
//! Case: `config-restart/safe/s61-refused-and-then-not`.

use std::time::Duration;

use crate::engines::safe::memory::{DryRunWrite, WorkloadMemory};
use crate::engines::work::{WorkAction, WorkItem, WriteOutcome};
use crate::model::cache::RestartCache;
use crate::model::pending;
use crate::model::pending::BlockReason;
use crate::model::plan::{ObservedWorkload, RestartPlan, WaitReason};
use crate::pacing::window::Uptime;

/// Backoff after a failed write: it doubles with each failure from `FIRST_WAIT` up to `MAX_WAIT`.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const MAX_WAIT: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub(crate) struct WorkloadState {
    pub(crate) memory: WorkloadMemory,
    /// When to plan it; `None`: after the next event.
    pub(crate) due: Option<Uptime>,
    /// Whether a write is in flight.
    pub(crate) is_writing: bool,
    /// Whether that write restarts it.
    pub(crate) is_restarting: bool,
    pub(crate) failures: u32,
    pub(crate) is_throttled: bool,
    pub(crate) is_deferred: bool,
    /// What blocks its restart.
    reason: Option<BlockReason>,
}

impl WorkloadState {
    /// Whether its pods lack current data.
    pub(crate) fn is_due(&self) -> bool {
        self.memory.waiting_count() > 0
    }

    /// Whether a restart is due and blocked.
    pub(crate) fn is_pending(&self) -> bool {
        self.reason.is_some()
    }

    /// Whether the failed rollout of another workload blocks it.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.reason, Some(BlockReason::Stopped(_)))
    }

    /// Whether its group blocks it.
    pub(crate) fn waits_for_group(&self) -> bool {
        self.reason.as_ref().is_some_and(BlockReason::depends_on_group)
    }

    /// Schedules the workload after an event. A backoff after a failure still applies.
    pub(crate) fn wake(&mut self, at: Uptime) {
        if self.failures == 0 || self.due.is_none() {
            self.due = Some(at);
        }
    }

    /// Updates the state by a plan, and returns the work that follows.
    pub(crate) fn accept_plan(&mut self, observed: ObservedWorkload, plan: RestartPlan, at: Uptime) -> Vec<WorkItem> {
        let RestartPlan { write, wait } = plan;
        let (mut work_items, was_throttled, reason) = (Vec::new(), self.is_throttled, self.reason.take());
        self.is_throttled = false;
        self.due = match wait {
            None => None,
            Some(WaitReason::Window(due)) => {
                self.reason = reason;
                Some(due)
            }
            Some(WaitReason::Blocked(blocked)) => {
                let due = blocked.wait.map(|wait| at.saturating_add(wait));
                // If the annotation was there before this process started, the event has been
                // reported.
                let annotation = observed.workload.pending.as_ref();
                let is_new = match (&blocked.reason, &reason) {
                    (BlockReason::Stopped(now), Some(BlockReason::Stopped(before))) => now != before,
                    (BlockReason::Stopped(now), _) => !pending::is_stopped_by(annotation, &now.to_string()),
                    (_, before) => before.is_none() && annotation.is_none(),
                };
                self.reason = Some(blocked.reason.clone());
                if is_new {
                    work_items
                        .push(WorkItem { observed: observed.clone(), action: WorkAction::ReportBlocked(blocked) });
                }
                due
            }
            Some(WaitReason::Budget(wait)) => {
                self.is_throttled = true;
                if !was_throttled {
                    work_items.push(WorkItem { observed: observed.clone(), action: WorkAction::ReportThrottled(wait) });
                }
                Some(at.saturating_add(wait))
            }
        };
        if let Some(write) = write {
            self.is_writing = true;
            self.is_restarting = write.restart.is_some();
            self.is_deferred |= write.restart.as_ref().is_some_and(|restart| restart.deferral.is_some());
            work_items.push(WorkItem { observed, action: WorkAction::Write(write) });
        }
        work_items
    }

    /// Handles the outcome of its write.
    pub(crate) fn on_write_finished(
        &mut self,
        cache: &RestartCache,
        observed: &ObservedWorkload,
        outcome: &WriteOutcome,
        at: Uptime,
    ) {
        (self.is_writing, self.is_restarting) = (false, false);
        self.wake(at);
        match outcome {
            WriteOutcome::Failed(wait) => {
                let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.failures)).min(MAX_WAIT);
                self.failures = self.failures.saturating_add(1);
                self.due = Some(at.saturating_add(wait.unwrap_or_default().max(doubled)));
            }
            WriteOutcome::Updated(_) | WriteOutcome::Done => self.failures = 0,
            WriteOutcome::DryRun(write) => {
                let Some(workload) = cache.workload(&observed.workload.name) else { return };
                let pending = write.pending.apply_to(observed.workload.pending.as_ref());
                let (actual, checksums) = (workload.checksums.clone(), write.checksums.clone());
                self.memory.dry_run_write = Some(DryRunWrite { actual, checksums, pending });
                self.memory.update_windows(cache, workload, at);
            }
        }
    }
}
