//! Random programs. Small numbers come more often: most of what two controllers can differ in shows
//! with a few pods.
//!
//! Times are far apart: minReadySeconds and deadlines end in the middle of an `advance`, never within
//! the second that a namespace takes to settle, because which of the two is first would be up to chance.

use kube_apiserver_sim::Chance;

use super::area::Areas;
use super::given::{About, Bound, Deployment, Strategy};
use super::op::{Field, Op, ToPod, ToSet, Traits, Write};
use super::program::{Program, Step};
use super::trouble::{Disturbance, Failure, Trouble};

/// The longest program that is drawn.
const LONGEST: u64 = 9;
/// How often a step is drawn again that belongs to no area that is searched.
const TRIES: usize = 40;
/// Kinds whose events can be held back; steps write the first.
const KINDS: [&str; 3] = ["deployments", "replicasets", "pods"];
/// How long time passes at once: less than any minReadySeconds, more than that, more than any deadline.
pub(super) const TIMES: [u32; 3] = [5, 45, 700];
/// The only minReadySeconds besides 0.
const MIN_READY: u32 = 30;
/// The numbers of two traits of pods: how often they were restarted, and since when they are ready.
const RESTARTS: usize = 4;
const AGE: usize = 5;
/// Since when pods are ready that are all ready: times that upstream does not take for alike.
const AGES: [&str; 4] = ["{since: -20h}", "{since: -2h}", "{since: -10m}", "{since: -10s}"];
/// Deadlines: sooner and later than the second of the times.
const DEADLINES: [u32; 2] = [35, 90];

/// A program that is a valid case.
pub fn generate(about: About, areas: &Areas, chance: &mut Chance) -> Program {
    loop {
        let program = drawn(about, areas, chance);
        if areas.allow_all(&program) && program.case().is_some() {
            return program;
        }
    }
}

/// A program, valid or not: whether there is a pod for a step depends on all steps before it.
fn drawn(about: About, areas: &Areas, chance: &mut Chance) -> Program {
    let several = match about {
        About::Deployment => one_in(chance, 8),
        About::ReplicaSet => one_in(chance, 3),
        About::Both => false,
    };
    let deployments: Vec<_> = (0..=usize::from(several)).map(|_| deployment(chance)).collect();
    let lingering = one_in(chance, 8);
    let family = about == About::ReplicaSet && one_in(chance, 2);
    // On which nodes pods are matters only among those of one owner.
    let unbound = match about {
        About::Deployment => false,
        About::ReplicaSet if !family => one_in(chance, 3),
        About::ReplicaSet | About::Both => !one_in(chance, 3),
    };
    let long_names = about != About::ReplicaSet && one_in(chance, 40);
    let mut program = Program { about, unbound, lingering, family, long_names, deployments, steps: Vec::new() };
    if about != About::Deployment && !one_in(chance, 3) {
        // Pods with names are what a ReplicaSet controller chooses among.
        for (at, set) in (0..program.deployments.len()).zip(1..) {
            let pods = if at == 0 { 2 + number(chance, 3) } else { 1 + number(chance, 2) };
            program.deployments[at].replicas = pods;
            let named = named(&program, set, pods, chance);
            program.steps.push(named.into());
        }
        // All else would change the pods before some of them go.
        if !one_in(chance, 3) {
            let rest = 1 + chance.below(u64::from(program.deployments[0].replicas) - 1);
            program.steps.push(Op::Write(0, Write::Scale(u32::try_from(rest).unwrap_or(1))).into());
        }
    }
    let length = 2 + chance.below(LONGEST - 1);
    for _ in 0..length {
        let steps = (0..TRIES).map(|_| step(&program, chance)).find(|step| areas.allow(step));
        program.steps.extend(steps);
    }
    program
}

/// A Deployment, or what a ReplicaSet has of one.
pub(super) fn deployment(chance: &mut Chance) -> Deployment {
    let deadline = one_in(chance, 5).then(|| DEADLINES[index(chance, DEADLINES.len())]);
    Deployment {
        replicas: number(chance, 10),
        strategy: strategy(chance),
        min_ready: if one_in(chance, 5) { MIN_READY } else { 0 },
        deadline,
        history: one_in(chance, 5).then(|| number(chance, 3)),
    }
}

