//! What subjects are compared with: the golden timelines of a case or of a stored recording, and
//! the flags that select them.

use std::path::{Path, PathBuf};

use lockstep_case::{self as case, Case};
use lockstep_recording::{Header, Recording};
use lockstep_support::collection;
use lockstep_timeline::versions::{Minor, RECORDED_RANGE};
use lockstep_verdict::golden::{GoldenError, GoldenTimelines};
use lockstep_workload::Workload;

use super::CliError;

/// The version of upstream to compare with.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Subject")]
pub(super) struct AsVersionArgs {
    /// Compare with what upstream of this version does, such as v1.33.
    ///
    /// `upstream:VERSION` is compared with its own version without this flag.
    #[arg(long = "as", value_name = "VERSION", value_parser = recorded_version)]
    pub(super) minor: Option<Minor>,
}

/// What a stored recording is compared with.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct GoldenArgs {
    /// Folder of the cases and golden timelines, if they have moved.
    #[arg(help_heading = "Cases", long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
    /// Compare what this workload compares: for recordings that were made with `run --workload`.
    #[arg(help_heading = "Subject", long, value_name = "WORKLOAD")]
    workload: Option<Workload>,
    #[command(flatten)]
    pub(super) as_version: AsVersionArgs,
}

impl GoldenArgs {
    /// Replace the workload of a recording, if the arguments have one.
    pub(super) fn replace_workload(&self, recording: &mut Recording) {
        if let (Some(workload), Some(recorded)) = (&self.workload, &mut recording.header.workload) {
            **recorded = workload.clone();
        }
    }

    /// The case file of a recording.
    pub(super) fn case_file(&self, header: &Header) -> PathBuf {
        case_file(header, self.cases.as_deref())
    }
}

/// The golden timelines of a case.
pub(super) fn load_golden(case: &Case) -> Result<GoldenTimelines, CliError> {
    Ok(GoldenTimelines::load(case)?)
}

/// The golden timelines beside the file of this case.
pub(super) fn load_golden_beside(file: &Path, recorded: &Case) -> Result<GoldenTimelines, GoldenError> {
    GoldenTimelines::load(&Case { path: file.display().to_string(), ..Case::clone(recorded) })
}

/// The case file of a recording; `folder` is the new folder of the cases if they have moved.
pub(super) fn case_file(header: &Header, folder: Option<&Path>) -> PathBuf {
    let Some(folder) = folder else { return PathBuf::from(&header.path) };
    let (case, _) = case::split_profile(&header.case);
    let files = case::EXTENSIONS.map(|extension| folder.join(format!("{case}.{extension}")));
    let [yaml, _] = &files;
    files.iter().find(|file| collection::is_file(file)).unwrap_or(yaml).clone()
}

/// Parses a version that has recordings.
pub(super) fn recorded_version(text: &str) -> Result<Minor, String> {
    let minor: Minor = text.parse()?;
    let (first, last) = RECORDED_RANGE;
    if (first..=last).contains(&minor) {
        Ok(minor)
    } else {
        Err(format!("nothing is recorded of this version; choose one from {first} to {last}"))
    }
}
