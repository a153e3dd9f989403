//! Collects the groups of workloads that [`crate::pacing::group_permit`] decides about.
//!
//! The groups are computed for each planning round in which a workload is due, from the workloads
//! and their status. A restart that the same round decides counts at once.
//!
//! Cases: `config-restart/safe/groups`, `config-restart/safe/one-at-a-time`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use rollout_model::names::restart as names;

use crate::engines::safe::workload_state::WorkloadState;
use crate::model::cache::RestartCache;
use crate::model::workload::WorkloadFacts;
use crate::names::{WorkloadKind, WorkloadName};
use crate::pacing::group_permit::{GroupMember, GroupPermit, RestartGroup};
use crate::pacing::window::Uptime;
use crate::settings::Limit;

/// The groups of one planning round.
#[derive(Debug)]
pub(crate) struct GroupIndex {
    now: Timestamp,
    /// The groups, each with the time until a deadline changes the phase of one of its members.
    groups: BTreeMap<GroupKey, (RestartGroup, Option<Duration>)>,
}

type GroupKey = (String, Option<String>);

impl GroupIndex {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self { now, groups: BTreeMap::new() }
    }

    /// Whether a workload may restart, and after how long the answer may change without a new
    /// event.
    pub(crate) fn permit(
        &mut self,
        cache: &RestartCache,
        states: &BTreeMap<WorkloadName, WorkloadState>,
        workload: &WorkloadFacts,
    ) -> (GroupPermit, Option<Duration>) {
        let key = group_key(workload);
        if !self.groups.contains_key(&key) {
            self.groups.append(&mut collect_groups(cache, states, &key.0, self.now));
        }
        match self.groups.get(&key) {
            Some((group, changes)) => (group.permit(&workload.name), *changes),
            None => (GroupPermit::Granted, None),
        }
    }

    /// Records that the current round restarts a workload.
    pub(crate) fn mark_restarting(&mut self, workload: &WorkloadFacts) {
        if let Some(member) =
            self.groups.get_mut(&group_key(workload)).and_then(|(group, _)| group.members.get_mut(&workload.name))
        {
            // While its rollout is held (paused, or OnDelete), no pod is replaced.
            member.is_restarting = workload.deferral.is_none();
        }
    }
}

fn group_key(workload: &WorkloadFacts) -> GroupKey {
    (workload.name.namespace.clone(), workload.membership.group.clone())
}

/// All groups of a namespace.
fn collect_groups(
    cache: &RestartCache,
    states: &BTreeMap<WorkloadName, WorkloadState>,
    namespace: &str,
    now: Timestamp,
) -> BTreeMap<GroupKey, (RestartGroup, Option<Duration>)> {
    let mut groups = BTreeMap::<GroupKey, (RestartGroup, Option<Duration>)>::new();
    let mut limits = BTreeMap::<GroupKey, Vec<Limit>>::new();
    for workload in WorkloadKind::ALL.into_iter().flat_map(|kind| cache.workloads_in(kind, namespace)) {
        let Some(state) = states.get(&workload.name).filter(|_| workload.enabled) else { continue };
        let (group, changes) = groups.entry(group_key(workload)).or_default();
        let (phase, remaining) = workload.rollout.phase(workload.rollout_began_at(), cache.turns.deadline, now);
        let is_restarting = state.is_restarting && workload.deferral.is_none();
        let member = GroupMember { order: workload.membership.order, is_due: state.is_due(), is_restarting, phase };
        group.members.insert(workload.name.clone(), member);
        *changes = [*changes, remaining].into_iter().flatten().min();
        limits.entry(group_key(workload)).or_default().extend(workload.pacing.limit);
        if let Some(problem) = workload.pacing.unreadable.get(names::MAX_UNAVAILABLE) {
            group.problem.get_or_insert_with(|| format!("of {}: {problem}", workload.name));
        }
    }
    let of_namespace = cache.pacing(namespace).and_then(|pacing| pacing.limit).or(cache.turns.limit);
    for (key, (group, _)) in &mut groups {
        let size = group.members.len();
        let of_members = limits.remove(key).unwrap_or_default().into_iter().min_by_key(|limit| limit.of(size));
        group.limit = of_members.or(of_namespace);
    }
    groups
}

/// Whether a new version of a workload may change the permits of other workloads, in its old group
/// or its new one.
pub(crate) fn affects_group(before: Option<&WorkloadFacts>, after: Option<&WorkloadFacts>) -> bool {
    let group_facts = |workload: &WorkloadFacts| {
        let WorkloadFacts { pacing, membership, rollout, deferral, .. } = workload;
        (pacing.clone(), membership.clone(), *rollout, *deferral, workload.rollout_began_at())
    };
    let [before, after] = [before, after].map(|workload| workload.filter(|of| of.enabled).map(group_facts));
    before != after
}

/// Schedules all workloads of a namespace that wait for their group.
pub(crate) fn wake_waiting(states: &mut BTreeMap<WorkloadName, WorkloadState>, namespace: &str, at: Uptime) {
    let waits =
        |(name, state): &(&WorkloadName, &mut WorkloadState)| name.namespace == namespace && state.waits_for_group();
    states.iter_mut().filter(waits).for_each(|(_, state)| state.wake(at));
}
