//! The runs of like sub-steps that two timelines have in common, where they are shown beside each
//! other.

use std::collections::BTreeMap;

use crate::timeline::{Step, StepId, Timeline, fold};

/// The runs by the step with which they begin.
pub(super) struct Folded<'a>(BTreeMap<StepId, &'a [Step]>);

impl<'a> Folded<'a> {
    /// The runs of one timeline all of whose steps are equal in the other.
    pub(super) fn of(one: &'a Timeline, other: &Timeline) -> Self {
        // Equal up to the invariants that are broken: a step that has one is in no run.
        let is_common = |run: &&[Step]| run.iter().all(|step| other.step(step.id) == Some(step));
        let runs = fold::runs(&one.steps).filter(|run| run.len() > 1).filter(is_common);
        Self(runs.map(|run| (run[0].id, run)).collect())
    }

    /// The run that begins with this step.
    pub(super) fn at(&self, first: StepId) -> Option<&'a [Step]> {
        self.0.get(&first).copied()
    }
}
