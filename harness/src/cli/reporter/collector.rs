//! Collects the judged plays that reports need at the end of a run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockstep_report::page::CaseSection;
use lockstep_report::{EarlyEnd, RerunCommands};
use lockstep_runner::run::{FileError, RunEvent, Subscriber};
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::Timeline;
use lockstep_verdict::Judgement;
use lockstep_verdict::series::RecordingTrace;

/// A judged play that is kept until the end of the run.
pub(super) struct CollectedPlay {
    pub(super) judgement: Judgement,
    pub(super) expected: Option<Timeline>,
    pub(super) rerun: RerunCommands,
    pub(super) took: Option<Duration>,
    pub(super) frames: Option<RecordingTrace>,
}

impl CollectedPlay {
    pub(super) fn sheet(&self) -> CaseSection<'_> {
        let Self { judgement, expected, rerun, took, frames } = self;
        CaseSection { judgement, expected: expected.as_ref(), rerun, took: *took, frames: frames.as_ref() }
    }

    pub(super) fn is_good(&self) -> bool {
        is_good(self.judgement.outcome())
    }
}

/// Keeps plays that are not conformant, and conformant plays if a report needs them.
pub(super) struct Collector {
    keeps_good: bool,
    /// Whether to keep frames, for an HTML page.
    keeps_frames: bool,
    state: Mutex<CollectedPlays>,
}

#[derive(Default, Clone)]
pub(super) struct CollectedPlays {
    pub(super) plays: Vec<Arc<CollectedPlay>>,
    /// The played cases, as command-line arguments.
    pub(super) cases: BTreeSet<String>,
    /// The number of conformant plays that were not kept.
    pub(super) discarded: usize,
    /// Why the run ended early, if it did.
    pub(super) early: Option<EarlyEnd>,
}

impl Collector {
    pub(super) fn new(keeps_good: bool, keeps_frames: bool) -> Self {
        Self { keeps_good, keeps_frames, state: Mutex::default() }
    }

    /// Keep why the run ended early for the reports that are written at its end.
    pub(super) fn end_early(&self, early: EarlyEnd) {
        self.state().early = Some(early);
    }

    /// The plays so far.
    pub(super) fn snapshot(&self) -> CollectedPlays {
        self.state().clone()
    }

    fn state(&self) -> MutexGuard<'_, CollectedPlays> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Collector {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        let RunEvent::CaseJudged(judged) = event else { return Ok(()) };
        let frames = self.keeps_frames.then(|| RecordingTrace::of(judged.recording));
        let mut state = self.state();
        state.cases.insert(judged.judgement.definition.argument());
        if is_good(judged.judgement.outcome()) && !self.keeps_good {
            state.discarded += 1;
            return Ok(());
        }
        state.plays.push(Arc::new(CollectedPlay {
            judgement: judged.judgement.clone(),
            expected: judged.expected.cloned(),
            rerun: judged.rerun.clone(),
            took: judged.took,
            frames,
        }));
        Ok(())
    }
}

/// Whether a play is conformant.
pub(super) fn is_good(outcome: RunOutcome) -> bool {
    outcome == RunOutcome::Conformant
}
