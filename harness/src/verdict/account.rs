//! What one recording shows, read in one replay: the account that the judge weighs, however many
//! golden outcomes it is compared with.

use crate::case::Case;
use crate::recording::Recording;
use crate::rules::Asking;
use crate::timeline::{Build, Credit, Expected, Names, RecordedOrder, StepId, Timeline, replay};

/// Everything that a recording shows about its subject.
pub(super) struct Account<'a> {
    /// The recording.
    pub(super) recording: &'a Recording,
    /// What the subject did.
    pub(super) timeline: Timeline,
    /// The steps whose lines stand in another order than in the recording.
    pub(super) orders: Vec<RecordedOrder>,
    /// The steps at which somebody else did what only the subject may do.
    pub(super) unearned: Vec<StepId>,
    /// The steps after which other named pods are alive than the case says, and what is wrong.
    pub(super) unexpected: Vec<(StepId, String)>,
    /// The case's rules, asked at every frame.
    pub(super) rules: Asking<'a>,
}

impl<'a> Account<'a> {
    /// Replay a recording of this case.
    pub(super) fn of(case: &'a Case, recording: &'a Recording) -> Self {
        let names = Names::of(recording);
        let mut timeline = Build::of(recording, &names);
        let (mut credit, mut expected) = (Credit::of(recording), Expected::default());
        let mut rules = Asking::of(&case.rules);
        replay(recording, &names, &mut [&mut timeline, &mut credit, &mut expected, &mut rules]);
        let (timeline, orders) = timeline.finish_with_orders();
        let (unearned, unexpected) = (credit.unearned(), expected.unexpected());
        Self { recording, timeline, orders, unearned, unexpected, rules }
    }
}
