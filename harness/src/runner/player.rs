//! Somebody to play cases: a subject started at a cluster, or at several of its own, or one that
//! gets a simulated cluster for each case.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use futures::future::join_all;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{EnvironmentError, Session, Simulation, simulated_with_output};
use crate::case::Case;
use crate::recording::Recording;
use crate::subject::Spec;

/// A subject that plays cases.
pub enum Player<'a> {
    /// At clusters that outlive a case, on each of them one case after the other.
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
/// cluster.
pub struct Sessions<'a> {
    sessions: Vec<Session<'a>>,
    /// Those that nobody plays at.
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

/// A session that is taken until this is dropped.
struct Taken<'a> {
    sessions: &'a Sessions<'a>,
    which: usize,
    _permit: SemaphorePermit<'a>,
}

impl<'a> From<Vec<Session<'a>>> for Sessions<'a> {
    fn from(sessions: Vec<Session<'a>>) -> Self {
        // The first is the first to be taken.
        let (free, permits) = (Mutex::new((0..sessions.len()).rev().collect()), Semaphore::new(sessions.len()));
        Self { sessions, free, permits }
    }
}

impl<'a> Sessions<'a> {
    async fn take(&'a self) -> Taken<'a> {
        let permit = self.permits.acquire().await.expect("it is never closed");
        let which = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Taken { sessions: self, which: which.expect("as many are free as there are permits"), _permit: permit }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.sessions.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.which);
    }
}

impl<'a> Player<'a> {
    /// Play one case.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started, or one that has ended cannot be started again.
    pub async fn play(&'a self, case: &Case) -> Result<Recording, EnvironmentError> {
        self.turn().await.play(case, None).await
    }

    /// Wait until there is a cluster to play a case on. Where each case has its own, there always
    /// is.
    pub async fn turn(&'a self) -> Turn<'a> {
        Turn(match self {
            Self::Sessions(sessions) => Table::Session(sessions.take().await),
            Self::Simulated { spec, simulation, .. } => Table::Simulated { spec, simulation },
        })
    }

    /// How many cases may be played side by side.
    pub fn lanes(&self) -> usize {
        match self {
            Self::Sessions(sessions) => sessions.sessions.len(),
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

impl Turn<'_> {
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
                let recording = taken.session().play(case).await;
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
    fn session(&self) -> &Session<'a> {
        &self.sessions.sessions[self.which]
    }
}
