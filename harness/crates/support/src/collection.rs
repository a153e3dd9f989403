//! Reads case files and timelines from disk or from the collection that the program embeds.
//!
//! The program embeds the repository's `cases/`, so that it works without a checkout. A path below
//! `cases` is read from the embedded collection if the current folder has no `cases` of its own; if
//! it has, every file is read from disk, and a missing file is an error. Only the program embeds
//! the files (`main.rs`): otherwise the library would be rebuilt whenever a case changes.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// The folder that cases are read from by default.
pub const FOLDER: &str = "cases";

/// An embedded file: its path below `cases`, and its content.
type EmbeddedFile = (&'static Path, &'static [u8]);

/// Reads the embedded files. In a checkout none is used, and so they are not sorted.
static SOURCE: OnceLock<fn() -> Vec<EmbeddedFile>> = OnceLock::new();

/// Embeds these files, which are used if no folder `cases` exists; the paths are relative to it.
/// Later calls have no effect.
pub fn embed(files: fn() -> Vec<EmbeddedFile>) {
    SOURCE.get_or_init(|| files);
}

/// The embedded files by their path, which begins with `cases`.
fn files() -> Option<&'static BTreeMap<PathBuf, &'static [u8]>> {
    static FILES: OnceLock<BTreeMap<PathBuf, &'static [u8]>> = OnceLock::new();
    let source = SOURCE.get()?;
    let below = |(path, bytes): (&Path, _)| (Path::new(FOLDER).join(path), bytes);
    Some(FILES.get_or_init(|| source().into_iter().map(below).collect()))
}

/// All embedded files by their path, which begins with `cases`.
pub fn embedded() -> impl Iterator<Item = (&'static Path, &'static [u8])> {
    files().into_iter().flatten().map(|(path, bytes)| (path.as_path(), *bytes))
}

/// Whether this path is read from the embedded collection.
pub fn is_embedded(path: &Path) -> bool {
    bytes(path).is_some() || below(path).is_some()
}

/// Whether this path would be read from the embedded collection if the current folder had no
/// `cases` of its own.
pub fn is_hidden(path: &Path) -> bool {
    normalize(path).is_some_and(|key| is_folder_here() && files_below(&key).next().is_some())
}

/// The embedded files at or below a path; `None` if the path is on disk.
pub fn below(path: &Path) -> Option<Vec<PathBuf>> {
    let found: Vec<_> = files_below(&key(path)?).cloned().collect();
    (!found.is_empty()).then_some(found)
}

/// The embedded files at or below this one, whether or not they are in use.
fn files_below(key: &Path) -> impl Iterator<Item = &'static PathBuf> {
    // Paths are ordered by component, so the files below a folder follow it.
    let files = files().into_iter().flat_map(|files| files.range(key.to_owned()..));
    files.map(|(file, _)| file).take_while(move |file| file.starts_with(key))
}

/// The files of a folder, without those of subfolders.
pub fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if let (Some(mut files), Some(folder)) = (below(folder), key(folder)) {
        files.retain(|file| file.parent() == Some(&folder));
        return Ok(files);
    }
    folder.read_dir()?.map(|entry| Ok(entry?.path())).collect()
}

/// Whether the file exists, on disk or in the program.
pub fn is_file(path: &Path) -> bool {
    bytes(path).is_some() || path.is_file()
}

/// Opens a file, for a caller that may read only its beginning.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match bytes(path) {
        Some(bytes) => Ok(Box::new(bytes)),
        None => Ok(Box::new(std::fs::File::open(path)?)),
    }
}

/// Reads a whole file.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file as text.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn bytes(path: &Path) -> Option<&'static [u8]> {
    let key = key(path)?;
    files()?.get(&key).copied()
}

/// The path among the embedded files, if these are in use.
fn key(path: &Path) -> Option<PathBuf> {
    let key = normalize(path)?;
    (SOURCE.get().is_some() && !is_folder_here()).then_some(key)
}

/// Whether the current folder has `cases` of its own. A dangling link counts as present, so that
/// the user sees an error about it.
fn is_folder_here() -> bool {
    Path::new(FOLDER).symlink_metadata().is_ok()
}

/// Removes `./` from a path below `cases`; returns `None` for any other path.
fn normalize(path: &Path) -> Option<PathBuf> {
    let mut names = path.components().filter(|part| *part != Component::CurDir).peekable();
    names.peek().filter(|first| first.as_os_str() == FOLDER)?;
    names.map(|part| matches!(part, Component::Normal(_)).then_some(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_cases_are_embedded() {
        let plain = |path: &str| normalize(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(plain("cases").as_deref(), Some("cases"));
        assert_eq!(plain("./cases/./rolling/a.yaml").as_deref(), Some("cases/rolling/a.yaml"));
        for other in ["", ".", "/cases/a.yaml", "../cases", "cases/../a", "other/cases"] {
            assert_eq!(plain(other), None, "{other}");
        }
    }
}
