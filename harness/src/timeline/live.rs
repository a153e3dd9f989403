//! The invariants, asked of one write on a cluster that is in use, where no recording begins or
//! ends.
//!
//! The same functions judge as in a recording. Who wrote it, and whether the writer can have known
//! better, is the business of those who ask.

use std::collections::BTreeSet;

use serde_json::Value;

use super::checkpoint::paused;
use super::invariants::{self, Frame, Watch};
use super::model::{Breach, Invariant};
use super::names::Names;
use super::object;
use super::world::{DEPLOYMENT, Held, REPLICA_SET, World};
use crate::recording::{Change, Version};

/// One write about a Deployment, or about a ReplicaSet of its own, and what there was besides.
pub(crate) struct Moment<'a> {
    /// What was written.
    pub(crate) version: &'a Version,
    /// The object before.
    pub(crate) before: Option<&'a Value>,
    /// The Deployment, after it.
    pub(crate) deployment: &'a Value,
    /// Its other ReplicaSets.
    pub(crate) others: Vec<&'a Value>,
}

impl Moment<'_> {
    /// The invariants that the write breaks. A Deployment that is paused was paused before; what
    /// belongs to others is not asked.
    pub(crate) fn breaches(&self) -> Vec<Breach> {
        let Self { version, before, deployment, ref others } = *self;
        let mut world = World::default();
        world.put((DEPLOYMENT, object::name(deployment)), Some(Held::Recorded(deployment)));
        for set in others {
            world.put((REPLICA_SET, object::name(set)), Some(Held::Recorded(set)));
        }
        if version.kind == REPLICA_SET && version.change != Change::Deleted {
            world.put((REPLICA_SET, &version.name), Some(Held::Recorded(&version.object)));
        }
        let is_paused = paused(deployment).then(|| object::name(deployment).to_owned());
        let watch = Watch::while_paused(BTreeSet::from_iter(is_paused));
        let mut breaches = watch.judge(&Frame { world: &world, before, version, names: &Names::real() });
        breaches.retain(|breach| breach.invariant != Invariant::Ownership);
        breaches
    }
}

/// The bounds that these ReplicaSets of a Deployment break, whoever is to blame.
pub(crate) fn broken_bounds(deployment: &Value, sets: &[&Value]) -> BTreeSet<Invariant> {
    invariants::broken_bounds(deployment, sets).collect()
}
