//! Somebody to play cases: a subject seated at a lab, or one that gets a simulated cluster of its own for each case.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::{Lab, LabError, Seat, Simulation, simulated};
use crate::case::Case;
use crate::recording::Recording;
use crate::subject::Spec;

/// A subject that plays cases.
pub enum Player<'a> {
    /// At a cluster that all cases share, one after the other.
    Seated {
        /// Where.
        lab: &'a Lab,
        /// The subject at work.
        seat: Box<Seat<'a>>,
    },
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

impl Player<'_> {
    /// Play one case.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started.
    pub async fn play(&self, case: &Case) -> Result<Recording, LabError> {
        self.play_with(case, None).await
    }

    /// Play one case, on a simulated cluster with another seed than it would begin with.
    ///
    /// # Errors
    /// When a simulated cluster's subject cannot be started.
    pub async fn play_with(&self, case: &Case, seed: Option<u64>) -> Result<Recording, LabError> {
        match self {
            Self::Seated { seat, .. } => Ok(seat.play(case).await),
            Self::Simulated { spec, simulation, .. } => {
                let (case, spec, mut simulation) = (case.clone(), spec.clone(), simulation.clone());
                simulation.seed = seed.unwrap_or(simulation.seed);
                // A thread of its own: its time stands still and its runtime is not this one.
                let played = tokio::task::spawn_blocking(move || simulated(&case, &spec, &simulation));
                played.await.map_err(|error| LabError::Simulation(error.to_string()))?
            }
        }
    }

    /// How many cases may be played side by side: on a shared cluster one.
    pub fn lanes(&self) -> usize {
        match self {
            Self::Seated { .. } => 1,
            Self::Simulated { lanes, .. } => lanes.get(),
        }
    }

    /// The seat, at a cluster that all cases share.
    pub fn seat(&self) -> Option<&Seat<'_>> {
        match self {
            Self::Seated { seat, .. } => Some(seat),
            Self::Simulated { .. } => None,
        }
    }

    /// Keep what the cluster itself has logged, where it goes with the cluster otherwise; returns the folder.
    pub async fn keep_logs(&self) -> Option<PathBuf> {
        match self {
            Self::Seated { lab, .. } => lab.keep_logs().await,
            Self::Simulated { .. } => None,
        }
    }

    /// Stop the subject and wait until it is gone.
    pub async fn leave(self) {
        if let Self::Seated { seat, .. } = self {
            seat.leave().await;
        }
    }
}
