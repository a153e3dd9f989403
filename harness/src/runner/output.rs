//! What a subject prints, and how it ended, without the values that cases have written into
//! Secrets.
//!
//! A subject outlives a case, and several cases may be played beside each other. So all values that
//! it has seen until then are taken out, whichever case they are of.

use std::sync::{MutexGuard, PoisonError};

use super::Session;
use crate::recording::{Blame, Trouble};
use crate::secret::Redaction;
use crate::subject::{LogSource, Running};

impl Session {
    /// From now on the subject may print these values.
    pub(super) fn may_print(&self, redaction: &Redaction) {
        self.redaction().add(redaction);
    }

    /// What takes the values of all cases so far out of a text.
    pub(super) fn redaction(&self) -> MutexGuard<'_, Redaction> {
        self.redaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the subject's output is from now on, where that is to be had. It is to be read by
    /// [`Session::printed`].
    pub(super) fn log_source(&self) -> Option<LogSource> {
        self.subject().as_ref().and_then(Running::log_source)
    }

    /// What is printed there.
    pub(super) async fn printed(&self, source: Option<LogSource>) -> Option<String> {
        let text = source?.read().await;
        Some(self.redaction().output(&text))
    }

    /// Why the subject no longer runs, if it ended by itself.
    pub(super) fn exited(&self) -> Option<Trouble> {
        let ended = self.subject().as_ref().and_then(Running::exited)?;
        Some(self.redacted(&ended))
    }

    /// Why nothing more can come of a case: the cluster has ended, or the subject by itself, or its
    /// neighbours have.
    pub(super) fn broken(&self) -> Option<Trouble> {
        // A subject may end because its server has.
        let ended = self.environment.ended().map(|why| self.redacted(&Trouble::new(Blame::Environment, why)));
        ended
            .or_else(|| self.exited())
            .or_else(|| self.half.as_ref().and_then(Running::neighbours_ended).map(|ended| self.redacted(&ended)))
    }

    fn redacted(&self, trouble: &Trouble) -> Trouble {
        Trouble { why: self.redaction().output(&trouble.why), ..trouble.clone() }
    }
}
