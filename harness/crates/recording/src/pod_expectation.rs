//! A case's expectation about its named pods: which of them stay alive.
//!
//! It is a rule of the case, which every recording must fulfil, including upstream's own. If
//! upstream's choice is left to chance (a tie that is broken by UIDs), the case accepts several
//! sets, and no timeline depends on which it was. Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The sets of named pods that may be alive; each of them is accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodExpectation(Vec<BTreeSet<String>>);

impl PodExpectation {
    /// Accepts any of these sets; there must be at least one.
    pub fn any_of(sets: Vec<BTreeSet<String>>) -> Self {
        Self(sets)
    }

    /// Whether exactly these pods may be alive.
    pub fn allows(&self, alive: &BTreeSet<String>) -> bool {
        self.0.contains(alive)
    }

    /// The pods that are in some sets and not in others: their fate is left to chance.
    pub fn uncertain_names(&self) -> BTreeSet<String> {
        let all = self.names();
        all.into_iter().filter(|name| !self.0.iter().all(|set| set.contains(name))).collect()
    }

    /// Every pod that it names.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.0.iter().flatten().cloned().collect()
    }
}

impl fmt::Display for PodExpectation {
    /// `a,b or a,c`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sets = self.0.iter().map(join_names);
        f.write_str(&sets.collect::<Vec<_>>().join(" or "))
    }
}

/// `a,b`; `none` for an empty set.
pub fn join_names(names: &BTreeSet<String>) -> String {
    if names.is_empty() { "none".to_owned() } else { names.iter().cloned().collect::<Vec<_>>().join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &str) -> BTreeSet<String> {
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn single_set_has_no_uncertain_names() {
        let expect = PodExpectation::any_of(vec![set("a,b")]);
        assert!(expect.allows(&set("a,b")) && !expect.allows(&set("a")) && !expect.allows(&set("a,b,c")));
        assert_eq!((expect.uncertain_names(), expect.to_string().as_str()), (set(""), "a,b"));
    }

    #[test]
    fn names_outside_of_a_set_are_uncertain() {
        let expect = PodExpectation::any_of(vec![set("a,b"), set("a,c")]);
        assert!(expect.allows(&set("a,c")) && !expect.allows(&set("b,c")));
        assert_eq!((expect.uncertain_names(), expect.to_string().as_str()), (set("b,c"), "a,b or a,c"));
        assert_eq!(PodExpectation::any_of(vec![set("")]).to_string(), "none");
    }
}