/// A step that comes next in a program.
pub(super) fn step(program: &Program, chance: &mut Chance) -> Step {
    match chance.below(10) {
        0 => {
            let trouble = held(program, chance);
            Step { op: write(program, chance), trouble: Some(trouble) }
        }
        1 if one_in(chance, 2) => {
            let trouble = fault(program, chance);
            Step { op: write(program, chance), trouble: Some(trouble) }
        }
        _ if program.about == About::Deployment => op_on_deployments(program, chance).into(),
        _ => op_on_pods(program, chance).into(),
    }
}

/// What happens to Deployments and ReplicaSets.
fn op_on_deployments(program: &Program, chance: &mut Chance) -> Op {
    let at = index(chance, program.deployments.len());
    match chance.below(30) {
        0..12 => write(program, chance),
        12..18 => ready(at, chance),
        18 => Op::Unready(at, 1 + number(chance, 2)),
        19 => Op::Fail(at, 1 + number(chance, 2)),
        20 => match program.lingering {
            true => Op::Terminate(1 + number(chance, 2)),
            false => Op::Succeed(at, 1 + number(chance, 2)),
        },
        21 | 22 => Op::Set(1 + number(chance, 2), to_set(chance)),
        23 => match chance.below(4) {
            0 => Op::Quota(number(chance, 12)),
            1 => Op::Renew(at, true),
            2 => Op::Renew(at, false),
            _ => Op::Stray(!one_in(chance, 4), number(chance, 3)),
        },
        24..27 => Op::Advance(TIMES[index(chance, TIMES.len())]),
        27 => Op::Away(Box::new(write(program, chance))),
        _ => Op::Together(Box::new(write(program, chance)), Box::new(write(program, chance))),
    }
}

/// Some pods become ready one by one, or all of them, one by one or at once.
fn ready(at: usize, chance: &mut Chance) -> Op {
    match chance.below(4) {
        0 | 1 => Op::Ready(at, Some(1 + number(chance, 3))),
        2 => Op::Ready(at, None),
        _ => Op::ReadyAtOnce(at),
    }
}

/// What happens to the pods of ReplicaSets.
fn op_on_pods(program: &Program, chance: &mut Chance) -> Op {
    let at = index(chance, program.deployments.len());
    match chance.below(24) {
        0..8 => write(program, chance),
        8 | 9 => ready(at, chance),
        10 => Op::Unready(at, 1 + number(chance, 2)),
        11 => Op::Fail(at, 1 + number(chance, 2)),
        12 => match program.lingering {
            true => Op::Terminate(1 + number(chance, 2)),
            false => Op::Succeed(at, 1 + number(chance, 2)),
        },
        13..16 => {
            let pods = 1 + number(chance, 3);
            let is_only = program.about == About::ReplicaSet && program.deployments.len() == 1;
            let set = if is_only || !one_in(chance, 3) { 1 } else { 2 };
            named(program, set, pods, chance)
        }
        16..19 => {
            let to = match chance.below(3) {
                0 => ToPod::Delete,
                1 => ToPod::Relabel,
                _ => ToPod::Cost([-5, 0, 5][index(chance, 3)]),
            };
            Op::Pod(number(chance, 4), to)
        }
        19 => Op::Stray(!one_in(chance, 3), number(chance, 3)),
        20 => Op::Quota(number(chance, 8)),
        21 | 22 => Op::Advance(TIMES[index(chance, TIMES.len())]),
        _ if program.about == About::Both => op_on_deployments(program, chance),
        _ => Op::Together(Box::new(write(program, chance)), Box::new(write(program, chance))),
    }
}

/// Names and traits for pods of one ReplicaSet.
fn named(program: &Program, set: u32, pods: u32, chance: &mut Chance) -> Op {
    // Ties between pods are broken by what the server makes up: so a program varies one trait or two, and
    // the others are the same for all.
    // Where they vary by node, how many there are on each only shows against a trait that counts for less.
    let by_node = program.unbound && !one_in(chance, 3);
    let varied = match by_node {
        true => [0, [AGE, AGE, RESTARTS, index(chance, 5)][index(chance, 4)]],
        false => [index(chance, 5), index(chance, 5)],
    };
    let same = traits(program.unbound, [0, 1, 2, 3, 4], chance);
    let all = (0..pods).map(|_| {
        let own = traits(program.unbound, varied, chance);
        Traits {
            node: own.node.or(same.node),
            phase: own.phase.or(same.phase),
            ready: own.ready.or(same.ready),
            cost: own.cost.or(same.cost),
            restarts: own.restarts.or(same.restarts),
        }
    });
    Op::Name(set, all.collect())
}

