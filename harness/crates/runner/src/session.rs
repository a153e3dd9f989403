//! A subject that runs on a test environment.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube_apiserver_sim::ApiServer;
use lockstep_case::model::{Case, ClockKind, CompanionController, PodKind};
use lockstep_case::{RestartOptions, RestartProfile};
use lockstep_cluster::{ClusterError, FileLock, SiteName, installation, repeat_while_unreachable};
use lockstep_intercept::Interceptor;
use lockstep_recording::controllers::Controller;
use lockstep_recording::secret::Redaction;
use lockstep_recording::{FORMAT, Header, Identity, Trouble};
use lockstep_subject::{HEAD_START, RunningSubject, SubjectError, SubjectSpec};
use lockstep_support::clock::{self, Instant};

use crate::beside::BesideController;
use crate::definitions::{Definitions, has_rules, warn_of_rules};
use crate::driver::PodBackend;
use crate::handover::SubjectTurns;
use crate::observe::ObserveError;
use crate::observe::namespace::{make_namespace, remove_leftovers};
use crate::options::{SessionOptions, SubjectOptions};
use crate::probes::Probes;
use crate::request_log::{self, RefusalCounts};
use crate::start::{SubjectStart, describe_unserved_probe, start_subject, until_at_work};
use crate::{Environment, EnvironmentError, StepHook, SubjectPlan};

/// A subject, behind its own interceptor, on a test environment that has proved itself. The subject
/// brings exactly the controllers that the cluster leaves out.
pub struct Session {
    pub(super) environment: Arc<Environment>,
    pub(super) interceptor: Interceptor,
    identity: Identity,
    /// Its subject, or its two subjects, of which one runs at a time.
    pub(super) subjects: SubjectTurns,
    /// `None` while it is stopped on purpose.
    subject: Mutex<Option<RunningSubject>>,
    /// `None` in virtual time, where nothing needs to be proved.
    pub(super) probes: Option<Probes>,
    pub(super) budget: Duration,
    pub(super) pods: Option<PodKind>,
    restart: Mutex<RestartOptions>,
    /// The profile of the first subject, if it is not the case's.
    profile: Option<RestartProfile>,
    /// The custom resource definitions of its cases.
    definitions: Definitions,
    pub(super) bypass_interceptor: bool,
    process: SubjectOptions,
    pub(super) steps: StepHook,
    /// Exits of the subject that belong to no case.
    pub(super) exits: Mutex<UnexpectedExits>,
    pub(super) cases: std::sync::atomic::AtomicU32,
    /// What the subject has not done about the probe since its first start, if it did not serve it.
    unserved: Option<String>,
    /// What the server has refused the subject so far.
    pub(super) refused: RefusalCounts,
    /// How many unsupported requests a simulated server had received before.
    unsupported_before: usize,
    /// The test environment's controllers, where this process started them.
    pub(super) environment_controllers: Option<RunningSubject>,
    /// The controller that shares the subject's work.
    pub(super) beside: Option<BesideController>,
    /// What its cases have written into Secrets so far, which the subject may print.
    pub(super) redaction: Mutex<Redaction>,
    _exclusive: Option<FileLock>,
}

/// Exits of the subject that belong to no case.
#[derive(Debug, Default)]
pub(super) struct UnexpectedExits {
    /// The name of the last case that ran.
    pub(super) last_case: String,
    /// The namespace of the last case, and those of the cases that ran when the subject exited.
    pub(super) namespaces: BTreeSet<String>,
    /// Whether the exit was reported, by the case in which it happened or here.
    pub(super) is_reported: bool,
    /// Whether it exited while several cases ran.
    pub(super) is_shared: bool,
    /// When it was last known to run: after a case, or after its restart.
    pub(super) ran_at: Option<Instant>,
    /// After which case, and how.
    pub(super) between_cases: Vec<Trouble>,
}

/// The parts of a session whose subject runs.
struct SessionParts {
    interceptor: Interceptor,
    subject: RunningSubject,
    probes: Option<Probes>,
    unserved: Option<String>,
    environment_controllers: Option<RunningSubject>,
    beside: Option<BesideController>,
    exclusive: Option<FileLock>,
    unsupported_before: usize,
}

