//! What a run needs, brought up for each subject in turn and taken down whatever comes of it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{join_all, select_all, try_join_all};

use super::event::{Event, Events, FileError, HowReady};
use crate::case::model::PodKind;
use crate::case::{RestartOptions, RestartProfile};
use crate::clock::{self, Instant};
use crate::cluster::{self, Cluster, Plan, SiteName, Standing, shared};
use crate::controllers::Controllers;
use crate::intercept::SentLog;
use crate::outcome::Cause;
use crate::runner::{
    Environment, EnvironmentError, MOST_SUB_STEPS, Player, ProcessOptions, Renewal, Session, SessionOptions, Sessions,
    Simulation, StepHook,
};
use crate::subject::virtual_time::Pool;
use crate::subject::{ClusterControllers, Spec};
use crate::supervise::Interrupt;
use crate::workload::Workload;

/// Where and how cases are played.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The cluster, without what the subjects bring.
    pub plan: Plan,
    /// Where it comes from.
    pub source: Source,
    /// How long one settling may take.
    pub budget: Duration,
    /// How many sub-steps a step with `all` or `every` may have.
    pub most_sub_steps: u32,
    /// Who runs the pods; `None`: as each case says.
    pub pods: Option<PodKind>,
    /// How subjects that cannot be told decide restarts.
    pub profile: Option<RestartProfile>,
    /// What a subject that is a process finds.
    pub process: ProcessOptions,
    /// What stands in for Deployments, if not Deployments.
    pub workload: Option<Workload>,
    /// What a simulated cluster's chances are drawn from.
    pub seed: u64,
    /// How often every case in virtual time is played, to compare the plays; 1: nothing is
    /// compared.
    pub plays: u32,
    /// How many cases are played side by side: on simulated clusters of their own, or in namespaces
    /// of one real cluster.
    pub lanes: NonZeroUsize,
    /// Whose the controllers of a simulated cluster are.
    pub cluster_controllers: ClusterControllers,
    /// Programs with upstream's controllers in virtual time.
    pub programs: Pool,
    /// Where every request of the subjects' is kept, with its body.
    pub sent: Option<SentLog>,
    /// Ends the run.
    pub interrupt: Interrupt,
    /// Who reports.
    pub events: Events,
}

/// Where a cluster comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The one that `lockstep cluster up` left running, if it suits; else one of this run's own.
    Standing,
    /// One of this run's own, whatever else is running.
    Boot,
    /// The one that the trials of a test runner share.
    Shared,
}

/// What keeps a run from playing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The test environment, or the subject, could not be set up.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A signal.
    #[error("interrupted ({0})")]
    Interrupted(Cause),
    /// The cluster went to somebody else.
    #[error("the connection to the cluster was lost: {0}")]
    Lost(String),
    /// A report cannot be written.
    #[error(transparent)]
    Report(#[from] FileError),
}

/// How long a test environment may take to go after an interruption: what is left of it then goes
/// with the supervisors, or is the next run's to remove.
const CLOSING: Duration = Duration::from_millis(1_400);

