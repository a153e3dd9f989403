//! Which pods survive: upstream's deletion order as a table of classes, independent of the
//! controller under test.
//!
//! Every pod has a class, a tuple of numbers, and lower classes are deleted first. Within a class
//! the order depends on nothing that a case controls, or is cyclic: then any of the pods may be
//! deleted.

use std::collections::{BTreeMap, BTreeSet};

/// When a pod became ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReadySince {
    Unknown,
    /// This many seconds ago; in the future if negative.
    Ago(i64),
}

/// The traits of a pod that the deletion order uses.
#[derive(Debug, Clone)]
pub(crate) struct Pod {
    pub(crate) node: Option<u8>,
    pub(crate) phase: &'static str,
    pub(crate) ready: Option<ReadySince>,
    pub(crate) cost: i32,
    pub(crate) restarts: u32,
    pub(crate) sidecars: u32,
}

/// The pods of a ReplicaSet and its sibling, and the replicas after scaling.
#[derive(Debug, Clone)]
pub(crate) struct PodSets {
    pub(crate) pods: Vec<Pod>,
    /// The nodes of the sibling's pods.
    pub(crate) sibling: Vec<u8>,
    /// Whether both have an owner: only then do the sibling's pods count.
    pub(crate) owned: bool,
    pub(crate) replicas: usize,
}

/// The traits that are compared before exact ready times.
type Class = (bool, u8, bool, i32, i64, i64);

impl PodSets {
    /// The name of a pod in the case.
    pub(crate) fn name(number: usize) -> String {
        format!("p{number}")
    }

    /// The name of a sibling's pod in the case.
    pub(crate) fn sibling_name(number: usize) -> String {
        format!("s{number}")
    }

    /// The sets of pods that may survive, including the sibling's.
    pub(crate) fn survivors(&self) -> BTreeSet<BTreeSet<String>> {
        let mut left = self.pods.len() - self.replicas;
        let mut alive: BTreeSet<usize> = (0..self.pods.len()).collect();
        for tied in self.groups() {
            if left < tied.len() {
                // Any of these.
                let dying = subsets(&tied, left);
                return dying.iter().map(|dying| self.names(alive.difference(dying))).collect();
            }
            left -= tied.len();
            alive.retain(|pod| !tied.contains(pod));
        }
        BTreeSet::from([self.names(alive.iter())])
    }

    fn names<'a>(&self, alive: impl Iterator<Item = &'a usize>) -> BTreeSet<String> {
        let siblings = (0..self.sibling.len()).map(Self::sibling_name);
        alive.map(|pod| Self::name(*pod)).chain(siblings).collect()
    }

    /// The pods in deletion order; pods in one group are tied.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut classes: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
        for (number, pod) in self.pods.iter().enumerate() {
            classes.entry(self.class(pod)).or_default().push(number);
        }
        let mut groups = Vec::new();
        for members in classes.into_values() {
            let moments: BTreeSet<_> = members.iter().map(|pod| self.pods[*pod].ready).collect();
            if moments.len() > 1 {
                // Ordered by UID, or, if created at the same time, in an order that the case does
                // not control.
                groups.push(members);
                continue;
            }
            let mut finer: BTreeMap<(i64, i64), Vec<usize>> = BTreeMap::new();
            for pod in members {
                let Pod { restarts, sidecars, .. } = self.pods[pod];
                finer.entry((-i64::from(restarts), -i64::from(sidecars))).or_default().push(pod);
            }
            groups.extend(finer.into_values());
        }
        groups
    }

    fn class(&self, pod: &Pod) -> Class {
        let phase = match pod.phase {
            "Running" => 2,
            "Unknown" => 1,
            _ => 0,
        };
        let of_own = self.pods.iter().filter(|other| other.node == pod.node).count();
        let of_sibling = self.sibling.iter().filter(|node| Some(**node) == pod.node).count();
        let crowd = if self.owned { i64::try_from(of_own + of_sibling).unwrap_or(i64::MAX) } else { 0 };
        let step = match pod.ready {
            None => 0,
            Some(ReadySince::Unknown) => -2,
            Some(ReadySince::Ago(age)) if age <= 0 => -1,
            Some(ReadySince::Ago(age)) => i64::from((age * 1_000_000_000).ilog2()),
        };
        (pod.node.is_some(), phase, pod.ready.is_some(), pod.cost, -crowd, step)
    }
}

fn subsets(of: &[usize], size: usize) -> Vec<BTreeSet<usize>> {
    let Some((first, rest)) = of.split_first() else {
        return if size == 0 { vec![BTreeSet::new()] } else { Vec::new() };
    };
    let mut all = subsets(rest, size);
    if size > 0 {
        let with = subsets(rest, size - 1).into_iter();
        all.extend(with.map(|mut set| {
            set.insert(*first);
            set
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Pod {
        Pod { node: Some(1), phase: "Running", ready: Some(ReadySince::Ago(7200)), cost: 0, restarts: 0, sidecars: 0 }
    }

    /// Which of two pods survives.
    fn survivor(owned: bool, pods: &[Pod; 2], sibling: &[u8]) -> String {
        let sets = PodSets { pods: pods.to_vec(), sibling: sibling.to_vec(), owned, replicas: 1 };
        let own = |set: BTreeSet<String>| set.into_iter().filter(|name| name.starts_with('p')).collect::<String>();
        sets.survivors().into_iter().map(own).collect::<Vec<_>>().join(" or ")
    }

    #[test]
    fn rules_apply_in_order() {
        let worse: [fn(&mut Pod); 7] = [
            |pod| pod.node = None,
            |pod| pod.phase = "Pending",
            |pod| pod.ready = None,
            |pod| pod.cost = -1,
            |pod| pod.node = Some(2),
            |pod| pod.ready = Some(ReadySince::Ago(1200)),
            |pod| pod.restarts = 1,
        ];
        for (rule, spoil) in worse.iter().enumerate() {
            let (mut first, mut second) = (pod(), pod());
            spoil(&mut first);
            worse[rule + 1..].iter().for_each(|lower| lower(&mut second));
            assert_eq!(survivor(true, &[first, second], &[2, 2]), "p1", "rule {rule}");
        }
    }

    #[test]
    fn ties_accept_either_pod() {
        assert_eq!(survivor(true, &[pod(), pod()], &[]), "p0 or p1");
        let other = |since| Pod { ready: Some(since), restarts: 2, ..pod() };
        assert_eq!(survivor(true, &[pod(), other(ReadySince::Ago(8400))], &[]), "p0 or p1", "ordered by UID");
        assert_eq!(survivor(true, &[pod(), other(ReadySince::Ago(7200))], &[]), "p0");
        assert_eq!(survivor(true, &[pod(), other(ReadySince::Ago(-1))], &[]), "p0");
        assert_eq!(survivor(true, &[pod(), other(ReadySince::Unknown)], &[]), "p0");
        let crowded = Pod { node: Some(2), ..pod() };
        assert_eq!(survivor(true, &[pod(), crowded.clone()], &[2]), "p0");
        assert_eq!(survivor(false, &[pod(), crowded], &[2]), "p0 or p1", "without an owner there are no siblings");
    }

    #[test]
    fn scale_to_zero_deletes_all() {
        let sets = PodSets { pods: vec![pod(), pod()], sibling: vec![1], owned: true, replicas: 0 };
        assert_eq!(sets.survivors(), BTreeSet::from([BTreeSet::from(["s0".to_owned()])]));
    }
}
