//! A subject at work on a test environment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::definitions::{Definitions, warn_of_rules};
use super::ledger::{self, Refused};
use super::options::{ProcessOptions, SessionOptions};
use super::probes::Probes;
use super::revive::{Ends, Starting};
use super::{Environment, EnvironmentError, StepHook, start};
use crate::case::RestartOptions;
use crate::case::model::{Beside, Case, PodKind};
use crate::clock;
use crate::cluster::{Guard, SiteName, installation, kubeconfig};
use crate::controllers::Controller;
use crate::driver::Stillness;
use crate::intercept::Interceptor;
use crate::observe::ObserveError;
use crate::observe::namespace::{make_namespace, remove_leftovers};
use crate::recording::Identity;
use crate::secret::Redaction;
use crate::subject::{HEAD_START, Inside, Listener, Running, ServiceAccount, Spec, Stage, SubjectError};

/// A subject, behind its own interceptor, on a test environment that has proved itself. It brings
/// just what the test environment's cluster leaves out.
pub struct Session {
    pub(super) environment: Arc<Environment>,
    pub(super) interceptor: Interceptor,
    identity: Identity,
    pub(super) spec: Spec,
    /// `None` while it was stopped on purpose.
    subject: Mutex<Option<Running>>,
    /// `None` in virtual time, where nothing needs to be proved.
    pub(super) probes: Option<Probes>,
    pub(super) budget: Duration,
    pub(super) most_sub_steps: u32,
    pub(super) pods: Option<PodKind>,
    restart: Mutex<RestartOptions>,
    /// The custom resources that its cases brought.
    definitions: Definitions,
    pub(super) bypass_interceptor: bool,
    process: ProcessOptions,
    pub(super) steps: StepHook,
    /// How the subject ended, by itself, in no case.
    pub(super) ends: Mutex<Ends>,
    pub(super) cases: std::sync::atomic::AtomicU32,
    /// What it has not done about the probe since its first start, if it did not serve it.
    unserved: Option<String>,
    /// What the server refused the subject so far.
    pub(super) refused: Refused,
    /// How much a simulated server had been asked that it does not know, before.
    beyond: usize,
    /// The test environment's controllers, where it is this process's.
    pub(super) half: Option<Running>,
    /// What its cases have written into Secrets so far, which the subject may print.
    pub(super) redaction: Mutex<Redaction>,
    _alone: Option<Guard>,
}

/// What a session is made of once its subject runs.
struct Begun {
    interceptor: Interceptor,
    subject: Running,
    probes: Option<Probes>,
    unserved: Option<String>,
    half: Option<Running>,
    alone: Option<Guard>,
    beyond: usize,
}

