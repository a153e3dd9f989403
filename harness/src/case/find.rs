//! Case files on disk: the only part of this room that touches it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::file::{LARGEST, parse_bytes};
use super::finding::CaseError;
use super::model::Case;

/// How the names of case files end.
pub(crate) const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// The case files that the paths name: files as they are, folders with every `*.yaml` and `*.yml` below them, through symbolic links too;
/// sorted, each once, however often it was named.
///
/// # Errors
/// A path that does not exist, a folder that cannot be read, or no case at all.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CaseError> {
    let mut found = Vec::new();
    for path in paths {
        let there = path.metadata().map_err(|source| unreachable(path, source))?;
        if there.is_file() {
            found.push(path.clone());
            continue;
        }
        for entry in walkdir::WalkDir::new(path).follow_links(true).sort_by_file_name() {
            let entry = match entry {
                Ok(entry) => entry,
                // A link that leads nowhere, and was to be no case.
                Err(error) if error.loop_ancestor().is_none() && error.depth() > 0 && !ends_as_case(error.path()) => {
                    continue;
                }
                Err(error) => {
                    let at = error.path().unwrap_or(path).to_owned();
                    let circle = error.loop_ancestor().is_some();
                    let source = error.into_io_error();
                    return Err(match source {
                        Some(source) if !circle => unreachable(&at, source),
                        _ => CaseError::Circle(at),
                    });
                }
            };
            // The table beside the cases, and none of them.
            let is_case = ends_as_case(Some(entry.path())) && entry.file_name() != crate::coverage::FILE;
            if entry.file_type().is_file() && is_case {
                found.push(entry.into_path());
            }
        }
    }
    found.sort();
    found.dedup();
    let mut files = BTreeSet::new();
    found.retain(|path| files.insert(path.canonicalize().unwrap_or_else(|_| path.clone())));
    if found.is_empty() { Err(CaseError::NoneFound(paths.to_vec())) } else { Ok(found) }
}

fn ends_as_case(path: Option<&Path>) -> bool {
    let extension = path.and_then(Path::extension);
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
}

/// Why what was named cannot be looked at.
fn unreachable(path: &Path, source: io::Error) -> CaseError {
    let path = path.to_owned();
    let code = source.raw_os_error();
    if code == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return CaseError::Circle(path);
    }
    match source.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => CaseError::Nowhere(path),
        io::ErrorKind::NotFound => CaseError::Missing(path),
        _ => CaseError::Io { path, source },
    }
}

/// What was read of each name by itself, for two cases of one name would be taken for one: in recordings, in reports, in what is counted.
///
/// # Errors
/// [`CaseError::Twins`], for each of them.
pub fn told_apart(cases: &[Case]) -> Result<(), Vec<CaseError>> {
    let mut known: BTreeMap<&str, &Case> = BTreeMap::new();
    let mut twins = Vec::new();
    for case in cases {
        match known.get(case.name.as_str()) {
            Some(first) => twins.push(CaseError::Twins {
                name: case.name.clone(),
                one: first.path.clone(),
                other: case.path.clone(),
            }),
            None => drop(known.insert(&case.name, case)),
        }
    }
    if twins.is_empty() { Ok(()) } else { Err(twins) }
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
