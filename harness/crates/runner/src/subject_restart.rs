//! Restarts a subject that ended by itself before the next case.
//!
//! The exit counts once, in the case in which it happened: the next case begins with a subject that
//! runs and follows the probe. A subject that exits at each of several starts in a row cannot
//! be judged, and running more cases would prove nothing.

use std::sync::PoisonError;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use lockstep_intercept::ConnectionStats;
use lockstep_recording::{Diagnosis, Trouble};
use lockstep_support::clock;

use crate::session::UnexpectedExits;
use crate::start::SubjectStart;
use crate::{EnvironmentError, Session};

/// How long the namespaces of the last cases may take to be deleted before the subject is started
/// again.
const SWEEPING: Duration = Duration::from_secs(30);

impl Session {
    /// Before a case: start the subject again if it has ended.
    ///
    /// # Errors
    /// [`SubjectError::EndsAtStart`], or it cannot be started.
    pub(crate) async fn restart_if_ended(&self) -> Result<(), EnvironmentError> {
        let (Some(probes), Some(ended)) = (&self.probes, self.exited()) else { return Ok(()) };
        self.exits().record(&ended.why);
        tracing::info!(ended = ended.why, "starting the subject again");
        self.stop().await;
        // The objects that made it exit may still exist, and must not do so again.
        self.wait_for_namespace_removal().await;
        let options = self.options();
        let starting = SubjectStart {
            environment: &self.environment,
            spec: &self.spec,
            interceptor: &self.interceptor,
            probe: probes.first(),
            options: &options,
            redaction: self.redaction().clone(),
        };
        let subject = starting.restart().await?;
        *self.subject() = Some(subject);
        self.exits().is_reported = false;
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

    /// How the subject exited between cases or after the last one, which no case shows.
    pub fn exits_between_cases(&self) -> Vec<String> {
        let mut exits = self.exits();
        if let Some(ended) = self.exited() {
            exits.record(&ended.why);
        }
        exits.descriptions.clone()
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

    fn exits(&self) -> std::sync::MutexGuard<'_, UnexpectedExits> {
        self.exits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
