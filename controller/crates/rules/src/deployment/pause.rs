//! `spec.paused`: reports in the condition Progressing that a Deployment is paused or resumed.
//!
//! Upstream: `checkPausedConditions`. The new time of the condition gives a resumed Deployment its
//! full progress deadline again. A condition that reports an exceeded deadline is kept.
//!
//! Cases: `pause/in-mid-rollout`, `pause/template-and-scale`, `deadline/paused-after-it`.

use rollout_model::{Condition, names};

use super::sync::{DeploymentSync, SyncStep};

impl DeploymentSync<'_> {
    pub(super) fn update_paused_condition(&mut self) -> SyncStep<()> {
        if self.deployment.progress_deadline_seconds().is_none() {
            return Ok(());
        }
        let kind = names::condition::PROGRESSING;
        let reason =
            Condition::find(&self.deployment.status.conditions, kind).map(|condition| condition.reason.as_str());
        if reason == Some(names::reason::TIMED_OUT) {
            return Ok(());
        }
        let is_reported = reason == Some(names::reason::PAUSED);
        let (reason, message) = match (self.deployment.spec.paused, is_reported) {
            (true, false) => (names::reason::PAUSED, "Deployment is paused"),
            (false, true) => (names::reason::RESUMED, "Deployment is resumed"),
            _ => return Ok(()),
        };
        let condition = Condition::new(kind, names::status::UNKNOWN, reason, message, self.now);
        Condition::set(&mut self.deployment.status.conditions, condition);
        self.write_status(self.deployment.status.clone())
    }
}
