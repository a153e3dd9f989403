//! Plays a case again if its subject may only have been late.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use lockstep_case::Case;
use lockstep_recording::Recording;
use lockstep_verdict::{Judgement, late_step, with_lateness};

use crate::{EnvironmentError, Executor};

/// The most differences of a subject that are confirmed by another play. One that shows so many is
/// not late: each takes as long as the silence, and the run is not conformant anyway.
const MOST_CONFIRMED: u32 = 3;

/// Confirms the differences of one subject in real time.
pub struct Confirmation<'a> {
    judge: &'a dyn Fn(&Arc<Case>, &Recording) -> Judgement,
    /// How many differences were confirmed so far.
    confirmed: AtomicU32,
}

impl<'a> Confirmation<'a> {
    /// `judge` judges a recording of either play.
    pub fn new(judge: &'a dyn Fn(&Arc<Case>, &Recording) -> Judgement) -> Self {
        Self { judge, confirmed: AtomicU32::new(0) }
    }

    /// The recording by which the subject is judged: this one, with trouble if another play shows
    /// that the subject was only late. In virtual time no subject is.
    pub(super) async fn confirm(
        &self,
        player: &Executor,
        case: &Arc<Case>,
        recording: Recording,
    ) -> Result<Recording, EnvironmentError> {
        if player.sessions().is_empty() || self.confirmed.load(Ordering::Relaxed) >= MOST_CONFIRMED {
            return Ok(recording);
        }
        let Some(step) = late_step(&(self.judge)(case, &recording)) else { return Ok(recording) };
        tracing::info!("{}: the subject may be late at step {step}; playing the case again to see", case.name);
        let slot = player.acquire_slot(case).await;
        let (second, _) = slot.play_with_output(case, None, false, Some(step)).await?;
        Ok(with_lateness(&recording, step, &(self.judge)(case, &second)).unwrap_or_else(|| {
            self.confirmed.fetch_add(1, Ordering::Relaxed);
            recording
        }))
    }
}
