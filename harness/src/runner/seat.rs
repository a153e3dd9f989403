//! A subject at work on a lab.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::ledger::{self, Refused};
use super::revive::{Ends, Starting};
use super::{Lab, LabError};
use crate::case::RestartOptions;
use crate::case::model::{Beside, Case, PodKind};
use crate::clock;
use crate::cluster::{Guard, installation, kubeconfig};
use crate::controllers::Controller;
use crate::driver::Stillness;
use crate::gate::Gate;
use crate::observe::namespace::{make_namespace, remove_leftovers, remove_namespace};
use crate::observe::{Canary, ObserveError};
use crate::recording::Identity;
use crate::subject::{self, Inside, Running, ServiceAccount, Spec, Stage, SubjectError, Voice};

/// How long to be patient.
#[derive(Debug, Clone)]
pub struct SeatOptions {
    /// For one settling: a step that takes longer is somebody's failure.
    pub budget: Duration,
    /// Who runs the pods; `None`: as each case says.
    pub pods: Option<PodKind>,
    /// How a config-restart controller is to run until a case says otherwise.
    pub restart: RestartOptions,
    /// Whether the subject goes straight to the server, to measure what its gate costs. Nothing can be credited to it then, so no run of it
    /// is conformant.
    pub past_the_gate: bool,
    /// Whether a process finds what a pod does: the variables and files of a service account.
    pub in_cluster: bool,
}

impl Default for SeatOptions {
    fn default() -> Self {
        let restart = RestartOptions::default();
        Self { budget: Duration::from_secs(20), pods: None, restart, past_the_gate: false, in_cluster: false }
    }
}

/// A subject, behind its own gate, on a lab that has proved itself. It brings just what the lab's cluster leaves out.
pub struct Seat<'a> {
    pub(super) lab: &'a Lab,
    pub(super) gate: Gate,
    identity: Identity,
    pub(super) spec: Spec,
    /// `None` while it was stopped on purpose.
    subject: Mutex<Option<Running>>,
    /// `None` in virtual time, where nothing needs to be proved.
    pub(super) canary: Option<Canary>,
    pub(super) budget: Duration,
    pub(super) pods: Option<PodKind>,
    restart: Mutex<RestartOptions>,
    past_the_gate: bool,
    in_cluster: bool,
    /// How the subject ended, by itself, in no case.
    pub(super) ends: Mutex<Ends>,
    pub(super) cases: std::sync::atomic::AtomicU32,
    /// What the server refused the subject so far.
    pub(super) refused: Refused,
    /// How much a simulated server had been asked that it does not know, before.
    beyond: usize,
    /// The lab's half, where it is this process's.
    _half: Option<Running>,
    _alone: Option<Guard>,
}

