//! A stored recording, written and read, and what lies beside the case that it is of.

use std::path::{Path, PathBuf};

use super::CliError;
use super::out::note;
use crate::case::{self, Case};
use crate::collection;
use crate::golden::{GoldenError, GoldenTimelines};
use crate::outcome::Outcome;
use crate::plain;
use crate::private;
use crate::recording::{Entry, Header, Recording, RecordingError};
use crate::run::FileError;

/// Read a recording from a file.
pub(super) fn read(path: &Path) -> Result<Recording, CliError> {
    let file = std::fs::File::open(path).map_err(|source| FileError::File { path: path.to_owned(), source })?;
    Recording::read(std::io::BufReader::new(file))
        .map_err(|source| FileError::Recording { path: path.to_owned(), source }.into())
}

/// Write the recording of a live cluster to a file, and say what it has. With a gap it is
/// inconclusive.
pub(super) fn write(path: &Path, recording: &Recording) -> Result<Outcome, CliError> {
    let written = || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private::create(path)?)) };
    written().map_err(|source| FileError::Recording { path: path.to_owned(), source })?;
    let versions = recording.entries.iter().filter(|entry| matches!(entry, Entry::Object(_))).count();
    let troubles = recording.entries.iter().filter_map(|entry| match entry {
        Entry::Trouble(trouble) => Some(&trouble.why),
        _ => None,
    });
    let gaps: Vec<&String> = troubles.collect();
    for why in gaps.iter().take(GAPS) {
        note!("gap: {}", plain::text(why));
    }
    if gaps.len() > GAPS {
        note!("gap: {} more; the recording names them", gaps.len() - GAPS);
    }
    let (path, plural) = (path.display(), if gaps.len() == 1 { "" } else { "s" });
    note!(
        "wrote {path} with {versions} versions of objects and {} gap{plural}; `lockstep replay {path}` goes on",
        gaps.len()
    );
    Ok(if gaps.is_empty() { Outcome::Conformant } else { Outcome::Inconclusive })
}

/// How many gaps are named.
const GAPS: usize = 10;

/// The file of a recording's case, which may have moved to another folder.
pub(super) fn case_file(header: &Header, folder: Option<&Path>) -> PathBuf {
    let Some(folder) = folder else { return PathBuf::from(&header.path) };
    let (case, _) = case::split(&header.case);
    let files = case::EXTENSIONS.map(|extension| folder.join(format!("{case}.{extension}")));
    let [yaml, _] = &files;
    files.iter().find(|file| collection::is_file(file)).unwrap_or(yaml).clone()
}

/// The golden timelines beside the file of this case.
pub(super) fn golden(recorded: &Case, file: &Path) -> Result<GoldenTimelines, GoldenError> {
    GoldenTimelines::of(&Case { path: file.display().to_string(), ..Case::clone(recorded) })
}
