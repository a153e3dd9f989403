//! Runs cases with one subject: in one or several sessions, or on a new simulated cluster for each
//! case.
//!
//! With a single session, cases that can share a subject run at the same time, and all others
//! alone.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{LocalBoxFuture, join_all};
use lockstep_case::model::{Case, Step};
use lockstep_recording::Recording;
use lockstep_recording::controllers::Controller;
use lockstep_subject::SubjectSpec;
use lockstep_timeline::StepId;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{EnvironmentError, Session, Simulation, SubjectPlan, Successor, simulate_with_output};

/// Runs the cases of one subject.
pub enum Executor {
    /// On clusters that outlive a case.
    Sessions(SessionPool),
    /// On a new simulated cluster for each case.
    Simulated {
        /// The subject.
        spec: SubjectSpec,
        /// The settings of each cluster.
        simulation: Simulation,
        /// How many cases run at the same time.
        lanes: usize,
        /// One permit for each of them.
        permits: Semaphore,
    },
}

/// The sessions of one subject. Each has its own cluster, as only one subject may act on a cluster
/// at a time. Either one session with several lanes, or several with one lane each.
pub struct SessionPool {
    sessions: Vec<Mutex<Arc<Session>>>,
    /// The number of lanes of each session.
    lanes: usize,
    /// The index of each session with a free lane, once for each such lane.
    free: Mutex<Vec<usize>>,
    /// One permit for each free lane.
    permits: Semaphore,
    /// Replaces a session whose cluster has ended.
    renewal: Option<SessionRenewal>,
}

/// Opens a session of the same subject on a new cluster.
pub(crate) type SessionRenewal = Box<dyn Fn() -> LocalBoxFuture<'static, Result<Session, EnvironmentError>>>;

/// The right to run one case.
pub struct ExecutionSlot<'a> {
    site: SlotSite<'a>,
    /// Which of two subjects play it.
    subjects: SubjectPlan,
}

/// Where the case runs.
enum SlotSite<'a> {
    Session(SessionLease<'a>),
    Simulated { spec: &'a SubjectSpec, simulation: &'a Simulation, _permit: SemaphorePermit<'a> },
}

/// Lanes of a session, which are free again when this is dropped.
struct SessionLease<'a> {
    sessions: &'a SessionPool,
    index: usize,
    /// One lane, or all lanes of the session.
    lanes: usize,
    _permit: SemaphorePermit<'a>,
}

impl From<Vec<Session>> for SessionPool {
    fn from(sessions: Vec<Session>) -> Self {
        // Cases cannot share a session whose subject may be another one for the next case.
        let lanes = match sessions.as_slice() {
            [session] if !session.subjects.are_two() => session.lanes(),
            _ => 1,
        };
        // Reversed, so that the first session is used first.
        let free: Vec<usize> = (0..sessions.len()).rev().flat_map(|index| std::iter::repeat_n(index, lanes)).collect();
        let permits = Semaphore::new(free.len());
        let sessions = sessions.into_iter().map(|session| Mutex::new(Arc::new(session))).collect();
        Self { sessions, lanes, free: Mutex::new(free), permits, renewal: None }
    }
}

impl SessionPool {
    /// The pool, which replaces sessions whose cluster has ended.
    #[must_use]
    pub(crate) fn with_renewal(self, renewal: SessionRenewal) -> Self {
        Self { renewal: Some(renewal), ..self }
    }

    /// Wait for a session with a free lane or, if the case must run `alone`, for one without
    /// running cases. An ended subject or cluster is started again only while no case runs.
    async fn acquire(&self, alone: bool) -> SessionLease<'_> {
        if !alone {
            let lease = self.acquire_lanes(1).await;
            if lease.is_alone() || lease.session().is_intact() {
                return lease;
            }
        }
        self.acquire_lanes(self.lanes).await
    }

    async fn acquire_lanes(&self, lanes: usize) -> SessionLease<'_> {
        let wanted = u32::try_from(lanes).expect("fewer lanes than cases");
        let permit = self.permits.acquire_many(wanted).await.expect("it is never closed");
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let left = free.len() - lanes;
        let index = free.split_off(left).pop().expect("as many are free as there are permits");
        SessionLease { sessions: self, index, lanes, _permit: permit }
    }
}

impl Drop for SessionLease<'_> {
    fn drop(&mut self) {
        let mut free = self.sessions.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(std::iter::repeat_n(self.index, self.lanes));
    }
}

impl Executor {
    pub(crate) fn simulated(spec: SubjectSpec, simulation: Simulation, lanes: NonZeroUsize) -> Self {
        let lanes = lanes.get();
        Self::Simulated { spec, simulation, lanes, permits: Semaphore::new(lanes) }
    }

