//! Bursts: several pods that become ready in one step, one write after the other. Only their net
//! effect on the controller repeats.

use super::play::{Play, Stopped};
use crate::case::model::{Count, Operation};
use crate::observe::{Kind, Object};
use crate::recording::Blame;

/// Why a burst cannot be compared.
const LOST: &str = "the step is impossible to compare: pods that it makes ready at once were deleted before its end, \
    and how many of them were ready by then is chance; leave out `atomic`, name the ReplicaSet with `of`, or add \
    minReadySeconds";

impl Play<'_> {
    /// Pods that become ready one write after the other and count as available at once: which of
    /// these writes a controller sees together is chance. With minReadySeconds they become
    /// available at one instant.
    pub(super) fn burst(&self, operation: &Operation) -> Vec<Object> {
        let Some((kind, pods)) = operation.moves().filter(|(_, pods)| pods.atomic) else { return Vec::new() };
        let mut moved = self.next(kind, pods, usize::MAX);
        if let Count::Exactly(number) = pods.count {
            moved.truncate(usize::try_from(number).unwrap_or(usize::MAX));
        }
        let sets = self.session.environment.world.list(Kind::ReplicaSet, &self.namespace);
        let is_available = |pod: &Object| {
            let owner = sets.iter().find(|set| Some(set.text("/metadata/uid")) == pod.owner());
            owner.is_none_or(|set| set.int("/spec/minReadySeconds") == 0)
        };
        if moved.len() > 1 && moved.iter().any(is_available) { moved } else { Vec::new() }
    }

    /// A pod of a burst that was deleted before its end was ready by then, or was not: both are
    /// possible.
    pub(super) fn check_burst(&mut self, burst: &[Object]) -> Result<(), Stopped> {
        let pods = self.session.environment.world.list(Kind::Pod, &self.namespace);
        let is_alive = |pod: &Object| pods.iter().any(|one| one.name == pod.name && one.alive());
        if burst.iter().all(is_alive) { Ok(()) } else { self.stop(Blame::Environment, LOST.to_owned()) }
    }
}
