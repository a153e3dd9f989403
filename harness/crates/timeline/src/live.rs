//! Checks the invariants for one write on a live cluster, where no recording begins or ends.
//!
//! The checks are the same as for a recording. The caller decides who wrote it, and whether the
//! writer could have known better.

use std::collections::BTreeSet;

use lockstep_recording::{ChangeType, ObjectVersion};
use serde_json::Value;

use super::checkpoint::is_paused;
use super::invariants::{self, InvariantState, WriteContext};
use super::model::{Invariant, InvariantBreach};
use super::names::NormalizedNames;
use super::object;
use super::recorded_objects::{DEPLOYMENT, REPLICA_SET, RecordedObject, RecordedObjects};

/// A write of a Deployment, or of one of its ReplicaSets, with its context.
pub struct LiveWrite<'a> {
    /// The version that was written.
    pub version: &'a ObjectVersion,
    /// The object before.
    pub before: Option<&'a Value>,
    /// The Deployment after the write.
    pub deployment: &'a Value,
    /// Its other ReplicaSets.
    pub other_sets: Vec<&'a Value>,
}

impl LiveWrite<'_> {
    /// The invariants that the write breaks. A Deployment that is paused counts as paused before;
    /// ownership is not checked.
    pub fn breaches(&self) -> Vec<InvariantBreach> {
        let Self { version, before, deployment, other_sets: ref others } = *self;
        let mut world = RecordedObjects::default();
        world.replace((DEPLOYMENT, object::name(deployment)), Some(RecordedObject::Recorded(deployment)));
        for set in others {
            world.replace((REPLICA_SET, object::name(set)), Some(RecordedObject::Recorded(set)));
        }
        if version.kind == REPLICA_SET && version.change != ChangeType::Deleted {
            world.replace((REPLICA_SET, &version.name), Some(RecordedObject::Recorded(&version.object)));
        }
        let is_paused = is_paused(deployment).then(|| object::name(deployment).to_owned());
        let watch = InvariantState::while_paused(BTreeSet::from_iter(is_paused));
        let mut breaches = watch.find_breaches(&WriteContext {
            world: &world,
            before,
            version,
            names: &NormalizedNames::real_names(),
        });
        breaches.retain(|breach| breach.invariant != Invariant::Ownership);
        breaches
    }
}

/// The bounds that these ReplicaSets of a Deployment break, whatever the cause.
pub fn broken_bounds(deployment: &Value, sets: &[&Value]) -> BTreeSet<Invariant> {
    invariants::broken_bounds(deployment, sets).collect()
}
