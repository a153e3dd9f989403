//! Decides whether a workload of a group may restart: in which order a group restarts, and how many
//! of its workloads at a time.
//!
//! A group is the workloads of one namespace that have opted in and name the same group, or no
//! group. It is coordinated if a limit says how many of its workloads may be unavailable, or if one
//! of them has an order. In a group without coordination each workload restarts when it is due.
//!
//! * Workloads with a smaller order come first. A workload waits while one with a smaller order is
//!   due or is rolling out.
//! * A restart begins only if fewer workloads are unavailable than the limit allows, for whatever
//!   reason they are unavailable.
//! * After a failed rollout no other restart begins until that workload is available again, is
//!   replaced, or has opted out. A later write to it, such as a new annotation, does not change
//!   that until its status covers that write.
//! * A workload that has failed, or that is unavailable without a rollout, restarts when it is due.
//!   That makes nothing less available, and the change may be the fix. Without this rule a group
//!   could wait for a workload that waits for the group.
//!
//! The decision is a pure function without state of its own: which workloads are due follows from
//! the checksums, and which are unavailable from their status.
//!
//! Cases: `config-restart/safe/one-at-a-time`, `config-restart/safe/order`,
//! `config-restart/safe/stopped-by-a-failed-one`, `config-restart/safe/failed-and-corrected`,
//! `config-restart/safe/annotation-on-a-failed-one`,
//! `config-restart/safe/unavailable-for-each-other`.

use std::collections::BTreeMap;

use crate::names::WorkloadName;
use crate::pacing::rollout::RolloutPhase;
use crate::settings::Limit;

/// Whether the group lets a workload restart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum GroupPermit {
    /// It may restart.
    #[default]
    Granted,
    /// It waits for these workloads.
    WaitFor(Vec<WorkloadName>),
    /// It waits until this workload's failed rollout is repaired.
    StoppedBy(WorkloadName),
    /// It waits because the group's limit cannot be read, for this reason.
    Unreadable(String),
}

/// Workloads that restart in a coordinated way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RestartGroup {
    /// How many of its workloads may be unavailable.
    pub(crate) limit: Option<Limit>,
    /// Why the limit in an annotation cannot be read.
    pub(crate) problem: Option<String>,
    pub(crate) members: BTreeMap<WorkloadName, GroupMember>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupMember {
    /// Its order, if it has one.
    pub(crate) order: Option<i64>,
    /// Whether its pods lack current data.
    pub(crate) is_due: bool,
    /// Whether a write that restarts it is in flight.
    pub(crate) is_restarting: bool,
    pub(crate) phase: RolloutPhase,
}

impl RestartGroup {
    /// Decides for one member of the group.
    pub(crate) fn permit(&self, name: &WorkloadName) -> GroupPermit {
        let Some(me) = self.members.get(name) else { return GroupPermit::Granted };
        let is_coordinated = self.limit.is_some()
            || self.problem.is_some()
            || self.members.values().any(|member| member.order.is_some());
        if !is_coordinated
            || matches!(me.phase, RolloutPhase::Failed | RolloutPhase::Unavailable | RolloutPhase::Unsure)
        {
            return GroupPermit::Granted;
        }
        if let Some(problem) = &self.problem {
            return GroupPermit::Unreadable(problem.clone());
        }
        let others = || self.members.iter().filter(|(other, _)| *other != name);
        if let Some((failed, _)) =
            others().find(|(_, other)| other.phase == RolloutPhase::Failed && !other.is_restarting)
        {
            return GroupPermit::StoppedBy(failed.clone());
        }
        let names_of = |predicate: &dyn Fn(&GroupMember) -> bool| -> Vec<WorkloadName> {
            others().filter(|(_, other)| predicate(other)).map(|(other, _)| other.clone()).collect()
        };
        // The last write to a failed workload may have changed no more than an annotation. Its next
        // status resolves that.
        let unsure = names_of(&|other| other.phase == RolloutPhase::Unsure && !other.is_restarting);
        if !unsure.is_empty() {
            return GroupPermit::WaitFor(unsure);
        }
        let is_ahead = |other: &GroupMember| {
            let is_busy = other.is_due || other.is_restarting || other.phase == RolloutPhase::Rolling;
            is_busy && other.order.unwrap_or_default() < me.order.unwrap_or_default()
        };
        let ahead = names_of(&is_ahead);
        if !ahead.is_empty() {
            return GroupPermit::WaitFor(ahead);
        }
        let Some(limit) = self.limit else { return GroupPermit::Granted };
        let unavailable = names_of(&|other| other.is_restarting || other.phase != RolloutPhase::Available);
        if unavailable.len() < limit.of(self.members.len()) {
            GroupPermit::Granted
        } else {
            GroupPermit::WaitFor(unavailable)
        }
    }
}

#[cfg(test)]
mod tests {
    use RolloutPhase::{Available, Failed, Rolling, Unavailable, Unsure};

    use super::*;
    use crate::names::WorkloadKind;