impl Setup {
    /// On this cluster, which is booted for it; all else as it is by default.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self {
            plan,
            source: Source::Boot,
            budget: Duration::from_secs(20),
            most_sub_steps: MOST_SUB_STEPS,
            pods: None,
            profile: None,
            process: ProcessOptions::default(),
            workload: None,
            seed: 0,
            plays: 1,
            lanes: NonZeroUsize::MIN,
            cluster_controllers: ClusterControllers::default(),
            programs: Pool::default(),
            sent: None,
            interrupt: Interrupt::default(),
            events: Events::default(),
        }
    }

    /// Do the work, at most so many plays, with each subject in turn: at a test environment that is
    /// set up for it and taken down after it whatever comes of it, or on simulated clusters. A test
    /// environment that is a simulated cluster costs little, so there are as many as lanes.
    ///
    /// # Errors
    /// What keeps it from being set up, and whatever the work says.
    pub async fn with_each<T, E: From<RunError>>(
        &self,
        under_test: &Controllers,
        specs: &[Spec],
        most: usize,
        work: impl AsyncFnMut(&Spec, &Player) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let done = self.with_each_kept(under_test, specs, most, work).await;
        self.close_programs().await;
        done
    }

    /// The same, and programs with upstream's controllers run on for the next call, until
    /// [`close_programs`](Self::close_programs).
    ///
    /// # Errors
    /// As for [`with_each`](Self::with_each).
    pub async fn with_each_kept<T, E: From<RunError>>(
        &self,
        under_test: &Controllers,
        specs: &[Spec],
        most: usize,
        mut work: impl AsyncFnMut(&Spec, &Player) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        self.cluster_controllers.check(specs).map_err(|error| RunError::from(EnvironmentError::from(error)))?;
        let simulation = self.simulation(under_test);
        let mut each = async |environments: &[Arc<Environment>]| {
            let mut done = Vec::new();
            for spec in specs {
                let player = match environments {
                    [_, ..] if !self.is_virtual(spec) => {
                        let sessions = environments.iter().map(|environment| self.session(environment, spec));
                        let sessions = Sessions::from(try_join_all(sessions).await?);
                        Player::Sessions(sessions.renewed_by(self.renewal(under_test, spec)))
                    }
                    _ => Player::Simulated { spec: spec.clone(), simulation: simulation.clone(), lanes: self.lanes },
                };
                done.push(work(spec, &player).await?);
                player.sessions().iter().try_for_each(|session| self.ended(spec, session))?;
                player.leave().await;
            }
            Ok(done)
        };
        if specs.iter().all(|spec| self.is_virtual(spec)) {
            return self.unless_interrupted(each(&[])).await;
        }
        let mut environments = vec![self.unless_interrupted(self.open(under_test)).await?];
        if self.plan.site.name() == SiteName::Sim {
            let lanes = if specs.iter().any(Spec::is_alone) { 1 } else { self.lanes.get() };
            for _ in 1..lanes.min(most) {
                environments.push(self.unless_interrupted(self.boot(under_test)).await?);
            }
        }
        on_each(&self.interrupt, environments, each).await
    }

    /// Have no program left when the work is over; not for long where the run is interrupted.
    pub async fn close_programs(&self) {
        tokio::time::timeout(CLOSING, self.programs.close()).await.ok();
    }

    /// Whether a subject is played in virtual time here: a process of its own cannot be.
    #[must_use]
    pub fn is_virtual(&self, spec: &Spec) -> bool {
        self.plan.site.name() == SiteName::Sim && spec.is_simulable()
    }

    /// The cluster without what the subjects bring, watched.
    ///
    /// # Errors
    /// When it cannot be had.
    pub async fn open(&self, under_test: &Controllers) -> Result<Arc<Environment>, RunError> {
        let site = self.plan.site.name();
        let stands = matches!(site, SiteName::Sim | SiteName::ControlPlane | SiteName::Containers);
        match self.source {
            Source::Shared => {
                let plan = self.plan.clone().without(under_test.clone());
                let cluster = shared::obtain_for(&plan).await.map_err(EnvironmentError::from)?;
                return Ok(Environment::open_with(cluster, self.workload.clone()).await?.into());
            }
            Source::Standing if stands => {}
            Source::Standing | Source::Boot => return self.boot(under_test).await,
        }
        let standing = async { Standing::of_user(site)?.running().await };
        let standing = standing.await.map_err(EnvironmentError::from)?;
        let suits =
            |cluster: &Cluster| cluster.identity().version == self.plan.version && cluster.without() == under_test;
        match standing.filter(suits) {
            Some(cluster) => self.watch(cluster, HowReady::Attached, clock::instant()).await,
            None => self.boot(under_test).await,
        }
    }

    /// Boot a cluster of this run's own, whatever else is running, and watch it.
    async fn boot(&self, under_test: &Controllers) -> Result<Arc<Environment>, RunError> {
        let since = clock::instant();
        let plan = self.plan.clone().without(under_test.clone());
        let cluster = cluster::boot(&plan).await.map_err(EnvironmentError::from)?;
        let how = match plan.site.name() {
            SiteName::Kubeconfig => HowReady::Own,
            _ if cluster.belongs_here() => HowReady::Booted,
            _ => HowReady::Ready,
        };
        self.watch(cluster, how, since).await
    }

    async fn watch(&self, cluster: Cluster, how: HowReady, since: Instant) -> Result<Arc<Environment>, RunError> {
        let environment = Environment::open_with(cluster, self.workload.clone()).await?;
        let (identity, took) = (environment.identity(), since.elapsed());
        self.events.emit(&Event::EnvironmentReady { identity, how, took })?;
        Ok(environment.into())
    }

    /// Put a subject to work.
    ///
    /// # Errors
    /// When the test environment does not prove itself, or the subject cannot be started.
    pub async fn session(&self, environment: &Arc<Environment>, spec: &Spec) -> Result<Session, RunError> {
        let since = clock::instant();
        let session = Session::take(environment, spec, &self.session_options(spec)).await?;
        let (identity, under_test, took) = (session.identity(), environment.under_test(), since.elapsed());
        let unserved = session.unserved();
        self.events.emit(&Event::SessionReady { spec, identity, under_test, unserved, took })?;
        Ok(session)
    }

    /// The same on a new cluster, in place of one that has ended.
    fn renewal(&self, under_test: &Controllers, spec: &Spec) -> Renewal {
        let (plan, workload) = (self.plan.clone().without(under_test.clone()), self.workload.clone());
        let (spec, options) = (spec.clone(), self.session_options(spec));
        Box::new(move || {
            let (plan, workload, spec, options) = (plan.clone(), workload.clone(), spec.clone(), options.clone());
            let renewed = async move {
                let cluster = cluster::boot(&plan).await?;
                let environment = Arc::new(Environment::open_with(cluster, workload).await?);
                Session::take(&environment, &spec, &options).await
            };
            renewed.boxed_local()
        })
    }

    fn session_options(&self, spec: &Spec) -> SessionOptions {
        // Where it cannot be told, its user has.
        let profile = self.profile.filter(|_| !spec.takes_restart_options());
        let profile = profile.or_else(|| Some(spec.reference()?.profile())).unwrap_or_default();
        SessionOptions {
            budget: self.budget,
            most_sub_steps: self.most_sub_steps,
            pods: self.pods,
            restart: RestartOptions { profile, ..RestartOptions::default() },
            process: ProcessOptions {
                in_cluster: self.process.in_cluster && matches!(spec, Spec::Command(_)),
                ..self.process.clone()
            },
            // A simulated server costs little: each lane has one.
            lanes: if self.plan.site.name() == SiteName::Sim { NonZeroUsize::MIN } else { self.lanes },
            steps: self.steps(),
            sent: self.sent.clone(),
            ..SessionOptions::default()
        }
    }

    /// What a simulated cluster begins with.
    fn simulation(&self, under_test: &Controllers) -> Simulation {
        let simulation = Simulation::new(under_test.clone(), self.budget);
        let (programs, interrupt, steps) = (self.programs.clone(), self.interrupt.clone(), self.steps());
        let cluster_controllers = self.cluster_controllers.clone();
        let (seed, plays, sent, most_sub_steps) = (self.seed, self.plays, self.sent.clone(), self.most_sub_steps);
        Simulation { seed, plays, most_sub_steps, sent, cluster_controllers, programs, interrupt, steps, ..simulation }
    }

    /// Tells of each step that has settled. Where that cannot be written, something else will say
    /// so.
    fn steps(&self) -> StepHook {
        let events = self.events.clone();
        StepHook::new(move |case, step| drop(events.emit(&Event::StepSettled { case, step })))
    }

    fn ended(&self, spec: &Spec, session: &Session) -> Result<(), RunError> {
        let (requests, refused) = session.requests();
        let refused: Vec<(String, u64)> = refused.into_iter().collect();
        let ended = session.ended_between();
        Ok(self.events.emit(&Event::SessionEnded { spec, requests, refused: &refused, ended: &ended })?)
    }

    /// Do something that is dropped where it waits when the run is to end.
    async fn unless_interrupted<T, E: From<RunError>>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
        self.interrupt.unless(work).await.unwrap_or_else(|cause| Err(RunError::Interrupted(cause).into()))
    }
}

