//! Which requirement is pinned by what: the table in `cases/requirements.yaml` against the cases
//! and tests that there are.
//!
//! A requirement is one sentence on what a controller does, with where that is known from. It is
//! pinned by cases, by unit tests where no case can reach it, or it says why nothing can
//! (`unreachable`). What could be pinned and is not yet says so (`open`): that is counted and
//! shown, never hidden. Pure: reading files is `cli::coverage`'s.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::Deserialize;

/// The table's file, under the folder of the cases.
pub const FILE: &str = "requirements.yaml";

/// One thing that a controller does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its name: `rolling-surge-rounds-up`.
    pub id: String,
    /// The sentence.
    pub says: String,
    /// Where it is known from: `upstream 2.16`, `config-restart 9`.
    pub source: String,
    /// How much it matters.
    pub level: Level,
    /// The file of the rule that implements it, from the repository's root.
    #[serde(default)]
    pub code: Option<String>,
    /// The cases that pin it; `area/name` is that of each restart profile, `area/name*` are all
    /// whose name begins so.
    #[serde(default)]
    pub cases: Vec<String>,
    /// The unit tests that pin it: `FILE::FUNCTION`, the file from the repository's root.
    #[serde(default)]
    pub tests: Vec<String>,
    /// Why it cannot be seen from outside.
    #[serde(default)]
    pub unreachable: Option<String>,
    /// Why nothing pins it, as long as no case is there that it names.
    #[serde(default)]
    pub open: Option<String>,
}

/// How much a requirement matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Upstream specifies it, or its tests do.
    Must,
    /// Better than what there is to compare with.
    Should,
    /// Looks like a mistake, and is what upstream does.
    Quirk,
}

/// By what a requirement is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pin {
    /// A case, whatever else.
    Case,
    /// Unit tests alone.
    Test,
    /// Nothing can.
    Unreachable,
    /// Nothing does yet, and it says why.
    Open,
    /// Nothing.
    Nothing,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::Quirk];

    /// As the table has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::Quirk => "quirk",
        }
    }
}

impl Requirement {
    /// By what it is pinned.
    #[must_use]
    pub fn pin(&self) -> Pin {
        if !self.cases.is_empty() {
            Pin::Case
        } else if !self.tests.is_empty() {
            Pin::Test
        } else if self.unreachable.is_some() {
            Pin::Unreachable
        } else if self.open.is_some() {
            Pin::Open
        } else {
            Pin::Nothing
        }
    }
}

/// Read the table.
///
/// # Errors
/// What the parser says, with the place.
pub fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

/// What a case pins, of a table.
#[must_use]
pub fn pinned_by(table: &[Requirement], case: &str) -> Vec<Requirement> {
    let table = resolved(table.to_vec(), &BTreeSet::from([case.to_owned()]));
    table.into_iter().filter(|one| one.cases.iter().any(|pin| pin == case)).collect()
}

/// The table with patterns replaced by the cases that there are. What is open until its cases are
/// there is closed once they are.
#[must_use]
pub fn resolved(mut table: Vec<Requirement>, cases: &BTreeSet<String>) -> Vec<Requirement> {
    for requirement in &mut table {
        let mut found = Vec::new();
        for wanted in &requirement.cases {
            let all: Vec<&String> = match wanted.strip_suffix('*') {
                Some(begins) => cases.iter().filter(|case| case.starts_with(begins)).collect(),
                None => cases.iter().filter(|case| is_of_file(case, wanted)).collect(),
            };
            if all.is_empty() && requirement.open.is_none() {
                found.push(wanted.clone());
            }
            found.extend(all.into_iter().cloned());
        }
        if !found.is_empty() {
            requirement.open = requirement.open.take().filter(|reason| reason.trim().is_empty());
        }
        requirement.cases = found;
    }
    table
}

/// Whether a case is this one, or a file's case of one restart profile: `area/name@safe` of
/// `area/name`.
fn is_of_file(case: &str, file: &str) -> bool {
    case.strip_prefix(file).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
}