    /// Run one case.
    ///
    /// # Errors
    /// The subject of a simulated cluster cannot be started, or an ended subject cannot be started
    /// again.
    pub async fn play(&self, case: &Case) -> Result<Recording, EnvironmentError> {
        self.play_with(case, SubjectPlan::default(), None).await
    }

    /// Run one case with these of the two subjects, on a simulated cluster with this seed instead
    /// of its own, if given.
    ///
    /// # Errors
    /// As for [`play`](Self::play).
    pub async fn play_with(
        &self,
        case: &Case,
        subjects: SubjectPlan,
        seed: Option<u64>,
    ) -> Result<Recording, EnvironmentError> {
        let slot = ExecutionSlot { subjects, ..self.acquire_slot(case).await };
        let recording = slot.play(case, seed).await?;
        match slot.retry_alone().await {
            Some(alone) => alone.play(case, seed).await,
            None => Ok(recording),
        }
    }

    /// Wait until there is a cluster, or the right to a new one, for this case.
    pub async fn acquire_slot(&self, case: &Case) -> ExecutionSlot<'_> {
        let site = match self {
            Self::Sessions(sessions) => SlotSite::Session(sessions.acquire(!can_share(case)).await),
            Self::Simulated { spec, simulation, permits, .. } => {
                let _permit = permits.acquire().await.expect("it is never closed");
                SlotSite::Simulated { spec, simulation, _permit }
            }
        };
        ExecutionSlot { site, subjects: SubjectPlan::default() }
    }

    /// How many cases may run at the same time.
    pub fn lanes(&self) -> usize {
        match self {
            Self::Sessions(sessions) => sessions.sessions.len() * sessions.lanes,
            Self::Simulated { lanes, .. } => *lanes,
        }
    }

    /// The sessions on clusters that outlive a case; empty for simulated clusters.
    pub fn sessions(&self) -> Vec<Arc<Session>> {
        match self {
            Self::Sessions(sessions) => sessions.sessions.iter().map(current).collect(),
            Self::Simulated { .. } => Vec::new(),
        }
    }

    /// Keep the logs of the cluster, which are otherwise deleted with it; returns their folder.
    pub async fn keep_logs(&self) -> Option<PathBuf> {
        self.sessions().first()?.environment.keep_logs().await
    }

    /// Stop the subject and wait until it has ended.
    pub async fn close(self) {
        if let Self::Sessions(sessions) = self {
            let sessions = sessions.sessions.into_iter();
            let sessions = sessions.map(|session| session.into_inner().unwrap_or_else(PoisonError::into_inner));
            join_all(sessions.filter_map(Arc::into_inner).map(Session::close)).await;
        }
    }
}

impl<'a> ExecutionSlot<'a> {
    /// If the subject has ended while several cases ran, it is not known which of them caused it.
    /// Returns a slot to run this case again, alone.
    pub(crate) async fn retry_alone(self) -> Option<ExecutionSlot<'a>> {
        let SlotSite::Session(lease) = self.site else { return None };
        if lease.is_alone() || lease.session().is_intact() {
            return None;
        }
        let sessions = lease.sessions;
        drop(lease);
        Some(ExecutionSlot { site: SlotSite::Session(sessions.acquire(true).await), subjects: self.subjects })
    }

    /// The session, if the cluster outlives the case.
    pub fn session(&self) -> Option<Arc<Session>> {
        match &self.site {
            SlotSite::Session(lease) => Some(lease.session()),
            SlotSite::Simulated { .. } => None,
        }
    }

    /// Run a case, on a simulated cluster with this seed instead of its own, if given.
    ///
    /// # Errors
    /// The subject of a simulated cluster cannot be started, or an ended subject cannot be started
    /// again.
    pub async fn play(&self, case: &Case, seed: Option<u64>) -> Result<Recording, EnvironmentError> {
        self.play_with_output(case, seed, false, None).await.map(|(recording, _)| recording)
    }

    /// Run a case; with `output`, also returns what the subject has printed since it was started,
    /// if it prints. On a cluster that outlives the case, the subject gets a long silence at the
    /// step `waits_at`.
    ///
    /// # Errors
    /// The subject of a simulated cluster cannot be started, or an ended subject cannot be started
    /// again.
    pub(crate) async fn play_with_output(
        &self,
        case: &Case,
        seed: Option<u64>,
        output: bool,
        waits_at: Option<StepId>,
    ) -> Result<(Recording, Option<String>), EnvironmentError> {
        match &self.site {
            SlotSite::Session(lease) => {
                let session = lease.ready().await?;
                let log_source = session.log_source().filter(|_| output);
                let recording = session.play_with(case, self.subjects, !lease.is_alone(), waits_at).await;
                let output = session.printed(log_source).await;
                Ok((recording, output))
            }
            SlotSite::Simulated { spec, simulation, .. } => {
                let (case, spec, mut simulation) = (case.clone(), (*spec).clone(), (*simulation).clone());
                simulation.seed = seed.unwrap_or(simulation.seed);
                let spec = match self.subjects {
                    SubjectPlan::HandOver => spec,
                    SubjectPlan::FirstAlone => {
                        simulation.successor = None;
                        spec
                    }
                    SubjectPlan::SuccessorAlone => match simulation.successor.take() {
                        Some(Successor { spec, profile }) => {
                            simulation.profile = profile;
                            spec
                        }
                        None => spec,
                    },
                };
                // On a thread of its own: virtual time needs a runtime of its own.
                let run = tokio::task::spawn_blocking(move || simulate_with_output(&case, &spec, &simulation));
                let run = run.await.map_err(|error| EnvironmentError::Simulation(error.to_string()))?;
                run.map(|(recording, printed)| (recording, printed.filter(|_| output)))
            }
        }
    }
}