/// Some of these traits, by number.
fn traits(unbound: bool, which: impl IntoIterator<Item = usize>, chance: &mut Chance) -> Traits {
    let mut traits = Traits::default();
    for trait_of in which {
        match trait_of {
            0 if unbound => traits.node = Some(if one_in(chance, 12) { 0 } else { 1 + u32::from(one_in(chance, 2)) }),
            1 => traits.phase = one_in(chance, 3).then(|| ["Pending", "Unknown"][index(chance, 2)]),
            2 => {
                const READY: [&str; 7] = [
                    "true",
                    "false",
                    "{since: -2h}",
                    "{since: -1m}",
                    "{since: -10s}",
                    "{since: +1h}",
                    "{since: unknown}",
                ];
                traits.ready = Some(READY[index(chance, READY.len())]);
            }
            AGE => traits.ready = Some(AGES[index(chance, AGES.len())]),
            3 => traits.cost = one_in(chance, 2).then(|| [-5, 3, 10][index(chance, 3)]),
            _ => traits.restarts = one_in(chance, 2).then(|| number(chance, 4)),
        }
    }
    traits
}

/// What a user writes.
pub(super) fn write(program: &Program, chance: &mut Chance) -> Op {
    let at = index(chance, program.deployments.len());
    if program.about == About::ReplicaSet {
        let to = match chance.below(12) {
            0 | 1 => Write::MinReady(min_ready(chance)),
            2 => Write::Label(1 + number(chance, 2)),
            _ => Write::Scale(number(chance, 10)),
        };
        return Op::Write(at, to);
    }
    let write = match chance.below(34) {
        0..10 => Write::Image(1 + number(chance, 4)),
        10..17 => Write::Scale(number(chance, 12)),
        17 => Write::Restart,
        18 | 19 => Write::Undo(number(chance, 3)),
        20 => Write::RollBack(number(chance, 3)),
        21 | 22 => Write::Pause,
        23 | 24 => Write::Resume,
        25 | 26 => Write::Strategy(strategy(chance)),
        27 => Write::MinReady(min_ready(chance)),
        28 => Write::History(number(chance, 3)),
        29 => Write::Deadline(DEADLINES[index(chance, DEADLINES.len())]),
        30 => Write::Env(1 + number(chance, 2)),
        31 => Write::Field([Field::Deadline, Field::Spread, Field::Probe][index(chance, 3)]),
        32 => Write::Label(1 + number(chance, 2)),
        _ => Write::Annotate(number(chance, 3)),
    };
    Op::Write(at, write)
}

fn min_ready(chance: &mut Chance) -> u32 {
    if one_in(chance, 2) { MIN_READY } else { 0 }
}

fn to_set(chance: &mut Chance) -> ToSet {
    match chance.below(8) {
        0..3 => ToSet::Scale(number(chance, 8)),
        3 | 4 => ToSet::Delete,
        5 => ToSet::Relabel,
        6 => ToSet::Edit,
        _ => ToSet::Revision(number(chance, 9)),
    }
}

/// A kind whose events are held back.
fn held(program: &Program, chance: &mut Chance) -> Trouble {
    let own = if program.about == About::ReplicaSet { "replicasets" } else { KINDS[0] };
    let kind = KINDS[index(chance, KINDS.len())];
    let another = kind != own && one_in(chance, 2);
    let kind = if program.about == About::ReplicaSet && kind == "deployments" { "pods" } else { kind };
    Trouble::Held(kind, another.then(|| Box::new(write(program, chance))))
}

