//! Compares the table in `cases/requirements.yaml` with the existing cases and tests.
//!
//! A requirement is one sentence about what a controller does, with its source. It is pinned by
//! cases, or by unit tests where no case can reach it; `unreachable` gives the reason where neither
//! can pin it. A requirement that could be pinned but is not yet is `open`; open requirements are
//! counted and listed. This module does no I/O: `cli::coverage` reads the files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Deserialize;

use super::collection_size::{CollectionSize, is_of_restarts};
use super::filter::matches_pattern;
use super::model::Case;

/// The table's file, under the folder of the cases.
pub const FILE: &str = "requirements.yaml";

/// One entry of the table: something that a controller does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequirementEntry {
    /// Its name: `rolling-surge-rounds-up`.
    pub id: String,
    /// The sentence.
    #[serde(rename = "says")]
    pub text: String,
    /// The document and section that states it: `upstream 2.16`, `config-restart 9`.
    pub source: String,
    /// How much it matters.
    pub level: RequirementLevel,
    /// The file of the rule that implements it, from the repository's root.
    #[serde(default)]
    pub code: Option<String>,
    /// The cases that pin it. `area/name` stands for the case of each restart profile, `*` in a
    /// name for any characters.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The unit tests that pin it: `FILE::FUNCTION`, the file from the repository's root.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Why it cannot be observed from outside.
    #[serde(default)]
    pub unreachable: Option<String>,
    /// Why nothing pins it yet. Ignored as soon as one of its cases exists.
    #[serde(default)]
    pub open: Option<String>,
}

/// How much a requirement matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RequirementLevel {
    /// Upstream or its tests specify it.
    Must,
    /// This project's improvement, which no upstream specifies.
    Should,
    /// Looks like a mistake, but is what upstream does.
    Quirk,
}

/// What pins a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pin {
    /// At least one case.
    Case,
    /// Only unit tests.
    Test,
    /// Nothing can pin it.
    Unreachable,
    /// Nothing pins it yet, and the entry gives a reason.
    Open,
    /// Nothing pins it, and the entry gives no reason.
    Unpinned,
}

impl RequirementLevel {
    /// All levels, the strictest first.
    pub(crate) const ALL: [Self; 3] = [Self::Must, Self::Should, Self::Quirk];

    /// The word in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Quirk => "quirk",
        }
    }
}

impl RequirementEntry {
    #[must_use]
    pub(crate) fn pin(&self) -> Pin {
        if !self.cases.is_empty() {
            Pin::Case
        } else if !self.tests.is_empty() {
            Pin::Test
        } else if self.unreachable.is_some() {
            Pin::Unreachable
        } else if self.open.is_some() {
            Pin::Open
        } else {
            Pin::Unpinned
        }
    }
}

/// Read the table.
///
/// # Errors
/// The parser's message, with line and column.
pub fn parse(text: &str) -> Result<Vec<RequirementEntry>, String> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

/// The requirements of a table that a case pins.
#[must_use]
pub fn requirements_of(table: &[RequirementEntry], case: &str) -> Vec<RequirementEntry> {
    let table = resolve(table.to_vec(), &BTreeSet::from([case.to_owned()]));
    table.into_iter().filter(|one| one.cases.iter().any(|pin| pin == case)).collect()
}

/// Replaces the patterns of the table by the cases that match them. An `open` requirement is closed
/// as soon as one of its cases exists.
#[must_use]
pub fn resolve(mut table: Vec<RequirementEntry>, cases: &BTreeSet<String>) -> Vec<RequirementEntry> {
    for requirement in &mut table {
        let mut existing = Vec::new();
        for pattern in &requirement.cases {
            let is_meant = |case: &&String| match pattern.contains('*') {
                true => matches_pattern(pattern, case),
                false => is_of_file(case, pattern),
            };
            let matching: Vec<&String> = cases.iter().filter(is_meant).collect();
            if matching.is_empty() && requirement.open.is_none() {
                existing.push(pattern.clone());
            }
            existing.extend(matching.into_iter().cloned());
        }
        if !existing.is_empty() {
            requirement.open = requirement.open.take().filter(|reason| reason.trim().is_empty());
        }
        requirement.cases = existing;
    }
    table
}

