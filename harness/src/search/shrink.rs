//! What is a little smaller than a program: a step less, nothing that goes wrong, one of two
//! operations, a smaller number, a Deployment less.

use super::draw::TIMES;
use super::given::{About, Bound, Deployment, Family, Strategy};
use super::op::{Op, Write};
use super::program::{Program, Step};
use super::traits::Traits;

/// The programs that come next when one is to be made smaller, those with the most taken away
/// first; not all are valid cases.
#[must_use]
pub fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let with_steps = |steps: Vec<Step>| Program { steps, ..program.clone() };
    let length = program.steps.len();
    // Half of the steps, then one at a time, the last first: what comes after the difference never
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
    if program.about == About::Both {
        all.push(Program { about: About::Deployment, ..program.clone() });
    }
    if program.unbound {
        all.push(Program { unbound: false, ..program.clone() });
    }
    if program.long_names {
        all.push(Program { long_names: false, ..program.clone() });
    }
    for family in [Family::None, Family::First].into_iter().filter(|less| *less < program.family) {
        all.push(Program { family, ..program.clone() });
    }
    if program.sidecar {
        all.push(Program { sidecar: false, ..program.clone() });
    }
    if program.lingering {
        all.push(Program { lingering: false, ..program.clone() });
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

/// The program without one of two Deployments; `None` where a step is about it.
fn without(program: &Program, dropped: usize) -> Option<Program> {
    let mut program = program.clone();
    program.deployments.remove(dropped);
    // The nth ReplicaSet is only then the nth of the program.
    let sets = program.about == About::ReplicaSet;
    for step in &mut program.steps {
        renumber(&mut step.op, dropped, sets)?;
        if let Some(trouble) = &step.trouble
            && let Some(op) = trouble.op()
        {
            let mut op = op.clone();
            renumber(&mut op, dropped, sets)?;
            step.trouble = Some(trouble.with(op));
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

fn smaller_steps(step: &Step) -> Vec<Step> {
    let mut all = Vec::new();
    if let Some(trouble) = &step.trouble {
        all.push(Step { trouble: None, ..step.clone() });
        if let Some(op) = trouble.op() {
            if let super::Trouble::Held(kind, Some(_)) = trouble {
                all.push(Step { trouble: Some(super::Trouble::Held(kind, None)), ..step.clone() });
            }
            let ops = smaller_ops(op).into_iter();
            all.extend(ops.map(|op| Step { trouble: Some(trouble.with(op)), ..step.clone() }));
        }
    }
    all.extend(smaller_ops(&step.op).into_iter().map(|op| Step { op, ..step.clone() }));
    all
}

fn smaller_ops(op: &Op) -> Vec<Op> {
    let mut all = match op {
        Op::Together(one, two) => vec![(**one).clone(), (**two).clone()],
        Op::Away(op) => vec![(**op).clone()],
        Op::Ready(at, None) | Op::ReadyAtOnce(at) => vec![Op::Ready(*at, Some(1))],
        Op::Write(at, Write::Strategy(strategy)) => {
            smaller_strategies(*strategy).map(|it| Op::Write(*at, Write::Strategy(it))).collect()
        }
        Op::Write(at, Write::MinReady(1..)) => vec![Op::Write(*at, Write::MinReady(0))],
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

/// Names for fewer pods, and fewer traits.
fn fewer_traits(pods: &[Traits]) -> Vec<Vec<Traits>> {
    let mut all = Vec::new();
    if pods.len() > 1 {
        all.push(pods[..pods.len() - 1].to_vec());
    }
    let without: [fn(&mut Traits); 6] = [
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

fn smaller_deployments(of: &Deployment) -> Vec<Deployment> {
    let mut all: Vec<_> =
        fewer(of.replicas, 0).into_iter().map(|replicas| Deployment { replicas, ..of.clone() }).collect();
    all.extend(smaller_strategies(of.strategy).map(|strategy| Deployment { strategy, ..of.clone() }));
    if of.min_ready > 0 {
        all.push(Deployment { min_ready: 0, ..of.clone() });
    }
    if of.deadline.is_some() {
        all.push(Deployment { deadline: None, ..of.clone() });
    }
    if of.history.is_some() {
        all.push(Deployment { history: None, ..of.clone() });
    }
    all
}

/// The simplest strategy, then smaller bounds.
fn smaller_strategies(strategy: Strategy) -> impl Iterator<Item = Strategy> {
    let simple = Strategy::Rolling(Bound::Number(1), Bound::Number(0));
    let mut all = Vec::new();
    if strategy != simple {
        all.push(simple);
    }
    if let Strategy::Rolling(surge, unavailable) = strategy {
        let bounds = |bound: Bound| match bound {
            Bound::Number(number) => fewer(number, 0).into_iter().map(Bound::Number).collect::<Vec<_>>(),
            Bound::Percent(_) => vec![Bound::Number(1)],
        };
        all.extend(bounds(surge).into_iter().map(|surge| Strategy::Rolling(surge, unavailable)));
        all.extend(bounds(unavailable).into_iter().map(|unavailable| Strategy::Rolling(surge, unavailable)));
    }
    let nothing = Strategy::Rolling(Bound::Number(0), Bound::Number(0));
    all.into_iter().filter(move |strategy| *strategy != nothing)
}

/// The least, the half, one less: what is below the number, each once.
fn fewer(number: u32, least: u32) -> Vec<u32> {
    let mut all = vec![least, number / 2, number.saturating_sub(1)];
    all.retain(|fewer| (least..number).contains(fewer));
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use kube_apiserver_sim::Chance;

    use super::*;
    use crate::search::{Areas, generate};

    #[test]
    fn what_is_smaller_is_another_program() {
        let mut chance = Chance::new(3);
        for about in [About::Deployment, About::ReplicaSet, About::Both] {
            for _ in 0..8 {
                let program = generate(about, &Areas::only(&[]), &mut chance);
                for smaller in smaller(&program) {
                    assert_ne!(smaller, program);
                }
            }
        }
    }

    #[test]
    fn shrinking_comes_to_an_end() {
        let mut program = generate(About::Both, &Areas::only(&[]), &mut Chance::new(5));
        let mut rounds = 0;
        while let Some(next) = smaller(&program).into_iter().find(|program| program.case().is_some()) {
            program = next;
            rounds += 1;
            assert!(rounds < 500, "{program:?}");
        }
        assert!(program.size() <= 2, "{program:?}");
    }

    #[test]
    fn a_replica_set_less_leaves_the_names_of_the_others_pods() {
        let mut chance = Chance::new(11);
        let mut program = std::iter::repeat_with(|| generate(About::ReplicaSet, &Areas::only(&[]), &mut chance))
            .find(|program| program.deployments.len() == 2)
            .unwrap();
        program.steps = vec![Op::Name(2, vec![Traits::default()]).into()];
        let names = |program: Option<Program>| program.map(|program| program.steps);
        assert_eq!(names(without(&program, 0)), Some(vec![Op::Name(1, vec![Traits::default()]).into()]));
        assert_eq!(names(without(&program, 1)), None);
    }
}
