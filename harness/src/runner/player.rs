//! Somebody to play cases: a subject started at a cluster, or at several of its own, or one that
//! gets a simulated cluster for each case.
//!
//! Where there is one session, cases that can share a subject are played side by side at it, and
//! all others alone.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{LocalBoxFuture, join_all};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::sharing::can_share;
use super::{EnvironmentError, Session, Simulation, simulated_with_output};
use crate::case::Case;
use crate::recording::Recording;
use crate::subject::Spec;

/// A subject that plays cases.
pub enum Player {
    /// At clusters that outlive a case.
    Sessions(Sessions),
    /// On a new simulated cluster for each case.
    Simulated {
        /// The subject.
        spec: Spec,
        /// What each cluster begins with.
        simulation: Simulation,
        /// How many cases are played side by side.
        lanes: NonZeroUsize,
    },
}

/// The sessions of one subject, each at a cluster of its own, as one subject at a time acts on a
/// cluster. Either one with several lanes, or several with one each.
pub struct Sessions {
    sessions: Vec<Mutex<Arc<Session>>>,
    /// How many lanes each has.
    lanes: usize,
    /// Those with a free lane, once for each.
    free: Mutex<Vec<usize>>,
    /// As many as are free.
    permits: Semaphore,
    /// What takes the place of a session whose cluster has ended.
    renewal: Option<Renewal>,
}

/// Takes a session of the same subject at a new cluster.
pub type Renewal = Box<dyn Fn() -> LocalBoxFuture<'static, Result<Session, EnvironmentError>>>;

/// The right to play one case.
pub struct Turn<'a>(Table<'a>);

/// Where it is played.
enum Table<'a> {
    Session(Taken<'a>),
    Simulated { spec: &'a Spec, simulation: &'a Simulation },
}

/// Lanes of a session that are taken until this is dropped.
struct Taken<'a> {
    sessions: &'a Sessions,
    which: usize,
    /// All that the session has, or one.
    lanes: usize,
    _permit: SemaphorePermit<'a>,
}

impl From<Vec<Session>> for Sessions {
    fn from(sessions: Vec<Session>) -> Self {
        // The first is the first to be taken.
        let lanes = if let [session] = sessions.as_slice() { session.lanes() } else { 1 };
        let free: Vec<usize> = (0..sessions.len()).rev().flat_map(|which| std::iter::repeat_n(which, lanes)).collect();
        let permits = Semaphore::new(free.len());
        let sessions = sessions.into_iter().map(|session| Mutex::new(Arc::new(session))).collect();
        Self { sessions, lanes, free: Mutex::new(free), permits, renewal: None }
    }
}

impl Sessions {
    /// The same, which go on where a cluster ends.
    #[must_use]
    pub fn renewed_by(self, renewal: Renewal) -> Self {
        Self { renewal: Some(renewal), ..self }
    }

    /// Wait for a session that has a lane free, or, if the case must be `alone`, for one that plays
    /// no case. A subject that has ended is started again while no case is played, and so is a
    /// cluster.
    async fn take(&self, alone: bool) -> Taken<'_> {
        if !alone {
            let taken = self.lanes(1).await;
            if taken.is_alone() || taken.session().has_all() {
                return taken;
            }
        }
        self.lanes(self.lanes).await
    }

    async fn lanes(&self, lanes: usize) -> Taken<'_> {
        let wanted = u32::try_from(lanes).expect("fewer lanes than cases");
        let permit = self.permits.acquire_many(wanted).await.expect("it is never closed");
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let left = free.len() - lanes;
        let which = free.split_off(left).pop().expect("as many are free as there are permits");
        Taken { sessions: self, which, lanes, _permit: permit }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut free = self.sessions.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(std::iter::repeat_n(self.which, self.lanes));
    }
}

impl Player {
    /// Play one case.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started, or one that has ended cannot be
    /// started again.
    pub async fn play(&self, case: &Case) -> Result<Recording, EnvironmentError> {
        let turn = self.turn(case).await;
        let recording = turn.play(case, None).await?;
        match turn.alone().await {
            Some(alone) => alone.play(case, None).await,
            None => Ok(recording),
        }
    }

