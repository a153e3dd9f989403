//! Random programs. Small numbers are more likely: most differences between controllers show with a
//! few pods.
//!
//! Times are far apart: minReadySeconds and deadlines end in the middle of an `advance`, never
//! within the second that a namespace takes to settle, because their order would be chance.

use kube_apimachinery::SeededRng;
use lockstep_verdict::faults::FaultKind;

use super::area::Areas;
use super::initial::{Bound, Focus, InitialDeployment, OwnedSets, RolloutStrategy};
use super::op::{DeploymentWrite, Disruption, Op, PodEdit, ReplicaSetEdit, TemplateField, WatchDisturbance};
use super::pod_setup::{name_pods, pod_setup};
use super::program::{CaseProgram, ProgramStep};
use super::random::{DEADLINES, TIMES, index, number, one_in};

/// The length of the longest random program.
const LONGEST: usize = 9;
/// How often to try again if a step belongs to no searched area.
const TRIES: usize = 40;
/// Kinds whose events can be withheld; steps write the first.
const KINDS: [&str; 3] = ["deployments", "replicasets", "pods"];
/// The only minReadySeconds except 0.
const MIN_READY: u32 = 30;

/// A random program that is a valid case.
pub fn generate(focus: Focus, areas: &Areas, chance: &mut SeededRng) -> CaseProgram {
    loop {
        let program = generate_any(focus, areas, chance);
        if areas.allow_all(&program) && program.case().is_some() {
            return program;
        }
    }
}

