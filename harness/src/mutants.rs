//! Wrong controllers held against cases: what the outcomes come to. Pure; `cli::mutants` plays
//! them.
//!
//! A mutant is *killed* by a case that finds it non-conformant; inconclusive does not count. One
//! that survives every case of its controller shows a rule that no case pins. A case that kills
//! none shows nothing, unless it is there for something else: then the list of exceptions says what
//! for, and the list must be true, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Deserialize;

use crate::controllers::Controller;
use crate::outcome::Verdict;

/// A controller with one rule flipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mutant {
    /// What it is called.
    pub name: String,
    /// Whose rule it flips.
    pub of: Controller,
    /// What it then does, after "it".
    pub does: String,
}

/// Who may survive and which cases may kill none, each with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exceptions {
    /// Mutants that no case can tell from the right controller.
    #[serde(default)]
    pub survivors: BTreeMap<String, String>,
    /// Cases that are there for something else than the rules of a controller.
    #[serde(default)]
    pub toothless: BTreeMap<String, String>,
}

/// What became of mutants on cases.
#[derive(Debug, Clone, Default)]
pub struct Matrix {
    /// By mutant, the cases in the order in which they were played.
    rows: Vec<(Mutant, Vec<(String, Verdict)>)>,
}

impl Matrix {
    /// One mutant's outcomes, in the order of the cases.
    pub fn add(&mut self, mutant: Mutant, outcomes: Vec<(String, Verdict)>) {
        self.rows.push((mutant, outcomes));
    }

    /// How many mutants were killed, of how many.
    #[must_use]
    pub fn killed(&self) -> (usize, usize) {
        (self.rows.iter().filter(|(_, outcomes)| kills(outcomes).next().is_some()).count(), self.rows.len())
    }

    /// What is wrong with bank or cases; `whole`: every case was played with every mutant of its
    /// controllers.
    #[must_use]
    pub fn faults(&self, exceptions: &Exceptions, whole: bool) -> Vec<String> {
        let mut faults = Vec::new();
        for (mutant, outcomes) in &self.rows {
            let excused = exceptions.survivors.contains_key(&mutant.name);
            match (kills(outcomes).next(), excused) {
                (None, false) => {
                    faults.push(format!("{} survives: no case notices that it {}", mutant.name, mutant.does));
                }
                (Some(case), true) => {
                    faults.push(format!("{} is listed as a survivor, but {case} kills it; take it off", mutant.name));
                }
                _ => {}
            }
        }
        if !whole {
            return faults;
        }
        let all: BTreeSet<&str> =
            self.rows.iter().flat_map(|(_, outcomes)| outcomes).map(|(case, _)| case.as_str()).collect();
        let killers: BTreeSet<&str> = self.rows.iter().flat_map(|(_, outcomes)| kills(outcomes)).collect();
        for case in &all {
            match (killers.contains(case), exceptions.toothless.contains_key(*case)) {
                (false, false) => faults.push(format!("{case} kills no mutant")),
                (true, true) => faults.push(format!("{case} is listed as toothless, but kills; take it off")),
                _ => {}
            }
        }
        let gone = exceptions.toothless.keys().filter(|case| !all.contains(case.as_str()));
        faults.extend(gone.map(|case| format!("{case} is listed as toothless, and no such case was played")));
        faults
    }

    /// Mutants down: by how many cases each is killed, and by which first.
    #[must_use]
    pub fn table(&self, exceptions: &Exceptions) -> String {
        let width = self.rows.iter().map(|(mutant, _)| mutant.name.len()).max().unwrap_or(0);
        let mut out = String::new();
        for (mutant, outcomes) in &self.rows {
            let (count, of) = (kills(outcomes).count(), outcomes.len());
            let unsure = outcomes.iter().filter(|(_, verdict)| *verdict == Verdict::Inconclusive).count();
            let unsure = if unsure > 0 { format!(", {unsure} inconclusive") } else { String::new() };
            let first = match (kills(outcomes).next(), exceptions.survivors.get(&mutant.name)) {
                (Some(case), _) => case.to_owned(),
                (None, Some(reason)) => format!("survives: {reason}"),
                (None, None) => format!("SURVIVES: it {}", mutant.does),
            };
            writeln!(out, "{:width$}  {count:>3} of {of:>3}{unsure}  {first}", mutant.name)
                .expect("a String takes all");
        }
        out
    }
}

/// The cases that kill, in their order.
fn kills(outcomes: &[(String, Verdict)]) -> impl Iterator<Item = &str> {
    outcomes.iter().filter(|(_, verdict)| *verdict == Verdict::NonConformant).map(|(case, _)| case.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Verdict::{Conformant, Inconclusive, NonConformant};

    fn mutant(name: &str) -> Mutant {
        Mutant { name: name.to_owned(), of: Controller::Deployment, does: "waits for nothing".to_owned() }
    }

    fn matrix() -> Matrix {
        let outcomes = |verdicts: [Verdict; 3]| {
            ["a/one", "a/two", "a/three"].map(str::to_owned).into_iter().zip(verdicts).collect()
        };
        let mut matrix = Matrix::default();
        matrix.add(mutant("dead"), outcomes([Conformant, NonConformant, Conformant]));
        matrix.add(mutant("alive"), outcomes([Conformant, Conformant, Inconclusive]));
        matrix
    }

    fn exceptions(text: &str) -> Exceptions {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn only_non_conformant_kills() {
        let expected = [
            "alive survives: no case notices that it waits for nothing",
            "a/one kills no mutant",
            "a/three kills no mutant",
        ];
        assert_eq!(matrix().faults(&Exceptions::default(), true), expected);
        assert_eq!(matrix().faults(&Exceptions::default(), false), expected[..1]);
        assert_eq!(matrix().killed(), (1, 2));
    }

    #[test]
    fn exceptions_have_reasons_and_must_be_true() {
        let excused = exceptions("survivors: {alive: same}\ntoothless: {a/one: x, a/three: y}\n");
        assert_eq!(matrix().faults(&excused, true), [""; 0]);
        let stale =
            exceptions("survivors: {alive: same, dead: no}\ntoothless: {a/one: x, a/two: y, a/three: z, a/four: z}\n");
        assert_eq!(
            matrix().faults(&stale, true),
            [
                "dead is listed as a survivor, but a/two kills it; take it off",
                "a/two is listed as toothless, but kills; take it off",
                "a/four is listed as toothless, and no such case was played",
            ]
        );
    }

    #[test]
    fn the_table_names_the_first_killer() {
        insta::assert_snapshot!(matrix().table(&exceptions("survivors: {}\n")), @r"
        dead     1 of   3  a/two
        alive    0 of   3, 1 inconclusive  SURVIVES: it waits for nothing
        ");
    }
}
