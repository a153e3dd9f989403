//! Case files on disk: the only part of this room that touches it.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::file::{LARGEST, parse_bytes};
use super::finding::CaseError;
use super::model::Case;

/// The case files that the paths name: files as they are, folders with every `*.yaml` below them; sorted, each once.
///
/// # Errors
/// A path that does not exist, a folder that cannot be read, or no case at all.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CaseError> {
    let mut found = Vec::new();
    for path in paths {
        if !path.exists() {
            return Err(CaseError::Missing(path.clone()));
        }
        if path.is_file() {
            found.push(path.clone());
            continue;
        }
        for entry in walkdir::WalkDir::new(path).sort_by_file_name() {
            let entry = entry.map_err(|error| CaseError::Io { path: path.clone(), source: error.into() })?;
            let is_case = entry.path().extension().is_some_and(|extension| extension == "yaml");
            // The table beside the cases, and none of them.
            let is_case = is_case && entry.file_name() != crate::coverage::FILE;
            if entry.file_type().is_file() && is_case {
                found.push(entry.into_path());
            }
        }
    }
    found.sort();
    found.dedup();
    if found.is_empty() { Err(CaseError::NoneFound(paths.to_vec())) } else { Ok(found) }
}

/// Read a case file.
///
/// # Errors
/// The file cannot be read, or is no case.
pub fn load(path: &Path) -> Result<Case, CaseError> {
    let mut bytes = Vec::new();
    // One byte more than a case may have says enough.
    let read = std::fs::File::open(path).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|source| CaseError::Io { path: path.to_path_buf(), source })?;
    parse_bytes(&path.display().to_string(), &name(path), &bytes)
}

/// `area/name`: the last two parts of the path, without the extension.
pub(crate) fn name(path: &Path) -> String {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let area = part(path.parent().and_then(Path::file_name));
    [area, part(path.file_stem())].into_iter().flatten().collect::<Vec<_>>().join("/")
}