impl<'a> Seat<'a> {
    /// Prove the lab while no subject runs, then start the subject. Waits while another process's subject is at work
    /// on the same cluster: two would act on each other's cases.
    ///
    /// A subject that starts and then does nothing is seated all the same: the case will tell.
    ///
    /// # Errors
    /// When the lab does not prove itself or the subject cannot be started.
    pub async fn take(lab: &'a Lab, spec: &Spec, options: &SeatOptions) -> Result<Seat<'a>, LabError> {
        spec.can_bring(lab.brought())?;
        if let Some(sim) = &lab.cluster.sim {
            let half = subject::half(sim.client(), lab.brought())?;
            let gate = Gate::inside(sim.clone());
            let subject = begin(lab, spec, &gate, "", options).await?;
            return Ok(Self::seated(lab, spec, options, gate, subject, None, half, None, 0));
        }
        let alone = lab.cluster.exclusive().await?;
        let half = match lab.cluster.half() {
            Some(client) => subject::half(client, lab.brought())?,
            None => None,
        };
        let beyond = lab.cluster.unsupported().await?.len();
        remove_leftovers(&lab.client).await.map_err(|error| ObserveError::Canary(Box::new(error)))?;
        let namespace = format!("lockstep-canary-{:x}", clock::now().as_nanosecond());
        let doubt = lab.cluster.doubt();
        let brought = lab.brought();
        let canary = match Canary::prove(&lab.client, &lab.world, &namespace, brought, options.budget, doubt).await {
            Ok(canary) => canary,
            Err(error) => {
                remove_namespace(&lab.client, &namespace).await;
                return Err(error.into());
            }
        };
        lab.cluster.admit(&namespace).await?;
        let gate = gate(lab, spec).await?;
        let starting = Starting { lab, spec, gate: &gate, canary: &canary, options };
        let (subject, taken_up) = match starting.first().await {
            Ok(started) => started,
            Err(error) => {
                remove_namespace(&lab.client, &canary.namespace).await;
                return Err(error);
            }
        };
        if options.past_the_gate {
            tracing::debug!("the subject goes past its gate, as it was told");
        } else if taken_up && gate.log().counts().is_empty() {
            subject.stop().await;
            return Err(SubjectError::PastTheGate(spec.to_string()).into());
        }
        Ok(Self::seated(lab, spec, options, gate, subject, Some(canary), half, Some(alone), beyond))
    }

    #[expect(clippy::too_many_arguments, reason = "these are its fields")]
    fn seated(
        lab: &'a Lab,
        spec: &Spec,
        options: &SeatOptions,
        gate: Gate,
        subject: Running,
        canary: Option<Canary>,
        half: Option<Running>,
        alone: Option<Guard>,
        beyond: usize,
    ) -> Self {
        let (identity, spec, subject) = (subject.identity.clone(), spec.clone(), Mutex::new(Some(subject)));
        let (budget, pods, restart) = (options.budget, options.pods, Mutex::new(options.restart.clone()));
        Seat {
            lab,
            gate,
            identity,
            spec,
            subject,
            canary,
            budget,
            pods,
            restart,
            past_the_gate: options.past_the_gate,
            in_cluster: options.in_cluster,
            ends: Mutex::default(),
            cases: 0.into(),
            refused: Refused::default(),
            beyond,
            _half: half,
            _alone: alone,
        }
    }

    /// Who sits here.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Why the subject no longer runs, if it ended by itself.
    pub(super) fn exited(&self) -> Option<String> {
        self.subject().as_ref().and_then(Running::exited)
    }

    /// What the subject prints from now on, where that is to be had.
    pub fn voice(&self) -> Option<Voice> {
        self.subject().as_ref().and_then(Running::voice)
    }

    /// Whether it was stopped on purpose.
    pub(super) fn is_off(&self) -> bool {
        self.subject().is_none()
    }

    /// Why its restarts are not those that a case is about, or not beside whom it says, if they are not.
    pub(super) fn decides_otherwise(&self, case: &Case) -> Option<String> {
        let here = if self.lab.cluster.sim.is_some() { Beside::Ours } else { Beside::Upstream };
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
            true => None,
            false if own != wanted => {
                Some(format!("the case is of restart profile {wanted}, and the subject of {own}; see --profile"))
            }
            false => (*self.restart() != case.restart)
                .then(|| "the case sets restart options, which only `--subject ours` can be given".to_owned()),
        }
    }