/// Whether a case comes from this file: the file's only case, or one for a restart profile
/// (`area/name@safe` of `area/name`).
fn is_of_file(case: &str, file: &str) -> bool {
    case.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

/// The mistakes in a resolved table: pins that do not exist, requirements without a pin, and cases
/// that no requirement names.
#[must_use]
pub fn faults(
    table: &[RequirementEntry],
    cases: &BTreeSet<String>,
    is_test: impl Fn(&str) -> bool,
    is_file: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut ids = BTreeSet::new();
    for requirement in table {
        let id = &requirement.id;
        if !ids.insert(id) {
            faults.push(format!("{id} is listed twice"));
        }
        if requirement.text.trim().is_empty() || requirement.source.trim().is_empty() {
            faults.push(format!("{id} has no sentence or no source"));
        }
        let reasons = [&requirement.unreachable, &requirement.open];
        if reasons.iter().any(|reason| reason.as_ref().is_some_and(|reason| reason.trim().is_empty())) {
            faults.push(format!("{id} gives no reason"));
        }
        match (requirement.pin(), reasons.iter().filter(|reason| reason.is_some()).count()) {
            (Pin::Unpinned, _) => faults.push(format!("{id} is pinned by nothing")),
            (Pin::Case | Pin::Test, 1..) | (_, 2..) => faults.push(format!("{id} is pinned, and says that it is not")),
            _ => {}
        }
        match &requirement.code {
            Some(path) if !is_file(path) => {
                faults.push(format!("{id} names the code {path}, which does not exist"));
            }
            None if requirement.unreachable.is_none() => {
                faults.push(format!("{id} names no code; add the file of the rule that implements it"));
            }
            _ => {}
        }
        let missing = requirement.cases.iter().filter(|case| !cases.contains(*case));
        faults.extend(missing.map(|case| format!("{id} names the case {case}, which does not exist")));
        let missing = requirement.tests.iter().filter(|test| !is_test(test));
        faults.extend(missing.map(|test| format!("{id} names the test {test}, which does not exist")));
    }
    let pinning: BTreeSet<&String> = table.iter().flat_map(|requirement| &requirement.cases).collect();
    let useless = cases.iter().filter(|case| !pinning.contains(case));
    faults.extend(useless.map(|case| format!("{case} pins no requirement")));
    faults
}

/// The requirements that have a word in their id, their sentence, or the first line of their rule
/// file, which names the API field. The case of letters is ignored.
#[must_use]
pub fn matching(
    table: Vec<RequirementEntry>,
    word: &str,
    first_line: impl Fn(&str) -> Option<String>,
) -> Vec<RequirementEntry> {
    let word = word.to_lowercase();
    let has_word = |text: &str| text.to_lowercase().contains(&word);
    let matches = |requirement: &RequirementEntry| {
        let line = requirement.code.as_deref().and_then(&first_line);
        has_word(&requirement.id) || has_word(&requirement.text) || line.is_some_and(|line| has_word(&line))
    };
    table.into_iter().filter(matches).collect()
}

/// Lists the requirements with their pins; with `unpinned`, only those that neither a case nor a
/// test pins.
#[must_use]
pub fn list(table: &[RequirementEntry], unpinned: bool) -> String {
    let mut out = String::new();
    for requirement in table.iter().filter(|it| !unpinned || it.pin() > Pin::Test) {
        let RequirementEntry { id, text, source, level, code, cases, tests, unreachable, open } = requirement;
        writeln!(out, "{id}  ({}, {source})\n    {text}", level.name()).expect("a String takes all");
        if let Some(path) = code {
            writeln!(out, "    code: {path}").expect("a String takes all");
        }
        for (kind, pins) in [("cases", cases), ("tests", tests)] {
            if !pins.is_empty() {
                writeln!(out, "    {kind}: {}", pins.join(", ")).expect("a String takes all");
            }
        }
        for (key, reason) in [("unreachable", unreachable), ("open", open)] {
            if let Some(reason) = reason {
                writeln!(out, "    {key}: {reason}").expect("a String takes all");
            }
        }
    }
    out
}

/// Counts requirements by level and pin, and cases by area.
#[must_use]
pub fn totals(table: &[RequirementEntry], cases: &[Case]) -> String {
    let mut out = String::from("requirements   case  test  unreachable  open   all\n");
    let count = |level: Option<RequirementLevel>, pin: Option<Pin>| {
        let of = |it: &&RequirementEntry| {
            level.is_none_or(|level| it.level == level) && pin.is_none_or(|pin| it.pin() == pin)
        };
        table.iter().filter(of).count()
    };
    for (name, level) in
        RequirementLevel::ALL.map(|level| (level.name(), Some(level))).into_iter().chain([("all", None)])
    {
        let [case, test, unreachable, open] =
            [Pin::Case, Pin::Test, Pin::Unreachable, Pin::Open].map(|pin| count(level, Some(pin)));
        let all = count(level, None);
        writeln!(out, "{name:12} {case:6} {test:5} {unreachable:12} {open:5} {all:5}").expect("a String takes all");
    }
    let (restarts, rollouts): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| is_of_restarts(case));
    for cases in [rollouts, restarts].into_iter().filter(|cases| !cases.is_empty()) {
        let mut areas: BTreeMap<&str, usize> = BTreeMap::new();
        for case in &cases {
            *areas.entry(case.area()).or_default() += 1;
        }
        writeln!(out, "{}", CollectionSize::of(cases)).expect("a String takes all");
        for (area, number) in areas {
            writeln!(out, "  {area:29} {number:3}").expect("a String takes all");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ONE: &str = "- {id: a, says: x, source: upstream 2.1, level: must, code: r.rs, ";

    fn faults_of(text: &str) -> Vec<String> {
        let cases = ["a/one".to_owned()].into();
        faults(&resolve(parse(text).unwrap(), &cases), &cases, |test| test == "f.rs::good", |file| file == "r.rs")
    }

    #[rstest]
    #[case::a_case("cases: [a/one]}", &[])]
    #[case::a_test("tests: [f.rs::good]}", &["a/one pins no requirement"])]
    #[case::neither("}", &["a is pinned by nothing", "a/one pins no requirement"])]
    #[case::unreachable("unreachable: inside}", &["a/one pins no requirement"])]
    #[case::without_a_reason("open: \"\"}", &["a gives no reason", "a/one pins no requirement"])]
    #[case::both("cases: [a/one], unreachable: inside}", &["a is pinned, and says that it is not"])]
    #[case::a_pattern("cases: [a/o*]}", &[])]
    #[case::a_pattern_in_the_middle("cases: [a*ne]}", &[])]
    #[case::a_pattern_of_none("cases: [a/*, b/*]}", &["a names the case b/*, which does not exist"])]
    #[case::open_until_it_is_there("cases: [a/one, b/*], open: until then}", &[])]
    #[case::no_such_case("cases: [a/one, a/two]}", &["a names the case a/two, which does not exist"])]
    #[case::no_such_test("cases: [a/one], tests: [f.rs::bad]}", &["a names the test f.rs::bad, which does not exist"])]
    fn faults_name_missing_and_contradictory_pins(#[case] rest: &str, #[case] expected: &[&str]) {
        assert_eq!(faults_of(&format!("{ONE}{rest}\n")), expected);
    }

    #[rstest]
    #[case::a_file("code: r.rs, tests: [t]}", &[])]
    #[case::no_such_file("code: gone.rs, tests: [t]}", &["a names the code gone.rs, which does not exist"])]
    #[case::no_code("tests: [t]}", &["a names no code; add the file of the rule that implements it"])]
    #[case::unreachable_without_code("unreachable: inside}", &[])]
    fn each_requirement_names_the_file_of_its_rule(#[case] rest: &str, #[case] expected: &[&str]) {
        let table = parse(&format!("- {{id: a, says: x, source: upstream 2.1, level: must, {rest}\n")).unwrap();
        assert_eq!(faults(&table, &BTreeSet::new(), |_| true, |file| file == "r.rs"), expected);
    }

    #[rstest]
    #[case::id("HISTORY", &["history-limit"])]
    #[case::sentence("lowest", &["history-limit"])]
    #[case::api_field("revisionHistoryLimit", &["history-limit"])]
    #[case::nothing("maxSurge", &[])]
    fn a_word_selects_requirements_by_id_sentence_and_api_field(#[case] word: &str, #[case] expected: &[&str]) {
        let table = "- {id: history-limit, says: The lowest revisions go., source: x, level: must, code: history.rs}\n\
            - {id: scale, says: x, source: x, level: must, code: scale.rs}\n";
        let first_line = |file: &str| (file == "history.rs").then(|| "//! `spec.revisionHistoryLimit`: x".to_owned());
        let found = matching(parse(table).unwrap(), word, first_line);
        assert_eq!(found.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), expected);
        assert!(found.is_empty() || list(&found, false).contains("    code: history.rs\n"));
    }

    #[test]
    fn file_name_stands_for_its_case_of_each_restart_profile() {
        let cases = ["a/one@safe", "a/one@xing", "a/one-more"].map(str::to_owned).into();
        let table = resolve(parse(&format!("{ONE}cases: [a/one]}}\n")).unwrap(), &cases);
        assert_eq!(table[0].cases, ["a/one@safe", "a/one@xing"]);
    }

    #[test]
    fn rejects_duplicate_ids_and_unknown_fields() {
        let twice = format!("{ONE}cases: [a/one]}}\n{ONE}cases: [a/one]}}\n");
        assert_eq!(faults_of(&twice), ["a is listed twice"]);
        assert!(parse(&format!("{ONE}pins: 3}}\n")).unwrap_err().contains("unknown field"));
    }

    #[test]
    fn totals_count_open_requirements() {
        let table = parse(&format!("{ONE}cases: [a/one]}}\n{ONE}open: later}}\n")).unwrap();
        let text = "description: x\ngiven:\n  - deployment: {name: web, image: 'app:1'}\nsteps:\n  - scale: 2\n";
        let cases = ["a/one", "a/two", "b/c/three"].map(|name| crate::parse("x.yaml", name, text).unwrap());
        insta::assert_snapshot!(totals(&table, &cases), @r"
        requirements   case  test  unreachable  open   all
        must              1     0            0     1     2
        should            0     0            0     0     0
        quirk             0     0            0     0     0
        all               1     0            0     1     2
        3 rollout cases
          a                               2
          b/c                             1
        ");
        assert!(list(&table, true).contains("open: later") && !list(&table, true).contains("a/one"));
    }
}
