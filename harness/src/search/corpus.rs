//! The programs that showed something new. What is played next is one of them, changed, or a new
//! one.

use std::collections::BTreeSet;

use kube_apiserver_sim::Chance;

use super::area::Areas;
use super::draw::{index, one_in};
use super::generate::generate;
use super::given::About;
use super::mutate::{Decisions, mutate};
use super::program::Program;

/// One of so many programs is new from the ground up.
const NEW: u64 = 4;
/// The same where pods are chosen among: what pods have, and which of them goes, is no kind of
/// behaviour, so that nothing tells a program apart that is worth changing.
const NEW_CHOICES: u64 = 2;

/// Programs about one thing, and all behaviour that was seen.
#[derive(Debug)]
pub struct Corpus {
    about: About,
    areas: Areas,
    kept: Vec<(Program, Decisions)>,
    seen: BTreeSet<String>,
}

impl Corpus {
    /// No program, nothing seen.
    #[must_use]
    pub fn new(about: About, areas: Areas) -> Self {
        Self { about, areas, kept: Vec::new(), seen: BTreeSet::new() }
    }

    /// The program to be played next.
    pub fn next(&self, chance: &mut Chance) -> Program {
        let new = if self.about == About::Deployment { NEW } else { NEW_CHOICES };
        if self.kept.is_empty() || one_in(chance, new) {
            return generate(self.about, &self.areas, chance);
        }
        // The younger half twice as often: behaviour that is rare was found late.
        let from = if one_in(chance, 3) { 0 } else { self.kept.len() / 2 };
        let (one, decisions) = &self.kept[from + index(chance, self.kept.len() - from)];
        let (other, _) = &self.kept[index(chance, self.kept.len())];
        let changed = mutate((one, decisions), other, &self.areas, chance);
        changed.unwrap_or_else(|| generate(self.about, &self.areas, chance))
    }

    /// Keep the program if it showed something new; how much of it was.
    pub fn take(&mut self, program: &Program, behaviour: BTreeSet<String>, decisions: Decisions) -> usize {
        let before = self.seen.len();
        self.seen.extend(behaviour);
        let new = self.seen.len() - before;
        if new > 0 {
            self.kept.push((program.clone(), decisions));
        }
        new
    }

    /// How many programs it holds, and how much behaviour was seen.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.kept.len(), self.seen.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_is_kept() {
        let mut corpus = Corpus::new(About::Deployment, Areas::only(&[]));
        let program = generate(About::Deployment, &Areas::only(&[]), &mut Chance::new(1));
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(corpus.take(&program, keys(&["a", "b"]), Vec::new()), 2);
        assert_eq!(corpus.take(&program, keys(&["b"]), Vec::new()), 0);
        assert_eq!(corpus.take(&program, keys(&["b", "c"]), Vec::new()), 1);
        assert_eq!(corpus.size(), (2, 3));
    }
}