    /// Make ready for a case: its namespace, and a subject that decides restarts as the case says, where it can be told.
    pub(super) async fn prepare(&self, case: &Case, namespace: &str) -> Result<(), LabError> {
        let concerned = self.lab.brought().has(Controller::ConfigRestart) && self.spec.takes_restart_options();
        if concerned && *self.restart() != case.restart {
            self.stop().await;
            self.restart().clone_from(&case.restart);
            let seen = self.gate.log().counts().values().sum();
            self.start().await?;
            // What the case makes shall not be there before the subject has begun to look.
            tokio::time::timeout(self.budget, self.gate.log().beyond(seen)).await.ok();
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
    pub(super) async fn start(&self) -> Result<(), LabError> {
        if self.is_off() {
            let folder = self.canary.as_ref().map_or("", |canary| &canary.namespace);
            let subject = begin(self.lab, &self.spec, &self.gate, folder, &self.options()).await?;
            *self.subject() = Some(subject);
        }
        Ok(())
    }

    /// What it was taken with, and how it decides restarts by now.
    pub(super) fn options(&self) -> SeatOptions {
        let (restart, past_the_gate, in_cluster) = (self.restart().clone(), self.past_the_gate, self.in_cluster);
        SeatOptions { budget: self.budget, pods: self.pods, restart, past_the_gate, in_cluster }
    }

    /// Why nothing can be believed that was seen on this cluster: what a simulated server was asked that it does not know, or its silence.
    pub(super) async fn beyond(&self) -> Vec<String> {
        match self.lab.cluster.unsupported().await {
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

    /// How many requests the subject has made so far, and what the server refused it, and how often: in cases, and elsewhere. What it
    /// was refused in a case's namespace after the case does not count: there nobody may create anything.
    pub fn requests(&self) -> (u64, BTreeMap<String, u64>) {
        let log = self.gate.log();
        self.refused.add(log.drain().iter().filter(|request| ledger::matters_elsewhere(request)));
        (log.counts().values().sum(), self.refused.so_far())
    }

    /// Who runs the pods of this case here.
    pub(super) fn stillness(&self, case: &Case) -> Stillness {
        let real = self.pods.map_or(case.wants_real(), |pods| pods == PodKind::Real);
        match &self.lab.images {
            Some(images) if real => Stillness::Real(images.clone()),
            _ => Stillness::Held,
        }
    }

    /// Make a namespace that pods are let into and the subject can write in.
    async fn make_namespace(&self, name: &str) -> Result<(), LabError> {
        // A cluster in this process has one user, and the same words give the same play whoever plays it.
        let installation = self.lab.cluster.sim.is_none().then(installation);
        let made = make_namespace(&self.lab.client, name, installation).await;
        made.map_err(|error| ObserveError::Namespace(Box::new(error)))?;
        Ok(self.lab.cluster.admit(name).await?)
    }

    /// Stop the subject and wait until it is gone; its canary goes too.
    pub async fn leave(self) {
        self.stop().await;
        if let Some(canary) = &self.canary {
            remove_namespace(&self.lab.client, &canary.namespace).await;
        }
    }
}

/// A gate in the subject's reach: on loopback, or where the node's pods find this machine.
async fn gate(lab: &Lab, spec: &Spec) -> Result<Gate, LabError> {
    let access = &lab.cluster.access;
    match lab.cluster.kind.as_ref().filter(|_| spec.is_inside()) {
        Some(node) => Ok(Gate::start_at(access, node.host().await?)?),
        None => Ok(Gate::start(access)?),
    }
}

pub(super) async fn begin(
    lab: &Lab,
    spec: &Spec,
    gate: &Gate,
    namespace: &str,
    options: &SeatOptions,
) -> Result<Running, LabError> {
    let (folder, restart) = (lab.folder.join(namespace), &options.restart);
    let access = &lab.cluster.access;
    let kubeconfig = match options.past_the_gate {
        true => kubeconfig(&access.server, &access.ca_pem, &access.subject_token),
        false => gate.kubeconfig(),
    };
    let (supervisor, controllers) = (lab.supervisor.as_ref(), lab.brought());
    let node = lab.cluster.kind.as_ref().filter(|_| spec.is_inside());
    let inside = node.map(|node| Inside { client: &lab.client, node, gate });
    let service_account = options.in_cluster.then(|| ServiceAccount {
        address: gate.address(),
        ca_pem: gate.ca_pem().to_owned(),
        token: access.subject_token.clone(),
        namespace: namespace.to_owned(),
    });
    let client = gate.client();
    let stage =
        Stage { kubeconfig, client, folder: &folder, supervisor, controllers, restart, inside, service_account };
    Ok(spec.start(&stage).await?)
}
