//! Who belongs together, of all that is known at one look: groups for [`super::turn`].
//!
//! Made anew at each look at which something is due, from the workloads and their status; a restart
//! that the same look decides counts at once.
//!
//! Cases: `config-restart/groups`, `config-restart/one-at-a-time`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::turn::{Group, Member, Turn};
use super::view::View;
use super::window::Moment;
use super::workload::{Workload, WorkloadKind, WorkloadName};
use super::workload_state::WorkloadState;
use crate::model::names::restart as names;
use crate::settings::Limit;

/// The groups of one look.
#[derive(Debug)]
pub(super) struct Groups {
    now: Timestamp,
    /// By namespace and name, and after how long somebody's phase changes by itself.
    known: BTreeMap<Key, (Group, Option<Duration>)>,
}

type Key = (String, Option<String>);

impl Groups {
    /// None yet.
    pub(super) fn new(now: Timestamp) -> Self {
        Self { now, known: BTreeMap::new() }
    }

    /// Whether a workload may restart, and after how long that may change by itself.
    pub(super) fn turn(
        &mut self,
        view: &View,
        states: &BTreeMap<WorkloadName, WorkloadState>,
        workload: &Workload,
    ) -> (Turn, Option<Duration>) {
        let key = key(workload);
        if !self.known.contains_key(&key) {
            self.known.append(&mut gather(view, states, &key.0, self.now));
        }
        match self.known.get(&key) {
            Some((group, changes)) => (group.turn(&workload.name), *changes),
            None => (Turn::Now, None),
        }
    }

    /// The restart of a workload begins.
    pub(super) fn starts(&mut self, workload: &Workload) {
        if let Some(member) =
            self.known.get_mut(&key(workload)).and_then(|(group, _)| group.members.get_mut(&workload.name))
        {
            // No pod of one that is held is replaced.
            member.starts = workload.held.is_none();
        }
    }
}

fn key(workload: &Workload) -> Key {
    (workload.name.namespace.clone(), workload.place.group.clone())
}

/// All groups of a namespace.
fn gather(
    view: &View,
    states: &BTreeMap<WorkloadName, WorkloadState>,
    namespace: &str,
    now: Timestamp,
) -> BTreeMap<Key, (Group, Option<Duration>)> {
    let mut groups = BTreeMap::<Key, (Group, Option<Duration>)>::new();
    let mut limits = BTreeMap::<Key, Vec<Limit>>::new();
    for workload in WorkloadKind::ALL.into_iter().flat_map(|kind| view.within(kind, namespace)) {
        let Some(state) = states.get(&workload.name).filter(|_| workload.enabled) else { continue };
        let (group, changes) = groups.entry(key(workload)).or_default();
        let (phase, left) = workload.rollout.phase(workload.rolls_since(), view.turns.deadline, now);
        let starts = state.starts && workload.held.is_none();
        let member = Member { order: workload.place.order, is_due: state.is_due(), starts, phase };
        group.members.insert(workload.name.clone(), member);
        *changes = [*changes, left].into_iter().flatten().min();
        limits.entry(key(workload)).or_default().extend(workload.pace.limit);
        if let Some(problem) = workload.pace.unreadable.get(names::MAX_UNAVAILABLE) {
            group.problem.get_or_insert_with(|| format!("of {}: {problem}", workload.name));
        }
    }
    let of_namespace = view.pace(namespace).and_then(|pace| pace.limit).or(view.turns.limit);
    for (key, (group, _)) in &mut groups {
        let size = group.members.len();
        let own = limits.remove(key).unwrap_or_default().into_iter().min_by_key(|limit| limit.of(size));
        group.limit = own.or(of_namespace);
    }
    groups
}

/// Whether a workload is another one to others of its group, or of the one that it belongs to now.
pub(super) fn is_other(before: Option<&Workload>, after: Option<&Workload>) -> bool {
    let shown = |workload: &Workload| {
        let Workload { pace, place, rollout, held, .. } = workload;
        (pace.clone(), place.clone(), *rollout, *held, workload.rolls_since())
    };
    let [before, after] = [before, after].map(|workload| workload.filter(|of| of.enabled).map(shown));
    before != after
}

/// Has all of a namespace that wait for others looked at again.
pub(super) fn wake(states: &mut BTreeMap<WorkloadName, WorkloadState>, namespace: &str, at: Moment) {
    let waits =
        |(name, state): &(&WorkloadName, &mut WorkloadState)| name.namespace == namespace && state.waits_for_others();
    states.iter_mut().filter(waits).for_each(|(_, state)| state.wake(at));
}
