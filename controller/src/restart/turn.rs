//! Whose turn it is: restarts of a group in an order and a few at a time.
//!
//! A group is the workloads of one namespace that have opted in and name the same group, or none.
//! It is coordinated if a limit says how many of it may be unavailable, or if one of them has a
//! place in an order; otherwise everybody restarts when it is due.
//!
//! * Those with a smaller order come first. A workload waits while one before it is due or has pods
//!   replaced.
//! * A restart begins only if fewer workloads are unavailable than the limit says, whatever the
//!   reason that they are.
//! * After a failed rollout nothing begins, until that workload is available again, is replaced or
//!   has opted out. A write on it, such as an annotation, changes nothing of that before its status
//!   is of that write.
//! * A workload that has failed, or is unavailable by itself, restarts when it is due: that takes
//!   nothing away, and the change may be what repairs it. Without this a group could wait for a
//!   workload that waits for the group.
//!
//! Pure, and without any state of its own: who is due follows from the checksums, and who is
//! unavailable from each status.
//!
//! Cases: `config-restart/one-at-a-time`, `config-restart/order`,
//! `config-restart/stopped-by-a-failed-one`, `config-restart/failed-and-corrected`,
//! `config-restart/annotation-on-a-failed-one`, `config-restart/unavailable-for-each-other`.

use std::collections::BTreeMap;

use super::rollout::Phase;
use super::workload::WorkloadName;
use crate::settings::Limit;

/// Whether a workload may restart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Turn {
    /// It may.
    #[default]
    Now,
    /// Not before these.
    After(Vec<WorkloadName>),
    /// Not while this one has failed.
    Stopped(WorkloadName),
    /// Not while the limit of the group cannot be read; what is wrong.
    Unreadable(String),
}

/// A group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// How many may be unavailable.
    pub(super) limit: Option<Limit>,
    /// What is wrong with an annotation that says so.
    pub(super) problem: Option<String>,
    /// All of it.
    pub(super) members: BTreeMap<WorkloadName, Member>,
}

/// One workload of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    /// Its place, if it has one.
    pub(super) order: Option<i64>,
    /// Whether its pods have something else than they should.
    pub(super) is_due: bool,
    /// Whether its restart is being written.
    pub(super) starts: bool,
    /// How far its rollout is.
    pub(super) phase: Phase,
}

