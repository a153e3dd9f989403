//! `lockstep case`: infers a case from what users and nodes did in a recording.

use std::path::{Path, PathBuf};

use lockstep_case::Case;
use lockstep_search::infer::{Arrangements, infer};
use lockstep_support::outcome::RunOutcome;

use super::out::{self, note};
use super::recording_files::RecordingArg;
use super::{CliError, output_paths};

/// Infer a case from a recording: what users and nodes did becomes its steps.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    recording: RecordingArg,
    /// Write the case to this file [default: standard output].
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    output_paths::check_file("--out", arguments.out.as_deref())?;
    let path = arguments.recording.path();
    let inferred = infer(&arguments.recording.read()?, &case_name(path), &Arrangements::new())?;
    match &arguments.out {
        None => out::result(format_args!("{}", inferred.case.source)),
        Some(out) => {
            write_case(out, &inferred.case)?;
            note!("wrote {}; `lockstep replay {}` plays it", out.display(), path.display());
        }
    }
    Ok(RunOutcome::Conformant)
}

/// The name of the case for a recording, derived from the name of its file.
pub(super) fn case_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let letters =
        stem.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let name: String = letters.collect();
    let name = name.trim_matches('-');
    format!("captured/{}", if name.is_empty() { "rollout" } else { name })
}

/// Write the case to a file.
pub(super) fn write_case(path: &Path, case: &Case) -> Result<(), CliError> {
    Ok(output_paths::write(path, &case.source)?)
}
