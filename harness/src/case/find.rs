//! Case files, on disk or in the program: the only part of this room that touches them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::file::{LARGEST, parse_bytes};
use super::finding::CaseError;
use super::model::{Case, RestartProfile};
use super::profiles::on_disk;
use crate::collection;
use crate::controllers::Controller;

/// How the names of case files end.
pub(crate) const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// The case files that the paths name: files as they are, folders with every `*.yaml` and `*.yml`
/// below them, through symbolic links too; sorted, each once, however often it was named.
/// `FILE@PROFILE`, which means one case of a file, stays as it is.
///
/// # Errors
/// A path that does not exist, a folder that cannot be read, or no case at all.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CaseError> {
    let mut found = Vec::new();
    for path in paths {
        let (file, profile) = on_disk(path);
        match collection::below(&file) {
            Some(_) if profile.is_some() => {
                found.push(path.clone());
                continue;
            }
            Some(files) => {
                found.extend(files.into_iter().filter(|file| is_case(file)));
                continue;
            }
            None => {}
        }
        let there = file.metadata().map_err(|source| unreachable(path, source))?;
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
            if entry.file_type().is_file() && is_case(entry.path()) {
                found.push(entry.into_path());
            }
        }
    }
    found.sort();
    found.dedup();
    let mut known = BTreeSet::new();
    found.retain(|path| known.insert(identity(path)));
    // The whole of a file has the profile that is named besides.
    found.retain(|path| match identity(path) {
        (_, None) => true,
        (file, Some(_)) => !known.contains(&(file, None)),
    });
    if found.is_empty() { Err(CaseError::NoneFound(paths.to_vec())) } else { Ok(found) }
}

/// Which file a path means, and which of its profiles, if only one.
fn identity(path: &Path) -> (PathBuf, Option<RestartProfile>) {
    let (file, profile) = on_disk(path);
    (file.canonicalize().unwrap_or(file), profile)
}

/// Whether a file below a folder is a case, by its name.
fn is_case(file: &Path) -> bool {
    // The table beside the cases, and none of them.
    ends_as_case(Some(file)) && file.file_name().is_some_and(|name| name != crate::coverage::FILE)
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

/// What was read of each name by itself, for two cases of one name would be taken for one: in
/// recordings, in reports, in what is counted.
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

/// Read the cases of a file: one, or one per restart profile; of `FILE@PROFILE` the one that is
/// named.
///
/// # Errors
/// The file cannot be read, is no case, or has none of the profile that is named.
pub fn load(path: &Path) -> Result<Vec<Case>, CaseError> {
    let (file, profile) = on_disk(path);
    let cases = load_file(&file)?;
    let Some(profile) = profile else { return Ok(cases) };
    let is_meant = |case: &Case| case.controllers.has(Controller::ConfigRestart) && case.restart.profile == profile;
    let cases: Vec<Case> = cases.into_iter().filter(is_meant).collect();
    if cases.is_empty() { Err(CaseError::NoProfile { path: file, profile: profile.to_string() }) } else { Ok(cases) }
}

/// Read the only case of a file, or the one that `FILE@PROFILE` names.
///
/// # Errors
/// As for [`load`], or the file stands for several cases.
pub fn load_one(path: &Path) -> Result<Case, CaseError> {
    let mut cases = load(path)?.into_iter();
    match (cases.next(), cases.next()) {
        (Some(case), None) => Ok(case),
        (Some(case), Some(_)) => Err(case.is_one_of_several()),
        (None, _) => Err(CaseError::NoneFound(vec![path.to_owned()])),
    }
}

fn load_file(path: &Path) -> Result<Vec<Case>, CaseError> {
    let mut bytes = Vec::new();
    // One byte more than a case may have says enough.
    let read = collection::open(path).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|source| CaseError::Io { path: path.to_path_buf(), source })?;
    parse_bytes(&path.display().to_string(), &name(path), &bytes)
}

/// `area/name`: the last two parts of the path, without the extension.
fn name(path: &Path) -> String {
    let part = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let area = part(path.parent().and_then(Path::file_name));
    [area, part(path.file_stem())].into_iter().flatten().collect::<Vec<_>>().join("/")
}
