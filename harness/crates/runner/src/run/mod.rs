//! Plays cases, for every command that does so and for every trial of a test runner.
//!
//! * [`Setup`] starts what a run needs, for each subject in turn: a test environment with sessions,
//!   or simulated clusters. It removes them when the run ends for any reason.
//! * [`Setup::play_each`] plays the cases of a [`PlayPlan`], as many in parallel as there are
//!   lanes, and returns each recording as soon as it is complete.
//! * `event` defines the [`RunEvent`]s to which reporters subscribe: text, JSON, JUnit, HTML,
//!   GitHub and progress. Nothing here prints.
//!
//! The input is plain data ([`Setup`], [`PlayPlan`]), the output recordings and events. The caller
//! judges the recordings.

mod confirmation;
mod event;

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

pub use confirmation::Confirmation;
pub use event::{EnvironmentOrigin, FileError, JudgedPlay, RunEvent, Subscriber, Subscribers};
use futures::future::{join_all, select_all, try_join_all};
use futures::{FutureExt, StreamExt, stream};
use lockstep_case::model::PodKind;
use lockstep_case::{Case, RestartOptions, RestartProfile};
use lockstep_cluster::supervise::Interrupt;
use lockstep_cluster::{self as cluster, Cluster, ClusterPlan, PersistentCluster, SiteName, shared};
use lockstep_intercept::SentLog;
use lockstep_recording::Recording;
use lockstep_recording::controllers::ControllerSet;
use lockstep_report::campaign::Shard;
use lockstep_subject::virtual_time::ProgramPool;
use lockstep_subject::{ClusterControllers, SubjectSpec};
use lockstep_support::clock::{self, Instant};
use lockstep_support::outcome::InterruptCause;
use lockstep_workload::Workload;

use crate::{
    Environment, EnvironmentError, Executor, Session, SessionOptions, SessionPool, SessionRenewal, Simulation,
    StepHook, SubjectOptions, Successor,
};

/// Where and how to play cases.
#[derive(Debug, Clone)]
pub struct Setup {
    /// The cluster, without the controllers that the subjects bring.
    pub plan: ClusterPlan,
    /// Whether to attach to a running cluster or to boot one.
    pub source: ClusterSource,
    /// How long a step may take to settle.
    pub budget: Duration,
    /// What runs the pods; `None` leaves it to each case.
    pub pods: Option<PodKind>,
    /// The restart profile of subjects that take no restart options.
    pub profile: Option<RestartProfile>,
    /// The environment of a subject that is a process.
    pub process: SubjectOptions,
    /// The kind that stands in for Deployments, if any.
    pub workload: Option<Workload>,
    /// The seed of simulated clusters.
    pub seed: u64,
    /// How often to play each case in virtual time to compare the plays; 1 compares nothing.
    pub plays: u32,
    /// How many cases run in parallel: each on its own simulated cluster, or in namespaces of one
    /// real cluster.
    pub lanes: NonZeroUsize,
    /// Which controllers run on a simulated cluster beside the subject.
    pub cluster_controllers: ClusterControllers,
    /// Running programs with upstream's controllers in virtual time.
    pub programs: ProgramPool,
    /// The log of all requests of the subjects, with bodies.
    pub request_log: Option<SentLog>,
    /// The subject that takes over from each other one at a handover.
    pub successor: Option<Successor>,
    /// The controller that shares the work of each subject, in real time.
    pub beside: Option<SubjectSpec>,
    /// Interrupts the run.
    pub interrupt: Interrupt,
    /// Receives the events.
    pub events: Subscribers,
}

/// Whether to attach to a running cluster or to boot one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterSource {
    /// Attach to the cluster that `lockstep cluster up` started if it fits, else boot one.
    Standing,
    /// Boot a new cluster, even if one is running.
    Boot,
    /// Use the cluster that the trials of a test runner share.
    Shared,
}

