//! Random programs. Small numbers come more often: most of what two controllers can differ in shows
//! with a few pods.

use kube_apiserver_sim::Chance;

use super::program::{Bound, Deployment, Op, Program, Step, Strategy};

/// The longest program that is drawn.
const LONGEST: u64 = 9;
/// Kinds whose events can be held back; steps write the first.
const KINDS: [&str; 3] = ["deployments", "replicasets", "pods"];

/// A program that is a valid case.
pub fn generate(chance: &mut Chance) -> Program {
    loop {
        let program = drawn(chance);
        if program.case().is_some() {
            return program;
        }
    }
}

/// A program, valid or not: whether there is a pod for a step depends on all steps before it.
fn drawn(chance: &mut Chance) -> Program {
    let several = chance.below(8) == 0;
    let deployments = (0..=usize::from(several)).map(|_| deployment(chance)).collect::<Vec<_>>();
    let length = 2 + chance.below(LONGEST - 1);
    let steps = (0..length).map(|_| step(chance, deployments.len())).collect();
    Program { deployments, steps }
}

/// A Deployment.
pub(super) fn deployment(chance: &mut Chance) -> Deployment {
    let rare = |chance: &mut Chance, most: u64, value: u64| (chance.below(most) == 0).then(|| number(chance, value));
    Deployment {
        replicas: number(chance, 10),
        strategy: strategy(chance),
        min_ready: rare(chance, 5, 12).unwrap_or(0),
        deadline: rare(chance, 5, 60).map(|seconds| seconds + 30),
        history: rare(chance, 5, 3),
    }
}

/// A step.
pub(super) fn step(chance: &mut Chance, deployments: usize) -> Step {
    let held = (chance.below(8) == 0).then(|| {
        let kind = KINDS[index(chance, KINDS.len())];
        let another = kind != KINDS[0] && chance.below(2) == 0;
        (kind, another.then(|| Box::new(write(chance, deployments))))
    });
    let at = index(chance, deployments);
    let op = match (&held, chance.below(20)) {
        // What is held back has to change: only a write of a user's is sure to do that.
        (Some(_), _) => write(chance, deployments),
        (None, 0..8) => write(chance, deployments),
        (None, 8..12) => Op::Ready(at, (chance.below(2) == 0).then(|| 1 + number(chance, 3))),
        (None, 12) => Op::Ready(at, None),
        (None, 13) => Op::Unready(at, 1 + number(chance, 2)),
        (None, 14) => Op::Fail(at, 1 + number(chance, 2)),
        (None, 15) => Op::ScaleSet(1 + number(chance, 2), number(chance, 8)),
        (None, 16) => Op::DeleteSet(1 + number(chance, 2)),
        (None, 17..19) => Op::Advance([1, 5, 15, 65, 700][index(chance, 5)]),
        (None, _) => Op::Together(Box::new(write(chance, deployments)), Box::new(write(chance, deployments))),
    };
    Step { op, held }
}

/// What a user writes into a Deployment.
fn write(chance: &mut Chance, deployments: usize) -> Op {
    let at = index(chance, deployments);
    match chance.below(24) {
        0..9 => Op::Image(at, 1 + number(chance, 4)),
        9..15 => Op::Scale(at, number(chance, 12)),
        15 => Op::Restart(at),
        16 => Op::Undo(at),
        17 => Op::Pause(at),
        18 | 19 => Op::Resume(at),
        20 | 21 => Op::Strategy(at, strategy(chance)),
        22 => Op::MinReady(at, number(chance, 10)),
        _ => Op::History(at, number(chance, 3)),
    }
}

/// A strategy that the API server accepts: not both bounds 0.
fn strategy(chance: &mut Chance) -> Strategy {
    if chance.below(6) == 0 {
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
        bound => bound,
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

/// A place in a list of so many.
pub(super) fn index(chance: &mut Chance, length: usize) -> usize {
    let length = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
    usize::try_from(chance.below(length)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_programs_are_valid_at_once() {
        let mut chance = Chance::new(24);
        let valid = (0..500).filter(|_| drawn(&mut chance).case().is_some()).count();
        assert!(valid > 250, "{valid} of 500");
    }

    #[test]
    fn a_seed_repeats_its_programs() {
        let draw = |seed| (0..20).scan(Chance::new(seed), |chance, _| Some(generate(chance))).collect::<Vec<_>>();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
