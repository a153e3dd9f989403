//! Random programs. Small numbers come more often: most of what two controllers can differ in shows
//! with a few pods.
//!
//! Times are far apart: minReadySeconds and deadlines end in the middle of an `advance`, never
//! within the second that a namespace takes to settle, because which of the two is first would be
//! up to chance.

use kube_apiserver_sim::Chance;

use super::area::Areas;
use super::draw::{DEADLINES, TIMES, index, number, one_in};
use super::given::{About, Bound, Deployment, Family, Strategy};
use super::op::{Field, Op, ToPod, ToSet, Write};
use super::program::{Program, Step};
use super::rollouts::rollouts;
use super::scene::{named, scene};
use super::trouble::{Disturbance, Failure, Trouble};

/// The longest program that is drawn.
const LONGEST: usize = 9;
/// How often a step is drawn again that belongs to no area that is searched.
const TRIES: usize = 40;
/// Kinds whose events can be held back; steps write the first.
const KINDS: [&str; 3] = ["deployments", "replicasets", "pods"];
/// The only minReadySeconds besides 0.
const MIN_READY: u32 = 30;

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
        About::ReplicaSet => one_in(chance, 2),
        About::Both => false,
    };
    let deployments: Vec<_> = (0..=usize::from(several)).map(|_| deployment(chance)).collect();
    let lingering = one_in(chance, 8);
    let family = match chance.below(6) {
        _ if about != About::ReplicaSet => Family::None,
        0 | 1 => Family::None,
        2 | 3 if several => Family::First,
        _ => Family::All,
    };
    // On which nodes pods are matters only among those of one owner.
    let unbound = match about {
        About::Deployment => false,
        About::ReplicaSet if family == Family::None => one_in(chance, 3),
        About::ReplicaSet => !one_in(chance, 4),
        About::Both => one_in(chance, 2),
    };
    let sidecar = about == About::ReplicaSet && one_in(chance, 4);
    let long_names = about != About::ReplicaSet && one_in(chance, 40);
    let mut program =
        Program { about, unbound, lingering, family, sidecar, long_names, deployments, steps: Vec::new() };
    if about != About::Deployment && !one_in(chance, 4) {
        scene(&mut program, chance);
        // What comes behind may be left to chance, and would hide what these steps show.
        if one_in(chance, 2) {
            return program;
        }
    }
    if about != About::ReplicaSet && program.steps.is_empty() && one_in(chance, 4) {
        rollouts(&mut program, chance);
    }
    let length = (2 + index(chance, LONGEST - 1)).max(program.steps.len() + 2);
    while program.steps.len() < length {
        let step = (0..TRIES).map(|_| step(&program, chance)).find(|step| areas.allow(step));
        let Some(step) = step else { break };
        program.steps.push(step);
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
        23 => match chance.below(5) {
            0 => Op::Quota(number(chance, 12)),
            1 => Op::Renew(at, true),
            2 => Op::Renew(at, false),
            3 => Op::Twin(1 + number(chance, 2), number(chance, 3)),
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
    let write = match chance.below(36) {
        0..10 => Write::Image(1 + number(chance, 4)),
        10..17 => Write::Scale(number(chance, 12)),
        17 => Write::Restart,
        18 | 19 => Write::Undo(number(chance, 3)),
        20 | 21 => Write::RollBack(number(chance, 3)),
        22 | 23 => Write::Pause,
        24 | 25 => Write::Resume,
        26 | 27 => Write::Strategy(strategy(chance)),
        28 => Write::MinReady(min_ready(chance)),
        29 => Write::History(number(chance, 3)),
        30 => Write::Deadline(DEADLINES[index(chance, DEADLINES.len())]),
        31 => Write::Env(1 + number(chance, 2)),
        32 => Write::Field([Field::Deadline, Field::Spread, Field::Probe][index(chance, 3)]),
        33 => Write::Label(1 + number(chance, 2)),
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

#[cfg(test)]
mod tests {
    use super::super::{Area, Traits};
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
        let crowded = programs
            .iter()
            .filter(|program| program.unbound && program.family != Family::None && is_crowded(program))
            .count();
        assert!(crowded >= 20, "{crowded} of 400");
    }

    /// Whether pods that are named on nodes of unequal crowds, and differ in what counts for less,
    /// are scaled down at once.
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