/// Why cases cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The test environment, or the subject, could not be set up.
    #[error(transparent)]
    Environment(#[from] EnvironmentError),
    /// A signal ended the run.
    #[error("interrupted ({0})")]
    Interrupted(InterruptCause),
    /// Another process took the cluster over.
    #[error("the connection to the cluster was lost: {0}")]
    Lost(String),
    /// A report cannot be written.
    #[error(transparent)]
    Report(#[from] FileError),
}

/// How long the removal of a test environment may take after an interruption. The supervisors or
/// the next run remove the rest.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1_400);

impl Setup {
    /// Boot this cluster, with defaults for everything else.
    #[must_use]
    pub fn new(plan: ClusterPlan) -> Self {
        Self {
            plan,
            source: ClusterSource::Boot,
            budget: Duration::from_secs(20),
            pods: None,
            profile: None,
            process: SubjectOptions::default(),
            workload: None,
            seed: 0,
            plays: 1,
            lanes: NonZeroUsize::MIN,
            cluster_controllers: ClusterControllers::default(),
            programs: ProgramPool::default(),
            request_log: None,
            successor: None,
            beside: None,
            interrupt: Interrupt::default(),
            events: Subscribers::default(),
        }
    }

    /// Run `work` with each subject in turn, on a test environment that is removed afterwards in
    /// any case, or on simulated clusters. `most_plays` is the most plays of one subject. A
    /// simulated test environment is cheap, so there is one for each lane.
    ///
    /// # Errors
    /// The setup fails, or `work` fails.
    pub async fn for_each_subject<T, E: From<PlayError>>(
        &self,
        under_test: &ControllerSet,
        specs: &[SubjectSpec],
        most_plays: usize,
        work: impl AsyncFnMut(&SubjectSpec, &Executor) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        let done = self.for_each_subject_keeping_programs(under_test, specs, most_plays, work).await;
        self.close_programs().await;
        done
    }

    /// Like [`for_each_subject`](Self::for_each_subject), but programs with upstream's controllers
    /// keep running for the next call, until [`close_programs`](Self::close_programs).
    ///
    /// # Errors
    /// As for [`for_each_subject`](Self::for_each_subject).
    pub async fn for_each_subject_keeping_programs<T, E: From<PlayError>>(
        &self,
        under_test: &ControllerSet,
        specs: &[SubjectSpec],
        most_plays: usize,
        mut work: impl AsyncFnMut(&SubjectSpec, &Executor) -> Result<T, E>,
    ) -> Result<Vec<T>, E> {
        self.cluster_controllers.check(specs).map_err(|error| PlayError::from(EnvironmentError::from(error)))?;
        let simulation = self.simulation(under_test);
        let mut each = async |environments: &[Arc<Environment>]| {
            let mut done = Vec::new();
            for spec in specs {
                let player = match environments {
                    [_, ..] if !self.is_virtual(spec) => {
                        let sessions = environments.iter().map(|environment| self.session(environment, spec));
                        let sessions = SessionPool::from(try_join_all(sessions).await?);
                        Executor::Sessions(sessions.with_renewal(self.renewal(under_test, spec)))
                    }
                    _ => Executor::simulated(spec.clone(), simulation.clone(), self.lanes),
                };
                let worked = work(spec, &player).await;
                let ended = player.sessions().iter().try_for_each(|session| self.emit_session_end(spec, session));
                // Also after an error nothing is left behind.
                player.close().await;
                done.push(worked?);
                ended?;
            }
            Ok(done)
        };
        if specs.iter().all(|spec| self.is_virtual(spec)) {
            return self.unless_interrupted(each(&[])).await;
        }
        let mut environments = vec![self.unless_interrupted(self.open(under_test)).await?];
        if self.plan.site.name() == SiteName::Sim {
            let lanes = if self.with_successor(specs).any(SubjectSpec::is_alone) { 1 } else { self.lanes.get() };
            for _ in 1..lanes.min(most_plays) {
                environments.push(self.unless_interrupted(self.boot(under_test)).await?);
            }
        }
        on_environments(&self.interrupt, environments, each).await
    }

    /// Stop the programs with upstream's controllers. Gives up after a timeout, so that an
    /// interrupted run ends soon.
    pub async fn close_programs(&self) {
        tokio::time::timeout(CLOSE_TIMEOUT, self.programs.close()).await.ok();
    }

    /// Whether a subject, and its successor, run in virtual time here. A separate process cannot.
    #[must_use]
    pub fn is_virtual(&self, spec: &SubjectSpec) -> bool {
        self.beside.is_none()
            && self.plan.site.name() == SiteName::Sim
            && self.with_successor([spec]).all(SubjectSpec::is_simulable)
    }

    fn with_successor<'a>(
        &'a self,
        specs: impl IntoIterator<Item = &'a SubjectSpec>,
    ) -> impl Iterator<Item = &'a SubjectSpec> {
        specs.into_iter().chain(self.successor.as_ref().map(|successor| &successor.spec))
    }

    /// Attach to or boot the cluster without the controllers under test, and watch it.
    ///
    /// # Errors
    /// The cluster is not available.
    pub(crate) async fn open(&self, under_test: &ControllerSet) -> Result<Arc<Environment>, PlayError> {
        let site = self.plan.site.name();
        let stands = matches!(site, SiteName::Sim | SiteName::ControlPlane | SiteName::Containers);
        match self.source {
            ClusterSource::Shared => {
                let plan = self.plan.clone().without(under_test.clone());
                let cluster = shared::obtain_for(&plan).await.map_err(EnvironmentError::from)?;
                return Ok(Environment::open_with(cluster, self.workload.clone()).await?.into());
            }
            ClusterSource::Standing if stands => {}
            ClusterSource::Standing | ClusterSource::Boot => return self.boot(under_test).await,
        }
        let running = async { PersistentCluster::for_user(site)?.running().await };
        let running = running.await.map_err(EnvironmentError::from)?;
        let suits =
            |cluster: &Cluster| cluster.identity().version == self.plan.version && cluster.without() == under_test;
        match running.filter(suits) {
            Some(cluster) => self.watch(cluster, EnvironmentOrigin::Attached, clock::instant()).await,
            None => self.boot(under_test).await,
        }
    }

    /// Boot a new cluster and watch it.
    async fn boot(&self, under_test: &ControllerSet) -> Result<Arc<Environment>, PlayError> {
        let since = clock::instant();
        let plan = self.plan.clone().without(under_test.clone());
        let cluster = cluster::boot(&plan).await.map_err(EnvironmentError::from)?;
        let origin = match plan.site.name() {
            SiteName::Kubeconfig => EnvironmentOrigin::User,
            _ if cluster.is_owned() => EnvironmentOrigin::Booted,
            _ => EnvironmentOrigin::Ready,
        };
        self.watch(cluster, origin, since).await
    }

    async fn watch(
        &self,
        cluster: Cluster,
        origin: EnvironmentOrigin,
        since: Instant,
    ) -> Result<Arc<Environment>, PlayError> {
        let environment = Environment::open_with(cluster, self.workload.clone()).await?;
        let (identity, took) = (environment.identity(), since.elapsed());
        self.events.emit(&RunEvent::EnvironmentReady { identity, origin, took })?;
        Ok(environment.into())
    }

    /// Start a subject on a test environment.
    ///
    /// # Errors
    /// The test environment fails its verification, or the subject cannot be started.
    pub(crate) async fn session(
        &self,
        environment: &Arc<Environment>,
        spec: &SubjectSpec,
    ) -> Result<Session, PlayError> {
        let since = clock::instant();
        let session = Session::open(environment, spec, &self.session_options(spec)).await?;
        let (identity, under_test, took) = (session.identity(), environment.under_test(), since.elapsed());
        let (unserved, beside) = (session.unserved(), session.identity_beside());
        let beside = beside.as_ref();
        self.events.emit(&RunEvent::SessionReady { spec, identity, beside, under_test, unserved, took })?;
        Ok(session)
    }

    /// Creates a session on a new cluster when the old cluster has ended.
    fn renewal(&self, under_test: &ControllerSet, spec: &SubjectSpec) -> SessionRenewal {
        let (plan, workload) = (self.plan.clone().without(under_test.clone()), self.workload.clone());
        let (spec, options) = (spec.clone(), self.session_options(spec));
        Box::new(move || {
            let (plan, workload, spec, options) = (plan.clone(), workload.clone(), spec.clone(), options.clone());
            let renewed = async move {
                let cluster = cluster::boot(&plan).await?;
                let environment = Arc::new(Environment::open_with(cluster, workload).await?);
                Session::open(&environment, &spec, &options).await
            };
            renewed.boxed_local()
        })
    }

    fn session_options(&self, spec: &SubjectSpec) -> SessionOptions {
        // A subject that takes no restart options has the profile that its user names.
        let profile = self.profile.filter(|_| !spec.takes_restart_options());
        let profile = profile.or_else(|| Some(spec.reference()?.profile())).unwrap_or_default();
        SessionOptions {
            budget: self.budget,
            pods: self.pods,
            restart: RestartOptions { profile, ..RestartOptions::default() },
            process: SubjectOptions {
                in_cluster: self.process.in_cluster && matches!(spec, SubjectSpec::Command(_)),
                ..self.process.clone()
            },
            // Each lane has a simulated server of its own.
            lanes: if self.plan.site.name() == SiteName::Sim { NonZeroUsize::MIN } else { self.lanes },
            steps: self.step_hook(),
            sent: self.request_log.clone(),
            successor: self.successor.clone(),
            beside: self.beside.clone(),
            ..SessionOptions::default()
        }
    }

    /// The options of a simulated cluster.
    fn simulation(&self, under_test: &ControllerSet) -> Simulation {
        let simulation = Simulation::new(under_test.clone(), self.budget);
        let (programs, interrupt, steps) = (self.programs.clone(), self.interrupt.clone(), self.step_hook());
        let cluster_controllers = self.cluster_controllers.clone();
        let (seed, plays, sent) = (self.seed, self.plays, self.request_log.clone());
        let successor = self.successor.clone();
        Simulation { seed, plays, sent, successor, cluster_controllers, programs, interrupt, steps, ..simulation }
    }

    /// Emits an event for each settled step. An error is ignored here, as the next event reports
    /// it.
    fn step_hook(&self) -> StepHook {
        let events = self.events.clone();
        StepHook::new(move |case, step| drop(events.emit(&RunEvent::StepSettled { case, step })))
    }

    fn emit_session_end(&self, spec: &SubjectSpec, session: &Session) -> Result<(), PlayError> {
        let (requests, refused) = session.requests();
        let refused: Vec<(String, u64)> = refused.into_iter().collect();
        let ends: Vec<String> = session.exits_between_cases().into_iter().map(|end| end.why).collect();
        Ok(self.events.emit(&RunEvent::SessionEnded {
            spec,
            requests,
            refused: &refused,
            ends_between_cases: &ends,
        })?)
    }

    /// Run `work`, and drop it when the run is interrupted.
    async fn unless_interrupted<T, E: From<PlayError>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.interrupt.unless(work).await.unwrap_or_else(|cause| Err(PlayError::Interrupted(cause).into()))
    }
}

