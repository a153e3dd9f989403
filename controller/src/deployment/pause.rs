//! Pausing and resuming, as far as conditions go.
//!
//! Upstream: `checkPausedConditions`. The condition's fresh date is what gives a resumed Deployment
//! its whole deadline again. A deadline that had passed before is not covered up.
//!
//! Cases: `pause/in-mid-rollout`, `pause/template-and-scale`, `deadline/paused-after-it`.

use super::sync::{Flow, Sync};
use crate::model::{Condition, names};

impl Sync<'_> {
    pub(super) fn note_pause(&mut self) -> Flow<()> {
        if self.deployment.progress_deadline().is_none() {
            return Ok(());
        }
        let kind = names::condition::PROGRESSING;
        let reason =
            Condition::find(&self.deployment.status.conditions, kind).map(|condition| condition.reason.as_str());
        if reason == Some(names::reason::TIMED_OUT) {
            return Ok(());
        }
        let noted = reason == Some(names::reason::PAUSED);
        let (reason, message) = match (self.deployment.spec.paused, noted) {
            (true, false) => (names::reason::PAUSED, "Deployment is paused"),
            (false, true) => (names::reason::RESUMED, "Deployment is resumed"),
            _ => return Ok(()),
        };
        let condition = Condition::new(kind, names::status::UNKNOWN, reason, message, self.now);
        Condition::set(&mut self.deployment.status.conditions, condition);
        self.write_status(self.deployment.status.clone())
    }
}
