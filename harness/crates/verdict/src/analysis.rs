//! Everything that one recording shows, read in a single replay, however many golden outcomes it is
//! compared with.

use lockstep_case::Case;
use lockstep_case::rules::RuleEvaluator;
use lockstep_recording::Recording;
use lockstep_timeline::{
    Attribution, ExpectationCheck, NormalizedNames, RecordedOrder, StepId, Timeline, TimelineBuilder, replay,
};

/// Everything that a recording shows about its subject.
pub(super) struct RecordingAnalysis<'a> {
    pub(super) recording: &'a Recording,
    /// What the subject decided.
    pub(super) timeline: Timeline,
    /// The recording's order of steps whose timeline has another.
    pub(super) orders: Vec<RecordedOrder>,
    /// The steps at which another writer did what only the subject may do.
    pub(super) unattributed: Vec<StepId>,
    /// The steps after which other named pods are alive than the case expects, with descriptions.
    pub(super) wrong_pods: Vec<(StepId, String)>,
    /// The case's rules, evaluated at every frame.
    pub(super) rules: RuleEvaluator<'a>,
}

impl<'a> RecordingAnalysis<'a> {
    /// Replays a recording of this case.
    pub(super) fn of(case: &'a Case, recording: &'a Recording) -> Self {
        let names = NormalizedNames::of(recording);
        let mut timeline = TimelineBuilder::of(recording, &names);
        let (mut credit, mut expected) = (Attribution::of(recording), ExpectationCheck::default());
        let mut rules = RuleEvaluator::of(&case.rules);
        replay(recording, &names, &mut [&mut timeline, &mut credit, &mut expected, &mut rules]);
        let (timeline, orders) = timeline.finish_with_orders();
        let (unearned, unexpected) = (credit.unattributed_steps(), expected.into_mismatches());
        Self { recording, timeline, orders, unattributed: unearned, wrong_pods: unexpected, rules }
    }
}
