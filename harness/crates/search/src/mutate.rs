//! Mutates a program in one or two places.

use kube_apimachinery::SeededRng;

use super::area::Areas;
use super::generate::{deployment, fault, step, write};
use super::initial::Focus;
use super::op::{Disruption, Op};
use super::pod_setup::name_pods;
use super::program::{CaseProgram, ProgramStep};
use super::random::{index, one_in};

/// The length of the longest mutated program.
const LONGEST: usize = 12;
/// How often to try again if a mutation is not a valid case.
const TRIES: usize = 20;

/// The known decisions of each step of a program, as `during` writes them.
pub(crate) type Decisions = Vec<Vec<String>>;

/// The program with one or several mutations, valid again; steps may be taken from `donor`.
/// Sometimes something happens in the middle of a decision that the program is known to cause.
pub(crate) fn mutate(
    (program, decisions): (&CaseProgram, &Decisions),
    donor: &CaseProgram,
    areas: &Areas,
    chance: &mut SeededRng,
) -> Option<CaseProgram> {
    (0..TRIES).find_map(|_| {
        let mut changed = program.clone();
        if one_in(chance, 5) {
            disturb(&mut changed, decisions, chance);
        }
        for _ in 0..=chance.below(3) {
            change(&mut changed, donor, chance);
        }
        (areas.allow_all(&changed) && changed.case().is_some()).then_some(changed)
    })
}

/// Add a disruption in the middle of a step.
fn disturb(program: &mut CaseProgram, decisions: &Decisions, chance: &mut SeededRng) {
    let at = index(chance, program.steps.len());
    let known = decisions.get(at).map_or(&[][..], Vec::as_slice);
    let disruption = if known.is_empty() || program.focus == Focus::ReplicaSet || one_in(chance, 3) {
        fault(program, chance)
    } else {
        let op = write(program, chance);
        Disruption::Decision(known[index(chance, known.len())].clone(), Box::new(op))
    };
    program.steps[at].disruption = Some(disruption);
}

fn change(program: &mut CaseProgram, donor: &CaseProgram, chance: &mut SeededRng) {
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
        // The first steps of one and the last of the other.
        9 if donor.deployments.len() == program.deployments.len() && donor.focus == program.focus => {
            let rest: Vec<ProgramStep> = donor.steps[index(chance, donor.steps.len())..].to_vec();
            program.steps.truncate(at + 1);
            program.steps.extend(rest);
            program.steps.truncate(LONGEST);
        }
        _ => program.steps[at] = step(program, chance),
    }
}

/// Give the named pods other traits.
fn rename(program: &mut CaseProgram, chance: &mut SeededRng) {
    for at in 0..program.steps.len() {
        if let Op::Name(set, pods) = &program.steps[at].op {
            let pods = u32::try_from(pods.len()).unwrap_or(u32::MAX);
            program.steps[at].op = name_pods(program, *set, pods, chance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn mutated_programs_are_valid_cases() {
        let (areas, mut chance) = (Areas::only(&[]), SeededRng::new(7));
        for focus in [Focus::Deployment, Focus::ReplicaSet, Focus::Both] {
            for _ in 0..60 {
                let (one, two) = (generate(focus, &areas, &mut chance), generate(focus, &areas, &mut chance));
                let decisions = vec![vec!["rs1 2 -> 1".to_owned()]];
                let Some(changed) = mutate((&one, &decisions), &two, &areas, &mut chance) else { continue };
                assert!(changed.case().is_some() && changed.steps.len() <= LONGEST, "{changed:?}");
            }
        }
    }
}