/// Runs `work` on test environments, and removes them afterwards, also after an error, an
/// interruption, or when another process takes a cluster over.
///
/// # Errors
/// `work` fails; [`PlayError::Interrupted`] and [`PlayError::Lost`].
async fn on_environments<T, E: From<PlayError>>(
    interrupt: &Interrupt,
    environments: Vec<Arc<Environment>>,
    work: impl AsyncFnOnce(&[Arc<Environment>]) -> Result<T, E>,
) -> Result<T, E> {
    let mut interrupted_by = None;
    let worked = tokio::select! {
        worked = interrupt.unless(work(&environments)) => worked.unwrap_or_else(|cause| {
            interrupted_by = Some(cause);
            Err(PlayError::Interrupted(cause).into())
        }),
        (why, ..) = select_all(environments.iter().map(|environment| Box::pin(environment.lost()))) => Err(PlayError::Lost(why).into()),
    };
    // The work may itself have returned the interruption as its error.
    if interrupted_by.or(interrupt.cause()).is_some() {
        tokio::time::timeout(CLOSE_TIMEOUT, join_all(environments.into_iter().map(Environment::abandon))).await.ok();
        return worked;
    }
    match interrupt.unless(join_all(environments.into_iter().map(Environment::close))).await {
        Ok(_) => worked,
        Err(cause) => Err(PlayError::Interrupted(cause).into()),
    }
}