/// A request or a watch that fails.
pub(super) fn fault(program: &Program, chance: &mut Chance) -> Trouble {
    let own: &[&'static str] = match program.about {
        About::Deployment => &["replicasets", "deployments", "deployments/status"],
        About::ReplicaSet => &["pods", "replicasets/status"],
        About::Both => &["replicasets", "pods", "replicasets/status", "deployments/status"],
    };
    if one_in(chance, 3) {
        let how = [Disturbance::Lag, Disturbance::Repeat, Disturbance::Expire][index(chance, 3)];
        let kinds: &[&'static str] = if program.about == About::ReplicaSet { &KINDS[1..] } else { &KINDS };
        return Trouble::Watch(kinds[index(chance, kinds.len())], how);
    }
    let failure = match chance.below(6) {
        0 => Failure::CrashBefore,
        1 => Failure::CrashAfter,
        2 => Failure::Lost,
        _ => Failure::Refused([409, 422, 500][index(chance, 3)]),
    };
    Trouble::Write(1 + number(chance, 3), own[index(chance, own.len())], failure)
}

/// A strategy that the API server accepts: not both bounds 0.
fn strategy(chance: &mut Chance) -> Strategy {
    if one_in(chance, 6) {
        return Strategy::Recreate;
    }
    let (surge, unavailable) = (bound(chance), bound(chance));
    let nothing = |bound: Bound| matches!(bound, Bound::Number(0) | Bound::Percent(0));
    if nothing(surge) && nothing(unavailable) {
        return Strategy::Rolling(Bound::Number(1), unavailable);
    }
    // More than all of them cannot be unavailable.
    let unavailable = match unavailable {
        Bound::Percent(percent) => Bound::Percent(percent.min(100)),
        bound @ Bound::Number(_) => bound,
    };
    Strategy::Rolling(surge, unavailable)
}

fn bound(chance: &mut Chance) -> Bound {
    match chance.below(3) {
        0 => Bound::Percent([0, 10, 25, 30, 50, 100, 150][index(chance, 7)]),
        _ => Bound::Number(number(chance, 4)),
    }
}

/// A number up to `most`; smaller ones come more often.
fn number(chance: &mut Chance, most: u64) -> u32 {
    let (one, two) = (chance.below(most + 1), chance.below(most + 1));
    u32::try_from(one.min(two)).unwrap_or(u32::MAX)
}

pub(super) fn one_in(chance: &mut Chance, many: u64) -> bool {
    chance.below(many) == 0
}

/// A place in a list of so many.
pub(super) fn index(chance: &mut Chance, length: usize) -> usize {
    let length = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
    usize::try_from(chance.below(length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::Area;
    use super::*;

    #[test]
    fn many_programs_are_valid_at_once() {
        let (areas, mut chance) = (Areas::only(&[]), Chance::new(24));
        for about in [About::Deployment, About::ReplicaSet, About::Both] {
            let valid = (0..300).filter(|_| drawn(about, &areas, &mut chance).case().is_some()).count();
            assert!(valid > 60, "{about:?}: {valid} of 300");
        }
    }

    #[test]
    fn a_seed_repeats_its_programs() {
        let areas = Areas::only(&[]);
        let draw = |seed| {
            let programs = (0..20).scan(Chance::new(seed), |chance, _| Some(generate(About::Both, &areas, chance)));
            programs.collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn pods_are_crowded_on_nodes_and_some_of_them_go() {
        let (areas, mut chance) = (Areas::only(&[Area::Replicaset]), Chance::new(24));
        let programs: Vec<Program> = (0..400).map(|_| generate(About::ReplicaSet, &areas, &mut chance)).collect();
        let crowded =
            programs.iter().filter(|program| program.unbound && program.family && is_crowded(program)).count();
        assert!(crowded >= 6, "{crowded} of 400");
    }

    /// Whether pods that are named on nodes of unequal crowds, and differ in what counts for less, are scaled down at once.
    fn is_crowded(program: &Program) -> bool {
        let named: Vec<&Vec<Traits>> = program
            .steps
            .iter()
            .map_while(|step| if let Op::Name(_, pods) = &step.op { Some(pods) } else { None })
            .collect();
        let goes = matches!(program.steps.get(named.len()).map(|step| &step.op), Some(Op::Write(0, Write::Scale(_))));
        let Some(own) = named.first() else { return false };
        let on = |node: u32| named.iter().flat_map(|pods| pods.iter()).filter(|pod| pod.node == Some(node)).count();
        let own_on = |node: u32| own.iter().filter(|pod| pod.node == Some(node)).count();
        let apart = own.iter().any(|pod| pod.ready != own[0].ready || pod.restarts != own[0].restarts);
        goes && apart && own_on(1) > 0 && own_on(2) > 0 && on(1) != on(2)
    }
}
