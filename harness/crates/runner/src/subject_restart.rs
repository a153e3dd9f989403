//! Restarts a subject that ended by itself before the next case.
//!
//! The exit counts once, in the case in which it happened: the next case begins with a subject that
//! runs and follows the probe. A subject that exits at each of [`STARTS`] starts in a row cannot be
//! judged, and running more cases would prove nothing.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use lockstep_intercept::{ConnectionStats, Interceptor};
use lockstep_recording::controllers::Controller;
use lockstep_recording::secret::Redaction;
use lockstep_recording::{Blame, Diagnosis, RecordingEntry, Trouble};
use lockstep_subject::{RunningSubject, SubjectError, SubjectSpec};
use lockstep_support::clock;

use super::case_run::CaseRun;
use super::session::start_subject;
use super::start::until_at_work;
use super::{Environment, EnvironmentError, Session, SessionOptions};
use crate::observe::Probe;
use crate::observe::probe::Reach;

/// How often a subject is started in a row. More than once, because a controller may race with its
/// own last run, such as for a port.
const STARTS: u32 = 3;
/// The pause between two starts, multiplied by the number of the start.
const BETWEEN: Duration = Duration::from_millis(200);

/// How long the namespaces of the last cases may take to be deleted before the subject is started
/// again.
const SWEEPING: Duration = Duration::from_secs(30);

/// What a subject is started with.
pub(super) struct SubjectStart<'a> {
    pub(super) environment: &'a Environment,
    pub(super) spec: &'a SubjectSpec,
    pub(super) interceptor: &'a Interceptor,
    pub(super) probe: &'a Probe,
    pub(super) options: &'a SessionOptions,
    /// The values of earlier cases, which it may print.
    pub(super) redaction: Redaction,
}

/// Exits of the subject that belong to no case.
#[derive(Debug, Default)]
pub(super) struct UnexpectedExits {
    /// The name of the last case that ran.
    last_case: String,
    /// The namespace of the last case, and those of the cases that ran when the subject exited.
    namespaces: BTreeSet<String>,
    /// Whether the exit was reported, by the case in which it happened or here.
    is_reported: bool,
    /// Whether it exited while several cases ran.
    is_shared: bool,
    /// After which case, and how.
    descriptions: Vec<String>,
}

impl SubjectStart<'_> {
    /// Start the subject for the first time. Also returns whether it has taken the probe up.
    pub(super) async fn start_first(&self) -> Result<(RunningSubject, bool), EnvironmentError> {
        let budget = self.options.budget;
        self.start_until_alive(async |subject: &RunningSubject| {
            self.probe.wait_until_taken_up(budget, &|| subject.exited().is_some()).await
        })
        .await
    }

    /// Start the subject again. The probe exists already: one flip through the subject shows that
    /// it follows.
    async fn restart(&self) -> Result<RunningSubject, EnvironmentError> {
        let budget = self.options.budget;
        let follows = async |subject: &RunningSubject| {
            self.probe.flip(budget, &|| subject.exited().is_some()).await == Reach::Subject
        };
        self.start_until_alive(follows).await.map(|(subject, _)| subject)
    }

    /// Start the subject until it still runs when it `follows` the probe, or when it could have.
    async fn start_until_alive(
        &self,
        follows: impl AsyncFn(&RunningSubject) -> bool,
    ) -> Result<(RunningSubject, bool), EnvironmentError> {
        let Self { environment, spec, interceptor, probe, options, ref redaction } = *self;
        let (log, was_served) = (interceptor.log(), probe.is_taken_up());
        let mut why = String::new();
        for start in 1..=STARTS {
            let subject = start_subject(environment, spec, interceptor, &probe.namespace, options).await?;
            // A subject that bypasses its interceptor serves the probe without a request.
            let is_served = || !was_served && probe.is_taken_up();
            let over = || subject.exited().is_some() || is_served();
            let is_at_work = until_at_work(log, options.budget, over).await;
            // For a controller that does not act on the probe, its first request is all that can be
            // waited for.
            let reacts = Controller::UPSTREAM.into_iter().any(|one| environment.under_test().has(one));
            let acts = is_at_work || is_served() || log.since_start().requests() > 0;
            let follows = if reacts { acts && follows(&subject).await } else { is_at_work };
            let Some(ended) = subject.exited() else { return Ok((subject, follows)) };
            why = redaction.output(&ended.why);
            tracing::debug!(start, why, "the subject ended while it started");
            subject.stop().await;
            clock::pause(BETWEEN * start).await;
        }
        Err(SubjectError::EndsAtStart { subject: spec.to_string(), times: STARTS, why }.into())
    }
}

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

impl CaseRun<'_> {
    /// Whether a reader needs to know what the subject was doing.
    pub(super) fn has_subject_trouble(&self) -> bool {
        self.entries.iter().any(|entry| match entry {
            RecordingEntry::Trouble(trouble) => trouble.blame == Blame::Subject,
            RecordingEntry::Settled(settling) => settling.unsettled.is_some(),
            RecordingEntry::Impossible(_) => true,
            _ => false,
        })
    }

    /// Whether the recording contains this reason already.
    pub(super) fn is_attributed(&self, why: &str) -> bool {
        self.entries.iter().any(|entry| match entry {
            RecordingEntry::Trouble(trouble) => trouble.why == why,
            RecordingEntry::Settled(settling) => settling.unsettled.as_ref().is_some_and(|trouble| trouble.why == why),
            _ => false,
        })
    }
}

impl UnexpectedExits {
    /// Record an exit, unless a case has reported it.
    fn record(&mut self, ended: &str) {
        if !std::mem::replace(&mut self.is_reported, true) {
            let when = match (self.last_case.as_str(), self.is_shared) {
                ("", _) => "before the first case, between cases".to_owned(),
                (last, true) => format!("with {last}, in one of several cases, which are played again alone"),
                (last, false) => format!("after {last}, between cases"),
            };
            self.descriptions.push(format!("{when}: {ended}"));
        }
    }
}
