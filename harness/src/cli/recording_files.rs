//! Reads and writes stored recordings, and finds the case and golden timelines of a recording.

use std::path::{Path, PathBuf};

use lockstep_case::{self as case, Case};
use lockstep_recording::{Header, Recording, RecordingEntry, RecordingError};
use lockstep_runner::run::FileError;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::{collection, private_fs, sanitize};
use lockstep_verdict::golden::{GoldenError, GoldenTimelines};

use super::CliError;
use super::out::note;

/// Read a recording from a file.
pub(super) fn read(path: &Path) -> Result<Recording, CliError> {
    let file = std::fs::File::open(path).map_err(|source| FileError::File { path: path.to_owned(), source })?;
    Recording::read(std::io::BufReader::new(file))
        .map_err(|source| FileError::Recording { path: path.to_owned(), source }.into())
}

/// Write the recording of a live cluster to a file, and print a summary. A gap makes the outcome
/// inconclusive.
pub(super) fn write(path: &Path, recording: &Recording) -> Result<RunOutcome, CliError> {
    let written =
        || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private_fs::create(path)?)) };
    written().map_err(|source| FileError::Recording { path: path.to_owned(), source })?;
    let versions = recording.entries.iter().filter(|entry| matches!(entry, RecordingEntry::Object(_))).count();
    let troubles = recording.entries.iter().filter_map(|entry| match entry {
        RecordingEntry::Trouble(trouble) => Some(&trouble.why),
        _ => None,
    });
    let gaps: Vec<&String> = troubles.collect();
    for why in gaps.iter().take(MOST_GAPS) {
        note!("gap: {}", sanitize::text(why));
    }
    if gaps.len() > MOST_GAPS {
        note!("gap: {} more; the recording names them", gaps.len() - MOST_GAPS);
    }
    let (path, plural) = (path.display(), if gaps.len() == 1 { "" } else { "s" });
    note!(
        "wrote {path} with {versions} versions of objects and {} gap{plural}; `lockstep replay {path}` goes on",
        gaps.len()
    );
    Ok(if gaps.is_empty() { RunOutcome::Conformant } else { RunOutcome::Inconclusive })
}

/// The most gaps that are printed.
const MOST_GAPS: usize = 10;

/// The case file of a recording; `folder` is the new folder of the cases if they have moved.
pub(super) fn case_file(header: &Header, folder: Option<&Path>) -> PathBuf {
    let Some(folder) = folder else { return PathBuf::from(&header.path) };
    let (case, _) = case::split_profile(&header.case);
    let files = case::EXTENSIONS.map(|extension| folder.join(format!("{case}.{extension}")));
    let [yaml, _] = &files;
    files.iter().find(|file| collection::is_file(file)).unwrap_or(yaml).clone()
}

/// The golden timelines beside the file of this case.
pub(super) fn golden(recorded: &Case, file: &Path) -> Result<GoldenTimelines, GoldenError> {
    GoldenTimelines::load(&Case { path: file.display().to_string(), ..Case::clone(recorded) })
}
