//! What is a little smaller than a program: a step less, nothing held back, one of two operations, a
//! smaller number, a Deployment less.

use super::program::{Bound, Deployment, Op, Program, Step, Strategy};

/// The programs that come next when one is to be made smaller, those with the most taken away first.
#[must_use]
pub fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let with_steps = |steps: Vec<Step>| Program { steps, ..program.clone() };
    let length = program.steps.len();
    // Half of the steps, then one at a time, the last first: what comes after the difference never matters.
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
    for (at, deployment) in program.deployments.iter().enumerate() {
        for deployment in smaller_deployments(deployment) {
            let mut program = program.clone();
            program.deployments[at] = deployment;
            all.push(program);
        }
    }
    all.retain(|program| program.case().is_some());
    all
}

/// The program without one of two Deployments; `None` where a step is about it.
fn without(program: &Program, dropped: usize) -> Option<Program> {
    let steps: Option<Vec<Step>> = program.steps.iter().map(|step| moved(step, dropped)).collect();
    let deployments = program.deployments.get(1 - dropped)?.clone();
    Some(Program { deployments: vec![deployments], steps: steps? })
}

/// The step where only the other Deployment is left.
fn moved(step: &Step, dropped: usize) -> Option<Step> {
    let held = match &step.held {
        Some((kind, Some(op))) => Some((*kind, Some(Box::new(renumbered(op, dropped)?)))),
        other => other.clone(),
    };
    Some(Step { op: renumbered(&step.op, dropped)?, held })
}

fn renumbered(op: &Op, dropped: usize) -> Option<Op> {
    let mut op = op.clone();
    match &mut op {
        Op::Scale(at, _)
        | Op::Image(at, _)
        | Op::Restart(at)
        | Op::Undo(at)
        | Op::Pause(at)
        | Op::Resume(at)
        | Op::Strategy(at, _)
        | Op::MinReady(at, _)
        | Op::History(at, _)
        | Op::Ready(at, _)
        | Op::Unready(at, _)
        | Op::Fail(at, _) => {
            if *at == dropped {
                return None;
            }
            *at = 0;
        }
        Op::Together(one, two) => {
            **one = renumbered(one, dropped)?;
            **two = renumbered(two, dropped)?;
        }
        Op::ScaleSet(..) | Op::DeleteSet(_) | Op::Advance(_) => {}
    }
    Some(op)
}

fn smaller_steps(step: &Step) -> Vec<Step> {
    let mut all = Vec::new();
    if let Some((kind, op)) = &step.held {
        all.push(Step { held: None, ..step.clone() });
        if let Some(op) = op {
            all.push(Step { held: Some((kind, None)), ..step.clone() });
            for op in smaller_ops(op) {
                all.push(Step { held: Some((kind, Some(Box::new(op)))), ..step.clone() });
            }
        }
    }
    all.extend(smaller_ops(&step.op).into_iter().map(|op| Step { op, ..step.clone() }));
    all
}

fn smaller_ops(op: &Op) -> Vec<Op> {
    let numbers = |number: u32, least: u32| fewer(number, least).into_iter();
    match op {
        Op::Scale(at, replicas) => numbers(*replicas, 0).map(|number| Op::Scale(*at, number)).collect(),
        Op::Image(at, image) => numbers(*image, 1).map(|number| Op::Image(*at, number)).collect(),
        Op::MinReady(at, seconds) => numbers(*seconds, 0).map(|number| Op::MinReady(*at, number)).collect(),
        Op::History(at, limit) => numbers(*limit, 0).map(|number| Op::History(*at, number)).collect(),
        Op::ScaleSet(set, replicas) => numbers(*replicas, 0).map(|number| Op::ScaleSet(*set, number)).collect(),
        Op::Ready(at, None) => vec![Op::Ready(*at, Some(1))],
        Op::Ready(at, Some(pods)) => numbers(*pods, 1).map(|number| Op::Ready(*at, Some(number))).collect(),
        Op::Unready(at, pods) => numbers(*pods, 1).map(|number| Op::Unready(*at, number)).collect(),
        Op::Fail(at, pods) => numbers(*pods, 1).map(|number| Op::Fail(*at, number)).collect(),
        Op::Advance(seconds) => numbers(*seconds, 1).map(Op::Advance).collect(),
        Op::Strategy(at, strategy) => smaller_strategies(*strategy).map(|it| Op::Strategy(*at, it)).collect(),
        Op::Together(one, two) => vec![(**one).clone(), (**two).clone()],
        Op::Restart(_) | Op::Undo(_) | Op::Pause(_) | Op::Resume(_) | Op::DeleteSet(_) => Vec::new(),
    }
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
    use crate::search::generate;

    #[test]
    fn what_is_smaller_is_another_program() {
        let mut chance = Chance::new(3);
        for _ in 0..20 {
            let program = generate(&mut chance);
            for smaller in smaller(&program) {
                assert_ne!(smaller, program);
            }
        }
    }

    #[test]
    fn shrinking_comes_to_an_end() {
        let mut program = generate(&mut Chance::new(5));
        let mut rounds = 0;
        while let Some(next) = smaller(&program).into_iter().next() {
            program = next;
            rounds += 1;
            assert!(rounds < 500, "{program:?}");
        }
        assert!(program.size() <= 2, "{program:?}");
    }
}