/// Do the work on a test environment, and take it down whatever comes of it: an error, an
/// interruption, a cluster that is taken away.
///
/// # Errors
/// Whatever the work says; [`RunError::Interrupted`] and [`RunError::Lost`].
pub async fn on_environment<T, E: From<RunError>>(
    interrupt: &Interrupt,
    environment: Arc<Environment>,
    work: impl AsyncFnOnce(&Arc<Environment>) -> Result<T, E>,
) -> Result<T, E> {
    on_each(interrupt, vec![environment], async |environments| work(&environments[0]).await).await
}

/// The same on several at once.
async fn on_each<T, E: From<RunError>>(
    interrupt: &Interrupt,
    environments: Vec<Arc<Environment>>,
    work: impl AsyncFnOnce(&[Arc<Environment>]) -> Result<T, E>,
) -> Result<T, E> {
    let mut cut = None;
    let worked = tokio::select! {
        worked = interrupt.unless(work(&environments)) => worked.unwrap_or_else(|cause| {
            cut = Some(cause);
            Err(RunError::Interrupted(cause).into())
        }),
        (why, ..) = select_all(environments.iter().map(|environment| Box::pin(environment.lost()))) => Err(RunError::Lost(why).into()),
    };
    // The work may have been interrupted in a place that said so itself.
    if cut.or(interrupt.cause()).is_some() {
        tokio::time::timeout(CLOSING, join_all(environments.into_iter().map(Environment::abandon))).await.ok();
        return worked;
    }
    match interrupt.unless(join_all(environments.into_iter().map(Environment::close))).await {
        Ok(_) => worked,
        Err(cause) => Err(RunError::Interrupted(cause).into()),
    }
}