impl Group {
    /// Whose turn it is, asked for one of the group.
    pub(super) fn turn(&self, name: &WorkloadName) -> Turn {
        let Some(me) = self.members.get(name) else { return Turn::Now };
        let is_coordinated = self.limit.is_some()
            || self.problem.is_some()
            || self.members.values().any(|member| member.order.is_some());
        if !is_coordinated || matches!(me.phase, Phase::Failed | Phase::Unavailable | Phase::Unsure) {
            return Turn::Now;
        }
        if let Some(problem) = &self.problem {
            return Turn::Unreadable(problem.clone());
        }
        let others = || self.members.iter().filter(|(other, _)| *other != name);
        if let Some((failed, _)) = others().find(|(_, other)| other.phase == Phase::Failed && !other.starts) {
            return Turn::Stopped(failed.clone());
        }
        let named = |which: &dyn Fn(&Member) -> bool| -> Vec<WorkloadName> {
            others().filter(|(_, other)| which(other)).map(|(other, _)| other.clone()).collect()
        };
        // It may be an annotation alone that was written on a failed workload; its next status says
        // so.
        let unsure = named(&|other| other.phase == Phase::Unsure && !other.starts);
        if !unsure.is_empty() {
            return Turn::After(unsure);
        }
        let is_ahead = |other: &Member| {
            let is_busy = other.is_due || other.starts || other.phase == Phase::Rolling;
            is_busy && other.order.unwrap_or_default() < me.order.unwrap_or_default()
        };
        let ahead = named(&is_ahead);
        if !ahead.is_empty() {
            return Turn::After(ahead);
        }
        let Some(limit) = self.limit else { return Turn::Now };
        let unavailable = named(&|other| other.starts || other.phase != Phase::Available);
        if unavailable.len() < limit.of(self.members.len()) { Turn::Now } else { Turn::After(unavailable) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::workload::WorkloadKind;
    use super::*;

    use Phase::{Available, Failed, Rolling, Unavailable, Unsure};

    fn name(name: &str) -> WorkloadName {
        WorkloadName { kind: WorkloadKind::Deployment, namespace: "ns".to_owned(), name: name.to_owned() }
    }

    /// Named `a`, `b`, and so on: order, whether due, and phase.
    fn group(limit: Option<&str>, of: &[(i64, bool, Phase)]) -> Group {
        let member = |(order, is_due, phase): &(i64, bool, Phase)| Member {
            order: (*order != 0).then_some(*order),
            is_due: *is_due,
            starts: false,
            phase: *phase,
        };
        let members = ('a'..).zip(of).map(|(letter, of)| (name(&letter.to_string()), member(of))).collect();
        Group { limit: limit.map(|limit| limit.parse().unwrap()), problem: None, members }
    }

    fn after(names: &[&str]) -> Turn {
        Turn::After(names.iter().map(|of| name(of)).collect())
    }

    fn turns(group: &Group) -> Vec<Turn> {
        group.members.keys().map(|name| group.turn(name)).collect()
    }

    #[test]
    fn without_limit_and_order_it_is_everybodys() {
        let group = group(None, &[(0, true, Failed), (0, true, Available), (0, true, Rolling)]);
        assert_eq!(turns(&group), [Turn::Now, Turn::Now, Turn::Now]);
        assert_eq!(group.turn(&name("other")), Turn::Now);
    }

    #[test]
    fn a_limit_counts_those_that_are_unavailable_for_any_reason() {
        let of = |limit| group(Some(limit), &[(0, true, Available), (0, false, Rolling), (0, false, Unavailable)]);
        assert_eq!(of("2").turn(&name("a")), after(&["b", "c"]));
        assert_eq!(of("3").turn(&name("a")), Turn::Now);
        assert_eq!(of("50%").turn(&name("a")), after(&["b", "c"]), "half of three is one");
        let mut one = group(Some("1"), &[(0, true, Available), (0, true, Available)]);
        assert_eq!(turns(&one), [Turn::Now, Turn::Now]);
        one.members.get_mut(&name("a")).unwrap().starts = true;
        assert_eq!(one.turn(&name("b")), after(&["a"]));
    }

    #[test]
    fn a_smaller_order_comes_first_as_long_as_it_is_due_or_rolls() {
        let due = group(None, &[(2, true, Available), (-1, true, Available), (0, true, Available)]);
        assert_eq!(turns(&due), [after(&["b", "c"]), Turn::Now, after(&["b"])]);
        let rolls = group(None, &[(2, true, Available), (-1, false, Rolling), (0, false, Available)]);
        assert_eq!(turns(&rolls), [after(&["b"]), Turn::Now, after(&["b"])]);
        let unavailable = group(None, &[(2, true, Available), (-1, false, Unavailable)]);
        assert_eq!(unavailable.turn(&name("a")), Turn::Now, "it has nothing to wait for");
    }

    #[test]
    fn one_that_had_failed_holds_others_back_until_its_status_is_new() {
        let group = group(Some("3"), &[(0, true, Unsure), (0, true, Available), (0, true, Unavailable)]);
        assert_eq!(turns(&group), [Turn::Now, after(&["a"]), Turn::Now]);
    }

    #[test]
    fn a_failed_one_stops_all_but_itself() {
        let group = group(Some("3"), &[(5, true, Failed), (0, true, Available), (0, true, Unavailable)]);
        assert_eq!(turns(&group), [Turn::Now, Turn::Stopped(name("a")), Turn::Now]);
    }

    /// Every group in which somebody is due goes on: somebody may restart, or a rollout is under
    /// way, or one has failed.
    #[test]
    fn no_group_waits_for_itself() {
        let states: Vec<(i64, bool, Phase)> = [-1, 0, 1]
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
                            || turns(&group).iter().zip(&is_due).any(|(turn, due)| *due && *turn == Turn::Now)
                            // Pods are missing, and it is others that bring them back.
                            || phases.iter().filter(|phase| **phase == Unavailable).count() >= limit.map_or(9, |l| l.parse().unwrap());
                        assert!(goes_on || !is_due.contains(&true), "{group:?}");
                    }
                }
            }
        }
    }
}
