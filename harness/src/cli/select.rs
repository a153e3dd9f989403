//! Which cases: paths and a filter.

use std::path::{Path, PathBuf};

use super::CliError;
use crate::case::{self, Case};
use crate::timeline::Timeline;

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

/// The file that holds a case's blessed timeline.
pub(super) fn timeline_path(case: &Case) -> PathBuf {
    Path::new(&case.path).with_extension("timeline")
}

/// The blessed timeline beside a case, if there is one.
pub(super) fn blessed(case: &Case) -> Result<Option<Timeline>, CliError> {
    blessed_beside(Path::new(&case.path))
}

/// The blessed timeline beside a case file, if there is one.
pub(super) fn blessed_beside(case: &Path) -> Result<Option<Timeline>, CliError> {
    let path = case.with_extension("timeline");
    match std::fs::read_to_string(&path) {
        Ok(text) => Timeline::parse(&text).map(Some).map_err(|source| CliError::Timeline { path, source }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CliError::File { path, source }),
    }
}