/// A random program that may be invalid: whether a step finds a pod depends on all steps before it.
fn generate_any(focus: Focus, areas: &Areas, chance: &mut SeededRng) -> CaseProgram {
    let has_two = match focus {
        Focus::Deployment => one_in(chance, 8),
        Focus::ReplicaSet => one_in(chance, 2),
        Focus::Both => false,
    };
    let deployments: Vec<_> = (0..=usize::from(has_two)).map(|_| deployment(chance)).collect();
    let lingering = one_in(chance, 8);
    let family = match chance.below(6) {
        _ if focus != Focus::ReplicaSet => OwnedSets::None,
        0 | 1 => OwnedSets::None,
        2 | 3 if has_two => OwnedSets::First,
        _ => OwnedSets::All,
    };
    // The nodes of pods matter only among the pods of one owner.
    let unbound = match focus {
        Focus::Deployment => false,
        Focus::ReplicaSet if family == OwnedSets::None => one_in(chance, 3),
        Focus::ReplicaSet => !one_in(chance, 4),
        Focus::Both => one_in(chance, 2),
    };
    let sidecar = focus == Focus::ReplicaSet && one_in(chance, 4);
    let long_names = focus != Focus::ReplicaSet && one_in(chance, 40);
    let mut program =
        CaseProgram { focus, unbound, lingering, family, sidecar, long_names, deployments, steps: Vec::new() };
    if focus != Focus::Deployment && !one_in(chance, 4) {
        pod_setup(&mut program, chance);
        // The steps after these may be random, and would hide what these show.
        if one_in(chance, 2) {
            return program;
        }
    }
    if focus != Focus::ReplicaSet && program.steps.is_empty() && one_in(chance, 4) {
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

/// A Deployment, or the fields of one that a ReplicaSet has.
pub(super) fn deployment(chance: &mut SeededRng) -> InitialDeployment {
    let deadline = one_in(chance, 5).then(|| DEADLINES[index(chance, DEADLINES.len())]);
    InitialDeployment {
        replicas: number(chance, 10),
        strategy: strategy(chance),
        min_ready: if one_in(chance, 5) { MIN_READY } else { 0 },
        deadline,
        history: one_in(chance, 5).then(|| number(chance, 3)),
    }
}

/// A next step for a program.
pub(super) fn step(program: &CaseProgram, chance: &mut SeededRng) -> ProgramStep {
    match chance.below(10) {
        0 => {
            let disruption = withheld_events(program, chance);
            ProgramStep { op: write(program, chance), disruption: Some(disruption) }
        }
        1 if one_in(chance, 2) => {
            let disruption = fault(program, chance);
            ProgramStep { op: write(program, chance), disruption: Some(disruption) }
        }
        _ if program.focus == Focus::Deployment => op_on_deployments(program, chance).into(),
        _ => op_on_pods(program, chance).into(),
    }
}

/// An operation on Deployments and ReplicaSets.
fn op_on_deployments(program: &CaseProgram, chance: &mut SeededRng) -> Op {
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
fn ready(at: usize, chance: &mut SeededRng) -> Op {
    match chance.below(4) {
        0 | 1 => Op::Ready(at, Some(1 + number(chance, 3))),
        2 => Op::Ready(at, None),
        _ => Op::ReadyAtOnce(at),
    }
}

/// An operation on the pods of ReplicaSets.
fn op_on_pods(program: &CaseProgram, chance: &mut SeededRng) -> Op {
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
            let is_only = program.focus == Focus::ReplicaSet && program.deployments.len() == 1;
            let set = if is_only || !one_in(chance, 3) { 1 } else { 2 };
            name_pods(program, set, pods, chance)
        }
        16..19 => {
            let to = match chance.below(3) {
                0 => PodEdit::Delete,
                1 => PodEdit::Relabel,
                _ => PodEdit::Cost([-5, 0, 5][index(chance, 3)]),
            };
            Op::Pod(number(chance, 4), to)
        }
        19 => Op::Stray(!one_in(chance, 3), number(chance, 3)),
        20 => Op::Quota(number(chance, 8)),
        21 | 22 => Op::Advance(TIMES[index(chance, TIMES.len())]),
        _ if program.focus == Focus::Both => op_on_deployments(program, chance),
        _ => Op::Together(Box::new(write(program, chance)), Box::new(write(program, chance))),
    }
}

/// A write by a user.
pub(super) fn write(program: &CaseProgram, chance: &mut SeededRng) -> Op {
    let at = index(chance, program.deployments.len());
    if program.focus == Focus::ReplicaSet {
        let to = match chance.below(12) {
            0 | 1 => DeploymentWrite::MinReady(min_ready(chance)),
            2 => DeploymentWrite::Label(1 + number(chance, 2)),
            _ => DeploymentWrite::Scale(number(chance, 10)),
        };
        return Op::Write(at, to);
    }
    let write = match chance.below(36) {
        0..10 => DeploymentWrite::Image(1 + number(chance, 4)),
        10..17 => DeploymentWrite::Scale(number(chance, 12)),
        17 => DeploymentWrite::Restart,
        18 | 19 => DeploymentWrite::Undo(number(chance, 3)),
        20 | 21 => DeploymentWrite::RollBack(number(chance, 3)),
        22 | 23 => DeploymentWrite::Pause,
        24 | 25 => DeploymentWrite::Resume,
        26 | 27 => DeploymentWrite::Strategy(strategy(chance)),
        28 => DeploymentWrite::MinReady(min_ready(chance)),
        29 => DeploymentWrite::History(number(chance, 3)),
        30 => DeploymentWrite::Deadline(DEADLINES[index(chance, DEADLINES.len())]),
        31 => DeploymentWrite::Env(1 + number(chance, 2)),
        32 => DeploymentWrite::Field(
            [TemplateField::Deadline, TemplateField::Spread, TemplateField::Probe][index(chance, 3)],
        ),
        33 => DeploymentWrite::Label(1 + number(chance, 2)),
        _ => DeploymentWrite::Annotate(number(chance, 3)),
    };
    Op::Write(at, write)
}

fn min_ready(chance: &mut SeededRng) -> u32 {
    if one_in(chance, 2) { MIN_READY } else { 0 }
}

fn to_set(chance: &mut SeededRng) -> ReplicaSetEdit {
    match chance.below(8) {
        0..3 => ReplicaSetEdit::Scale(number(chance, 8)),
        3 | 4 => ReplicaSetEdit::Delete,
        5 => ReplicaSetEdit::Relabel,
        6 => ReplicaSetEdit::Edit,
        _ => ReplicaSetEdit::Revision(number(chance, 9)),
    }
}

/// Withhold the events of a kind.
fn withheld_events(program: &CaseProgram, chance: &mut SeededRng) -> Disruption {
    let own = if program.focus == Focus::ReplicaSet { "replicasets" } else { KINDS[0] };
    let kind = KINDS[index(chance, KINDS.len())];
    let another = kind != own && one_in(chance, 2);
    let kind = if program.focus == Focus::ReplicaSet && kind == "deployments" { "pods" } else { kind };
    Disruption::Withheld(kind, another.then(|| Box::new(write(program, chance))))
}

/// A request or a watch that fails.
pub(super) fn fault(program: &CaseProgram, chance: &mut SeededRng) -> Disruption {
    let own: &[&'static str] = match program.focus {
        Focus::Deployment => &["replicasets", "deployments", "deployments/status"],
        Focus::ReplicaSet => &["pods", "replicasets/status"],
        Focus::Both => &["replicasets", "pods", "replicasets/status", "deployments/status"],
    };
    if one_in(chance, 3) {
        let how = [WatchDisturbance::Lag, WatchDisturbance::Repeat, WatchDisturbance::Expire][index(chance, 3)];
        let kinds: &[&'static str] = if program.focus == Focus::ReplicaSet { &KINDS[1..] } else { &KINDS };
        return Disruption::Watch(kinds[index(chance, kinds.len())], how);
    }
    let failure = match chance.below(6) {
        0 => FaultKind::CrashBefore,
        1 => FaultKind::CrashAfter,
        2 => FaultKind::Lost,
        _ => FaultKind::Refuse([409, 422, 500][index(chance, 3)]),
    };
    Disruption::Write(1 + number(chance, 3), own[index(chance, own.len())], failure)
}

/// A strategy that the API server accepts: not both bounds are 0.
fn strategy(chance: &mut SeededRng) -> RolloutStrategy {
    if one_in(chance, 6) {
        return RolloutStrategy::Recreate;
    }
    let (surge, unavailable) = (bound(chance), bound(chance));
    let nothing = |bound: Bound| matches!(bound, Bound::Number(0) | Bound::Percent(0));
    if nothing(surge) && nothing(unavailable) {
        return RolloutStrategy::Rolling(Bound::Number(1), unavailable);
    }
    // No more than all pods can be unavailable.
    let unavailable = match unavailable {
        Bound::Percent(percent) => Bound::Percent(percent.min(100)),
        bound @ Bound::Number(_) => bound,
    };
    RolloutStrategy::Rolling(surge, unavailable)
}

fn bound(chance: &mut SeededRng) -> Bound {
    match chance.below(3) {
        0 => Bound::Percent([0, 10, 25, 30, 50, 100, 150][index(chance, 7)]),
        _ => Bound::Number(number(chance, 4)),
    }
}

/// Adds rollouts, which a controller remembers, to a program about Deployments without steps.
///
/// How a controller handles revisions, the annotations of old ReplicaSets and the time since the
/// last progress shows only after several rollouts, or during a rollout with waits. Independent
/// random steps rarely produce these.
pub(super) fn rollouts(program: &mut CaseProgram, chance: &mut SeededRng) {
    let at = index(chance, program.deployments.len());
    let ops = if one_in(chance, 3) {
        let deadline = DEADLINES[index(chance, DEADLINES.len())];
        program.deployments[at].deadline = Some(deadline);
        with_waits(at, chance)
    } else {
        let mut ops = revisions(at, chance);
        ops.extend(after_them(at, chance));
        ops
    };
    program.steps.extend(ops.into_iter().map(ProgramStep::from));
}

/// One rollout after the other: most of them complete, or none.
fn revisions(at: usize, chance: &mut SeededRng) -> Vec<Op> {
    let is_pending = one_in(chance, 3);
    let mut ops = Vec::new();
    for image in 2..=3 + number(chance, 1) {
        if one_in(chance, 2) {
            ops.push(Op::Write(at, DeploymentWrite::Annotate(1 + number(chance, 2))));
        }
        ops.push(Op::Write(at, DeploymentWrite::Image(image)));
        if !is_pending && !one_in(chance, 3) {
            ops.push(Op::Ready(at, None));
        }
    }
    ops
}

/// An operation that uses the older revisions, or none.
fn after_them(at: usize, chance: &mut SeededRng) -> Vec<Op> {
    let writes = match chance.below(4) {
        0 => vec![DeploymentWrite::RollBack(number(chance, 3))],
        1 => vec![DeploymentWrite::Undo(number(chance, 3))],
        2 => vec![DeploymentWrite::Pause, DeploymentWrite::History(number(chance, 2))],
        _ => Vec::new(),
    };
    writes.into_iter().map(|write| Op::Write(at, write)).collect()
}

/// A rollout in which time passes, less or more than a deadline, before a pod becomes ready.
fn with_waits(at: usize, chance: &mut SeededRng) -> Vec<Op> {
    let mut ops = vec![Op::Write(at, DeploymentWrite::Image(2))];
    for _ in 0..2 + number(chance, 1) {
        ops.push(Op::Advance(TIMES[index(chance, TIMES.len() - 1)]));
        if !one_in(chance, 4) {
            ops.push(Op::Ready(at, Some(1)));
        }
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Area;
    use crate::pod_profile::PodProfile;

    #[test]
    fn many_random_programs_are_valid() {
        let (areas, mut chance) = (Areas::only(&[]), SeededRng::new(24));
        for focus in [Focus::Deployment, Focus::ReplicaSet, Focus::Both] {
            let valid = (0..300).filter(|_| generate_any(focus, &areas, &mut chance).case().is_some()).count();
            assert!(valid > 60, "{focus:?}: {valid} of 300");
        }
    }

    #[test]
    fn seed_determines_the_programs() {
        let areas = Areas::only(&[]);
        let draw = |seed| {
            let programs = (0..20).scan(SeededRng::new(seed), |chance, _| Some(generate(Focus::Both, &areas, chance)));
            programs.collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn pods_are_crowded_on_nodes_and_some_of_them_go() {
        let (areas, mut chance) = (Areas::only(&[Area::Replicaset]), SeededRng::new(24));
        let programs: Vec<CaseProgram> = (0..400).map(|_| generate(Focus::ReplicaSet, &areas, &mut chance)).collect();
        let crowded = programs
            .iter()
            .filter(|program| program.unbound && program.family != OwnedSets::None && is_crowded(program))
            .count();
        assert!(crowded >= 20, "{crowded} of 400");
    }

    /// Whether named pods on differently crowded nodes, which also differ in less important traits,
    /// are scaled down at once.
    fn is_crowded(program: &CaseProgram) -> bool {
        let named: Vec<&Vec<PodProfile>> = program
            .steps
            .iter()
            .map_while(|step| if let Op::Name(_, pods) = &step.op { Some(pods) } else { None })
            .collect();
        let goes = matches!(
            program.steps.get(named.len()).map(|step| &step.op),
            Some(Op::Write(0, DeploymentWrite::Scale(_)))
        );
        let Some(own) = named.first() else { return false };
        let on = |node: u32| named.iter().flat_map(|pods| pods.iter()).filter(|pod| pod.node == Some(node)).count();
        let own_on = |node: u32| own.iter().filter(|pod| pod.node == Some(node)).count();
        let apart = own.iter().any(|pod| pod.ready != own[0].ready || pod.restarts != own[0].restarts);
        goes && apart && own_on(1) > 0 && own_on(2) > 0 && on(1) != on(2)
    }

    /// How many of some random programs about Deployments begin with a step and have a later one.
    fn count(has: impl Fn(&CaseProgram) -> bool) -> usize {
        let (areas, mut chance) = (Areas::only(&[]), SeededRng::new(24));
        (0..800).filter(|_| has(&generate(Focus::Deployment, &areas, &mut chance))).count()
    }

    fn images(program: &CaseProgram) -> usize {
        program.steps.iter().filter(|step| matches!(step.op, Op::Write(_, DeploymentWrite::Image(_)))).count()
    }

    #[test]
    fn uses_older_revisions_after_several_rollouts() {
        let rolled_back = |step: &ProgramStep| matches!(step.op, Op::Write(_, DeploymentWrite::RollBack(_)));
        assert!(count(|program| images(program) > 1 && program.steps.iter().any(rolled_back)) >= 20);
        let limited = |pair: &[ProgramStep]| {
            matches!(
                [&pair[0].op, &pair[1].op],
                [Op::Write(_, DeploymentWrite::Pause), Op::Write(_, DeploymentWrite::History(_))]
            )
        };
        assert!(count(|program| images(program) > 1 && program.steps.windows(2).any(limited)) >= 20);
    }

    #[test]
    fn rollout_continues_within_its_deadline() {
        let goes_on = |steps: &[ProgramStep]| {
            let is_wait = |op: &Op| matches!(op, Op::Advance(60));
            is_wait(&steps[0].op) && matches!(steps[1].op, Op::Ready(_, Some(1))) && is_wait(&steps[2].op)
        };
        let in_time = |program: &CaseProgram| program.deployments.iter().any(|it| it.deadline == Some(90));
        assert!(count(|program| in_time(program) && program.steps.windows(3).any(goes_on)) >= 4);
    }
}
