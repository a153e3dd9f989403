//! The controller that shares the subject's work (`--beside`).
//!
//! It runs in real time, behind an interceptor of its own: whose a request is shows where it
//! arrives, and no fault, hold or crash of a case affects it. Which versions it wrote is known from
//! the answers to its writes.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstep_intercept::{InterceptedRequest, Interceptor, InterceptorLog, Verb};
use lockstep_recording::{ChangeType, Identity, ObjectVersion, Trouble};
use lockstep_subject::{RunningSubject, SubjectError, SubjectSpec};

use crate::start::{start_subject, until_at_work};
use crate::{Environment, EnvironmentError, SessionOptions};

/// Its folder, in that of the subjects.
const FOLDER: &str = "beside";

/// The controller beside a session's subject.
pub(crate) struct BesideController {
    spec: SubjectSpec,
    interceptor: Interceptor,
    budget: Duration,
    running: Mutex<Option<RunningSubject>>,
}

impl BesideController {
    /// A controller that does not run yet.
    ///
    /// # Errors
    /// Its interceptor cannot listen.
    pub(crate) fn new(
        environment: &Environment,
        spec: &SubjectSpec,
        budget: Duration,
    ) -> Result<Self, EnvironmentError> {
        let interceptor = Interceptor::start(environment.cluster.access())?;
        interceptor.log().read_versions();
        Ok(Self { spec: spec.clone(), interceptor, budget, running: Mutex::default() })
    }

    /// Start it, and wait until it works.
    ///
    /// # Errors
    /// It cannot be started, or ends.
    pub(crate) async fn start(&self, environment: &Environment) -> Result<(), EnvironmentError> {
        let options = SessionOptions { budget: self.budget, ..SessionOptions::default() };
        let running = start_subject(environment, &self.spec, &self.interceptor, FOLDER, &options).await?;
        let is_at_work = until_at_work(self.log(), self.budget, || running.exited().is_some()).await;
        let why = match running.ended_beside() {
            Some(ended) => ended.why,
            None if !is_at_work => format!("the controller beside the subject, {}, does not work", running.identity),
            None => {
                *self.running() = Some(running);
                return Ok(());
            }
        };
        running.stop().await;
        Err(SubjectError::Beside(why).into())
    }

    /// Before a case: start it again if it has ended.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) async fn restart_if_ended(&self, environment: &Environment) -> Result<(), EnvironmentError> {
        let Some(ended) = self.ended() else { return Ok(()) };
        tracing::info!(ended = ended.why, "starting the controller beside the subject again");
        self.stop().await;
        self.start(environment).await
    }

    /// Why it has ended, if it has: a failure of the test environment.
    pub(crate) fn ended(&self) -> Option<Trouble> {
        self.running().as_ref().and_then(RunningSubject::ended_beside)
    }

    /// Its name and version; `None` while it does not run.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.running().as_ref().map(|running| running.identity.clone())
    }

    /// The log of its requests.
    pub(crate) fn log(&self) -> &InterceptorLog {
        self.interceptor.log()
    }

    /// Stop it, and wait until it has ended.
    pub(crate) async fn stop(&self) {
        let running = self.running().take();
        if let Some(running) = running {
            running.stop().await;
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<RunningSubject>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The versions that the controller wrote in a case.
#[derive(Debug, Default)]
pub(crate) struct VersionsBeside {
    versions: BTreeSet<u64>,
    /// The resources and names of deleted objects, as the answer to a deletion has no version.
    deleted: BTreeSet<(String, String)>,
}

impl VersionsBeside {
    /// Adds its requests.
    pub(crate) fn extend(&mut self, requests: impl IntoIterator<Item = InterceptedRequest>) {
        for request in requests.into_iter().filter(InterceptedRequest::is_successful_write) {
            self.versions.extend(request.version);
            if request.verb == Verb::Delete {
                self.deleted.insert((request.resource, request.name));
            }
        }
    }

    /// Whether it wrote this version.
    pub(crate) fn has(&self, version: &ObjectVersion) -> bool {
        let resource = || format!("{}s", version.kind.to_lowercase());
        self.versions.contains(&version.rv)
            || version.change == ChangeType::Deleted && self.deleted.contains(&(resource(), version.name.clone()))
    }
}
