//! Programs that are a little smaller: without a step, a disruption, one of two operations, or a
//! Deployment, or with a smaller number.

use super::initial::{Bound, Focus, InitialDeployment, OwnedSets, RolloutStrategy};
use super::op::{DeploymentWrite, Op};
use super::pod_profile::PodProfile;
use super::program::{CaseProgram, ProgramStep};
use super::random::TIMES;

/// The candidates for shrinking a program, those that remove the most first; some are not valid
/// cases.
#[must_use]
pub(crate) fn smaller(program: &CaseProgram) -> Vec<CaseProgram> {
    let mut all = Vec::new();
    let with_steps = |steps: Vec<ProgramStep>| CaseProgram { steps, ..program.clone() };
    let length = program.steps.len();
    // Half of the steps, then one at a time, the last first: what follows the difference never
    // matters.
    if length > 3 {
        all.push(with_steps(program.steps[..length / 2].to_vec()));
        all.push(with_steps(program.steps[length / 2..].to_vec()));
    }
    if length > 1 {
        for at in (0..length).rev() {
            let mut steps = program.steps.clone();
            steps.remove(at);
            all.push(with_steps(steps));
        }
    }
    for dropped in (program.deployments.len() > 1).then_some([1, 0]).into_iter().flatten() {
        all.extend(without(program, dropped));
    }
    for (at, step) in program.steps.iter().enumerate() {
        for step in smaller_steps(step) {
            let mut steps = program.steps.clone();
            steps[at] = step;
            all.push(with_steps(steps));
        }
    }
    if program.focus == Focus::Both {
        all.push(CaseProgram { focus: Focus::Deployment, ..program.clone() });
    }
    if program.unbound {
        all.push(CaseProgram { unbound: false, ..program.clone() });
    }
    if program.long_names {
        all.push(CaseProgram { long_names: false, ..program.clone() });
    }
    for family in [OwnedSets::None, OwnedSets::First].into_iter().filter(|less| *less < program.family) {
        all.push(CaseProgram { family, ..program.clone() });
    }
    if program.sidecar {
        all.push(CaseProgram { sidecar: false, ..program.clone() });
    }
    if program.lingering {
        all.push(CaseProgram { lingering: false, ..program.clone() });
    }
    for (at, deployment) in program.deployments.iter().enumerate() {
        for deployment in smaller_deployments(deployment) {
            let mut program = program.clone();
            program.deployments[at] = deployment;
            all.push(program);
        }
    }
    all
}

/// The program without one of two Deployments; `None` if a step refers to it.
fn without(program: &CaseProgram, dropped: usize) -> Option<CaseProgram> {
    let mut program = program.clone();
    program.deployments.remove(dropped);
    // Only then is the nth ReplicaSet that of the nth Deployment.
    let sets = program.focus == Focus::ReplicaSet;
    for step in &mut program.steps {
        renumber(&mut step.op, dropped, sets)?;
        if let Some(disruption) = &step.disruption
            && let Some(op) = disruption.op()
        {
            let mut op = op.clone();
            renumber(&mut op, dropped, sets)?;
            step.disruption = Some(disruption.with(op));
        }
    }
    Some(program)
}

fn renumber(op: &mut Op, dropped: usize, sets: bool) -> Option<()> {
    match op {
        Op::Together(one, two) => renumber(one, dropped, sets).and(renumber(two, dropped, sets)),
        Op::Away(op) => renumber(op, dropped, sets),
        Op::Name(set, _) if sets => {
            let is_dropped = usize::try_from(*set).is_ok_and(|set| set == dropped + 1);
            *set = 1;
            (!is_dropped).then_some(())
        }
        op => match op.deployment() {
            Some(at) if *at == dropped => None,
            Some(at) => {
                *at = 0;
                Some(())
            }
            None => Some(()),
        },
    }
}

fn smaller_steps(step: &ProgramStep) -> Vec<ProgramStep> {
    let mut all = Vec::new();
    if let Some(disruption) = &step.disruption {
        all.push(ProgramStep { disruption: None, ..step.clone() });
        if let Some(op) = disruption.op() {
            if let super::Disruption::Withheld(kind, Some(_)) = disruption {
                all.push(ProgramStep { disruption: Some(super::Disruption::Withheld(kind, None)), ..step.clone() });
            }
            let ops = smaller_ops(op).into_iter();
            all.extend(ops.map(|op| ProgramStep { disruption: Some(disruption.with(op)), ..step.clone() }));
        }
    }
    all.extend(smaller_ops(&step.op).into_iter().map(|op| ProgramStep { op, ..step.clone() }));
    all
}