impl Session {
    /// Prove the test environment while no subject runs, then start the subject. Waits while
    /// another process's subject is at work on the same cluster: two would act on each other's
    /// cases.
    ///
    /// A subject that starts and then does nothing is started all the same: the case will tell.
    ///
    /// # Errors
    /// When the test environment does not prove itself or the subject cannot be started.
    pub async fn take(
        environment: &Arc<Environment>,
        spec: &Spec,
        options: &SessionOptions,
    ) -> Result<Self, EnvironmentError> {
        spec.can_bring(environment.under_test())?;
        if let Some(sim) = environment.cluster.in_virtual_time() {
            let (whose, virtual_time) = (&environment.cluster_controllers, environment.virtual_time.as_ref());
            // Of what is of this project only the restart controller reads `managedFields`.
            let shown = |reads: bool| if reads { sim.clone() } else { sim.without_managed_fields() };
            let reads = spec.is_in_go() || environment.under_test().has(Controller::ConfigRestart);
            let half = whose.start(shown(whose.are_upstream()).client(), environment.under_test(), virtual_time)?;
            if whose.are_upstream() {
                clock::pause(HEAD_START).await;
            }
            let interceptor = Interceptor::inside(shown(reads));
            options.sent.iter().for_each(|sent| interceptor.keep_requests(sent));
            let subject = begin(environment, spec, &interceptor, "", options).await?;
            let begun = Begun { interceptor, subject, probes: None, unserved: None, half, alone: None, beyond: 0 };
            return Ok(Self::begun(environment, spec, options, begun));
        }
        let alone = environment.cluster.exclusive().await?;
        let beyond = environment.cluster.unsupported().await?.len();
        remove_leftovers(&environment.client).await.map_err(|error| ObserveError::Probe(Box::new(error)))?;
        let probes = Probes::prove(environment, options).await?;
        let interceptor = interceptor(environment, spec).await?;
        options.sent.iter().for_each(|sent| interceptor.keep_requests(sent));
        let probe = probes.first();
        let redaction = Redaction::default();
        let starting = Starting { environment, spec, interceptor: &interceptor, probe, options, redaction };
        let (subject, taken_up) = match starting.first().await {
            Ok(started) => started,
            Err(error) => {
                probes.remove(&environment.client).await;
                return Err(error);
            }
        };
        if options.bypass_interceptor {
            tracing::debug!("the subject goes past its interceptor, as it was told");
        } else if taken_up && interceptor.log().counts().is_empty() {
            subject.stop().await;
            return Err(SubjectError::BypassInterceptor(spec.to_string()).into());
        }
        let unserved =
            (!taken_up).then(|| start::unserved(environment, interceptor.log(), probes.first(), options.budget));
        let begun =
            Begun { interceptor, subject, probes: Some(probes), unserved, half: None, alone: Some(alone), beyond };
        Ok(Self::begun(environment, spec, options, begun))
    }

    fn begun(environment: &Arc<Environment>, spec: &Spec, options: &SessionOptions, begun: Begun) -> Self {
        let Begun { interceptor, subject, probes, unserved, half, alone, beyond } = begun;
        let (identity, spec, subject) = (subject.identity.clone(), spec.clone(), Mutex::new(Some(subject)));
        let (budget, most_sub_steps) = (options.budget, options.most_sub_steps);
        let (pods, restart) = (options.pods, Mutex::new(options.restart.clone()));
        Session {
            environment: Arc::clone(environment),
            interceptor,
            identity,
            spec,
            subject,
            probes,
            budget,
            most_sub_steps,
            pods,
            restart,
            definitions: Definitions::default(),
            bypass_interceptor: options.bypass_interceptor,
            process: options.process.clone(),
            steps: options.steps.clone(),
            ends: Mutex::default(),
            cases: 0.into(),
            unserved,
            refused: Refused::default(),
            beyond,
            half,
            redaction: Mutex::default(),
            _alone: alone,
        }
    }

    /// How many cases can be played at the same time, of those that leave the subject alone.
    pub fn lanes(&self) -> usize {
        self.probes.as_ref().map_or(1, Probes::count)
    }

    /// What is to be known of it where it did not serve the probe.
    pub fn unserved(&self) -> Option<&str> {
        self.unserved.as_deref()
    }

    /// The subject.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether nothing of it has ended.
    pub(super) fn has_all(&self) -> bool {
        self.has_cluster() && self.exited().is_none()
    }

    /// Whether its cluster still runs.
    pub(super) fn has_cluster(&self) -> bool {
        self.environment.cluster.is_alive()
    }

    /// What the cluster's controllers call themselves, where they are other than a cluster of this
    /// kind has anyway.
    pub(super) fn cluster_controllers(&self) -> Option<&Identity> {
        let half = self.half.as_ref().filter(|_| self.environment.cluster_controllers.are_upstream());
        half.map(|half| &half.identity)
    }

    /// Whether it was stopped on purpose.
    pub(super) fn is_off(&self) -> bool {
        self.subject().is_none()
    }

