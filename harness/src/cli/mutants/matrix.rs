//! Evaluates the mutant bank: which mutants the cases kill, and which cases kill a mutant. Pure: it
//! plays nothing.
//!
//! A case *kills* a mutant if it finds it non-conformant; inconclusive does not count. A mutant
//! that survives every case of its controller shows a rule that no case pins. A case that kills no
//! mutant proves nothing, unless it has another purpose. `harness/tests/mutants.yaml` says what is
//! expected: which case kills which mutant, and the mutants and cases that are exceptions, with the
//! reason. What it says and does not apply is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use lockstep_subject::Mutant;
use lockstep_support::outcome::Verdict;
use lockstep_support::pluralize;
use serde::Deserialize;

/// What is expected of the bank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BankExpectations {
    /// For each mutant cases that kill it.
    #[serde(default)]
    pub(super) kills: BTreeMap<String, Vec<String>>,
    /// Mutants that no case can distinguish from the unchanged controller.
    #[serde(default)]
    pub(super) survivors: BTreeMap<String, String>,
    /// Cases with another purpose than to pin a rule of a controller.
    #[serde(default)]
    pub(super) toothless: BTreeMap<String, String>,
}

impl BankExpectations {
    /// The cases that are expected to kill this mutant.
    pub(super) fn kills(&self, mutant: &str) -> &[String] {
        self.kills.get(mutant).map_or(&[], Vec::as_slice)
    }
}

/// What was played.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlayedScope {
    /// Every mutant of the bank.
    pub(super) all_mutants: bool,
    /// Every case.
    pub(super) all_cases: bool,
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

    /// The faults of the bank and of the cases. A mutant survives only if all cases were played,
    /// and a case kills none only if all mutants were.
    pub(super) fn faults(&self, expected: &BankExpectations, scope: PlayedScope) -> Vec<String> {
        let mut faults = Vec::new();
        for (mutant, outcomes) in &self.rows {
            let is_excused = expected.survivors.contains_key(&mutant.name);
            match (killing_cases(outcomes).next(), is_excused) {
                (None, false) if scope.all_cases => {
                    faults.push(format!("{} survives: no case notices that it {}", mutant.name, mutant.behaviour));
                }
                (Some(case), true) => {
                    faults.push(format!("{} is listed as a survivor, but {case} kills it; take it off", mutant.name));
                }
                _ => {}
            }
            let listed = expected.kills(&mutant.name);
            for (case, verdict) in outcomes {
                match (listed.contains(case), verdict) {
                    (true, Verdict::Conformant | Verdict::Inconclusive) => faults.push(format!(
                        "{case} is listed as killing {}, and finds it {verdict}; take it off",
                        mutant.name
                    )),
                    (false, Verdict::NonConformant) if scope.all_cases && !is_excused => {
                        faults.push(format!("{case} kills {}; list it", mutant.name));
                    }
                    _ => {}
                }
            }
        }
        if !scope.all_mutants {
            return faults;
        }
        let all: BTreeSet<&str> =
            self.rows.iter().flat_map(|(_, outcomes)| outcomes).map(|(case, _)| case.as_str()).collect();
        let killers: BTreeSet<&str> = self.rows.iter().flat_map(|(_, outcomes)| killing_cases(outcomes)).collect();
        for case in &all {
            match (killers.contains(case), expected.toothless.contains_key(*case)) {
                (false, false) => faults.push(format!("{case} kills no mutant")),
                (true, true) => faults.push(format!("{case} is listed as toothless, but kills; take it off")),
                _ => {}
            }
        }
        if scope.all_cases {
            let listed = expected.toothless.keys().chain(expected.kills.values().flatten());
            let stale = listed.filter(|case| !all.contains(case.as_str()));
            faults.extend(stale.map(|case| format!("{case} is listed, and no such case was played")));
            let known: BTreeSet<&str> = self.rows.iter().map(|(mutant, _)| mutant.name.as_str()).collect();
            let stale =
                expected.survivors.keys().chain(expected.kills.keys()).filter(|name| !known.contains(name.as_str()));
            faults.extend(stale.map(|name| format!("{name} is listed, and there is no such mutant")));
        }
        faults
    }

    /// A row for each mutant: the first case that kills it. If some cases were left out, mutants
    /// that none kills are left out, too.
    pub(super) fn table(&self, expected: &BankExpectations, scope: PlayedScope) -> String {
        let width = self.rows.iter().map(|(mutant, _)| mutant.name.len()).max().unwrap_or(0);
        let mut out = String::new();
        for (mutant, outcomes) in &self.rows {
            let row = match (killing_cases(outcomes).next(), expected.survivors.get(&mutant.name)) {
                (Some(case), _) => case.to_owned(),
                _ if !scope.all_cases => continue,
                (None, Some(reason)) => format!("survives: {reason}"),
                (None, None) => {
                    let inconclusive = outcomes.iter().filter(|(_, verdict)| *verdict == Verdict::Inconclusive).count();
                    let of = pluralize(outcomes.len(), "case");
                    format!("SURVIVES: it {}; {of}, {inconclusive} inconclusive", mutant.behaviour)
                }
            };
            writeln!(out, "{:width$}  {row}", mutant.name).expect("a String takes all");
        }
        out
    }
}