fn smaller_ops(op: &Op) -> Vec<Op> {
    let mut all = match op {
        Op::Together(one, two) => vec![(**one).clone(), (**two).clone()],
        Op::Away(op) => vec![(**op).clone()],
        Op::Ready(at, None) | Op::ReadyAtOnce(at) => vec![Op::Ready(*at, Some(1))],
        Op::Write(at, DeploymentWrite::Strategy(strategy)) => {
            smaller_strategies(*strategy).map(|it| Op::Write(*at, DeploymentWrite::Strategy(it))).collect()
        }
        Op::Write(at, DeploymentWrite::MinReady(1..)) => vec![Op::Write(*at, DeploymentWrite::MinReady(0))],
        Op::Advance(seconds) => TIMES.into_iter().filter(|less| less < seconds).map(Op::Advance).collect(),
        Op::Name(set, pods) => fewer_traits(pods).into_iter().map(|pods| Op::Name(*set, pods)).collect(),
        _ => Vec::new(),
    };
    let count = op.clone().numbers().len();
    for at in 0..count {
        let mut copy = op.clone();
        let Some((number, least)) = copy.numbers().into_iter().nth(at).map(|(number, least)| (*number, least)) else {
            continue;
        };
        for number in fewer(number, least) {
            let mut copy = op.clone();
            if let Some((place, _)) = copy.numbers().into_iter().nth(at) {
                *place = number;
            }
            all.push(copy);
        }
    }
    all
}

/// Fewer named pods, and fewer traits.
fn fewer_traits(pods: &[PodProfile]) -> Vec<Vec<PodProfile>> {
    let mut all = Vec::new();
    if pods.len() > 1 {
        all.push(pods[..pods.len() - 1].to_vec());
    }
    let without: [fn(&mut PodProfile); 6] = [
        |pod| pod.node = None,
        |pod| pod.phase = None,
        |pod| pod.ready = None,
        |pod| pod.cost = None,
        |pod| pod.restarts = None,
        |pod| pod.sidecar_restarts = None,
    ];
    for drop in without {
        let mut fewer = pods.to_vec();
        fewer.iter_mut().for_each(drop);
        if fewer != pods {
            all.push(fewer);
        }
    }
    all
}

fn smaller_deployments(of: &InitialDeployment) -> Vec<InitialDeployment> {
    let mut all: Vec<_> =
        fewer(of.replicas, 0).into_iter().map(|replicas| InitialDeployment { replicas, ..of.clone() }).collect();
    all.extend(smaller_strategies(of.strategy).map(|strategy| InitialDeployment { strategy, ..of.clone() }));
    if of.min_ready > 0 {
        all.push(InitialDeployment { min_ready: 0, ..of.clone() });
    }
    if of.deadline.is_some() {
        all.push(InitialDeployment { deadline: None, ..of.clone() });
    }
    if of.history.is_some() {
        all.push(InitialDeployment { history: None, ..of.clone() });
    }
    all
}

/// The simplest strategy, then smaller bounds.
fn smaller_strategies(strategy: RolloutStrategy) -> impl Iterator<Item = RolloutStrategy> {
    let simple = RolloutStrategy::Rolling(Bound::Number(1), Bound::Number(0));
    let mut all = Vec::new();
    if strategy != simple {
        all.push(simple);
    }
    if let RolloutStrategy::Rolling(surge, unavailable) = strategy {
        let bounds = |bound: Bound| match bound {
            Bound::Number(number) => fewer(number, 0).into_iter().map(Bound::Number).collect::<Vec<_>>(),
            Bound::Percent(_) => vec![Bound::Number(1)],
        };
        all.extend(bounds(surge).into_iter().map(|surge| RolloutStrategy::Rolling(surge, unavailable)));
        all.extend(bounds(unavailable).into_iter().map(|unavailable| RolloutStrategy::Rolling(surge, unavailable)));
    }
    let nothing = RolloutStrategy::Rolling(Bound::Number(0), Bound::Number(0));
    all.into_iter().filter(move |strategy| *strategy != nothing)
}

/// The minimum, the half, and one less, without duplicates.
fn fewer(number: u32, least: u32) -> Vec<u32> {
    let mut all = vec![least, number / 2, number.saturating_sub(1)];
    all.retain(|fewer| (least..number).contains(fewer));
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use kube_apimachinery::SeededRng;

    use super::*;
    use crate::{Areas, generate};

    #[test]
    fn smaller_programs_differ_from_the_original() {
        let mut chance = SeededRng::new(3);
        for focus in [Focus::Deployment, Focus::ReplicaSet, Focus::Both] {
            for _ in 0..8 {
                let program = generate(focus, &Areas::only(&[]), &mut chance);
                for smaller in smaller(&program) {
                    assert_ne!(smaller, program);
                }
            }
        }
    }

    #[test]
    fn shrinking_terminates() {
        let mut program = generate(Focus::Both, &Areas::only(&[]), &mut SeededRng::new(5));
        let mut rounds = 0;
        while let Some(next) = smaller(&program).into_iter().find(|program| program.case().is_some()) {
            program = next;
            rounds += 1;
            assert!(rounds < 500, "{program:?}");
        }
        assert!(program.size() <= 2, "{program:?}");
    }

    #[test]
    fn removing_a_replica_set_keeps_the_pod_names_of_the_others() {
        let mut chance = SeededRng::new(11);
        let mut program = std::iter::repeat_with(|| generate(Focus::ReplicaSet, &Areas::only(&[]), &mut chance))
            .find(|program| program.deployments.len() == 2)
            .unwrap();
        program.steps = vec![Op::Name(2, vec![PodProfile::default()]).into()];
        let names = |program: Option<CaseProgram>| program.map(|program| program.steps);
        assert_eq!(names(without(&program, 0)), Some(vec![Op::Name(1, vec![PodProfile::default()]).into()]));
        assert_eq!(names(without(&program, 1)), None);
    }
}
