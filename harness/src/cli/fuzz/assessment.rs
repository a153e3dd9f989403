//! Judges played programs, on all cores because judging takes a tenth of the time of playing.

use std::thread::Builder;

use lockstep_recording::Recording;
use lockstep_search::{Feedback, PlayedProgram, SideComparison};

use super::super::CliError;
use super::super::parallel::run_in_parallel;

/// The assessment of one program.
pub(super) struct Assessment {
    /// Whether the controllers differ.
    pub(super) answer: SideComparison,
    /// The feedback that guides the search.
    pub(super) feedback: Option<Feedback>,
}

/// Assess each program, in order. `ours` returns the recording of Lockstep's own controller for the
/// program at an index.
pub(super) fn assess<'a>(
    all: &'a [PlayedProgram],
    ours: impl Fn(usize) -> Option<&'a Recording> + Sync,
    lanes: usize,
) -> Result<Vec<Assessment>, CliError> {
    let judge = |at: usize| {
        let feedback = ours(at).map(|recording| Feedback::of(&all[at].program, recording));
        Some(Assessment { answer: all[at].answer(), feedback })
    };
    let mut assessed = Vec::with_capacity(all.len());
    run_in_parallel(Builder::new, lanes, all.len(), judge, |at, one| {
        assessed.push((at, one));
        Ok(())
    })?;
    assessed.sort_unstable_by_key(|(at, _)| *at);
    Ok(assessed.into_iter().map(|(_, one)| one).collect())
}
