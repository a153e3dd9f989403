//! What a subject prints, and how it ended, without the values that cases have written into
//! Secrets.
//!
//! A subject outlives a case, and several cases may run at the same time. So the values of all
//! cases so far are redacted, whichever case the output belongs to.

use std::sync::{MutexGuard, PoisonError};

use lockstep_recording::secret::Redaction;
use lockstep_recording::{Blame, Trouble};
use lockstep_subject::{LogSource, RunningSubject};

use super::Session;

impl Session {
    /// Redact these values from now on: the subject may print them.
    pub(super) fn may_print(&self, redaction: &Redaction) {
        self.redaction().add(redaction);
    }

    /// Redacts the values of all cases so far.
    pub(super) fn redaction(&self) -> MutexGuard<'_, Redaction> {
        self.redaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The position in the subject's output from here on, if its output is available. Read it with
    /// [`Session::printed`].
    pub(super) fn log_source(&self) -> Option<LogSource> {
        self.subject().as_ref().and_then(RunningSubject::log_source)
    }

    /// The redacted output since that position.
    pub(super) async fn printed(&self, source: Option<LogSource>) -> Option<String> {
        let text = source?.read().await;
        Some(self.redaction().output(&text))
    }

    /// Why the subject has ended, if it ended by itself.
    pub(super) fn exited(&self) -> Option<Trouble> {
        let ended = self.subject().as_ref().and_then(RunningSubject::exited)?;
        Some(self.redacted(&ended))
    }

    /// Why a case cannot go on: the cluster, the subject or a controller beside it has ended.
    pub(super) fn broken(&self) -> Option<Trouble> {
        // A subject may end because its server has ended.
        let ended = self.environment.ended().map(|why| self.redacted(&Trouble::new(Blame::Environment, why)));
        ended.or_else(|| self.exited()).or_else(|| {
            self.environment_controllers
                .as_ref()
                .and_then(RunningSubject::neighbours_ended)
                .map(|ended| self.redacted(&ended))
        })
    }

    fn redacted(&self, trouble: &Trouble) -> Trouble {
        Trouble { why: self.redaction().output(&trouble.why), ..trouble.clone() }
    }
}
