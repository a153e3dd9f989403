//! `lockstep coverage`: which cases and tests pin which requirement.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lockstep_case::coverage::{self, FILE, RequirementEntry, RequirementLevel};
use lockstep_case::{self as case, Case};
use lockstep_runner::run::FileError;
use lockstep_support::collection;
use lockstep_support::outcome::RunOutcome;
use lockstep_verdict::Judgement;

use super::out::{self, say};
use super::{CliError, select};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Only requirements with this word, such as revisionHistoryLimit, in their name, their
    /// sentence or the API field of their rule. A folder here is FOLDER.
    word: Option<String>,
    /// Folder of the cases and of requirements.yaml.
    #[arg(default_value = "cases")]
    folder: PathBuf,
    /// Only requirements that neither a case nor a test covers.
    #[arg(long)]
    unpinned: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    let (word, folder) = match arguments.word.as_deref() {
        Some(folder) if folder.contains('/') || Path::new(folder).is_dir() => (None, Path::new(folder)),
        word => (word, arguments.folder.as_path()),
    };
    if let Some(word) = word {
        let text = coverage_of_word(folder, word, arguments.unpinned)?;
        out::result(format_args!("{text}"));
        return Ok(RunOutcome::Conformant);
    }
    let (text, faults) = report_coverage(folder, arguments.unpinned)?;
    out::result(format_args!("{text}"));
    faults.iter().for_each(|fault| say!("! {fault}"));
    Ok(if faults.is_empty() { RunOutcome::Conformant } else { RunOutcome::NonConformant })
}

/// The requirement tables above the cases, each read once.
#[derive(Debug, Default)]
pub(super) struct RequirementTables(BTreeMap<PathBuf, Vec<RequirementEntry>>);

impl RequirementTables {
    /// The requirements that a case pins, from the table in the nearest folder above its file.
    /// Empty if no such table exists.
    pub(super) fn requirements_of(&mut self, case: &Case) -> Result<Vec<RequirementEntry>, CliError> {
        let Some(path) = table_above(case, FILE) else { return Ok(Vec::new()) };
        let table = match self.0.entry(path) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let table = read_table(entry.key())?;
                entry.insert(table)
            }
        };
        Ok(coverage::requirements_of(table, &case.name))
    }

    /// Adds the quirks of upstream that the case pins to a non-conformant judgement. It is
    /// reported, too, if the table of requirements cannot be read.
    pub(super) fn add_quirks(&mut self, judgement: &mut Judgement) {
        if judgement.outcome() == RunOutcome::NonConformant {
            let pins = self.requirements_of(&judgement.definition).unwrap_or_default();
            let quirks = pins.into_iter().filter(|pin| pin.level == RequirementLevel::Quirk);
            judgement.quirks = quirks.map(|quirk| quirk.text).collect();
        }
    }
}

/// The file of this name in the nearest folder above a case's file that has one.
pub(super) fn table_above(case: &Case, file: &str) -> Option<PathBuf> {
    let tables = Path::new(&case.path).ancestors().skip(1).map(|folder| folder.join(file));
    tables.into_iter().find(|path| collection::is_file(path))
}

fn read_table(path: &Path) -> Result<Vec<RequirementEntry>, CliError> {
    let failed = |source| FileError::File { path: path.to_owned(), source };
    let text = collection::read_to_string(path).map_err(|source| {
        let folder = path.parent().unwrap_or(path).display();
        match source.kind() {
            std::io::ErrorKind::NotFound => CliError::Usage(format!(
                "{folder} has no {FILE}, which lists the requirements that its cases pin; name a folder that has one, or write it: \
                 a name, a text, and the cases or tests that pin it"
            )),
            _ => failed(source).into(),
        }
    })?;
    Ok(coverage::parse(&text).map_err(|why| failed(std::io::Error::other(why)))?)
}

/// The table of a folder of cases with patterns resolved, and the cases.
fn resolved_table(folder: &Path) -> Result<(Vec<RequirementEntry>, Vec<Case>), CliError> {
    let table = read_table(&folder.join(FILE))?;
    let cases = select::find_files(&[folder.to_owned()])?;
    let cases = cases.iter().map(|path| case::load(path)).collect::<Result<Vec<_>, _>>()?;
    let cases: Vec<Case> = cases.into_iter().flatten().collect();
    Ok((coverage::resolve(table, &names(&cases)), cases))
}

fn names(cases: &[Case]) -> BTreeSet<String> {
    cases.iter().map(|case| case.name.clone()).collect()
}

/// The repository that a folder of cases is in.
fn root_of(folder: &Path) -> &Path {
    folder.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The list of the requirements that have a word.
fn coverage_of_word(folder: &Path, word: &str, unpinned: bool) -> Result<String, CliError> {
    let (table, _) = resolved_table(folder)?;
    let first_line = |file: &str| {
        let text = std::fs::read_to_string(root_of(folder).join(file)).ok()?;
        text.lines().next().map(str::to_owned)
    };
    let table = coverage::matching(table, word, first_line);
    if table.is_empty() {
        return Err(CliError::Usage(format!(
            "no requirement has '{word}' in its name, its sentence or the API field of its rule; \
             name a field such as maxSurge, or a folder of cases"
        )));
    }
    Ok(coverage::list(&table, unpinned))
}

/// The list, the totals and what is wrong, of a folder of cases with its table.
fn report_coverage(folder: &Path, unpinned: bool) -> Result<(String, Vec<String>), CliError> {
    let (table, cases) = resolved_table(folder)?;
    let root = root_of(folder);
    let is_embedded = collection::is_embedded(folder);
    let is_test = |test: &str| {
        // The sources of the tests are not embedded in the program, only in a checkout.
        if is_embedded {
            return true;
        }
        let Some((file, function)) = test.split_once("::") else { return false };
        let source = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        source.contains(&format!("fn {function}("))
    };
    let is_file = |file: &str| is_embedded || root.join(file).is_file();
    let faults = coverage::faults(&table, &names(&cases), is_test, is_file);
    Ok((format!("{}\n{}", coverage::list(&table, unpinned), coverage::totals(&table, &cases)), faults))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned_and_every_case_pins_a_requirement() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
        let (_, faults) = report_coverage(&folder, false).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn an_api_field_leads_to_its_rule_file_and_cases() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
        let text = coverage_of_word(&folder, "revisionHistoryLimit", false).unwrap();
        assert!(
            text.contains("    code: controller/crates/rules/src/deployment/history.rs\n    cases: history/limit-2"),
            "{text}"
        );
        let message = coverage_of_word(&folder, "no-such-field", false).unwrap_err().to_string();
        assert!(message.contains("no requirement has 'no-such-field'"), "{message}");
    }
}