impl Session {
    /// Prove the test environment while no subject runs, then start the subject. Waits while
    /// another process's subject runs on the same cluster, since each would act on the other's
    /// cases.
    ///
    /// A subject that starts and then does nothing is accepted here: the cases show it.
    ///
    /// # Errors
    /// The test environment does not prove itself, or the subject cannot be started.
    pub async fn open(
        environment: &Arc<Environment>,
        spec: &SubjectSpec,
        options: &SessionOptions,
    ) -> Result<Self, EnvironmentError> {
        let subjects = SubjectTurns::new(spec.clone(), options.successor.clone());
        subjects.all().try_for_each(|one| one.can_bring(environment.under_test()))?;
        let parts = match environment.cluster.virtual_time_server() {
            Some(server) => Self::start_in_virtual_time(environment, server, spec, options, &subjects).await?,
            None => Self::start_on_proved_environment(environment, spec, options, &subjects).await?,
        };
        Ok(Self::from_parts(environment, subjects, options, parts))
    }

    async fn start_in_virtual_time(
        environment: &Arc<Environment>,
        server: &ApiServer,
        spec: &SubjectSpec,
        options: &SessionOptions,
        subjects: &SubjectTurns,
    ) -> Result<SessionParts, EnvironmentError> {
        let (cluster_controllers, virtual_time) = (&environment.cluster_controllers, environment.virtual_time.as_ref());
        // Of this project's controllers only the restart controller reads `managedFields`.
        let server_for = |reads: bool| if reads { server.clone() } else { server.without_managed_fields() };
        let reads =
            subjects.all().any(SubjectSpec::is_in_go) || environment.under_test().has(Controller::ConfigRestart);
        let environment_controllers = cluster_controllers.start(
            server_for(cluster_controllers.are_upstream()).client(),
            environment.under_test(),
            virtual_time,
        )?;
        if cluster_controllers.are_upstream() {
            clock::pause(HEAD_START).await;
        }
        let interceptor = Interceptor::in_process(server_for(reads));
        options.sent.iter().for_each(|sent| interceptor.record_requests(sent));
        let subject = start_subject(environment, spec, &interceptor, "", options).await?;
        Ok(SessionParts {
            interceptor,
            subject,
            probes: None,
            unserved: None,
            environment_controllers,
            beside: None,
            exclusive: None,
            unsupported_before: 0,
        })
    }

    async fn start_on_proved_environment(
        environment: &Arc<Environment>,
        spec: &SubjectSpec,
        options: &SessionOptions,
        subjects: &SubjectTurns,
    ) -> Result<SessionParts, EnvironmentError> {
        let exclusive = environment.cluster.lock_for_subject().await?;
        let unsupported_before = environment.cluster.unsupported_requests().await?.len();
        remove_leftovers(&environment.client).await.map_err(|error| ObserveError::Probe(Box::new(error)))?;
        let beside = options.beside.as_ref().map(|spec| BesideController::new(environment, spec, options.budget));
        let beside = beside.transpose()?;
        let probes = Probes::prove(environment, options, beside.as_ref().map(BesideController::log)).await?;
        let started = async {
            if let Some(beside) = &beside {
                beside.start(environment).await?;
            }
            let interceptor = interceptor(environment, subjects).await?;
            options.sent.iter().for_each(|sent| interceptor.record_requests(sent));
            let probe = probes.first();
            let redaction = Redaction::default();
            let starting = SubjectStart { environment, spec, interceptor: &interceptor, probe, options, redaction };
            let (subject, taken_up) = starting.start_first().await?;
            if options.bypass_interceptor {
                tracing::debug!("the subject bypasses its interceptor, as the options say");
            } else if taken_up && interceptor.log().since_start().requests() == 0 {
                subject.stop().await;
                return Err(SubjectError::BypassInterceptor(spec.to_string()).into());
            }
            Ok::<_, EnvironmentError>((interceptor, subject, taken_up))
        };
        let (interceptor, subject, taken_up) = match started.await {
            Ok(started) => started,
            Err(error) => {
                if let Some(beside) = &beside {
                    beside.stop().await;
                }
                probes.remove(&environment.client).await;
                return Err(error);
            }
        };
        let unserved = (!taken_up)
            .then(|| describe_unserved_probe(environment, interceptor.log(), probes.first(), options.budget));
        Ok(SessionParts {
            interceptor,
            subject,
            probes: Some(probes),
            unserved,
            environment_controllers: None,
            beside,
            exclusive: Some(exclusive),
            unsupported_before,
        })
    }

