//! What a case says of its named pods: which of them live on.
//!
//! A rule of the case, held against every recording, upstream's own too. Where upstream's order of
//! killing leaves it to chance (a tie that is broken by UIDs), the case accepts several sets, and
//! no timeline then says which it was. Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The sets of named pods that may be alive, each of which is right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expect(Vec<BTreeSet<String>>);

impl Expect {
    /// Any of these sets; one at least.
    pub fn any_of(sets: Vec<BTreeSet<String>>) -> Self {
        Self(sets)
    }

    /// Whether just these pods may be alive.
    pub fn holds(&self, alive: &BTreeSet<String>) -> bool {
        self.0.contains(alive)
    }

    /// The pods that one set has and another has not: what becomes of them is left to chance.
    pub fn uncertain(&self) -> BTreeSet<String> {
        let all = self.names();
        all.into_iter().filter(|name| !self.0.iter().all(|set| set.contains(name))).collect()
    }

    /// Every pod that it names.
    pub fn names(&self) -> BTreeSet<String> {
        self.0.iter().flatten().cloned().collect()
    }
}

impl fmt::Display for Expect {
    /// `a,b or a,c`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sets = self.0.iter().map(list);
        f.write_str(&sets.collect::<Vec<_>>().join(" or "))
    }
}

/// `a,b`; `none` where there is none.
pub fn list(names: &BTreeSet<String>) -> String {
    if names.is_empty() { "none".to_owned() } else { names.iter().cloned().collect::<Vec<_>>().join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(names: &str) -> BTreeSet<String> {
        names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn one_set_leaves_nothing_to_chance() {
        let expect = Expect::any_of(vec![set("a,b")]);
        assert!(expect.holds(&set("a,b")) && !expect.holds(&set("a")) && !expect.holds(&set("a,b,c")));
        assert_eq!((expect.uncertain(), expect.to_string().as_str()), (set(""), "a,b"));
    }

    #[test]
    fn what_the_sets_do_not_share_is_left_to_chance() {
        let expect = Expect::any_of(vec![set("a,b"), set("a,c")]);
        assert!(expect.holds(&set("a,c")) && !expect.holds(&set("b,c")));
        assert_eq!((expect.uncertain(), expect.to_string().as_str()), (set("b,c"), "a,b or a,c"));
        assert_eq!(Expect::any_of(vec![set("")]).to_string(), "none");
    }
}