/// The cases that kill the mutant, in order.
pub(super) fn killing_cases(outcomes: &[(String, Verdict)]) -> impl Iterator<Item = &str> {
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

    fn expected(text: &str) -> BankExpectations {
        serde_saphyr::from_str(text).unwrap()
    }

    /// The faults if everything was played.
    fn faults(text: &str) -> Vec<String> {
        matrix().faults(&expected(text), PlayedScope { all_mutants: true, all_cases: true })
    }

    #[test]
    fn only_non_conformant_verdict_kills_mutant() {
        let listed = "kills: {dead: [a/two]}\n";
        let survives = "alive survives: no case notices that it waits for nothing";
        let toothless = ["a/one kills no mutant", "a/three kills no mutant"];
        assert_eq!(faults(listed), [survives, toothless[0], toothless[1]]);
        let some_mutants = PlayedScope { all_mutants: false, all_cases: true };
        assert_eq!(matrix().faults(&expected(listed), some_mutants), [survives]);
        let some_cases = PlayedScope { all_mutants: true, all_cases: false };
        assert_eq!(matrix().faults(&expected(listed), some_cases), toothless);
        assert_eq!(matrix().killed(), (1, 2));
    }

    #[test]
    fn what_is_listed_and_does_not_apply_is_a_fault() {
        let exceptions = "survivors: {alive: same}\ntoothless: {a/one: x, a/three: y}\n";
        assert_eq!(faults(&format!("kills: {{dead: [a/two]}}\n{exceptions}")), [""; 0]);
        assert_eq!(faults(exceptions), ["a/two kills dead; list it"]);
        assert_eq!(
            faults(&format!("kills: {{dead: [a/one, a/two, a/four], gone: [a/two]}}\n{exceptions}")),
            [
                "a/one is listed as killing dead, and finds it conformant; take it off",
                "a/four is listed, and no such case was played",
                "gone is listed, and there is no such mutant",
            ]
        );
        assert_eq!(
            faults(
                "kills: {dead: [a/two]}\nsurvivors: {alive: same, dead: no}\ntoothless: {a/one: x, a/two: y, a/three: z}\n"
            ),
            [
                "dead is listed as a survivor, but a/two kills it; take it off",
                "a/two is listed as toothless, but kills; take it off",
            ]
        );
    }

    #[test]
    fn table_names_first_case_that_kills() {
        let nothing = BankExpectations::default();
        let some_cases = PlayedScope { all_mutants: true, all_cases: false };
        assert_eq!(matrix().table(&nothing, some_cases), "dead   a/two\n");
        insta::assert_snapshot!(matrix().table(&nothing, PlayedScope { all_cases: true, ..some_cases }), @r"
        dead   a/two
        alive  SURVIVES: it waits for nothing; 3 cases, 1 inconclusive
        ");
    }
}