impl<'a> SessionLease<'a> {
    /// Whether the lease has all lanes, so that no other case runs in the session.
    fn is_alone(&self) -> bool {
        self.lanes == self.sessions.lanes
    }

    fn session(&self) -> Arc<Session> {
        current(&self.sessions.sessions[self.index])
    }

    /// The session, after its cluster and subject were restarted if necessary. While other cases
    /// run in it, nothing is restarted: a case that finds an ended subject is played again alone.
    async fn ready(&self) -> Result<Arc<Session>, EnvironmentError> {
        let mut session = self.session();
        if !self.is_alone() {
            return Ok(session);
        }
        if let Some(renewal) = self.sessions.renewal.as_ref().filter(|_| !session.is_cluster_alive()) {
            tracing::warn!("the cluster has ended; the next case is played on a new one");
            session = Arc::new(renewal().await?);
            let slot = &self.sessions.sessions[self.index];
            let ended =
                std::mem::replace(&mut *slot.lock().unwrap_or_else(PoisonError::into_inner), Arc::clone(&session));
            if let Some(ended) = Arc::into_inner(ended) {
                ended.close().await;
            }
        }
        session.restart_if_ended().await?;
        Ok(session)
    }
}

fn current(session: &Mutex<Arc<Session>>) -> Arc<Session> {
    Arc::clone(&session.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the case can run while the same subject runs others.
///
/// Each case has its own namespace, so a correct Deployment controller behaves in one namespace as
/// it would without the others. A case needs the subject for itself if it stops or restarts the
/// subject, changes or delays its requests and watches, or brings a kind that a controller looks
/// for when it starts.
fn can_share(case: &Case) -> bool {
    let restarts_workloads = case.controllers.has(Controller::ConfigRestart);
    !restarts_workloads && case.crds.is_empty() && case.given.iter().chain(&case.steps).all(leaves_subject_alone)
}

fn leaves_subject_alone(step: &Step) -> bool {
    let Step { operation, during, fault, .. } = step;
    let inner = operation.nested_steps();
    during.is_none()
        && fault.is_none()
        && operation.process_action().is_none()
        && inner.iter().all(leaves_subject_alone)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lockstep_case as case;
    use lockstep_recording::controllers::ControllerSet;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("- scale: 2", true)]
    #[case("- together: [{scale: 2}, {pause: web}]", true)]
    #[case("- subject: stop\n  - subject: start", false)]
    #[case("- scale: 2\n    fault: {write: 1, of: replicasets, action: crash}", false)]
    #[case("- scale: 2\n    during: {held: replicasets, do: [{scale: 3}]}", false)]
    fn cases_that_affect_the_subject_run_alone(#[case] steps: &str, #[case] shares: bool) {
        assert_eq!(can_share(&case_with(steps)), shares);
    }

    fn case_with(steps: &str) -> Case {
        let given = "given: [{deployment: {name: web, replicas: 1, image: \"app:1\"}}]";
        case::parse("x/x.yaml", "x/x", &format!("description: x\n{given}\nsteps:\n  {steps}\n")).unwrap()
    }

    #[tokio::test]
    async fn simulated_case_waits_for_a_lane() {
        let case = case_with("- scale: 2");
        let simulation = Simulation::new(ControllerSet::default(), Duration::ZERO);
        let player = Executor::simulated(SubjectSpec::Ours, simulation, NonZeroUsize::MIN);
        let first = player.acquire_slot(&case).await;
        let mut second = Box::pin(player.acquire_slot(&case));
        assert!(futures::poll!(second.as_mut()).is_pending());
        drop(first);
        assert!(futures::poll!(second.as_mut()).is_ready());
    }
}
