//! A stored recording, written and read, and what lies beside the case that it is of.

use std::path::{Path, PathBuf};

use super::CliError;
use super::out::note;
use crate::case::{self, Case};
use crate::collection;
use crate::golden::{GoldenError, GoldenTimelines};
use crate::outcome::Outcome;
use crate::private;
use crate::recording::{Entry, Header, Recording, RecordingError};
use crate::run::FileError;

/// Read a recording from a file.
pub(super) fn read(path: &Path) -> Result<Recording, CliError> {
    let file = std::fs::File::open(path).map_err(|source| FileError::File { path: path.to_owned(), source })?;
    Recording::read(std::io::BufReader::new(file))
        .map_err(|source| FileError::Recording { path: path.to_owned(), source }.into())
}

/// Write the recording of a live cluster to a file, and say what it has. With a gap it is inconclusive.
pub(super) fn write(path: &Path, recording: &Recording) -> Result<Outcome, CliError> {
    let written = || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private::create(path)?)) };
    written().map_err(|source| FileError::Recording { path: path.to_owned(), source })?;
    let versions = recording.entries.iter().filter(|entry| matches!(entry, Entry::Object(_))).count();
    let gaps = recording.entries.iter().filter(|entry| matches!(entry, Entry::Trouble(_))).count();
    note!(
        "wrote {} with {versions} versions of objects and {gaps} gaps; `lockstep replay {}` goes on",
        path.display(),
        path.display()
    );
    Ok(if gaps > 0 { Outcome::Inconclusive } else { Outcome::Conformant })
}

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
