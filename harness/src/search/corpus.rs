//! The programs that showed something new. What is played next is one of them, changed, or a new one.

use std::collections::BTreeSet;

use kube_apiserver_sim::Chance;

use super::generate::{generate, index};
use super::mutate::mutate;
use super::program::Program;

/// One of so many programs is new from the ground up.
const NEW: u64 = 4;

/// Programs, and all behaviour that was seen.
#[derive(Debug, Default)]
pub struct Corpus {
    kept: Vec<Program>,
    seen: BTreeSet<String>,
}

impl Corpus {
    /// The program to be played next.
    pub fn next(&self, chance: &mut Chance) -> Program {
        if self.kept.is_empty() || chance.below(NEW) == 0 {
            return generate(chance);
        }
        // The younger half twice as often: behaviour that is rare was found late.
        let from = if chance.below(3) == 0 { 0 } else { self.kept.len() / 2 };
        let one = &self.kept[from + index(chance, self.kept.len() - from)];
        let other = &self.kept[index(chance, self.kept.len())];
        mutate(one, other, chance)
    }

    /// Keep the program if it showed something new; how much of it was.
    pub fn take(&mut self, program: &Program, behaviour: BTreeSet<String>) -> usize {
        let before = self.seen.len();
        self.seen.extend(behaviour);
        let new = self.seen.len() - before;
        if new > 0 {
            self.kept.push(program.clone());
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
        let mut corpus = Corpus::default();
        let program = generate(&mut Chance::new(1));
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(corpus.take(&program, keys(&["a", "b"])), 2);
        assert_eq!(corpus.take(&program, keys(&["b"])), 0);
        assert_eq!(corpus.take(&program, keys(&["b", "c"])), 1);
        assert_eq!(corpus.size(), (2, 3));
    }
}
