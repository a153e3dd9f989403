//! Evaluates the mutant bank: which mutants the cases kill, and which cases kill a mutant. Pure: it
//! plays nothing.
//!
//! A case *kills* a mutant if it finds it non-conformant; inconclusive does not count. A mutant
//! that survives every case of its controller shows a rule that no case pins. A case that kills no
//! mutant proves nothing, unless it has another purpose. The list of exceptions names such mutants
//! and cases with the reason, and an exception that does not apply is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lockstep_subject::Mutant;
use lockstep_support::outcome::Verdict;
use serde::Deserialize;

/// Mutants that may survive and cases that may kill none, each with the reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exceptions {
    /// Mutants that no case can distinguish from the unchanged controller.
    #[serde(default)]
    pub(super) survivors: BTreeMap<String, String>,
    /// Cases with another purpose than to pin a rule of a controller.
    #[serde(default)]
    pub(super) toothless: BTreeMap<String, String>,
}

/// The verdicts of cases on mutants.
#[derive(Debug, Clone, Default)]
pub(super) struct Matrix {
    /// For each mutant the verdicts of the cases, in play order.
    rows: Vec<(Mutant, Vec<(String, Verdict)>)>,
}

impl Matrix {
    /// Add the verdicts on one mutant, in the order of the cases.
    pub(super) fn add(&mut self, mutant: Mutant, outcomes: Vec<(String, Verdict)>) {
        self.rows.push((mutant, outcomes));
    }

    /// The number of killed mutants, and of all mutants.
    pub(super) fn killed(&self) -> (usize, usize) {
        (self.rows.iter().filter(|(_, outcomes)| killing_cases(outcomes).next().is_some()).count(), self.rows.len())
    }

    /// The faults of the bank and of the cases. `is_complete` says that every case was played with
    /// every mutant of its controllers; cases that kill none are reported only then.
    pub(super) fn faults(&self, exceptions: &Exceptions, is_complete: bool) -> Vec<String> {
        let mut faults = Vec::new();
        for (mutant, outcomes) in &self.rows {
            let is_excused = exceptions.survivors.contains_key(&mutant.name);
            match (killing_cases(outcomes).next(), is_excused) {
                (None, false) => {
                    faults.push(format!("{} survives: no case notices that it {}", mutant.name, mutant.behaviour));
                }
                (Some(case), true) => {
                    faults.push(format!("{} is listed as a survivor, but {case} kills it; take it off", mutant.name));
                }
                _ => {}
            }
        }
        if !is_complete {
            return faults;
        }
        let all: BTreeSet<&str> =
            self.rows.iter().flat_map(|(_, outcomes)| outcomes).map(|(case, _)| case.as_str()).collect();
        let killers: BTreeSet<&str> = self.rows.iter().flat_map(|(_, outcomes)| killing_cases(outcomes)).collect();
        for case in &all {
            match (killers.contains(case), exceptions.toothless.contains_key(*case)) {
                (false, false) => faults.push(format!("{case} kills no mutant")),
                (true, true) => faults.push(format!("{case} is listed as toothless, but kills; take it off")),
                _ => {}
            }
        }
        let stale = exceptions.toothless.keys().filter(|case| !all.contains(case.as_str()));
        faults.extend(stale.map(|case| format!("{case} is listed as toothless, and no such case was played")));
        faults
    }

    /// A row for each mutant: the number of cases that kill it, and the first of them.
    pub(super) fn table(&self, exceptions: &Exceptions) -> String {
        let width = self.rows.iter().map(|(mutant, _)| mutant.name.len()).max().unwrap_or(0);
        let mut out = String::new();
        for (mutant, outcomes) in &self.rows {
            let (count, of) = (killing_cases(outcomes).count(), outcomes.len());
            let inconclusive = outcomes.iter().filter(|(_, verdict)| *verdict == Verdict::Inconclusive).count();
            let inconclusive = if inconclusive > 0 { format!(", {inconclusive} inconclusive") } else { String::new() };
            let first = match (killing_cases(outcomes).next(), exceptions.survivors.get(&mutant.name)) {
                (Some(case), _) => case.to_owned(),
                (None, Some(reason)) => format!("survives: {reason}"),
                (None, None) => format!("SURVIVES: it {}", mutant.behaviour),
            };
            writeln!(out, "{:width$}  {count:>3} of {of:>3}{inconclusive}  {first}", mutant.name)
                .expect("a String takes all");
        }
        out
    }
}

/// The cases that kill the mutant, in order.
fn killing_cases(outcomes: &[(String, Verdict)]) -> impl Iterator<Item = &str> {
    outcomes.iter().filter(|(_, verdict)| *verdict == Verdict::NonConformant).map(|(case, _)| case.as_str())
}

#[cfg(test)]
mod tests {
    use lockstep_recording::controllers::Controller;
    use lockstep_support::outcome::Verdict::{Conformant, Inconclusive, NonConformant};

    use super::*;

    fn mutant(name: &str) -> Mutant {
        Mutant { name: name.to_owned(), controller: Controller::Deployment, behaviour: "waits for nothing".to_owned() }
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
    fn only_non_conformant_verdict_kills_mutant() {
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
    fn exceptions_that_do_not_apply_are_faults() {
        let valid = exceptions("survivors: {alive: same}\ntoothless: {a/one: x, a/three: y}\n");
        assert_eq!(matrix().faults(&valid, true), [""; 0]);
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
    fn table_names_first_case_that_kills() {
        insta::assert_snapshot!(matrix().table(&exceptions("survivors: {}\n")), @r"
        dead     1 of   3  a/two
        alive    0 of   3, 1 inconclusive  SURVIVES: it waits for nothing
        ");
    }
}