    fn name(name: &str) -> WorkloadName {
        WorkloadName { kind: WorkloadKind::Deployment, namespace: "ns".to_owned(), name: name.to_owned() }
    }

    /// A group of workloads `a`, `b`, …: for each its order, whether it is due, and its phase.
    fn group(limit: Option<&str>, of: &[(i64, bool, RolloutPhase)]) -> RestartGroup {
        let member = |(order, is_due, phase): &(i64, bool, RolloutPhase)| GroupMember {
            order: (*order != 0).then_some(*order),
            is_due: *is_due,
            is_restarting: false,
            phase: *phase,
        };
        let members = ('a'..).zip(of).map(|(letter, of)| (name(&letter.to_string()), member(of))).collect();
        RestartGroup { limit: limit.map(|limit| limit.parse().unwrap()), problem: None, members }
    }

    fn after(names: &[&str]) -> GroupPermit {
        GroupPermit::WaitFor(names.iter().map(|of| name(of)).collect())
    }

    fn permits(group: &RestartGroup) -> Vec<GroupPermit> {
        group.members.keys().map(|name| group.permit(name)).collect()
    }

    #[test]
    fn uncoordinated_group_lets_every_workload_restart() {
        let group = group(None, &[(0, true, Failed), (0, true, Available), (0, true, Rolling)]);
        assert_eq!(permits(&group), [GroupPermit::Granted, GroupPermit::Granted, GroupPermit::Granted]);
        assert_eq!(group.permit(&name("other")), GroupPermit::Granted);
    }

    #[test]
    fn limit_counts_workloads_that_are_unavailable_for_any_reason() {
        let of = |limit| group(Some(limit), &[(0, true, Available), (0, false, Rolling), (0, false, Unavailable)]);
        assert_eq!(of("2").permit(&name("a")), after(&["b", "c"]));
        assert_eq!(of("3").permit(&name("a")), GroupPermit::Granted);
        assert_eq!(of("50%").permit(&name("a")), after(&["b", "c"]), "half of three is one");
        let mut one = group(Some("1"), &[(0, true, Available), (0, true, Available)]);
        assert_eq!(permits(&one), [GroupPermit::Granted, GroupPermit::Granted]);
        one.members.get_mut(&name("a")).unwrap().is_restarting = true;
        assert_eq!(one.permit(&name("b")), after(&["a"]));
    }

    #[test]
    fn workloads_wait_for_a_smaller_order_that_is_due_or_rolling() {
        let due = group(None, &[(2, true, Available), (-1, true, Available), (0, true, Available)]);
        assert_eq!(permits(&due), [after(&["b", "c"]), GroupPermit::Granted, after(&["b"])]);
        let rolls = group(None, &[(2, true, Available), (-1, false, Rolling), (0, false, Available)]);
        assert_eq!(permits(&rolls), [after(&["b"]), GroupPermit::Granted, after(&["b"])]);
        let unavailable = group(None, &[(2, true, Available), (-1, false, Unavailable)]);
        assert_eq!(unavailable.permit(&name("a")), GroupPermit::Granted, "it has nothing to wait for");
    }

    #[test]
    fn failed_workload_with_a_stale_status_blocks_the_others() {
        let group = group(Some("3"), &[(0, true, Unsure), (0, true, Available), (0, true, Unavailable)]);
        assert_eq!(permits(&group), [GroupPermit::Granted, after(&["a"]), GroupPermit::Granted]);
    }

    #[test]
    fn failed_workload_stops_all_others_but_may_restart_itself() {
        let group = group(Some("3"), &[(5, true, Failed), (0, true, Available), (0, true, Unavailable)]);
        assert_eq!(permits(&group), [GroupPermit::Granted, GroupPermit::StoppedBy(name("a")), GroupPermit::Granted]);
    }

    /// In every group with a due workload there is progress: a workload may restart, or a rollout
    /// is in progress, or one has failed.
    #[test]
    fn no_group_deadlocks() {
        let states: Vec<(i64, bool, RolloutPhase)> = [-1, 0, 1]
            .into_iter()
            .flat_map(|order| [true, false].map(|due| (order, due)))
            .flat_map(|(order, due)| [Available, Rolling, Unavailable, Failed].map(|phase| (order, due, phase)))
            .collect();
        for limit in [None, Some("1"), Some("2")] {
            for a in &states {
                for b in &states {
                    for c in &states {
                        let group = group(limit, &[*a, *b, *c]);
                        let (is_due, phases): (Vec<_>, Vec<_>) =
                            group.members.values().map(|member| (member.is_due, member.phase)).unzip();
                        let goes_on = phases.iter().any(|phase| matches!(phase, Rolling | Failed))
                            || permits(&group).iter().zip(&is_due).any(|(turn, due)| *due && *turn == GroupPermit::Granted)
                            // Pods are missing, and other controllers restore them.
                            || phases.iter().filter(|phase| **phase == Unavailable).count() >= limit.map_or(9, |l| l.parse().unwrap());
                        assert!(goes_on || !is_due.contains(&true), "{group:?}");
                    }
                }
            }
        }
    }
}
