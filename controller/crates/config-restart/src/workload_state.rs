//! The state that the safe profile has for one workload: its memory, when to plan it again, and
//! what blocks its restart.
//!
//! Case: `config-restart/safe/s61-refused-and-then-not`.

use std::time::Duration;

use super::block_reason::BlockReason;
use super::cache::RestartCache;
use super::memory::{DryRunWrite, WorkloadMemory};
use super::pending;
use super::plan::{ObservedWorkload, RestartPlan, WaitReason};
use super::window::Uptime;
use super::work::{WorkAction, WorkItem, WriteOutcome};

/// Backoff after a failed write: it doubles with each failure from `FIRST_WAIT` up to `MAX_WAIT`.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const MAX_WAIT: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub(super) struct WorkloadState {
    pub(super) memory: WorkloadMemory,
    /// When to plan it; `None`: after the next event.
    pub(super) due: Option<Uptime>,
    /// Whether a write is in flight.
    pub(super) is_writing: bool,
    /// Whether that write restarts it.
    pub(super) is_restarting: bool,
    pub(super) failures: u32,
    pub(super) is_throttled: bool,
    pub(super) is_deferred: bool,
    /// What blocks its restart.
    reason: Option<BlockReason>,
}

impl WorkloadState {
    /// Whether its pods lack current data.
    pub(super) fn is_due(&self) -> bool {
        self.memory.waiting_count() > 0
    }

    /// Whether a restart is due and blocked.
    pub(super) fn is_pending(&self) -> bool {
        self.reason.is_some()
    }

    /// Whether the failed rollout of another workload blocks it.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.reason, Some(BlockReason::Stopped(_)))
    }

    /// Whether its group blocks it.
    pub(super) fn waits_for_group(&self) -> bool {
        self.reason.as_ref().is_some_and(BlockReason::depends_on_group)
    }

    /// Schedules the workload after an event. A backoff after a failure still applies.
    pub(super) fn wake(&mut self, at: Uptime) {
        if self.failures == 0 || self.due.is_none() {
            self.due = Some(at);
        }
    }

    /// Updates the state by a plan, and returns the work that follows.
    pub(super) fn accept_plan(&mut self, observed: ObservedWorkload, plan: RestartPlan, at: Uptime) -> Vec<WorkItem> {
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
    pub(super) fn on_write_finished(
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
