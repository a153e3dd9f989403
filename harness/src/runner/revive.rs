//! A subject that ended by itself is started again before the next case.
//!
//! Its end counts once, in the case in which it happened: the next case begins with a subject that
//! runs and follows the probe. One that ends at each of [`STARTS`] starts in a row cannot be
//! judged, and playing on would prove nothing more.

use std::collections::BTreeSet;
use std::sync::PoisonError;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;

use super::play::Play;
use super::session::begin;
use super::start::until_at_work;
use super::{Environment, EnvironmentError, Session, SessionOptions};
use crate::clock;
use crate::controllers::Controller;
use crate::intercept::{Connections, Interceptor};
use crate::observe::Probe;
use crate::observe::probe::Reach;
use crate::recording::{Blame, Diagnosis, Entry, Trouble};
use crate::secret::Redaction;
use crate::subject::{Running, Spec, SubjectError};

/// How often a subject is started in a row. More than once: a controller may lose a race with its
/// own last run, such as for a port.
const STARTS: u32 = 3;
/// Between two of them.
const BETWEEN: Duration = Duration::from_millis(200);

/// How long the last case's objects may take to go before a subject that ended is started again.
const SWEEPING: Duration = Duration::from_secs(30);

/// What a subject is started with.
pub(super) struct Starting<'a> {
    pub(super) environment: &'a Environment,
    pub(super) spec: &'a Spec,
    pub(super) interceptor: &'a Interceptor,
    pub(super) probe: &'a Probe,
    pub(super) options: &'a SessionOptions,
    /// What it may print of the cases before.
    pub(super) redaction: Redaction,
}

/// How the subject ended by itself in no case.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// The last case that was played.
    last: String,
    /// Its namespace, and those of cases that were played when the subject ended.
    namespaces: BTreeSet<String>,
    /// Whether the case in which it ended has been told.
    told: bool,
    /// Whether it ended while several cases were played.
    beside_others: bool,
    /// After which case, and how.
    found: Vec<String>,
}

impl Starting<'_> {
    /// Start it for the first time. Also says whether it has taken the probe up.
    pub(super) async fn first(&self) -> Result<(Running, bool), EnvironmentError> {
        let budget = self.options.budget;
        self.until_it_lives(async |subject: &Running| self.probe.taken_up(budget, &|| subject.exited().is_some()).await)
            .await
    }

    /// Start it again. The probe is there already: one flip through the subject says that it
    /// follows.
    async fn again(&self) -> Result<Running, EnvironmentError> {
        let budget = self.options.budget;
        let follows =
            async |subject: &Running| self.probe.flip(budget, &|| subject.exited().is_some()).await == Reach::Subject;
        self.until_it_lives(follows).await.map(|(subject, _)| subject)
    }

    /// Start it until it has not ended by the time that it `follows` the probe, or could have.
    async fn until_it_lives(
        &self,
        follows: impl AsyncFn(&Running) -> bool,
    ) -> Result<(Running, bool), EnvironmentError> {
        let Self { environment, spec, interceptor, probe, options, ref redaction } = *self;
        let (log, was_served) = (interceptor.log(), probe.is_taken_up());
        let mut why = String::new();
        for start in 1..=STARTS {
            let subject = begin(environment, spec, interceptor, &probe.namespace, options).await?;
            // A subject that goes past its interceptor serves the probe without a request.
            let is_served = || !was_served && probe.is_taken_up();
            let over = || subject.exited().is_some() || is_served();
            let is_at_work = until_at_work(log, options.budget, over).await;
            // Of a controller that the probe does without, its first request is all that can be
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
    /// [`SubjectError::EndsAtStart`], or when it cannot be started.
    pub async fn revive(&self) -> Result<(), EnvironmentError> {
        let (Some(probes), Some(ended)) = (&self.probes, self.exited()) else { return Ok(()) };
        self.ends().note(&ended.why);
        tracing::info!(ended = ended.why, "starting the subject again");
        self.stop().await;
        // What it ended of may still be there: it shall not end of it once more.
        self.swept().await;
        let options = self.options();
        let starting = Starting {
            environment: &self.environment,
            spec: &self.spec,
            interceptor: &self.interceptor,
            probe: probes.first(),
            options: &options,
            redaction: self.redaction().clone(),
        };
        let subject = starting.again().await?;
        *self.subject() = Some(subject);
        self.ends().told = false;
        Ok(())
    }

    /// After a case: whether the subject has ended by itself in it, and how. Where others were
    /// played beside it, it is not known in which of them it ended.
    pub(super) fn ended_in(&self, case: &str, namespace: &str, beside_others: bool) -> Option<Trouble> {
        let ended = self.exited();
        let mut ends = self.ends();
        case.clone_into(&mut ends.last);
        if ended.is_none() {
            ends.namespaces.clear();
        }
        ends.namespaces.insert(namespace.to_owned());
        ends.told = ended.is_some() && !beside_others;
        ends.beside_others = beside_others;
        ended
    }

    /// Wait until the last cases' namespaces are gone, though not for ever.
    async fn swept(&self) {
        let left = std::mem::take(&mut self.ends().namespaces);
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

    /// How it ended by itself between two cases or after the last: no case shows that.
    pub fn ended_between(&self) -> Vec<String> {
        let mut ends = self.ends();
        if let Some(ended) = self.exited() {
            ends.note(&ended.why);
        }
        ends.found.clone()
    }

    /// What is known of a subject that got into trouble; nothing of one in virtual time, which has
    /// neither a socket nor output.
    pub(super) async fn diagnosis(&self) -> Option<Diagnosis> {
        self.probes.as_ref()?;
        let log = self.interceptor.log();
        let Connections { opened, unsecured, why } = log.connections();
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

    fn ends(&self) -> std::sync::MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Play<'_> {
    /// Whether a reader will want to know what the subject was at.
    pub(super) fn is_in_trouble(&self) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Trouble(trouble) => trouble.blame == Blame::Subject,
            Entry::Settled(settling) => settling.unsettled.is_some(),
            Entry::Impossible(_) => true,
            _ => false,
        })
    }

    /// Whether the recording says so already.
    pub(super) fn tells(&self, why: &str) -> bool {
        self.entries.iter().any(|entry| match entry {
            Entry::Trouble(trouble) => trouble.why == why,
            Entry::Settled(settling) => settling.unsettled.as_ref().is_some_and(|trouble| trouble.why == why),
            _ => false,
        })
    }
}

impl Ends {
    /// Keep it, unless a case has told it.
    fn note(&mut self, ended: &str) {
        if !std::mem::replace(&mut self.told, true) {
            let when = match (self.last.as_str(), self.beside_others) {
                ("", _) => "before the first case, between cases".to_owned(),
                (last, true) => format!("with {last}, in one of several cases, which are played again alone"),
                (last, false) => format!("after {last}, between cases"),
            };
            self.found.push(format!("{when}: {ended}"));
        }
    }
}