    fn from_parts(
        environment: &Arc<Environment>,
        subjects: SubjectTurns,
        options: &SessionOptions,
        parts: SessionParts,
    ) -> Self {
        let SessionParts {
            interceptor,
            subject,
            probes,
            unserved,
            environment_controllers,
            beside,
            exclusive,
            unsupported_before,
        } = parts;
        let (identity, subject) = (subject.identity.clone(), Mutex::new(Some(subject)));
        let budget = options.budget;
        let (pods, restart) = (options.pods, Mutex::new(options.restart.clone()));
        Session {
            environment: Arc::clone(environment),
            interceptor,
            identity,
            subjects,
            subject,
            probes,
            budget,
            pods,
            restart,
            profile: options.profile,
            definitions: Definitions::default(),
            bypass_interceptor: options.bypass_interceptor,
            process: options.process.clone(),
            steps: options.steps.clone(),
            exits: Mutex::default(),
            cases: 0.into(),
            unserved,
            refused: RefusalCounts::default(),
            unsupported_before,
            environment_controllers,
            beside,
            redaction: Mutex::default(),
            _exclusive: exclusive,
        }
    }

    /// How many cases can run at the same time, if they do not affect the subject.
    pub(crate) fn lanes(&self) -> usize {
        self.probes.as_ref().map_or(1, Probes::count)
    }

    /// What to know about the subject if it did not serve the probe.
    pub(crate) fn unserved(&self) -> Option<&str> {
        self.unserved.as_deref()
    }

    /// The first subject.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The controller that shares the subject's work, if there is one.
    pub(crate) fn identity_beside(&self) -> Option<Identity> {
        self.beside.as_ref().and_then(BesideController::identity)
    }

    /// Whether the cluster, the subject and the controller beside it still run.
    pub(super) fn is_intact(&self) -> bool {
        let beside_ended = self.beside.as_ref().and_then(BesideController::ended);
        self.is_cluster_alive() && self.exited().is_none() && beside_ended.is_none()
    }

    /// Whether its cluster still runs.
    pub(super) fn is_cluster_alive(&self) -> bool {
        self.environment.cluster.is_alive()
    }

    /// What the cluster's controllers call themselves, where they are not those that such a cluster
    /// has by default.
    pub(super) fn cluster_controllers(&self) -> Option<&Identity> {
        let environment_controllers =
            self.environment_controllers.as_ref().filter(|_| self.environment.cluster_controllers.are_upstream());
        environment_controllers.map(|environment_controllers| &environment_controllers.identity)
    }

    /// Whether the subject was stopped on purpose.
    pub(super) fn is_stopped(&self) -> bool {
        self.subject().is_none()
    }

    /// Why the subject's restart options, its clock, or the controllers beside it do not fit the
    /// case, if they do not.
    pub(super) fn find_mismatch(&self, case: &Case) -> Option<String> {
        let Environment { cluster, cluster_controllers, .. } = &*self.environment;
        let is_ours = cluster.virtual_time_server().is_some() && !cluster_controllers.are_upstream();
        let here = if is_ours { CompanionController::Ours } else { CompanionController::Upstream };
        if case.companion.is_some_and(|beside| beside != here) {
            let why = "the case wants another Deployment controller beside the subject than this cluster has";
            return Some(why.to_owned());
        }
        if case.clock == ClockKind::Virtual && !clock::is_simulated() {
            return Some("the case has times of day, which only virtual time has".to_owned());
        }
        if !case.controllers.has(Controller::ConfigRestart) {
            return None;
        }
        let (own, expected) = (self.restart().profile, case.restart.profile);
        // A subject that takes options is configured before the case.
        let mut configured = self.subjects.all().filter(|spec| spec.takes_restart_options());
        let lacks = configured.find_map(|spec| spec.lacks_restart_options(&case.restart));
        if lacks.is_some() || self.subjects.all().all(SubjectSpec::takes_restart_options) {
            return lacks;
        }
        if own != expected {
            return Some(format!("the case is of restart profile {expected}, and the subject of {own}; see --profile"));
        }
        (*self.restart() != case.restart)
            .then(|| "the case sets restart options, which only `--subject ours` can be given".to_owned())
    }

