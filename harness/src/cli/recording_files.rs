//! Stored recordings: the arguments that name them, and how they are read and written.

use std::path::{Path, PathBuf};

use lockstep_live::capture::anonymous;
use lockstep_recording::{FileName, Recording, RecordingEntry, RecordingError};
use lockstep_runner::run::FileError;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_support::{pluralize, private_fs, sanitize};

use super::out::note;
use super::{CliError, output_paths};

/// The recording that a command reads.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RecordingArg {
    /// A recording, from `capture`, `import`, `record` or `run --recordings`.
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
}

impl RecordingArg {
    pub(super) fn path(&self) -> &Path {
        &self.recording
    }

    pub(super) fn read(&self) -> Result<Recording, CliError> {
        read(&self.recording)
    }
}

/// Where the recording of a live cluster is written, and how.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct RecordingOutput {
    /// The recording.
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    out: PathBuf,
    /// Replace names, images, labels, annotations and variables by numbers, the same in the whole
    /// file.
    #[arg(help_heading = "Output", long)]
    anonymise: bool,
}

impl RecordingOutput {
    /// Fails if the recording cannot be written, or would replace one of these files, which the
    /// command reads.
    pub(super) fn check(&self, inputs: &[&Path]) -> Result<(), CliError> {
        output_paths::check_private_file("--out", &self.out)?;
        output_paths::check_not_input("--out", Some(&self.out), inputs)
    }

    /// Write the recording and print a summary. A gap makes the outcome inconclusive.
    pub(super) fn write(&self, recording: &Recording) -> Result<RunOutcome, CliError> {
        if self.anonymise {
            return write_with_summary(&self.out, &anonymous(recording));
        }
        write_with_summary(&self.out, recording)
    }
}

/// The most gaps that are printed.
const MOST_GAPS: usize = 10;

/// Read a recording from a file. Prints a note if it was cut off.
pub(super) fn read(path: &Path) -> Result<Recording, CliError> {
    if path.is_dir() {
        return Err(CliError::Usage(format!("{} is a folder; name a recording in it", path.display())));
    }
    let file = std::fs::File::open(path).map_err(|source| FileError::File { path: path.to_owned(), source })?;
    let recording = Recording::read(std::io::BufReader::new(file))
        .map_err(|source| FileError::Recording { path: path.to_owned(), source })?;
    if recording.end.is_none() {
        // The first line is the header.
        let last = recording.entries.len() + 1;
        note!("{}: the recording is cut off after line {last}; copy it again, or record it again", path.display());
    }
    Ok(recording)
}

/// Write a recording into a folder, by its case's name.
pub(super) fn store(folder: &Path, recording: &Recording) -> Result<PathBuf, CliError> {
    let path = folder.join(FileName::path_of(&recording.header.case, ".ndjson"));
    write(&path, recording)?;
    Ok(path)
}

/// Write the recording of a live cluster to a file, and print a summary. A gap makes the outcome
/// inconclusive.
fn write_with_summary(path: &Path, recording: &Recording) -> Result<RunOutcome, CliError> {
    write(path, recording)?;
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
    let path = path.display();
    note!(
        "wrote {path} with {} of objects and {}; `lockstep replay {}` goes on",
        pluralize(versions, "version"),
        pluralize(gaps.len(), "gap"),
        quote(&path.to_string())
    );
    Ok(if gaps.is_empty() { RunOutcome::Conformant } else { RunOutcome::Inconclusive })
}

fn write(path: &Path, recording: &Recording) -> Result<(), FileError> {
    let written =
        || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private_fs::create(path)?)) };
    written().map_err(|source| FileError::Recording { path: path.to_owned(), source })
}
