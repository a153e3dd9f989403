//! What a subject prints, how it ended, and its restart before the next case.
//!
//! A subject outlives a case, and several cases may run at the same time. So the values that all
//! cases so far have written into Secrets are redacted, whichever case the output belongs to.
//!
//! The exit of a subject counts once, in the case in which it happened: the next case begins with a
//! subject that runs and follows the probe. A subject that exits at each of several starts in a row
//! cannot be judged, and running more cases would prove nothing.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use lockstep_intercept::ConnectionStats;
use lockstep_recording::secret::Redaction;
use lockstep_recording::{Blame, Diagnosis, Trouble};
use lockstep_subject::{LogSource, RunningSubject};
use lockstep_support::clock;

use crate::beside::BesideController;
use crate::session::UnexpectedExits;
use crate::start::SubjectStart;
use crate::{EnvironmentError, Session};

/// How long the namespaces of the last cases may take to be deleted before the subject is started
/// again.
const SWEEPING: Duration = Duration::from_secs(30);

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
            let neighbours = self.environment_controllers.as_ref().and_then(RunningSubject::neighbours_ended);
            let beside = || self.beside.as_ref().and_then(BesideController::ended);
            neighbours.or_else(beside).map(|ended| self.redacted(&ended))
        })
    }

    fn redacted(&self, trouble: &Trouble) -> Trouble {
        Trouble { why: self.redaction().output(&trouble.why), ..trouble.clone() }
    }

    /// Before a case: start the subject again if it has ended, and the controller beside it.
    ///
    /// # Errors
    /// [`SubjectError::EndsAtStart`], or it cannot be started.
    pub(crate) async fn restart_if_ended(&self) -> Result<(), EnvironmentError> {
        if let Some(beside) = &self.beside {
            beside.restart_if_ended(&self.environment).await?;
        }
        let (Some(probes), Some(ended)) = (&self.probes, self.exited()) else { return Ok(()) };
        self.record_exit(&ended);
        tracing::info!(ended = ended.why, "starting the subject again");
        self.stop().await;
        // The objects that made it exit may still exist, and must not do so again.
        self.wait_for_namespace_removal().await;
        let options = self.options();
        let starting = SubjectStart {
            environment: &self.environment,
            spec: self.subjects.acting(),
            interceptor: &self.interceptor,
            probe: probes.first(),
            options: &options,
            redaction: self.redaction().clone(),
        };
        let subject = starting.restart().await?;
        *self.subject() = Some(subject);
        let mut exits = self.exits();
        (exits.is_reported, exits.ran_at) = (false, Some(clock::instant()));
        Ok(())
    }

    /// After a case: whether and how the subject has exited during it. If other cases ran at the
    /// same time, it is not known during which of them.
    pub(super) fn exit_during(&self, case: &str, namespace: &str, is_shared: bool) -> Option<Trouble> {
        let ended = self.exited();
        let mut exits = self.exits();
        case.clone_into(&mut exits.last_case);
        if ended.is_none() {
            exits.namespaces.clear();
            exits.ran_at = Some(clock::instant());
        }
        exits.namespaces.insert(namespace.to_owned());
        exits.is_reported = ended.is_some() && !is_shared;
        exits.is_shared = is_shared;
        ended
    }

    /// Wait until the namespaces of the last cases are deleted, with a time limit.
    async fn wait_for_namespace_removal(&self) {
        let left = std::mem::take(&mut self.exits().namespaces);
        let namespaces: Api<Namespace> = Api::all(self.environment.client.clone());
        let gone = async {
            for namespace in &left {
                while !matches!(namespaces.get_opt(namespace).await, Ok(None)) {
                    clock::pause(Duration::from_millis(100)).await;
                }
            }
        };
        if tokio::time::timeout(SWEEPING, gone).await.is_err() {
            tracing::warn!(?left, "the subject is started again beside what it ended in");
        }
    }

    /// How the subject exited between cases or after the last one, which no case shows, and who is
    /// to blame.
    pub fn exits_between_cases(&self) -> Vec<Trouble> {
        // A subject may end because its server has ended.
        if self.environment.ended().is_none()
            && let Some(ended) = self.exited()
        {
            self.record_exit(&ended);
        }
        self.exits().between_cases.clone()
    }

    /// Record an exit between cases, for which the test environment is to blame if it stalled since
    /// the subject was last known to run.
    fn record_exit(&self, ended: &Trouble) {
        let (mut exits, now) = (self.exits(), clock::instant());
        let since = exits.ran_at.unwrap_or(now);
        exits.record(&self.environment.stalls.excuse(ended.clone(), since, now));
    }

    /// What is known of a subject that got into trouble; `None` in virtual time, where it has
    /// neither connections nor output.
    pub(super) async fn diagnosis(&self) -> Option<Diagnosis> {
        self.probes.as_ref()?;
        let log = self.interceptor.log();
        let ConnectionStats { opened, unsecured, why } = log.connections();
        let output = self.log_source();
        let mut diagnosis = Diagnosis {
            requests: log.counts().values().sum(),
            connections: opened,
            unsecured,
            handshake: why,
            output: match output {
                Some(output) => Some(output.excerpt().await),
                None => None,
            },
        };
        self.redaction().diagnosis(&mut diagnosis);
        Some(diagnosis)
    }

    fn exits(&self) -> MutexGuard<'_, UnexpectedExits> {
        self.exits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
