//! Initial rollouts of a program, which a controller remembers.
//!
//! How a controller handles revisions, the annotations of old ReplicaSets and the time since the
//! last progress shows only after several rollouts, or during a rollout with waits. Independent
//! random steps rarely produce these.

use kube_apiserver_sim::SeededRng;

use super::op::{DeploymentWrite, Op};
use super::program::{CaseProgram, ProgramStep};
use super::random::{DEADLINES, TIMES, index, number, one_in};

/// Add rollouts to a program about Deployments without steps.
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
    use crate::{Areas, Focus, generate};

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
