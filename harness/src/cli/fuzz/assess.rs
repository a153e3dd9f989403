//! What programs that were played have shown: judged on all cores, as that takes a tenth of the
//! time that playing takes.

use std::thread::Builder;

use super::super::CliError;
use super::super::on_threads::on_threads;
use crate::recording::Recording;
use crate::search::{Answer, Played, Shown};

/// What one program has shown.
pub(super) struct Assessed {
    /// Whether the sides differ.
    pub(super) answer: Answer,
    /// What steers the search.
    pub(super) shown: Option<Shown>,
}

/// Judge each program, in their order; `ours` is the recording of Lockstep's own controller of the
/// program at this place.
pub(super) fn assess<'a>(
    all: &'a [Played],
    ours: impl Fn(usize) -> Option<&'a Recording> + Sync,
    lanes: usize,
) -> Result<Vec<Assessed>, CliError> {
    let judge = |at: usize| {
        let shown = ours(at).map(|recording| Shown::of(&all[at].program, recording));
        Some(Assessed { answer: all[at].answer(), shown })
    };
    let mut assessed = Vec::with_capacity(all.len());
    on_threads(Builder::new, lanes, all.len(), judge, |at, one| {
        assessed.push((at, one));
        Ok(())
    })?;
    assessed.sort_unstable_by_key(|(at, _)| *at);
    Ok(assessed.into_iter().map(|(_, one)| one).collect())
}
