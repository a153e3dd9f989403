//! Rollouts at the beginning of a program, which a controller remembers.
//!
//! What a controller makes of revisions, of the annotations of old ReplicaSets and of the time
//! since the last progress shows only after several rollouts, or after a rollout that goes on
//! between waits. Steps drawn one by one seldom come to that.

use kube_apiserver_sim::Chance;

use super::draw::{DEADLINES, TIMES, index, number, one_in};
use super::op::{Op, Write};
use super::program::{Program, Step};

/// Steps for a program about Deployments that has none yet.
pub(super) fn rollouts(program: &mut Program, chance: &mut Chance) {
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
    program.steps.extend(ops.into_iter().map(Step::from));
}

/// One rollout after the other: most of them complete, or none.
fn revisions(at: usize, chance: &mut Chance) -> Vec<Op> {
    let is_pending = one_in(chance, 3);
    let mut ops = Vec::new();
    for image in 2..=3 + number(chance, 1) {
        if one_in(chance, 2) {
            ops.push(Op::Write(at, Write::Annotate(1 + number(chance, 2))));
        }
        ops.push(Op::Write(at, Write::Image(image)));
        if !is_pending && !one_in(chance, 3) {
            ops.push(Op::Ready(at, None));
        }
    }
    ops
}

/// What is asked of revisions that were there before, if anything.
fn after_them(at: usize, chance: &mut Chance) -> Vec<Op> {
    let writes = match chance.below(4) {
        0 => vec![Write::RollBack(number(chance, 3))],
        1 => vec![Write::Undo(number(chance, 3))],
        2 => vec![Write::Pause, Write::History(number(chance, 2))],
        _ => Vec::new(),
    };
    writes.into_iter().map(|write| Op::Write(at, write)).collect()
}

/// A rollout in which time passes, less than a deadline or more, before a pod becomes ready.
fn with_waits(at: usize, chance: &mut Chance) -> Vec<Op> {
    let mut ops = vec![Op::Write(at, Write::Image(2))];
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
    use crate::search::{About, Areas, generate};

    /// How many of some drawn programs about Deployments begin with a step and have a later one.
    fn count(has: impl Fn(&Program) -> bool) -> usize {
        let (areas, mut chance) = (Areas::only(&[]), Chance::new(24));
        (0..800).filter(|_| has(&generate(About::Deployment, &areas, &mut chance))).count()
    }

    fn images(program: &Program) -> usize {
        program.steps.iter().filter(|step| matches!(step.op, Op::Write(_, Write::Image(_)))).count()
    }

    #[test]
    fn what_is_asked_of_older_revisions_comes_after_several() {
        let rolled_back = |step: &Step| matches!(step.op, Op::Write(_, Write::RollBack(_)));
        assert!(count(|program| images(program) > 1 && program.steps.iter().any(rolled_back)) >= 20);
        let limited = |pair: &[Step]| {
            matches!([&pair[0].op, &pair[1].op], [Op::Write(_, Write::Pause), Op::Write(_, Write::History(_))])
        };
        assert!(count(|program| images(program) > 1 && program.steps.windows(2).any(limited)) >= 20);
    }

    #[test]
    fn a_rollout_goes_on_within_its_deadline() {
        let goes_on = |steps: &[Step]| {
            let is_wait = |op: &Op| matches!(op, Op::Advance(60));
            is_wait(&steps[0].op) && matches!(steps[1].op, Op::Ready(_, Some(1))) && is_wait(&steps[2].op)
        };
        let in_time = |program: &Program| program.deployments.iter().any(|it| it.deadline == Some(90));
        assert!(count(|program| in_time(program) && program.steps.windows(3).any(goes_on)) >= 4);
    }
}
