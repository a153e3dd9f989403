//! Sets up pods among which a ReplicaSet controller has to choose.
//!
//! Upstream compares one trait after the other, until one distinguishes two pods. How a controller
//! uses a trait shows only if pods are equal in all traits that come before it, and if nothing is
//! left to chance after it. So most traits are the same for all pods, one varies, and another
//! distinguishes all of them. Then some of the pods are deleted: at once, or one by one, which
//! needs the order of all.

use kube_apimachinery::SeededRng;

use super::op::{DeploymentWrite, Op};
use super::pod_profile::{PodProfile, PodReadiness};
use super::program::CaseProgram;
use super::random::{index, number, one_in};

/// The most pods of each group of ReplicaSets.
const MOST: [u64; 2] = [5, 4];
/// How long pods that differ in other traits have been ready.
const READY_FOR: u32 = 7200;
/// Nodes; the first is more likely, so it is crowded.
const NODES: [u32; 3] = [1, 1, 2];

/// A trait by which pods differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trait {
    Binding,
    Node,
    Phase,
    Ready,
    Cost,
    Age,
    Restarts,
    Sidecars,
}

/// Name all pods, then add steps that delete some.
pub(super) fn pod_setup(program: &mut CaseProgram, chance: &mut SeededRng) {
    for (at, set) in (0..program.deployments.len()).zip(1..) {
        let pods = match at {
            0 => 2 + chance.below(MOST[0] - 1),
            _ => 1 + chance.below(MOST[1]),
        };
        let pods = u32::try_from(pods).unwrap_or(2);
        program.deployments[at].replicas = pods;
        let mut naming = name_pods(program, set, pods, chance);
        // For other ReplicaSets only the node matters: it makes nodes crowded.
        if let (1.., true, Op::Name(_, pods)) = (at, program.unbound, &mut naming) {
            pods.iter_mut().for_each(|pod| Trait::Node.vary(pod, Ages::random(chance), chance));
        }
        program.steps.push(naming.into());
    }
    // Any other step would change the pods before some are deleted.
    if one_in(chance, 4) {
        return;
    }
    let least = number(chance, u64::from(program.deployments[0].replicas) - 1).max(1);
    let by_one = !one_in(chance, 3);
    let first = if by_one { program.deployments[0].replicas - 1 } else { least };
    for rest in (least..=first).rev() {
        program.steps.push(Op::Write(0, DeploymentWrite::Scale(rest)).into());
    }
}

/// Name pods of one ReplicaSet and give them traits.
pub(super) fn name_pods(program: &CaseProgram, set: u32, pods: u32, chance: &mut SeededRng) -> Op {
    let (varied, distinguishing) = traits_of(program, chance);
    let (common, ages) = (common_profile(program, chance), Ages::random(chance));
    let pods = shuffled(pods, chance).into_iter().map(|place| {
        let mut pod = common.clone();
        distinguishing.distinguish(&mut pod, place, ages);
        varied.iter().for_each(|varied| varied.vary(&mut pod, ages, chance));
        pod
    });
    Op::Name(set, pods.collect())
}

/// The traits that vary, mostly one or none, and the one that distinguishes all pods that are equal
/// in these.
fn traits_of(program: &CaseProgram, chance: &mut SeededRng) -> (Vec<Trait>, Trait) {
    let (mut varied, mut distinguishing) =
        (vec![Trait::Phase, Trait::Ready, Trait::Cost, Trait::Age, Trait::Restarts], vec![Trait::Age, Trait::Restarts]);
    if program.unbound {
        varied.extend([Trait::Node; 6]);
        varied.push(Trait::Binding);
    }
    if program.sidecar {
        varied.extend([Trait::Sidecars, Trait::Sidecars]);
        distinguishing.push(Trait::Sidecars);
    }
    let distinguishing = distinguishing[index(chance, distinguishing.len())];
    varied.retain(|varied| *varied != distinguishing);
    let count = [0, 1, 1, 1, 1, 2][index(chance, 6)];
    ((0..count).map(|_| varied[index(chance, varied.len())]).collect(), distinguishing)
}

/// The traits that all pods share.
fn common_profile(program: &CaseProgram, chance: &mut SeededRng) -> PodProfile {
    let ready = match chance.below(10) {
        0 | 1 => PodReadiness::No,
        2 => [PodReadiness::Now, PodReadiness::Later, PodReadiness::Unknown][index(chance, 3)],
        _ => PodReadiness::For(READY_FOR),
    };
    PodProfile {
        node: program.unbound.then_some(u32::from(!one_in(chance, 12))),
        phase: one_in(chance, 8).then(|| phase(chance)),
        ready: Some(ready),
        cost: one_in(chance, 6).then(|| cost(chance)),
        restarts: one_in(chance, 6).then(|| number(chance, 4)),
        sidecar_restarts: None,
    }
}