    /// Wait until there is a cluster to play this case on. Where each case has its own, there
    /// always is.
    pub async fn turn(&self, case: &Case) -> Turn<'_> {
        Turn(match self {
            Self::Sessions(sessions) => Table::Session(sessions.take(!can_share(case)).await),
            Self::Simulated { spec, simulation, .. } => Table::Simulated { spec, simulation },
        })
    }

    /// How many cases may be played side by side.
    pub fn lanes(&self) -> usize {
        match self {
            Self::Sessions(sessions) => sessions.sessions.len() * sessions.lanes,
            Self::Simulated { lanes, .. } => lanes.get(),
        }
    }

    /// The sessions, at clusters that outlive a case.
    pub fn sessions(&self) -> Vec<Arc<Session>> {
        match self {
            Self::Sessions(sessions) => sessions.sessions.iter().map(current).collect(),
            Self::Simulated { .. } => Vec::new(),
        }
    }

    /// Keep what the cluster itself has logged, where it goes with the cluster otherwise; returns
    /// the folder.
    pub async fn keep_logs(&self) -> Option<PathBuf> {
        self.sessions().first()?.environment.keep_logs().await
    }

    /// Stop the subject and wait until it is gone.
    pub async fn leave(self) {
        if let Self::Sessions(sessions) = self {
            let sessions = sessions.sessions.into_iter();
            let sessions = sessions.map(|session| session.into_inner().unwrap_or_else(PoisonError::into_inner));
            join_all(sessions.filter_map(Arc::into_inner).map(Session::leave)).await;
        }
    }
}

impl<'a> Turn<'a> {
    /// If the subject has ended while this case and others were played, it is not known in which of
    /// them: the turn in which the case is played again, alone.
    pub async fn alone(self) -> Option<Turn<'a>> {
        let Table::Session(taken) = self.0 else { return None };
        if taken.is_alone() || taken.session().has_all() {
            return None;
        }
        let sessions = taken.sessions;
        drop(taken);
        Some(Turn(Table::Session(sessions.take(true).await)))
    }

    /// The session, at a cluster that outlives the case.
    pub fn session(&self) -> Option<Arc<Session>> {
        match &self.0 {
            Table::Session(taken) => Some(taken.session()),
            Table::Simulated { .. } => None,
        }
    }

    /// Play a case, on a simulated cluster with another seed than it would begin with, if one is
    /// given.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started, or one that has ended cannot be
    /// started again.
    pub async fn play(&self, case: &Case, seed: Option<u64>) -> Result<Recording, EnvironmentError> {
        self.play_with_output(case, seed, false).await.map(|(recording, _)| recording)
    }

    /// The same; with `output` comes what the subject has printed since it was started, if it
    /// prints.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started, or one that has ended cannot be
    /// started again.
    pub async fn play_with_output(
        &self,
        case: &Case,
        seed: Option<u64>,
        output: bool,
    ) -> Result<(Recording, Option<String>), EnvironmentError> {
        match &self.0 {
            Table::Session(taken) => {
                let session = taken.ready().await?;
                let log_source = session.log_source().filter(|_| output);
                let recording = session.play_with(case, !taken.is_alone()).await;
                let output = session.printed(log_source).await;
                Ok((recording, output))
            }
            Table::Simulated { spec, simulation } => {
                let (case, spec, mut simulation) = (case.clone(), (*spec).clone(), (*simulation).clone());
                simulation.seed = seed.unwrap_or(simulation.seed);
                // A thread of its own: its time stands still and its runtime is not this one.
                let played = tokio::task::spawn_blocking(move || simulated_with_output(&case, &spec, &simulation));
                let played = played.await.map_err(|error| EnvironmentError::Simulation(error.to_string()))?;
                played.map(|(recording, printed)| (recording, printed.filter(|_| output)))
            }
        }
    }
}

impl<'a> Taken<'a> {
    /// Whether no other case is played at the session.
    fn is_alone(&self) -> bool {
        self.lanes == self.sessions.lanes
    }

    fn session(&self) -> Arc<Session> {
        current(&self.sessions.sessions[self.which])
    }

    /// The session with a cluster and a subject that run.
    async fn ready(&self) -> Result<Arc<Session>, EnvironmentError> {
        let mut session = self.session();
        if let Some(renewal) = self.sessions.renewal.as_ref().filter(|_| self.is_alone() && !session.has_cluster()) {
            tracing::warn!("the cluster has ended; the next case is played on a new one");
            session = Arc::new(renewal().await?);
            let place = &self.sessions.sessions[self.which];
            let ended =
                std::mem::replace(&mut *place.lock().unwrap_or_else(PoisonError::into_inner), Arc::clone(&session));
            if let Some(ended) = Arc::into_inner(ended) {
                ended.leave().await;
            }
        }
        session.revive().await?;
        Ok(session)
    }
}

fn current(session: &Mutex<Arc<Session>>) -> Arc<Session> {
    Arc::clone(&session.lock().unwrap_or_else(PoisonError::into_inner))
}
