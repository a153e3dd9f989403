//! Where case files and timelines are read from: the disk, or the collection inside the program.
//!
//! The program carries the repository's `cases/`, so that it works without a checkout. A path below
//! `cases` is read from there where the current folder has no `cases` of its own; one that is there
//! wins as a whole, so a file that is missing in it stays missing. Only the program embeds the
//! files (`main.rs`): the library would be built anew whenever a case changes.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

/// The folder that cases are read from by default.
pub const FOLDER: &str = "cases";

static EMBEDDED: OnceLock<BTreeMap<PathBuf, &'static [u8]>> = OnceLock::new();

/// Read these files where no folder `cases` exists; the paths are relative to it. The first call
/// counts.
pub fn embed<'a>(files: impl IntoIterator<Item = (&'a Path, &'static [u8])>) {
    let below = |(path, bytes): (&Path, _)| (Path::new(FOLDER).join(path), bytes);
    EMBEDDED.get_or_init(|| files.into_iter().map(below).collect());
}

/// All embedded files, by their path, which begins with `cases`.
pub(crate) fn embedded() -> impl Iterator<Item = (&'static Path, &'static [u8])> {
    EMBEDDED.get().into_iter().flatten().map(|(path, bytes)| (path.as_path(), *bytes))
}

/// Whether this path is read from the program.
pub(crate) fn is_embedded(path: &Path) -> bool {
    bytes(path).is_some() || below(path).is_some()
}

/// The embedded files that a path names, a file itself or a folder with all below it; `None` where
/// the path is one of the disk.
pub(crate) fn below(path: &Path) -> Option<Vec<PathBuf>> {
    let key = key(path)?;
    // Paths are ordered by their parts, so what is below a folder follows it.
    let files = EMBEDDED.get()?.range(key.clone()..).map(|(file, _)| file);
    let found: Vec<_> = files.take_while(|file| file.starts_with(&key)).cloned().collect();
    (!found.is_empty()).then_some(found)
}

/// The files of a folder, without those of the folders in it.
pub(crate) fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if let (Some(mut files), Some(folder)) = (below(folder), key(folder)) {
        files.retain(|file| file.parent() == Some(&folder));
        return Ok(files);
    }
    folder.read_dir()?.map(|entry| Ok(entry?.path())).collect()
}

/// Whether there is a file of this path.
pub(crate) fn is_file(path: &Path) -> bool {
    bytes(path).is_some() || path.is_file()
}

/// What a file says, for a reader that may want no more than its beginning.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match bytes(path) {
        Some(bytes) => Ok(Box::new(bytes)),
        None => Ok(Box::new(std::fs::File::open(path)?)),
    }
}

/// All that a file says.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All that a file says, as text.
pub(crate) fn read_to_string(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

fn bytes(path: &Path) -> Option<&'static [u8]> {
    EMBEDDED.get()?.get(&key(path)?).copied()
}

/// What a path is called among the embedded files, where these are read.
fn key(path: &Path) -> Option<PathBuf> {
    let key = plain(path)?;
    // Also where it is a link to nothing: whoever made it wants to know.
    let is_here = Path::new(FOLDER).symlink_metadata().is_ok();
    (EMBEDDED.get().is_some() && !is_here).then_some(key)
}

/// A path below `cases` without `./`; `None` for any other.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut names = path.components().filter(|part| *part != Component::CurDir).peekable();
    names.peek().filter(|first| first.as_os_str() == FOLDER)?;
    names.map(|part| matches!(part, Component::Normal(_)).then_some(part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_cases_is_looked_for_in_the_program() {
        let plain = |path: &str| plain(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(plain("cases").as_deref(), Some("cases"));
        assert_eq!(plain("./cases/./rolling/a.yaml").as_deref(), Some("cases/rolling/a.yaml"));
        for other in ["", ".", "/cases/a.yaml", "../cases", "cases/../a", "other/cases"] {
            assert_eq!(plain(other), None, "{other}");
        }
    }
}
