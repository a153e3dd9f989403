//! The judged plays that are still needed when a run ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::is_good;
use crate::course::Frames;
use crate::report::Again;
use crate::report::page::Sheet;
use crate::run::{Event, FileError, Subscriber};
use crate::timeline::Timeline;
use crate::verdict::Judgement;

/// One judged play.
pub(super) struct Kept {
    pub(super) judgement: Judgement,
    pub(super) expected: Option<Timeline>,
    pub(super) again: Again,
    pub(super) took: Option<Duration>,
    pub(super) frames: Option<Frames>,
}

impl Kept {
    pub(super) fn sheet(&self) -> Sheet<'_> {
        let Self { judgement, expected, again, took, frames } = self;
        Sheet { judgement, expected: expected.as_ref(), again, took: *took, frames: frames.as_ref() }
    }

    pub(super) fn is_good(&self) -> bool {
        is_good(self.judgement.outcome())
    }
}

/// Keeps what is not conformant, and the rest where somebody wants it.
pub(super) struct Collected {
    keeps_good: bool,
    /// Whether a page is made, which has the frames.
    keeps_frames: bool,
    state: Mutex<State>,
}

#[derive(Default, Clone)]
pub(super) struct State {
    pub(super) kept: Vec<Arc<Kept>>,
    /// The cases that were played, as a command line names them.
    pub(super) played: BTreeSet<String>,
    /// Conformant plays that were not kept.
    pub(super) forgotten: usize,
}

impl Collected {
    pub(super) fn new(keeps_good: bool, keeps_frames: bool) -> Self {
        Self { keeps_good, keeps_frames, state: Mutex::default() }
    }

    /// What there is so far.
    pub(super) fn so_far(&self) -> State {
        self.state().clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Collected {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        let Event::CaseJudged(judged) = event else { return Ok(()) };
        let frames = self.keeps_frames.then(|| Frames::of(judged.recording));
        let mut state = self.state();
        state.played.insert(judged.judgement.definition.argument());
        if is_good(judged.judgement.outcome()) && !self.keeps_good {
            state.forgotten += 1;
            return Ok(());
        }
        state.kept.push(Arc::new(Kept {
            judgement: judged.judgement.clone(),
            expected: judged.expected.cloned(),
            again: judged.again.clone(),
            took: judged.took,
            frames,
        }));
        Ok(())
    }
}
