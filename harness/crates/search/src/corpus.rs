//! The programs that had new behaviour. The next program is a mutation of one of them, or a random
//! one.

use std::collections::BTreeSet;

use kube_apiserver_sim::SeededRng;

use super::area::Areas;
use super::generate::generate;
use super::initial::Focus;
use super::mutate::{Decisions, mutate};
use super::program::CaseProgram;
use super::random::{index, one_in};

/// One of this many programs is random.
const NEW: u64 = 4;
/// The same for programs in which a controller chooses pods: traits and choices of pods are not
/// part of the behaviour, so it does not show which programs are worth mutating.
const NEW_CHOICES: u64 = 2;

/// Programs with one focus, and all behaviour so far.
#[derive(Debug)]
pub(crate) struct Corpus {
    focus: Focus,
    areas: Areas,
    programs: Vec<(CaseProgram, Decisions)>,
    known_behaviour: BTreeSet<String>,
}

impl Corpus {
    /// An empty corpus.
    #[must_use]
    pub(crate) fn new(focus: Focus, areas: Areas) -> Self {
        Self { focus, areas, programs: Vec::new(), known_behaviour: BTreeSet::new() }
    }

    /// The next program to run.
    pub(crate) fn next(&self, chance: &mut SeededRng) -> CaseProgram {
        let new = if self.focus == Focus::Deployment { NEW } else { NEW_CHOICES };
        if self.programs.is_empty() || one_in(chance, new) {
            return generate(self.focus, &self.areas, chance);
        }
        // The younger half twice as often: rare behaviour is found late.
        let from = if one_in(chance, 3) { 0 } else { self.programs.len() / 2 };
        let (one, decisions) = &self.programs[from + index(chance, self.programs.len() - from)];
        let (other, _) = &self.programs[index(chance, self.programs.len())];
        let changed = mutate((one, decisions), other, &self.areas, chance);
        changed.unwrap_or_else(|| generate(self.focus, &self.areas, chance))
    }

    /// Add the program if it had new behaviour; returns how many of its keys are new.
    pub(crate) fn take(&mut self, program: &CaseProgram, behaviour: BTreeSet<String>, decisions: Decisions) -> usize {
        let before = self.known_behaviour.len();
        self.known_behaviour.extend(behaviour);
        let new = self.known_behaviour.len() - before;
        if new > 0 {
            self.programs.push((program.clone(), decisions));
        }
        new
    }

    /// The number of programs, and the number of known keys.
    #[must_use]
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.programs.len(), self.known_behaviour.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_programs_with_new_behaviour() {
        let mut corpus = Corpus::new(Focus::Deployment, Areas::only(&[]));
        let program = generate(Focus::Deployment, &Areas::only(&[]), &mut SeededRng::new(1));
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(corpus.take(&program, keys(&["a", "b"]), Vec::new()), 2);
        assert_eq!(corpus.take(&program, keys(&["b"]), Vec::new()), 0);
        assert_eq!(corpus.take(&program, keys(&["b", "c"]), Vec::new()), 1);
        assert_eq!(corpus.size(), (2, 3));
    }
}
