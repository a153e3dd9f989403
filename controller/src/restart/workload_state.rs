//! What the safe profile keeps of one workload: its memory, when to look at it, and what holds it
//! back.
//!
//! Case: `config-restart/s61-safe-refused-and-then-not`.

use std::time::Duration;

use super::memory::{Memory, Pretended};
use super::obstacle::Obstacle;
use super::pending;
use super::plan::{Observed, Plan, Wait};
use super::view::View;
use super::window::Moment;
use super::work::{Action, Outcome, Work};

/// First wait after a write that failed, and the longest; in between twice as long each time.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// A workload in the safe profile.
#[derive(Debug, Default)]
pub(super) struct WorkloadState {
    pub(super) memory: Memory,
    /// When to look at it; `None`: when something changes.
    pub(super) due: Option<Moment>,
    /// A write of it is under way.
    pub(super) busy: bool,
    /// That write restarts it.
    pub(super) starts: bool,
    pub(super) failures: u32,
    pub(super) is_throttled: bool,
    pub(super) is_deferred: bool,
    /// What its restart waits for.
    obstacle: Option<Obstacle>,
}

impl WorkloadState {
    /// Whether its pods have something else than they should.
    pub(super) fn is_due(&self) -> bool {
        self.memory.waiting() > 0
    }

    /// Whether its restart waits.
    pub(super) fn is_pending(&self) -> bool {
        self.obstacle.is_some()
    }

    /// Whether it waits because another has failed.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self.obstacle, Some(Obstacle::Stopped(_)))
    }

    /// Whether it waits for others of its group.
    pub(super) fn waits_for_others(&self) -> bool {
        self.obstacle.as_ref().is_some_and(Obstacle::is_of_others)
    }

    /// Something has changed: look at it, but not before a failure has been waited out.
    pub(super) fn wake(&mut self, at: Moment) {
        if self.failures == 0 || self.due.is_none() {
            self.due = Some(at);
        }
    }

    /// What is to be done after this was decided.
    pub(super) fn decided(&mut self, observed: Observed, decided: Plan, at: Moment) -> Vec<Work> {
        let Plan { write, wait } = decided;
        let (mut works, was_throttled, obstacle) = (Vec::new(), self.is_throttled, self.obstacle.take());
        self.is_throttled = false;
        self.due = match wait {
            None => None,
            Some(Wait::Window(due)) => {
                self.obstacle = obstacle;
                Some(due)
            }
            Some(Wait::Shut(shut)) => {
                let due = shut.wait.map(|wait| at.saturating_add(wait));
                // One that was shown before this controller began was said then.
                let shown = observed.workload.pending.as_ref();
                let is_news = match (&shut.obstacle, &obstacle) {
                    (Obstacle::Stopped(now), Some(Obstacle::Stopped(before))) => now != before,
                    (Obstacle::Stopped(now), _) => !pending::is_stopped_by(shown, &now.to_string()),
                    (_, before) => before.is_none() && shown.is_none(),
                };
                self.obstacle = Some(shut.obstacle.clone());
                if is_news {
                    works.push(Work { observed: observed.clone(), action: Action::Shut(shut) });
                }
                due
            }
            Some(Wait::Budget(wait)) => {
                self.is_throttled = true;
                if !was_throttled {
                    works.push(Work { observed: observed.clone(), action: Action::Throttled(wait) });
                }
                Some(at.saturating_add(wait))
            }
        };
        if let Some(write) = write {
            self.busy = true;
            self.starts = write.restart.is_some();
            self.is_deferred |= write.restart.as_ref().is_some_and(|restart| restart.held.is_some());
            works.push(Work { observed, action: Action::Write(write) });
        }
        works
    }

    /// What became of its write.
    pub(super) fn finished(&mut self, view: &View, observed: &Observed, outcome: &Outcome, at: Moment) {
        (self.busy, self.starts) = (false, false);
        self.wake(at);
        match outcome {
            Outcome::Failed(wait) => {
                let doubled = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(self.failures)).min(LONGEST_WAIT);
                self.failures = self.failures.saturating_add(1);
                self.due = Some(at.saturating_add(wait.unwrap_or_default().max(doubled)));
            }
            Outcome::Written(_) | Outcome::Made => self.failures = 0,
            Outcome::Pretended(write) => {
                let Some(workload) = view.workload(&observed.workload.name) else { return };
                let pending = write.note.after(observed.workload.pending.as_ref());
                let (real, applied) = (workload.applied.clone(), write.applied.clone());
                self.memory.pretended = Some(Pretended { real, applied, pending });
                self.memory.weigh(view, workload, at);
            }
        }
    }
}
