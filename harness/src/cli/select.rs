//! Selects cases by paths, by a filter, and by whether they failed last time.

use std::path::{Path, PathBuf};

use lockstep_case::filter::Filter;
use lockstep_case::{self as case, Case, CollectionSize};
use lockstep_support::collection;

use super::CliError;
use super::out::note;
use super::reporter::failed_cases;

/// Cases by path.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct CasePaths {
    /// Cases, areas, files and folders, such as rolling/rollover, rolling or my-case.yaml.
    ///
    /// FILE@PROFILE is the case of one restart profile.
    #[arg(default_value = "cases")]
    pub(super) paths: Vec<PathBuf>,
}

/// Cases by path, and a filter on their names.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cases")]
pub(super) struct CaseSelection {
    #[command(flatten)]
    files: CasePaths,
    /// Only these cases, such as 'area(rolling) & label(surge)'.
    ///
    /// A word alone matches a part of `area/name`. Predicates: area, name, case, label (what a case
    /// does and sets: undo, during, maxSurge …), tag, text (the description) and judges; each takes
    /// (part), (=whole) or (#pattern*). Operators: & | - !
    #[arg(short = 'E', long, value_name = "FILTER", value_parser = Filter::parse)]
    filter: Option<Filter>,
    /// Only cases that failed the last time they were played.
    #[arg(long)]
    rerun_failed: bool,
}

impl CaseSelection {
    /// The selected cases, in the order of the paths. An invalid file is an error before anything
    /// runs.
    pub(super) fn cases(&self) -> Result<Vec<Case>, CliError> {
        let mut cases = Vec::new();
        let mut errors = Vec::new();
        for path in find_files(&self.files.paths)? {
            match case::load(&path) {
                Ok(of_file) => cases.extend(of_file),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(CliError::Cases(errors));
        }
        case::check_unique_names(&cases).map_err(CliError::Cases)?;
        let all = CollectionSize::of(&cases).to_string();
        cases.retain(|case| self.filter.as_ref().is_none_or(|filter| filter.matches(case)));
        if cases.is_empty() {
            return Err(CliError::NoCase(all));
        }
        if self.rerun_failed {
            let last = failed_cases::read_last();
            cases.retain(|case| last.contains(&case.argument()));
        }
        if cases.is_empty() { Err(CliError::NoneFailed) } else { Ok(cases) }
    }
}

impl CaseSelection {
    /// Whether nothing is left out of the default folder.
    pub(super) fn is_all(&self) -> bool {
        let is_default = self.files.paths.iter().eq([Path::new("cases")]);
        is_default && self.filter.is_none() && !self.rerun_failed
    }

    /// Whether a case was named by its own path, rather than by a folder.
    pub(super) fn names(&self, case: &Case) -> bool {
        self.files
            .paths
            .iter()
            .map(|path| case::locate(path).display().to_string())
            .any(|named| named == case.argument() || named == case.path && collection::is_file(Path::new(&named)))
    }
}

/// The case files that the paths name. A note on standard error says if embedded cases are used.
pub(super) fn find_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let found = case::find(paths)?;
    if !found.iter().any(|path| collection::is_embedded(path)) {
        return Ok(found);
    }
    note!("no folder cases/ here: using the embedded cases");
    Ok(found)
}