    /// Why its restarts, or the controllers beside it, are not those of the case, if they are not.
    pub(super) fn decides_otherwise(&self, case: &Case) -> Option<String> {
        let Environment { cluster, cluster_controllers, .. } = &*self.environment;
        let is_ours = cluster.in_virtual_time().is_some() && !cluster_controllers.are_upstream();
        let here = if is_ours { Beside::Ours } else { Beside::Upstream };
        if case.beside.is_some_and(|beside| beside != here) {
            let why = "the case wants another Deployment controller beside the subject than this cluster has";
            return Some(why.to_owned());
        }
        if !case.controllers.has(Controller::ConfigRestart) {
            return None;
        }
        let (own, wanted) = (self.restart().profile, case.restart.profile);
        match self.spec.takes_restart_options() {
            // Told before the case.
            true => self.spec.lacks_restart_options(&case.restart),
            false if own != wanted => {
                Some(format!("the case is of restart profile {wanted}, and the subject of {own}; see --profile"))
            }
            false => (*self.restart() != case.restart)
                .then(|| "the case sets restart options, which only `--subject ours` can be given".to_owned()),
        }
    }

    /// Make ready for a case: its namespace, and a subject that decides restarts as the case says,
    /// where it can be told.
    pub(super) async fn prepare(&self, case: &Case, namespace: &str) -> Result<(), EnvironmentError> {
        let concerned =
            self.environment.under_test().has(Controller::ConfigRestart) && self.spec.takes_restart_options();
        let brought = case.definitions().map_err(EnvironmentError::CustomResourceFile)?;
        // A controller that began without its kinds may never look for them again.
        let Environment { client, world, .. } = &*self.environment;
        let new = self.definitions.bring(client, world, &brought).await?;
        if new && self.environment.identity().name == SiteName::Sim.as_str() {
            warn_of_rules(&brought);
        }
        if new || concerned && *self.restart() != case.restart {
            self.stop().await;
            self.restart().clone_from(&case.restart);
            let seen = self.interceptor.log().counts().values().sum();
            self.start().await?;
            // What the case makes shall not be there before the subject has begun to look.
            start::until_at_work(self.interceptor.log(), self.budget, || self.broken().is_some()).await;
            tokio::time::timeout(self.budget, self.interceptor.log().beyond(seen)).await.ok();
        }
        self.make_namespace(namespace).await
    }

    /// Stop the subject, and wait until it is gone.
    pub(super) async fn stop(&self) {
        let subject = self.subject().take();
        if let Some(subject) = subject {
            subject.stop().await;
        }
    }

    /// Kill the subject, on purpose, and wait until it is gone.
    pub(super) async fn kill(&self) {
        let subject = self.subject().take();
        if let Some(subject) = subject {
            subject.kill().await;
        }
    }

    /// Start it again, by the same kubeconfig, unless it runs.
    pub(super) async fn start(&self) -> Result<(), EnvironmentError> {
        if self.is_off() {
            let folder = self.probes.as_ref().map_or("", |probes| &probes.first().namespace);
            let subject = begin(&self.environment, &self.spec, &self.interceptor, folder, &self.options()).await?;
            *self.subject() = Some(subject);
        }
        Ok(())
    }

    /// What it was taken with, and how it decides restarts by now.
    pub(super) fn options(&self) -> SessionOptions {
        let (restart, process) = (self.restart().clone(), self.process.clone());
        SessionOptions {
            budget: self.budget,
            most_sub_steps: self.most_sub_steps,
            pods: self.pods,
            restart,
            bypass_interceptor: self.bypass_interceptor,
            process,
            steps: self.steps.clone(),
            // The interceptor has the log of what is sent.
            ..SessionOptions::default()
        }
    }

    /// Why nothing can be believed that was seen on this cluster: what a simulated server was asked
    /// that it does not know, or its silence.
    pub(super) async fn beyond(&self) -> Vec<String> {
        match self.environment.cluster.unsupported().await {
            Ok(asked) => asked.into_iter().skip(self.beyond).collect(),
            Err(error) => vec![error.to_string()],
        }
    }

