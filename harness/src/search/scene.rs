//! Pods that a ReplicaSet controller has to choose among.
//!
//! Upstream asks for one trait after the other, until one tells two pods apart. What a controller
//! makes of a trait shows only where pods are alike in all that is asked for before it, and where
//! nothing is left to chance after it. So most traits are the same for all pods, one varies, and
//! another tells all of them apart. Then some of them go: at once, or one by one, which asks for
//! the order of all.

use kube_apiserver_sim::Chance;

use super::draw::{index, number, one_in};
use super::op::{Op, Write};
use super::program::Program;
use super::traits::{Ready, Traits};

/// How many of each group of ReplicaSets' pods there are at most.
const MOST: [u64; 2] = [5, 4];
/// The time since which pods are ready that differ in other traits.
const READY_FOR: u32 = 7200;
/// Nodes, the first more often: it is crowded.
const NODES: [u32; 3] = [1, 1, 2];

/// What tells pods apart.
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

/// Names for all pods, then steps in which some go.
pub(super) fn scene(program: &mut Program, chance: &mut Chance) {
    for (at, set) in (0..program.deployments.len()).zip(1..) {
        let pods = match at {
            0 => 2 + chance.below(MOST[0] - 1),
            _ => 1 + chance.below(MOST[1]),
        };
        let pods = u32::try_from(pods).unwrap_or(2);
        program.deployments[at].replicas = pods;
        let mut named = named(program, set, pods, chance);
        // What the others have says nothing but how crowded their nodes are.
        if let (1.., true, Op::Name(_, pods)) = (at, program.unbound, &mut named) {
            pods.iter_mut().for_each(|pod| Trait::Node.vary(pod, Ages::drawn(chance), chance));
        }
        program.steps.push(named.into());
    }
    // All else would change the pods before some of them go.
    if one_in(chance, 4) {
        return;
    }
    let least = number(chance, u64::from(program.deployments[0].replicas) - 1).max(1);
    let by_one = !one_in(chance, 3);
    let first = if by_one { program.deployments[0].replicas - 1 } else { least };
    for rest in (least..=first).rev() {
        program.steps.push(Op::Write(0, Write::Scale(rest)).into());
    }
}

/// Names and traits for pods of one ReplicaSet.
pub(super) fn named(program: &Program, set: u32, pods: u32, chance: &mut Chance) -> Op {
    let (varied, telling) = traits_of(program, chance);
    let (same, ages) = (same(program, chance), Ages::drawn(chance));
    let pods = shuffled(pods, chance).into_iter().map(|place| {
        let mut pod = same.clone();
        telling.tell(&mut pod, place, ages);
        varied.iter().for_each(|varied| varied.vary(&mut pod, ages, chance));
        pod
    });
    Op::Name(set, pods.collect())
}

/// The traits that vary, mostly one or none, and the one that tells all pods apart where these do
/// not.
fn traits_of(program: &Program, chance: &mut Chance) -> (Vec<Trait>, Trait) {
    let (mut varied, mut telling) =
        (vec![Trait::Phase, Trait::Ready, Trait::Cost, Trait::Age, Trait::Restarts], vec![Trait::Age, Trait::Restarts]);
    if program.unbound {
        varied.extend([Trait::Node; 6]);
        varied.push(Trait::Binding);
    }
    if program.sidecar {
        varied.extend([Trait::Sidecars, Trait::Sidecars]);
        telling.push(Trait::Sidecars);
    }
    let telling = telling[index(chance, telling.len())];
    varied.retain(|varied| *varied != telling);
    let count = [0, 1, 1, 1, 1, 2][index(chance, 6)];
    ((0..count).map(|_| varied[index(chance, varied.len())]).collect(), telling)
}

/// What all pods have in common.
fn same(program: &Program, chance: &mut Chance) -> Traits {
    let ready = match chance.below(10) {
        0 | 1 => Ready::No,
        2 => [Ready::Now, Ready::Later, Ready::Unknown][index(chance, 3)],
        _ => Ready::For(READY_FOR),
    };
    Traits {
        node: program.unbound.then_some(u32::from(!one_in(chance, 12))),
        phase: one_in(chance, 8).then(|| phase(chance)),
        ready: Some(ready),
        cost: one_in(chance, 6).then(|| cost(chance)),
        restarts: one_in(chance, 6).then(|| number(chance, 4)),
        sidecar_restarts: None,
    }
}

