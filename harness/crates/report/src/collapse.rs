//! Finds the runs of like sub-steps that two timelines have in common, to collapse them.

use std::collections::BTreeMap;

use lockstep_timeline::{StepId, Timeline, TimelineStep, fold};

/// The common runs by their first step.
pub(super) struct CommonRuns<'a>(BTreeMap<StepId, &'a [TimelineStep]>);

impl<'a> CommonRuns<'a> {
    /// The runs of `actual` whose steps are all equal in `expected`.
    pub(super) fn of(actual: &'a Timeline, expected: &Timeline) -> Self {
        // Breaches of invariants need no comparison: a step with a breach is in no run.
        let is_common = |run: &&[TimelineStep]| run.iter().all(|step| expected.step(step.id) == Some(step));
        let runs = fold::runs(&actual.steps).filter(|run| run.len() > 1).filter(is_common);
        Self(runs.map(|run| (run[0].id, run)).collect())
    }

    /// The run that begins with this step.
    pub(super) fn at(&self, first: StepId) -> Option<&'a [TimelineStep]> {
        self.0.get(&first).copied()
    }
}