/// The plays to make.
#[derive(Debug, Clone, Copy)]
pub struct PlayPlan<'a> {
    /// The cases, in the order of the selection.
    pub cases: &'a [Arc<Case>],
    /// The rounds; each plays all cases.
    pub rounds: &'a [PlayRound],
    /// Whether to read the output of the subject after each case.
    pub output: bool,
    /// The shard of the plays that runs here.
    pub shard: Shard,
    /// The number of plays of the selection before the first play of this plan.
    pub before: usize,
}

/// One pass through all cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlayRound {
    /// The number of the repetition, from 1.
    pub time: u32,
    /// The seed of its simulated clusters, if each round has its own.
    pub seed: Option<u64>,
}

impl<'a> PlayPlan<'a> {
    /// A plan that plays each case once.
    #[must_use]
    pub const fn once(cases: &'a [Arc<Case>]) -> Self {
        Self { cases, rounds: &[PlayRound { time: 1, seed: None }], output: false, shard: Shard::SINGLE, before: 0 }
    }

    /// All plays of all shards: the number in the selection, the round, and the index of the case.
    pub fn all(self) -> impl Iterator<Item = (usize, PlayRound, usize)> + use<'a> {
        let all = self.rounds.iter().flat_map(move |round| (0..self.cases.len()).map(move |case| (*round, case)));
        all.zip(self.before..).map(|((round, case), item)| (item, round, case))
    }

    /// The plays of this shard. If the number of cases would give a shard the same cases in each
    /// round, each round begins with a different shard.
    pub fn of_shard(self) -> impl Iterator<Item = (usize, PlayRound, usize)> + use<'a> {
        let cases = self.cases.len().max(1);
        let is_multiple = cases.is_multiple_of(self.shard.count() as usize);
        let offset = move |item: usize| if is_multiple { (item - self.before) / cases } else { 0 };
        self.all().filter(move |(item, ..)| self.shard.has(item + offset(*item)))
    }
}

