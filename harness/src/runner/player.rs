//! Somebody to play cases: a subject started at a cluster, or at several of its own, or one that
//! gets a simulated cluster for each case.
//!
//! Where there is one session, cases that can share a subject are played side by side at it, and all others alone.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use futures::future::join_all;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::sharing::can_share;
use super::{EnvironmentError, Session, Simulation, simulated_with_output};
use crate::case::Case;
use crate::recording::Recording;
use crate::subject::Spec;

/// A subject that plays cases.
pub enum Player<'a> {
    /// At clusters that outlive a case.
    Sessions(Sessions<'a>),
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
pub struct Sessions<'a> {
    sessions: Vec<Session<'a>>,
    /// How many lanes each has.
    lanes: usize,
    /// Those with a free lane, once for each.
    free: Mutex<Vec<usize>>,
    /// As many as are free.
    permits: Semaphore,
}

/// The right to play one case.
pub struct Turn<'a>(Table<'a>);

/// Where it is played.
enum Table<'a> {
    Session(Taken<'a>),
    Simulated { spec: &'a Spec, simulation: &'a Simulation },
}

/// Lanes of a session that are taken until this is dropped.
struct Taken<'a> {
    sessions: &'a Sessions<'a>,
    which: usize,
    /// All that the session has, or one.
    lanes: usize,
    _permit: SemaphorePermit<'a>,
}

impl<'a> From<Vec<Session<'a>>> for Sessions<'a> {
    fn from(sessions: Vec<Session<'a>>) -> Self {
        // The first is the first to be taken.
        let lanes = if let [session] = sessions.as_slice() { session.lanes() } else { 1 };
        let free: Vec<usize> = (0..sessions.len()).rev().flat_map(|which| std::iter::repeat_n(which, lanes)).collect();
        let permits = Semaphore::new(free.len());
        Self { sessions, lanes, free: Mutex::new(free), permits }
    }
}

impl<'a> Sessions<'a> {
    /// Wait for a session that has a lane free, or, if the case must be `alone`, for one that plays no case. A subject that has ended is started
    /// again while no case is played.
    async fn take(&'a self, alone: bool) -> Taken<'a> {
        if !alone {
            let taken = self.lanes(1).await;
            if taken.is_alone() || taken.session().exited().is_none() {
                return taken;
            }
        }
        self.lanes(self.lanes).await
    }

    async fn lanes(&'a self, lanes: usize) -> Taken<'a> {
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

impl<'a> Player<'a> {
    /// Play one case.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started, or one that has ended cannot be started again.
    pub async fn play(&'a self, case: &Case) -> Result<Recording, EnvironmentError> {
        let turn = self.turn(case).await;
        let recording = turn.play(case, None).await?;
        match turn.alone().await {
            Some(alone) => alone.play(case, None).await,
            None => Ok(recording),
        }
    }

    /// Wait until there is a cluster to play this case on. Where each case has its own, there always
    /// is.
    pub async fn turn(&'a self, case: &Case) -> Turn<'a> {
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
    pub fn sessions(&self) -> &[Session<'a>] {
        match self {
            Self::Sessions(sessions) => &sessions.sessions,
            Self::Simulated { .. } => &[],
        }
    }

    /// Keep what the cluster itself has logged, where it goes with the cluster otherwise; returns the folder.
    pub async fn keep_logs(&self) -> Option<PathBuf> {
        self.sessions().first()?.environment.keep_logs().await
    }

    /// Stop the subject and wait until it is gone.
    pub async fn leave(self) {
        if let Self::Sessions(sessions) = self {
            join_all(sessions.sessions.into_iter().map(Session::leave)).await;
        }
    }
}

impl<'a> Turn<'a> {
    /// If the subject has ended while this case and others were played, it is not known in which of them: the turn in which the case
    /// is played again, alone.
    pub async fn alone(self) -> Option<Turn<'a>> {
        let Table::Session(taken) = self.0 else { return None };
        if taken.is_alone() || taken.session().exited().is_none() {
            return None;
        }
        let sessions = taken.sessions;
        drop(taken);
        Some(Turn(Table::Session(sessions.take(true).await)))
    }

    /// The session, at a cluster that outlives the case.
    pub fn session(&self) -> Option<&Session<'_>> {
        match &self.0 {
            Table::Session(taken) => Some(taken.session()),
            Table::Simulated { .. } => None,
        }
    }

    /// Play a case, on a simulated cluster with another seed than it would begin with, if one is
    /// given.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started, or one that has ended cannot be started again.
    pub async fn play(&self, case: &Case, seed: Option<u64>) -> Result<Recording, EnvironmentError> {
        self.play_with_output(case, seed, false).await.map(|(recording, _)| recording)
    }

    /// The same; with `output` comes what the subject has printed since it was started, if it prints.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started, or one that has ended cannot be started again.
    pub async fn play_with_output(
        &self,
        case: &Case,
        seed: Option<u64>,
        output: bool,
    ) -> Result<(Recording, Option<String>), EnvironmentError> {
        match &self.0 {
            Table::Session(taken) => {
                let log_source = taken.session().log_source().filter(|_| output);
                taken.session().revive().await?;
                let recording = taken.session().play_with(case, !taken.is_alone()).await;
                let output = match log_source {
                    Some(log_source) => Some(log_source.read().await),
                    None => None,
                };
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

    fn session(&self) -> &Session<'a> {
        &self.sessions.sessions[self.which]
    }
}