impl Trait {
    /// Set the trait to one of a few values, so that some pods are equal.
    fn vary(self, pod: &mut PodProfile, ages: Ages, chance: &mut SeededRng) {
        match self {
            Self::Binding => pod.node = Some(u32::from(one_in(chance, 2))),
            Self::Node => pod.node = Some(NODES[index(chance, NODES.len())]),
            Self::Phase => pod.phase = one_in(chance, 2).then(|| phase(chance)),
            Self::Ready if one_in(chance, 2) => pod.ready = Some(PodReadiness::No),
            Self::Ready => {}
            Self::Cost => pod.cost = (!one_in(chance, 3)).then(|| cost(chance)),
            Self::Age => {
                pod.ready = Some(match chance.below(10) {
                    0 => PodReadiness::Later,
                    1 => PodReadiness::Unknown,
                    _ => ages.nth(number(chance, 4)),
                });
            }
            Self::Restarts => pod.restarts = one_in(chance, 2).then(|| number(chance, 4)),
            Self::Sidecars => pod.sidecar_restarts = Some(number(chance, 4)),
        }
    }

    /// Set the trait to its nth value, which no other pod has. A node or a phase can distinguish
    /// only a few pods.
    fn distinguish(self, pod: &mut PodProfile, place: u32, ages: Ages) {
        match self {
            Self::Age => pod.ready = Some(ages.nth(place)),
            Self::Sidecars => pod.sidecar_restarts = Some(place),
            _ => pod.restarts = Some(place),
        }
    }
}

/// Since when pods are ready: far apart, or within twice the shortest time, where some are equal to
/// upstream.
#[derive(Debug, Clone, Copy)]
struct Ages {
    shortest: u32,
    /// The difference between two times if they are near.
    step: Option<u32>,
}

impl Ages {
    /// Starts between a minute and nine hours.
    fn random(chance: &mut SeededRng) -> Self {
        let shortest = 1 << (6 + index(chance, 10));
        Self { shortest, step: one_in(chance, 2).then(|| shortest >> (3 + index(chance, 2))) }
    }

    fn nth(self, place: u32) -> PodReadiness {
        PodReadiness::For(match self.step {
            Some(step) => self.shortest + step * place.min(7),
            None => (self.shortest / 4 * 5) << (2 * place.min(6)),
        })
    }
}

/// The numbers below this one in random order.
fn shuffled(count: u32, chance: &mut SeededRng) -> Vec<u32> {
    let mut all: Vec<u32> = (0..count).collect();
    for at in (1..all.len()).rev() {
        all.swap(at, index(chance, at + 1));
    }
    all
}

fn phase(chance: &mut SeededRng) -> &'static str {
    ["Pending", "Unknown"][index(chance, 2)]
}

fn cost(chance: &mut SeededRng) -> i32 {
    [-5, 3, 10][index(chance, 3)]
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::{Areas, Focus, generate};

    /// The pods of the first ReplicaSet of each program that names them first.
    fn choices() -> Vec<Vec<PodProfile>> {
        let (areas, mut chance) = (Areas::only(&[]), SeededRng::new(24));
        let programs = (0..400).map(|_| generate(Focus::ReplicaSet, &areas, &mut chance));
        let named = programs.filter_map(|program| match program.steps.into_iter().next()?.op {
            Op::Name(1, pods) if pods.len() > 1 => Some(pods),
            _ => None,
        });
        named.collect()
    }

    #[test]
    fn at_most_two_traits_vary() {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for pods in choices() {
            let others = pods.iter().flat_map(|one| pods.iter().map(|two| one.differing_traits(two)));
            let apart: BTreeSet<&str> = others.flatten().collect();
            if apart.len() <= 2 {
                apart.into_iter().for_each(|name| *count.entry(name).or_default() += 1);
            }
        }
        let all = ["binding", "node", "phase", "ready", "deletionCost", "readySince", "restarts", "sidecarRestarts"];
        assert!(all.iter().all(|name| count.get(name).is_some_and(|count| *count >= 8)), "{count:?}");
    }

    #[test]
    fn most_pods_differ_in_a_trait() {
        let choices = choices();
        let alike = |pods: &&Vec<PodProfile>| pods.iter().collect::<BTreeSet<_>>().len() < pods.len();
        let count = choices.iter().filter(alike).count();
        assert!(count * 5 < choices.len(), "two are alike in {count} of {}", choices.len());
    }
}