    /// Prepare for a case: create its namespace, and restart the subject with the case's restart
    /// options, where it takes any, or put the one in its place that begins.
    pub(super) async fn prepare(
        &self,
        case: &Case,
        namespace: &str,
        subjects: SubjectPlan,
    ) -> Result<(), EnvironmentError> {
        let takes_options = self.subjects.all().any(SubjectSpec::takes_restart_options);
        let concerned = self.environment.under_test().has(Controller::ConfigRestart) && takes_options;
        let definitions = case.definitions().map_err(EnvironmentError::CustomResourceFile)?;
        // A controller that started before its kinds were served may never look for them again.
        let Environment { client, cache, .. } = &*self.environment;
        let new = self.definitions.ensure_served(client, cache, &definitions).await?;
        if new && self.environment.identity().name == SiteName::Sim.as_str() {
            warn_of_rules(&definitions);
        }
        let replaced = self.subjects.begin(subjects);
        if new || replaced || concerned && *self.restart() != case.restart {
            self.stop().await;
            self.restart().clone_from(&case.restart);
            let requests_before = self.interceptor.log().counts().values().sum();
            self.start().await?;
            // The subject must have started to watch before the case creates anything.
            until_at_work(self.interceptor.log(), self.budget, || self.broken().is_some()).await;
            tokio::time::timeout(self.budget, self.interceptor.log().wait_for_more_than(requests_before)).await.ok();
        }
        self.make_namespace(namespace).await
    }

    /// Stop the subject, and wait until it has ended.
    pub(super) async fn stop(&self) {
        let subject = self.subject().take();
        if let Some(subject) = subject {
            subject.stop().await;
        }
    }

    /// Kill the subject; from its next start on, it is the other one.
    pub(super) async fn kill_for_handover(&self) {
        self.kill().await;
        self.subjects.hand_over();
    }

    /// What a recording says of a handover, if there are two subjects.
    pub(super) fn describe_handover(&self) -> Option<String> {
        self.subjects.are_two().then(|| format!("{} takes over", self.subjects.acting()))
    }

    /// Kill the subject on purpose, and wait until it has ended.
    pub(super) async fn kill(&self) {
        let subject = self.subject().take();
        if let Some(subject) = subject {
            subject.kill().await;
        }
    }

    /// Start the subject again with the same kubeconfig, unless it runs.
    pub(super) async fn start(&self) -> Result<(), EnvironmentError> {
        if self.is_stopped() {
            let folder = self.probes.as_ref().map_or("", |probes| &probes.first().namespace);
            let spec = self.subjects.acting();
            let subject = start_subject(&self.environment, spec, &self.interceptor, folder, &self.options()).await?;
            *self.subject() = Some(subject);
        }
        Ok(())
    }

    /// The options of the session, with the current restart options.
    pub(super) fn options(&self) -> SessionOptions {
        let (restart, process) = (self.restart().clone(), self.process.clone());
        SessionOptions {
            budget: self.budget,
            pods: self.pods,
            restart,
            bypass_interceptor: self.bypass_interceptor,
            process,
            steps: self.steps.clone(),
            profile: self.subjects.profile().or(self.profile),
            // The interceptor logs the sent requests itself.
            ..SessionOptions::default()
        }
    }

    /// Why results on this cluster cannot be trusted: the unsupported requests of a simulated
    /// server.
    pub(super) async fn unsupported_requests(&self) -> Result<Vec<String>, ClusterError> {
        let requests = self.environment.cluster.unsupported_requests().await?;
        Ok(requests.into_iter().skip(self.unsupported_before).collect())
    }

    pub(super) fn subject(&self) -> MutexGuard<'_, Option<RunningSubject>> {
        self.subject.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restart(&self) -> MutexGuard<'_, RestartOptions> {
        self.restart.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many requests the subject has made so far, and how often the server refused which, in
    /// cases and elsewhere. Refusals in a case's namespace after the case do not count, as the
    /// server refuses every create there.
    pub(crate) fn requests(&self) -> (u64, BTreeMap<String, u64>) {
        let log = self.interceptor.log();
        self.refused.add(log.drain().iter().filter(|request| request_log::is_relevant_elsewhere(request)));
        let refused = self.refused.totals().into_iter();
        let redaction = self.redaction();
        (log.counts().values().sum(), refused.map(|(what, times)| (redaction.output(&what), times)).collect())
    }

    /// How the pods of this case run on this cluster.
    pub(super) fn pod_backend(&self, case: &Case) -> PodBackend {
        let real = self.pods.map_or(case.wants_real_pods(), |pods| pods == PodKind::Real);
        match &self.environment.images {
            Some(images) if real => PodBackend::Real(images.clone()),
            _ => PodBackend::Held,
        }
    }

