//! Who survives: upstream's order of killing as a table of classes, independent of the controller
//! that is judged by it.
//!
//! Every pod has a class, a row of numbers, and lower classes die first. Within a class nothing
//! that a case owns tells pods apart, or it does so in a ring: then any of them may go.

use std::collections::{BTreeMap, BTreeSet};

/// Since when a pod is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Since {
    /// It does not say.
    Unknown,
    /// For so many seconds; yet to come if negative.
    Ago(i64),
}

/// A pod by what the order looks at.
#[derive(Debug, Clone)]
pub(crate) struct Pod {
    pub(crate) node: Option<u8>,
    pub(crate) phase: &'static str,
    pub(crate) ready: Option<Since>,
    pub(crate) cost: i32,
    pub(crate) restarts: u32,
    pub(crate) sidecars: u32,
}

/// A ReplicaSet's pods, its sibling's, and how many of its own are wanted in the end.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub(crate) pods: Vec<Pod>,
    /// The nodes of the sibling's pods.
    pub(crate) sibling: Vec<u8>,
    /// Whether somebody owns both: only then does a crowd count.
    pub(crate) owned: bool,
    pub(crate) wanted: usize,
}

/// What decides before ready times are asked for more than their step.
type Class = (bool, u8, bool, i32, i64, i64);

impl Family {
    /// What the case calls its pods.
    pub(crate) fn name(number: usize) -> String {
        format!("p{number}")
    }

    /// What the case calls its sibling's.
    pub(crate) fn sibling_name(number: usize) -> String {
        format!("s{number}")
    }

    /// The sets of pods that may be left, the sibling's included.
    pub(crate) fn survivors(&self) -> BTreeSet<BTreeSet<String>> {
        let mut left = self.pods.len() - self.wanted;
        let mut alive: BTreeSet<usize> = (0..self.pods.len()).collect();
        for tied in self.groups() {
            if left < tied.len() {
                // Some of these, whichever.
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

    /// The pods, those that die first first; pods in one group are tied.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut classes: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
        for (number, pod) in self.pods.iter().enumerate() {
            classes.entry(self.class(pod)).or_default().push(number);
        }
        let mut groups = Vec::new();
        for members in classes.into_values() {
            let moments: BTreeSet<_> = members.iter().map(|pod| self.pods[*pod].ready).collect();
            if moments.len() > 1 {
                // Told apart by UID, unless they are of one moment: no order, or one that the case
                // does not own.
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
            Some(Since::Unknown) => -2,
            Some(Since::Ago(age)) if age <= 0 => -1,
            Some(Since::Ago(age)) => i64::from((age * 1_000_000_000).ilog2()),
        };
        (pod.node.is_some(), phase, pod.ready.is_some(), pod.cost, -crowd, step)
    }
}

/// Every choice of so many of these.
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
        Pod { node: Some(1), phase: "Running", ready: Some(Since::Ago(7200)), cost: 0, restarts: 0, sidecars: 0 }
    }

    /// Who stays of two.
    fn stays(owned: bool, pods: &[Pod; 2], sibling: &[u8]) -> String {
        let family = Family { pods: pods.to_vec(), sibling: sibling.to_vec(), owned, wanted: 1 };
        let own = |set: BTreeSet<String>| set.into_iter().filter(|name| name.starts_with('p')).collect::<String>();
        family.survivors().into_iter().map(own).collect::<Vec<_>>().join(" or ")
    }

    #[test]
    fn each_rule_goes_before_the_next() {
        let worse: [fn(&mut Pod); 7] = [
            |pod| pod.node = None,
            |pod| pod.phase = "Pending",
            |pod| pod.ready = None,
            |pod| pod.cost = -1,
            |pod| pod.node = Some(2),
            |pod| pod.ready = Some(Since::Ago(1200)),
            |pod| pod.restarts = 1,
        ];
        for (rule, spoil) in worse.iter().enumerate() {
            let (mut first, mut second) = (pod(), pod());
            spoil(&mut first);
            worse[rule + 1..].iter().for_each(|lower| lower(&mut second));
            assert_eq!(stays(true, &[first, second], &[2, 2]), "p1", "rule {rule}");
        }
    }

    #[test]
    fn ties_accept_either() {
        assert_eq!(stays(true, &[pod(), pod()], &[]), "p0 or p1");
        let other = |since| Pod { ready: Some(since), restarts: 2, ..pod() };
        assert_eq!(stays(true, &[pod(), other(Since::Ago(8400))], &[]), "p0 or p1", "told apart by UID");
        assert_eq!(stays(true, &[pod(), other(Since::Ago(7200))], &[]), "p0");
        assert_eq!(stays(true, &[pod(), other(Since::Ago(-1))], &[]), "p0");
        assert_eq!(stays(true, &[pod(), other(Since::Unknown)], &[]), "p0");
        let crowded = Pod { node: Some(2), ..pod() };
        assert_eq!(stays(true, &[pod(), crowded.clone()], &[2]), "p0");
        assert_eq!(stays(false, &[pod(), crowded], &[2]), "p0 or p1", "nobody's own have no siblings");
    }

    #[test]
    fn nobody_stays_where_nobody_is_wanted() {
        let family = Family { pods: vec![pod(), pod()], sibling: vec![1], owned: true, wanted: 0 };
        assert_eq!(family.survivors(), BTreeSet::from([BTreeSet::from(["s0".to_owned()])]));
    }
}
