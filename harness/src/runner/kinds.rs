//! The kinds of steps as playing sees them: whose they are, and which of them move pods.

use crate::case::model::{Count, Operation, Pods};
use crate::driver::PodOperation;

/// The step as one pod's, of pods by name the one of this number; a step that moves no pods as it is.
pub(super) fn one(operation: &Operation, part: u32) -> Operation {
    let one = |pods: &Pods| {
        let at = usize::try_from(part).unwrap_or(usize::MAX).saturating_sub(1);
        let names = pods.names.get(at).cloned().into_iter().collect();
        Pods { count: Count::Exactly(1), names, ..pods.clone() }
    };
    match operation {
        Operation::Ready(pods) => Operation::Ready(one(pods)),
        Operation::Unready(pods) => Operation::Unready(one(pods)),
        Operation::Fail(pods) => Operation::Fail(one(pods)),
        Operation::Succeed(pods) => Operation::Succeed(one(pods)),
        Operation::Terminate(pods) => Operation::Terminate(one(pods)),
        other => other.clone(),
    }
}

/// How the step moves pods, and which; nothing if it moves none.
pub(super) fn pod_operation(operation: &Operation) -> Option<(PodOperation, &Pods)> {
    match operation {
        Operation::Ready(pods) => Some((PodOperation::Ready, pods)),
        Operation::Unready(pods) => Some((PodOperation::Unready, pods)),
        Operation::Fail(pods) => Some((PodOperation::Fail, pods)),
        Operation::Succeed(pods) => Some((PodOperation::Succeed, pods)),
        Operation::Terminate(pods) => Some((PodOperation::Terminate, pods)),
        _ => None,
    }
}

/// Whether a user's operation is part of the step.
pub(super) fn is_user(operation: &Operation) -> bool {
    match operation {
        Operation::Advance(_) | Operation::AdvanceTo { .. } | Operation::Name(_) | Operation::Subject(_) => false,
        Operation::Together(steps) => steps.iter().any(|step| is_user(&step.operation)),
        other => pod_operation(other).is_none(),
    }
}