/// What is wrong with a resolved table: pins that are not there, requirements without one, and
/// cases that no requirement names.
#[must_use]
pub fn faults(
    table: &[Requirement],
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
        if requirement.says.trim().is_empty() || requirement.source.trim().is_empty() {
            faults.push(format!("{id} has no sentence or no source"));
        }
        let words = [&requirement.unreachable, &requirement.open];
        if words.iter().any(|word| word.as_ref().is_some_and(|reason| reason.trim().is_empty())) {
            faults.push(format!("{id} gives no reason"));
        }
        match (requirement.pin(), words.iter().filter(|word| word.is_some()).count()) {
            (Pin::Nothing, _) => faults.push(format!("{id} is pinned by nothing")),
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
    let named: BTreeSet<&String> = table.iter().flat_map(|requirement| &requirement.cases).collect();
    let idle = cases.iter().filter(|case| !named.contains(case));
    faults.extend(idle.map(|case| format!("{case} pins no requirement")));
    faults
}

/// The requirements that have a word in their id, their sentence, or the first line of their rule
/// file, which names the API field. The case of letters is ignored.
#[must_use]
pub fn matching(table: Vec<Requirement>, word: &str, first_line: impl Fn(&str) -> Option<String>) -> Vec<Requirement> {
    let word = word.to_lowercase();
    let has_word = |text: &str| text.to_lowercase().contains(&word);
    let matches = |requirement: &Requirement| {
        let line = requirement.code.as_deref().and_then(&first_line);
        has_word(&requirement.id) || has_word(&requirement.says) || line.is_some_and(|line| has_word(&line))
    };
    table.into_iter().filter(matches).collect()
}

/// What pins what: each requirement on a line; `unpinned`: only those that no case and no test
/// pins.
#[must_use]
pub fn list(table: &[Requirement], unpinned: bool) -> String {
    let mut out = String::new();
    for requirement in table.iter().filter(|it| !unpinned || it.pin() > Pin::Test) {
        let Requirement { id, says, source, level, code, cases, tests, unreachable, open } = requirement;
        writeln!(out, "{id}  ({}, {source})\n    {says}", level.name()).expect("a String takes all");
        if let Some(path) = code {
            writeln!(out, "    code: {path}").expect("a String takes all");
        }
        for (what, pins) in [("cases", cases), ("tests", tests)] {
            if !pins.is_empty() {
                writeln!(out, "    {what}: {}", pins.join(", ")).expect("a String takes all");
            }
        }
        for (what, why) in [("unreachable", unreachable), ("open", open)] {
            if let Some(why) = why {
                writeln!(out, "    {what}: {why}").expect("a String takes all");
            }
        }
    }
    out
}

/// Requirements by level and pin, and cases by area.
#[must_use]
pub fn totals(table: &[Requirement], cases: &BTreeSet<String>) -> String {
    let mut out = String::from("requirements   case  test  unreachable  open   all\n");
    let count = |level: Option<Level>, pin: Option<Pin>| {
        let of =
            |it: &&Requirement| level.is_none_or(|level| it.level == level) && pin.is_none_or(|pin| it.pin() == pin);
        table.iter().filter(of).count()
    };
    for (name, level) in Level::ALL.map(|level| (level.name(), Some(level))).into_iter().chain([("all", None)]) {
        let [case, test, unreachable, open] =
            [Pin::Case, Pin::Test, Pin::Unreachable, Pin::Open].map(|pin| count(level, Some(pin)));
        let all = count(level, None);
        writeln!(out, "{name:12} {case:6} {test:5} {unreachable:12} {open:5} {all:5}").expect("a String takes all");
    }
    let mut areas: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        *areas.entry(case.split('/').next().unwrap_or(case)).or_default() += 1;
    }
    writeln!(out, "cases        {:6}", cases.len()).expect("a String takes all");
    for (area, number) in areas {
        writeln!(out, "  {area:15} {number:3}").expect("a String takes all");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const ONE: &str = "- {id: a, says: x, source: upstream 2.1, level: must, code: r.rs, ";

    fn found(text: &str) -> Vec<String> {
        let cases = ["a/one".to_owned()].into();
        faults(&resolved(parse(text).unwrap(), &cases), &cases, |test| test == "f.rs::good", |file| file == "r.rs")
    }

    #[rstest]
    #[case::a_case("cases: [a/one]}", &[])]
    #[case::a_test("tests: [f.rs::good]}", &["a/one pins no requirement"])]
    #[case::neither("}", &["a is pinned by nothing", "a/one pins no requirement"])]
    #[case::unreachable("unreachable: inside}", &["a/one pins no requirement"])]
    #[case::without_a_reason("open: \"\"}", &["a gives no reason", "a/one pins no requirement"])]
    #[case::both("cases: [a/one], unreachable: inside}", &["a is pinned, and says that it is not"])]
    #[case::a_pattern("cases: [a/o*]}", &[])]
    #[case::a_pattern_of_none("cases: [a/*, b/*]}", &["a names the case b/*, which does not exist"])]
    #[case::open_until_it_is_there("cases: [a/one, b/*], open: until then}", &[])]
    #[case::no_such_case("cases: [a/one, a/two]}", &["a names the case a/two, which does not exist"])]
    #[case::no_such_test("cases: [a/one], tests: [f.rs::bad]}", &["a names the test f.rs::bad, which does not exist"])]
    fn what_is_wrong(#[case] rest: &str, #[case] expected: &[&str]) {
        assert_eq!(found(&format!("{ONE}{rest}\n")), expected);
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
    fn a_file_is_its_case_of_each_restart_profile() {
        let cases = ["a/one@safe", "a/one@xing", "a/one-more"].map(str::to_owned).into();
        let table = resolved(parse(&format!("{ONE}cases: [a/one]}}\n")).unwrap(), &cases);
        assert_eq!(table[0].cases, ["a/one@safe", "a/one@xing"]);
    }

    #[test]
    fn ids_are_unique_and_fields_known() {
        let twice = format!("{ONE}cases: [a/one]}}\n{ONE}cases: [a/one]}}\n");
        assert_eq!(found(&twice), ["a is listed twice"]);
        assert!(parse(&format!("{ONE}pins: 3}}\n")).unwrap_err().contains("unknown field"));
    }

    #[test]
    fn totals_show_every_gap() {
        let table = parse(&format!("{ONE}cases: [a/one]}}\n{ONE}open: later}}\n")).unwrap();
        insta::assert_snapshot!(totals(&table, &["a/one".to_owned()].into()), @r"
        requirements   case  test  unreachable  open   all
        must              1     0            0     1     2
        should            0     0            0     0     0
        quirk             0     0            0     0     0
        all               1     0            0     1     2
        cases             1
          a                 1
        ");
        assert!(list(&table, true).contains("open: later") && !list(&table, true).contains("a/one"));
    }
}
