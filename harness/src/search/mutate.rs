//! A program changed in one or two places.

use kube_apiserver_sim::Chance;

use super::area::Areas;
use super::draw::{index, one_in};
use super::generate::{deployment, fault, step, write};
use super::given::About;
use super::op::Op;
use super::program::{Program, Step};
use super::scene::named;
use super::trouble::Trouble;

/// The longest program that a change makes.
const LONGEST: usize = 12;
/// How often a change is tried again that makes no valid case.
const TRIES: usize = 20;

/// What a program's plays have shown of it: the decisions of each of its steps, as `during` writes
/// them.
pub type Decisions = Vec<Vec<String>>;

/// The program with one change or several, valid again; another one's steps may come in. Now and
/// then something happens in the middle of one of the decisions that it is known to lead to.
pub fn mutate(
    (program, decisions): (&Program, &Decisions),
    other: &Program,
    areas: &Areas,
    chance: &mut Chance,
) -> Option<Program> {
    (0..TRIES).find_map(|_| {
        let mut changed = program.clone();
        if one_in(chance, 5) {
            disturb(&mut changed, decisions, chance);
        }
        for _ in 0..=chance.below(3) {
            change(&mut changed, other, chance);
        }
        (areas.allow_all(&changed) && changed.case().is_some()).then_some(changed)
    })
}

/// Something goes wrong in the middle of a step.
fn disturb(program: &mut Program, decisions: &Decisions, chance: &mut Chance) {
    let at = index(chance, program.steps.len());
    let known = decisions.get(at).map_or(&[][..], Vec::as_slice);
    let trouble = if known.is_empty() || program.about == About::ReplicaSet || one_in(chance, 3) {
        fault(program, chance)
    } else {
        let op = write(program, chance);
        Trouble::Decision(known[index(chance, known.len())].clone(), Box::new(op))
    };
    program.steps[at].trouble = Some(trouble);
}

fn change(program: &mut Program, other: &Program, chance: &mut Chance) {
    let at = index(chance, program.steps.len());
    match chance.below(10) {
        0..4 if program.steps.len() < LONGEST => {
            let step = step(program, chance);
            program.steps.insert(at, step);
        }
        4 if program.steps.len() > 1 => drop(program.steps.remove(at)),
        5 | 6 if program.steps.iter().any(|step| matches!(step.op, Op::Name(..))) => rename(program, chance),
        7 => {
            let of = index(chance, program.deployments.len());
            program.deployments[of] = deployment(chance);
        }
        8 if program.steps.len() > 1 => {
            let (one, two) = (at, index(chance, program.steps.len()));
            program.steps.swap(one, two);
        }
        // The first steps of one and the last of another.
        9 if other.deployments.len() == program.deployments.len() && other.about == program.about => {
            let rest: Vec<Step> = other.steps[index(chance, other.steps.len())..].to_vec();
            program.steps.truncate(at + 1);
            program.steps.extend(rest);
            program.steps.truncate(LONGEST);
        }
        _ => program.steps[at] = step(program, chance),
    }
}

/// Other traits for the pods that have names.
fn rename(program: &mut Program, chance: &mut Chance) {
    for at in 0..program.steps.len() {
        if let Op::Name(set, pods) = &program.steps[at].op {
            let pods = u32::try_from(pods.len()).unwrap_or(u32::MAX);
            program.steps[at].op = named(program, *set, pods, chance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::generate;

    #[test]
    fn what_is_changed_stays_a_valid_case() {
        let (areas, mut chance) = (Areas::only(&[]), Chance::new(7));
        for about in [About::Deployment, About::ReplicaSet, About::Both] {
            for _ in 0..60 {
                let (one, two) = (generate(about, &areas, &mut chance), generate(about, &areas, &mut chance));
                let decisions = vec![vec!["rs1 2 -> 1".to_owned()]];
                let Some(changed) = mutate((&one, &decisions), &two, &areas, &mut chance) else { continue };
                assert!(changed.case().is_some() && changed.steps.len() <= LONGEST, "{changed:?}");
            }
        }
    }
}