    pub(super) fn subject(&self) -> MutexGuard<'_, Option<Running>> {
        self.subject.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn restart(&self) -> MutexGuard<'_, RestartOptions> {
        self.restart.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many requests the subject has made so far, and what the server refused it, and how
    /// often: in cases, and elsewhere. What it was refused in a case's namespace after the case
    /// does not count: there nobody may create anything.
    pub fn requests(&self) -> (u64, BTreeMap<String, u64>) {
        let log = self.interceptor.log();
        self.refused.add(log.drain().iter().filter(|request| ledger::matters_elsewhere(request)));
        let refused = self.refused.so_far().into_iter();
        let redaction = self.redaction();
        (log.counts().values().sum(), refused.map(|(what, times)| (redaction.output(&what), times)).collect())
    }

    /// Who runs the pods of this case here.
    pub(super) fn stillness(&self, case: &Case) -> Stillness {
        let real = self.pods.map_or(case.wants_real(), |pods| pods == PodKind::Real);
        match &self.environment.images {
            Some(images) if real => Stillness::Real(images.clone()),
            _ => Stillness::Held,
        }
    }

    /// Make a namespace that pods are let into and the subject can write in.
    async fn make_namespace(&self, name: &str) -> Result<(), EnvironmentError> {
        // A cluster in this process has one user, and the same words give the same play whoever
        // plays it.
        let installation = self.environment.cluster.in_virtual_time().is_none().then(installation);
        let made = make_namespace(&self.environment.client, name, installation).await;
        made.map_err(|error| ObserveError::Namespace(Box::new(error)))?;
        Ok(self.environment.cluster.admit(name).await?)
    }

    /// Stop the subject and wait until it is gone; its probe goes too, and the controllers that
    /// were started with it. A test environment that is only this session's is closed.
    pub async fn leave(self) {
        self.stop().await;
        if let Some(half) = self.half {
            half.kill().await;
        }
        if let Some(probes) = &self.probes {
            probes.remove(&self.environment.client).await;
            self.definitions.remove(&self.environment.client).await;
        }
        self.environment.close().await;
    }
}

/// An interceptor in the subject's reach: on loopback, or where the node's pods find this machine.
async fn interceptor(environment: &Environment, spec: &Spec) -> Result<Interceptor, EnvironmentError> {
    let access = environment.cluster.access();
    match environment.cluster.node().filter(|_| spec.is_inside()) {
        Some(node) => Ok(Interceptor::start_at(access, node.host().await?)?),
        None => Ok(Interceptor::start(access)?),
    }
}

pub(super) async fn begin(
    environment: &Environment,
    spec: &Spec,
    interceptor: &Interceptor,
    namespace: &str,
    options: &SessionOptions,
) -> Result<Running, EnvironmentError> {
    let (folder, restart) = (environment.folder.join(namespace), &options.restart);
    let access = environment.cluster.access();
    let kubeconfig = match options.bypass_interceptor {
        true => kubeconfig(&access.server, &access.ca_pem, &access.subject_token),
        false => interceptor.kubeconfig(),
    };
    let (supervisor, controllers) = (environment.supervisor.as_ref(), environment.under_test());
    let node = environment.cluster.node().filter(|_| spec.is_inside());
    let inside = node.map(|node| Inside { client: &environment.client, node, interceptor });
    let service_account = options.process.in_cluster.then(|| ServiceAccount {
        address: interceptor.address(),
        ca_pem: interceptor.ca_pem().to_owned(),
        token: access.subject_token.clone(),
        namespace: namespace.to_owned(),
    });
    let client = interceptor.client();
    let listener = Listener { url: interceptor.url().to_owned(), ca_pem: interceptor.ca_pem().to_owned() };
    let virtual_time = environment.virtual_time.clone();
    let folder = folder.as_path();
    let stage = Stage {
        kubeconfig,
        client,
        folder,
        virtual_time,
        supervisor,
        controllers,
        restart,
        inside,
        service_account,
        variables: &options.process.variables,
        interceptor: listener,
    };
    interceptor.log().subject_starts();
    let subject = spec.start(&stage).await?;
    interceptor.log().subject_runs();
    Ok(subject)
}