    /// Create a namespace in which pods are admitted and the subject may write.
    async fn make_namespace(&self, name: &str) -> Result<(), EnvironmentError> {
        // A cluster in this process has one user, and its names must not depend on the
        // installation: the same case gives the same recording everywhere.
        let installation = self.environment.cluster.virtual_time_server().is_none().then(installation);
        let created = make_namespace(&self.environment.client, name, installation).await;
        created.map_err(|error| ObserveError::Namespace(Box::new(error)))?;
        let cluster = &self.environment.cluster;
        Ok(repeat_while_unreachable(async || cluster.grant_namespace_access(name).await).await?)
    }

    /// Stop the subject and wait until it has ended. Also removes its probes and the controllers
    /// that were started with it, and closes a test environment that only this session uses.
    pub async fn close(self) {
        self.stop().await;
        if let Some(beside) = &self.beside {
            beside.stop().await;
        }
        if let Some(environment_controllers) = self.environment_controllers {
            environment_controllers.kill().await;
        }
        if let Some(probes) = &self.probes {
            probes.remove(&self.environment.client).await;
            self.definitions.remove(&self.environment.client).await;
        }
        self.environment.close().await;
    }
}

/// An interceptor that the subject can reach: on loopback, or at the address by which the node's
/// pods reach this machine.
async fn interceptor(environment: &Environment, subjects: &SubjectTurns) -> Result<Interceptor, EnvironmentError> {
    let access = environment.cluster.access();
    match environment.cluster.node().filter(|_| subjects.all().any(SubjectSpec::is_inside)) {
        Some(node) => Ok(Interceptor::start_at(access, node.host_address().await?)?),
        None => Ok(Interceptor::start(access)?),
    }
}

impl Session {
    /// The header for a run of this case in this namespace. In virtual time the caller adds the
    /// seed.
    pub(super) fn header(&self, case: &Case, namespace: &str, real_pods: bool) -> Header {
        Header {
            format: FORMAT,
            case: case.name.clone(),
            path: case.path.clone(),
            source: case.source.clone(),
            controllers: case.controllers.clone(),
            under_test: self.environment.under_test().clone(),
            namespace: namespace.to_owned(),
            subject: self.subject().as_ref().map_or_else(|| self.identity.clone(), |one| one.identity.clone()),
            kind: self.subjects.acting().kind(),
            cluster: self.environment.identity().clone(),
            cluster_controllers: self.cluster_controllers().cloned().map(Box::new),
            beside: self.identity_beside().map(Box::new),
            workload: self.environment.workload.clone().map(Box::new),
            real_pods,
            unevaluated: self.unevaluated(case),
            seed: None,
            started: clock::rfc3339(),
        }
    }

    /// The definitions of a case whose rules this cluster's server does not evaluate. A case whose
    /// definitions cannot be read fails before.
    fn unevaluated(&self, case: &Case) -> Vec<String> {
        let is_simulated = self.environment.identity().name == SiteName::Sim.as_str();
        let definitions = case.definitions().unwrap_or_default();
        let unevaluated = definitions.iter().filter(|definition| is_simulated && has_rules(definition));
        unevaluated.filter_map(|definition| Some(definition["metadata"]["name"].as_str()?.to_owned())).collect()
    }
}

impl UnexpectedExits {
    /// Record an exit, unless a case has reported it.
    pub(super) fn record(&mut self, ended: &Trouble) {
        if !std::mem::replace(&mut self.is_reported, true) {
            let when = match (self.last_case.as_str(), self.is_shared) {
                ("", _) => "before the first case, between cases".to_owned(),
                (last, true) => format!("with {last}, in one of several cases, which are played again alone"),
                (last, false) => format!("after {last}, between cases"),
            };
            self.between_cases.push(Trouble { why: format!("{when}: {}", ended.why), ..ended.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_recording::Blame;

    use super::*;

    #[test]
    fn an_exit_between_cases_is_recorded_once_with_its_blame() {
        for blame in [Blame::Environment, Blame::Subject] {
            let mut exits = UnexpectedExits { last_case: "scale/x".to_owned(), ..UnexpectedExits::default() };
            let ended = Trouble::new(blame, "the subject ended");
            exits.record(&ended);
            exits.record(&ended);
            let why = "after scale/x, between cases: the subject ended";
            assert_eq!(exits.between_cases, [Trouble::new(blame, why)]);
        }
    }
}