impl Trait {
    /// One of a few values, so that some pods are alike.
    fn vary(self, pod: &mut Traits, ages: Ages, chance: &mut Chance) {
        match self {
            Self::Binding => pod.node = Some(u32::from(one_in(chance, 2))),
            Self::Node => pod.node = Some(NODES[index(chance, NODES.len())]),
            Self::Phase => pod.phase = one_in(chance, 2).then(|| phase(chance)),
            Self::Ready if one_in(chance, 2) => pod.ready = Some(Ready::No),
            Self::Ready => {}
            Self::Cost => pod.cost = (!one_in(chance, 3)).then(|| cost(chance)),
            Self::Age => {
                pod.ready = Some(match chance.below(10) {
                    0 => Ready::Later,
                    1 => Ready::Unknown,
                    _ => ages.nth(number(chance, 4)),
                });
            }
            Self::Restarts => pod.restarts = one_in(chance, 2).then(|| number(chance, 4)),
            Self::Sidecars => pod.sidecar_restarts = Some(number(chance, 4)),
        }
    }

    /// Its nth value, which no other pod has. A node or a phase does not tell many pods apart.
    fn tell(self, pod: &mut Traits, place: u32, ages: Ages) {
        match self {
            Self::Age => pod.ready = Some(ages.nth(place)),
            Self::Sidecars => pod.sidecar_restarts = Some(place),
            _ => pod.restarts = Some(place),
        }
    }
}

/// Since when pods are ready: far apart, or within twice the shortest time, where some are alike to
/// upstream.
#[derive(Debug, Clone, Copy)]
struct Ages {
    shortest: u32,
    /// How much longer the next is, where they are near.
    step: Option<u32>,
}

impl Ages {
    /// From a minute to nine hours on.
    fn drawn(chance: &mut Chance) -> Self {
        let shortest = 1 << (6 + index(chance, 10));
        Self { shortest, step: one_in(chance, 2).then(|| shortest >> (3 + index(chance, 2))) }
    }

    fn nth(self, place: u32) -> Ready {
        Ready::For(match self.step {
            Some(step) => self.shortest + step * place.min(7),
            None => (self.shortest / 4 * 5) << (2 * place.min(6)),
        })
    }
}

/// The numbers below this one in any order.
fn shuffled(count: u32, chance: &mut Chance) -> Vec<u32> {
    let mut all: Vec<u32> = (0..count).collect();
    for at in (1..all.len()).rev() {
        all.swap(at, index(chance, at + 1));
    }
    all
}

fn phase(chance: &mut Chance) -> &'static str {
    ["Pending", "Unknown"][index(chance, 2)]
}

fn cost(chance: &mut Chance) -> i32 {
    [-5, 3, 10][index(chance, 3)]
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::search::{About, Areas, generate};

    /// The pods of the first ReplicaSet of each program that names them before all else.
    fn choices() -> Vec<Vec<Traits>> {
        let (areas, mut chance) = (Areas::only(&[]), Chance::new(24));
        let programs = (0..400).map(|_| generate(About::ReplicaSet, &areas, &mut chance));
        let named = programs.filter_map(|program| match program.steps.into_iter().next()?.op {
            Op::Name(1, pods) if pods.len() > 1 => Some(pods),
            _ => None,
        });
        named.collect()
    }

    #[test]
    fn each_trait_varies_with_no_more_than_one_besides() {
        let mut count: BTreeMap<&str, usize> = BTreeMap::new();
        for pods in choices() {
            let others = pods.iter().flat_map(|one| pods.iter().map(|two| one.apart(two)));
            let apart: BTreeSet<&str> = others.flatten().collect();
            if apart.len() <= 2 {
                apart.into_iter().for_each(|name| *count.entry(name).or_default() += 1);
            }
        }
        let all = ["binding", "node", "phase", "ready", "deletionCost", "readySince", "restarts", "sidecarRestarts"];
        assert!(all.iter().all(|name| count.get(name).is_some_and(|count| *count >= 8)), "{count:?}");
    }

    #[test]
    fn most_pods_are_told_apart() {
        let choices = choices();
        let alike = |pods: &&Vec<Traits>| pods.iter().collect::<BTreeSet<_>>().len() < pods.len();
        let count = choices.iter().filter(alike).count();
        assert!(count * 5 < choices.len(), "two are alike in {count} of {}", choices.len());
    }
}