/// A play that has ended, whatever came of it.
#[derive(Debug)]
pub struct CompletedPlay<'a> {
    /// The number of the play in the selection, from 0.
    pub item: usize,
    /// The repetition that it belongs to.
    pub round: PlayRound,
    /// The index of the case in the plan.
    pub number: usize,
    /// The case that was played.
    pub case: &'a Arc<Case>,
    /// What was observed, complete or not.
    pub recording: Recording,
    /// How long it took to play.
    pub took: Duration,
    /// The output of the subject since it was started, if the plan asks for it and the subject
    /// prints.
    pub output: Option<String>,
}

impl Setup {
    /// Play the cases of the plan, as many in parallel as the player has lanes. Pass each play to
    /// `take` as soon as it is complete, until `take` returns `Break`.
    ///
    /// # Errors
    /// A case cannot be played, or `take` fails.
    pub async fn play_each<E: From<PlayError>>(
        &self,
        player: &Executor,
        plan: PlayPlan<'_>,
        take: impl AsyncFnMut(CompletedPlay<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        self.play_and_confirm(player, plan, None, take).await
    }

    /// Like [`play_each`](Self::play_each), but a case at which the subject may only have been late
    /// is played again first.
    ///
    /// # Errors
    /// As for [`play_each`](Self::play_each).
    pub async fn play_and_confirm<E: From<PlayError>>(
        &self,
        player: &Executor,
        plan: PlayPlan<'_>,
        confirmation: Option<&Confirmation<'_>>,
        mut take: impl AsyncFnMut(CompletedPlay<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let plays = stream::iter(plan.of_shard()).map(async |(item, round, number)| {
            let case = &plan.cases[number];
            let turn = player.acquire_slot(case).await;
            let mut began = clock::instant();
            self.events.emit(&RunEvent::CaseStarted { case })?;
            let (mut recording, mut output) = turn.play_with_output(case, round.seed, plan.output, None).await?;
            if let Some(alone) = turn.retry_alone().await {
                began = clock::instant();
                (recording, output) = alone.play_with_output(case, round.seed, plan.output, None).await?;
            }
            let took = began.elapsed();
            if let Some(confirmation) = confirmation {
                recording = confirmation.confirm(player, case, recording).await?;
            }
            self.events.emit(&RunEvent::CasePlayed { case })?;
            Ok::<_, PlayError>(CompletedPlay { item, round, number, case, recording, took, output })
        });
        let mut plays = plays.buffer_unordered(player.lanes());
        while let Some(played) = plays.next().await {
            if take(played?).await?.is_break() {
                break;
            }
        }
        Ok(())
    }
}
