//! A program changed in one or two places.

use kube_apiserver_sim::Chance;

use super::generate::{deployment, index, step};
use super::program::{Program, Step};

/// The longest program that a change makes.
const LONGEST: usize = 12;

/// The program with one change or several, valid again; another one's steps may come in.
pub fn mutate(program: &Program, other: &Program, chance: &mut Chance) -> Program {
    loop {
        let mut changed = program.clone();
        for _ in 0..=chance.below(3) {
            change(&mut changed, other, chance);
        }
        if changed.case().is_some() {
            return changed;
        }
    }
}

fn change(program: &mut Program, other: &Program, chance: &mut Chance) {
    let deployments = program.deployments.len();
    let at = index(chance, program.steps.len());
    match chance.below(10) {
        0..4 if program.steps.len() < LONGEST => program.steps.insert(at, step(chance, deployments)),
        4 if program.steps.len() > 1 => drop(program.steps.remove(at)),
        5 | 6 => program.steps[at] = step(chance, deployments),
        7 => {
            let at = index(chance, deployments);
            program.deployments[at] = deployment(chance);
        }
        8 if program.steps.len() > 1 => {
            let (one, two) = (at, index(chance, program.steps.len()));
            program.steps.swap(one, two);
        }
        // The first steps of one and the last of another.
        _ if other.deployments.len() == deployments => {
            let rest: Vec<Step> = other.steps[index(chance, other.steps.len())..].to_vec();
            program.steps.truncate(at + 1);
            program.steps.extend(rest);
            program.steps.truncate(LONGEST);
        }
        _ => program.steps[at] = step(chance, deployments),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::generate;

    #[test]
    fn what_is_changed_stays_a_valid_case() {
        let mut chance = Chance::new(7);
        for _ in 0..200 {
            let (one, two) = (generate(&mut chance), generate(&mut chance));
            let changed = mutate(&one, &two, &mut chance);
            assert!(changed.case().is_some() && changed.steps.len() <= LONGEST, "{changed:?}");
        }
    }
}
