//! Finds and loads case files, from disk or embedded in the program. No other file of this module
//! reads from either.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use lockstep_recording::FileName;
use lockstep_recording::controllers::Controller;
use lockstep_support::collection;

use super::diagnostics::{CaseError, nearest};
use super::file::{LARGEST, parse_bytes};
use super::model::{Case, RestartProfile};
use super::restart::file_and_profile;

/// The extensions of case files.
pub const EXTENSIONS: [&str; 2] = ["yaml", "yml"];

/// Finds the case files below the paths: files as they are, folders with every `*.yaml` and `*.yml`
/// below them, symbolic links followed; sorted and without duplicates. `FILE@PROFILE`, which names
/// one case of a file, stays as it is. Names are accepted as paths, see [`locate`].
///
/// # Errors
/// A path does not exist, a folder cannot be read, or there is no case.
pub fn find(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CaseError> {
    let mut found = Vec::new();
    for path in paths {
        let path = &locate(path);
        let (file, profile) = file_and_profile(path);
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
        let there = file.metadata().map_err(|source| path_error(path, source))?;
        if there.is_file() {
            found.push(path.clone());
            continue;
        }
        for entry in walkdir::WalkDir::new(path).follow_links(true).sort_by_file_name() {
            let entry = match entry {
                Ok(entry) => entry,
                // A dangling link that does not have the name of a case. A folder that cannot be
                // read may hold some.
                Err(error)
                    if error.io_error().is_some_and(|source| source.kind() == io::ErrorKind::NotFound)
                        && error.depth() > 0
                        && !ends_as_case(error.path()) =>
                {
                    continue;
                }
                Err(error) => {
                    let at = error.path().unwrap_or(path).to_owned();
                    let circle = error.loop_ancestor().is_some();
                    let source = error.into_io_error();
                    return Err(match source {
                        Some(source) if !circle => path_error(&at, source),
                        _ => CaseError::LinkLoop(at),
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
    // A file's own path includes all its profiles.
    found.retain(|path| match identity(path) {
        (_, None) => true,
        (file, Some(_)) => !known.contains(&(file, None)),
    });
    if found.is_empty() {
        return Err(CaseError::NoneFound { paths: paths.to_vec(), remedy: remedy_for_hidden(paths) });
    }
    Ok(found)
}

/// The path that a user means who types the name of a case or of an area, as reports print them:
/// `rolling/rollover` is `cases/rolling/rollover.yaml`, and `own/first` is `own/first.yaml`. A path
/// that exists, and one that is nothing else, stays as it is.
pub fn locate(path: &Path) -> PathBuf {
    let (file, profile) = file_and_profile(path);
    if exists(&file) || !is_plain(&file) {
        return path.to_owned();
    }
    match candidates(&file).find(|candidate| exists(candidate)) {
        Some(found) => match profile {
            Some(profile) => PathBuf::from(format!("{}@{profile}", found.display())),
            None => found,
        },
        None => path.to_owned(),
    }
}

/// The paths that the name of a case or of an area may stand for.
fn candidates(name: &Path) -> impl Iterator<Item = PathBuf> {
    let below = Path::new(collection::FOLDER).join(name);
    let files = [name, &below].map(|base| EXTENSIONS.map(|it| PathBuf::from(format!("{}.{it}", base.display()))));
    files.into_iter().flatten().chain([below])
}

/// Whether the path is on disk, also as a dangling link, or embedded.
fn exists(path: &Path) -> bool {
    collection::is_embedded(path) || path.symlink_metadata().is_ok()
}

/// Whether the path could be a name: relative, and only downwards.
fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, std::path::Component::Normal(_)))
}

/// What to do about paths of which the local folder hides one; `None` if it hides none.
fn remedy_for_hidden(paths: impl IntoIterator<Item = impl AsRef<Path>>) -> Option<&'static str> {
    paths.into_iter().any(|path| collection::is_hidden(path.as_ref())).then_some(
        "the folder cases/ here hides the embedded cases, which have it; \
         type this in another folder, or write them into this one: `lockstep init --embedded`",
    )
}

/// What to type instead of a path that does not exist: the nearest case or area of the collection.
fn suggestion(path: &Path) -> String {
    let (file, _) = file_and_profile(path);
    if let Some(remedy) = remedy_for_hidden(candidates(&file).chain([file.clone()])) {
        return remedy.to_owned();
    }
    let meant = path.strip_prefix(collection::FOLDER).unwrap_or(path).with_extension("");
    let meant = meant.display().to_string();
    let folder = PathBuf::from(collection::FOLDER);
    // Without a collection, finding it would look for a suggestion again.
    let known = if exists(&folder) { find(&[folder]).unwrap_or_default() } else { Vec::new() };
    let mut names: BTreeSet<String> = known.iter().map(|file| case_name(file)).collect();
    let areas: Vec<String> = names.iter().filter_map(|name| Some(name.split_once('/')?.0.to_owned())).collect();
    names.extend(areas);
    // A name within an area is often typed alone.
    let in_area = names.iter().find(|name| name.rsplit('/').next() == Some(&meant)).cloned();
    let near = in_area.or_else(|| nearest(&meant, names.iter().map(String::as_str)).map(str::to_owned));
    match near {
        Some(name) => format!("did you mean {name}?"),
        None => "name a case, a case file or a folder of them; `lockstep list` shows the cases".to_owned(),
    }
}

/// The file of a path, and its profile if it names one.
fn identity(path: &Path) -> (PathBuf, Option<RestartProfile>) {
    let (file, profile) = file_and_profile(path);
    (file.canonicalize().unwrap_or(file), profile)
}

/// Whether the name of a file below a folder is that of a case.
fn is_case(file: &Path) -> bool {
    // Two tables lie beside the cases.
    let tables = [crate::coverage::FILE, crate::known_changes::FILE];
    ends_as_case(Some(file)) && file.file_name().is_some_and(|name| tables.iter().all(|table| name != *table))
}

fn ends_as_case(path: Option<&Path>) -> bool {
    let extension = path.and_then(Path::extension);
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
}

/// Explains why a path cannot be read.
fn path_error(path: &Path, source: io::Error) -> CaseError {
    let path = path.to_owned();
    let code = source.raw_os_error();
    if code == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return CaseError::LinkLoop(path);
    }
    match source.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => CaseError::DanglingLink(path),
        io::ErrorKind::NotFound => CaseError::Missing { remedy: suggestion(&path), path },
        _ => CaseError::Io { path, source },
    }
}

/// Checks that no two cases share a name, which identifies a case in recordings and reports. The
/// files of `a b` and `a_b` have one name, too.
///
/// # Errors
/// [`CaseError::DuplicateName`], for each duplicate.
pub fn check_unique_names(cases: &[Case]) -> Result<(), Vec<CaseError>> {
    let mut known: BTreeMap<PathBuf, &Case> = BTreeMap::new();
    let mut twins = Vec::new();
    for case in cases {
        let name = FileName::path_of(&case.name, "");
        match known.get(&name) {
            Some(first) => twins.push(CaseError::DuplicateName {
                name: name.display().to_string(),
                first: first.path.clone(),
                second: case.path.clone(),
            }),
            None => drop(known.insert(name, case)),
        }
    }
    if twins.is_empty() { Ok(()) } else { Err(twins) }
}

/// Reads the cases of a file, one per restart profile; of `FILE@PROFILE` that one.
///
/// # Errors
/// The file cannot be read, is not a case, or does not have the profile.
pub fn load(path: &Path) -> Result<Vec<Case>, CaseError> {
    let (file, profile) = file_and_profile(path);
    let cases = load_file(&file)?;
    let Some(profile) = profile else { return Ok(cases) };
    let is_meant = |case: &Case| case.controllers.has(Controller::ConfigRestart) && case.restart.profile == profile;
    let cases: Vec<Case> = cases.into_iter().filter(is_meant).collect();
    if cases.is_empty() { Err(CaseError::NoProfile { path: file, profile: profile.to_string() }) } else { Ok(cases) }
}

/// Reads the only case of a file, or the one that `FILE@PROFILE` names.
///
/// # Errors
/// As for [`load`], or the file has several cases.
pub fn load_one(path: &Path) -> Result<Case, CaseError> {
    let mut cases = load(path)?.into_iter();
    match (cases.next(), cases.next()) {
        (Some(case), None) => Ok(case),
        (Some(case), Some(_)) => Err(case.several_cases_error()),
        (None, _) => Err(CaseError::NoneFound { paths: vec![path.to_owned()], remedy: None }),
    }
}

fn load_file(path: &Path) -> Result<Vec<Case>, CaseError> {
    let mut bytes = Vec::new();
    // One byte more than the maximum is enough to refuse the file.
    let read = collection::open(path).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|source| CaseError::Io { path: path.to_path_buf(), source })?;
    parse_bytes(&path.display().to_string(), &case_name(path), &bytes)
}

/// `area/name`: the last two components of the path, without the extension; the last three if the
/// area has folders of its own, that is, below a folder `cases`.
fn case_name(path: &Path) -> String {
    let folders: Vec<_> = path.ancestors().skip(1).map_while(Path::file_name).take(3).collect();
    let depth = if folders.get(2).is_some_and(|root| *root == collection::FOLDER) { 2 } else { 1 };
    let parts = folders.into_iter().take(depth).rev().chain(path.file_stem());
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}
