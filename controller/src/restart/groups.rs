//! Who belongs together, of all that is known at one look: groups for [`super::turn`].
//!
//! Made anew at each look at which something is due, from the workloads and their status; a restart that the same look decides counts at
//! once.
//!
//! Cases: `config-restart/groups`, `config-restart/one-at-a-time`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

use super::turn::{Group, Member, Turn};
use super::view::View;
use super::window::Moment;
use super::workload::{Workload, WorkloadName};
use super::workload_state::WorkloadState;
use crate::model::names::restart as names;

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
        let now = self.now;
        let (group, changes) = self.known.entry(key(workload)).or_insert_with(|| gather(view, states, workload, now));
        (group.turn(&workload.name), *changes)
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

/// The group of a workload.
fn gather(
    view: &View,
    states: &BTreeMap<WorkloadName, WorkloadState>,
    of: &Workload,
    now: Timestamp,
) -> (Group, Option<Duration>) {
    let (mut group, mut changes, mut limits) = (Group::default(), None::<Duration>, Vec::new());
    let all = view.enabled().filter(|other| key(other) == key(of));
    for workload in all {
        let Some(state) = states.get(&workload.name) else { continue };
        let (phase, left) = workload.rollout.phase(workload.rolls_since(), view.turns.deadline, now);
        let starts = state.starts && workload.held.is_none();
        let member = Member { order: workload.place.order, is_due: state.is_due(), starts, phase };
        group.members.insert(workload.name.clone(), member);
        changes = [changes, left].into_iter().flatten().min();
        limits.extend(workload.pace.limit);
        if let Some(problem) = workload.pace.unreadable.get(names::MAX_UNAVAILABLE) {
            group.problem.get_or_insert_with(|| format!("of {}: {problem}", workload.name));
        }
    }
    let of_namespace = || view.pace(&of.name.namespace).and_then(|pace| pace.limit);
    group.limit = limits.into_iter().min_by_key(|limit| limit.of(group.members.len()));
    group.limit = group.limit.or_else(of_namespace).or(view.turns.limit);
    (group, changes)
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
