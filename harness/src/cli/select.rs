//! Which cases: paths and a filter.

use std::path::{Path, PathBuf};

use super::CliError;
use crate::case::{self, Case};
use crate::shelf::Shelf;

/// Cases by path, and a filter on their names.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Selection {
    /// Case files, or folders of them.
    #[arg(default_value = "cases")]
    paths: Vec<PathBuf>,
    /// Only cases whose name (`area/name`) contains this text.
    #[arg(short = 'E', long, value_name = "TEXT")]
    filter: Option<String>,
}

impl Selection {
    /// The cases, in the order of their paths. A bad file is an error before anything runs.
    pub(super) fn cases(&self) -> Result<Vec<Case>, CliError> {
        let mut cases = Vec::new();
        let mut errors = Vec::new();
        for path in case::find(&self.paths)? {
            match case::load(&path) {
                Ok(case) => cases.push(case),
                Err(error) => errors.push(error),
            }
        }
        if !errors.is_empty() {
            return Err(CliError::Cases(errors));
        }
        cases.retain(|case| self.filter.as_ref().is_none_or(|text| case.name.contains(text.as_str())));
        if cases.is_empty() { Err(CliError::NoCase) } else { Ok(cases) }
    }
}

/// What is blessed of a case.
pub(super) fn blessed(case: &Case) -> Result<Shelf, CliError> {
    Ok(Shelf::beside(Path::new(&case.path))?)
}
