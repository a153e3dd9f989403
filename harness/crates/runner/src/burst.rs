//! Bursts: several pods become ready in one step, one write after the other. Only their net effect
//! on the controller is reproducible.

use lockstep_case::model::{CountSpec, Operation};
use lockstep_recording::Blame;

use super::case_run::{Abort, CaseRun};
use crate::observe::{CachedObject, WatchedKind};

/// Why a burst cannot be compared.
const LOST: &str = "the step is impossible to compare: pods that it makes ready at once were deleted before its end, \
    and how many of them were ready by then is chance; leave out `atomic`, name the ReplicaSet with `of`, or add \
    minReadySeconds";

impl CaseRun<'_> {
    /// The pods that become ready one write after the other and count as available at once. Which
    /// of these writes a controller sees together is chance. With minReadySeconds they become
    /// available at the same instant, so there is no burst.
    pub(super) fn burst(&self, operation: &Operation) -> Vec<CachedObject> {
        let Some((kind, pods)) = operation.pod_operation().filter(|(_, pods)| pods.atomic) else { return Vec::new() };
        let mut moved = self.next_pods(kind, pods, usize::MAX);
        if let CountSpec::Exactly(number) = pods.count {
            moved.truncate(usize::try_from(number).unwrap_or(usize::MAX));
        }
        let sets = self.session.environment.cache.list(WatchedKind::ReplicaSet, &self.namespace);
        let is_available = |pod: &CachedObject| {
            let owner = sets.iter().find(|set| Some(set.text("/metadata/uid")) == pod.owner());
            owner.is_none_or(|set| set.int("/spec/minReadySeconds") == 0)
        };
        if moved.len() > 1 && moved.iter().any(is_available) { moved } else { Vec::new() }
    }

    /// A pod of a burst that was deleted before the step ended may or may not have been ready by
    /// then, so the step cannot be compared.
    pub(super) fn check_burst(&mut self, burst: &[CachedObject]) -> Result<(), Abort> {
        let pods = self.session.environment.cache.list(WatchedKind::Pod, &self.namespace);
        let is_alive = |pod: &CachedObject| pods.iter().any(|one| one.name == pod.name && one.alive());
        if burst.iter().all(is_alive) { Ok(()) } else { self.abort(Blame::Environment, LOST.to_owned()) }
    }
}
