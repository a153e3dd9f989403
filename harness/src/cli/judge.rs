//! `lockstep judge`: judges stored recordings again, without a cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_case as case;
use lockstep_cluster::supervise::Interrupt;
use lockstep_report::RerunCommands;
use lockstep_runner::run::{FileError, JudgedPlay, RunEvent, Subscribers};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_support::{clock, collection};
use lockstep_verdict as verdict;
use walkdir::WalkDir;

use super::golden::{GoldenArgs, load_golden_beside};
use super::reporter::{FormatArgs, HumanStyle, ReportArgs, reporters};
use super::rerun_command::{CommandLine, OMITTED_FROM_RERUN};
use super::{CliError, recording_files};

/// Judge stored recordings again, without a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Recordings, or folders of them.
    #[arg(help_heading = "Output", required = true)]
    recordings: Vec<PathBuf>,
    #[command(flatten)]
    golden: GoldenArgs,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    reports: ReportArgs,
}

pub(super) fn execute(arguments: &Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    arguments.reports.check()?;
    let since = clock::instant();
    let results = arguments.format.results(HumanStyle::Judge);
    let events = reporters(&arguments.reports, "lockstep judge", results, None);
    let paths = find_recordings(&arguments.recordings)?;
    let mut outcomes = Vec::new();
    let mut cause = None;
    for path in &paths {
        outcomes.push(arguments.judge(typed, &events, path)?);
        cause = Interrupt::for_process().cause();
        if cause.is_some() {
            break;
        }
    }
    let unplayed = cause.map(|_| paths.len() - outcomes.len());
    events.emit(&RunEvent::RunEnded { outcomes: &outcomes, unplayed, cause, took: since.elapsed() })?;
    cause.map_or_else(|| Ok(RunOutcome::most_severe(outcomes)), |cause| Err(CliError::Interrupted(cause)))
}

impl Arguments {
    /// Judge one recording.
    fn judge(&self, typed: &CommandLine, events: &Subscribers, path: &Path) -> Result<RunOutcome, CliError> {
        let mut recording = recording_files::read(path)?;
        let recorded = Arc::new(case::parse_recorded(&recording.header).map_err(CliError::Case)?);
        self.golden.replace_workload(&mut recording);
        let case = self.golden.case_file(&recording.header);
        // Without its case, a recording would silently be judged by less than before.
        if !collection::is_file(&case) {
            let source =
                std::io::Error::new(std::io::ErrorKind::NotFound, "the recording's case is not there; give --cases");
            return Err(FileError::File { path: case, source }.into());
        }
        let golden = load_golden_beside(&case, &recorded)?;
        let golden = golden.for_subject(&recording.header, self.golden.as_version.minor);
        let golden = golden.for_server(&recording.header.cluster.version);
        let judgement = verdict::judge(&recorded, &recording, golden);
        let flags = typed.flags(&OMITTED_FROM_RERUN);
        let repeat = format!("{} {}{flags}", typed.beginning(), quote(&path.display().to_string()));
        events.emit(&RunEvent::CaseJudged(&JudgedPlay {
            judgement: &judgement,
            expected: judgement.expected_timeline(golden),
            golden,
            recording: &recording,
            rerun: &RerunCommands { program: typed.program.clone(), repeat },
            took: None,
            output: None,
            item: 0,
            seed: None,
            brief: false,
        }))?;
        Ok(judgement.outcome())
    }
}

/// The recordings that the paths name. A folder names every `*.ndjson` file below it.
fn find_recordings(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut all = Vec::new();
    for path in paths {
        if !path.is_dir() {
            all.push(path.clone());
            continue;
        }
        let before = all.len();
        for entry in WalkDir::new(path).sort_by_file_name() {
            let entry = entry.map_err(|error| FileError::File { path: path.clone(), source: error.into() })?;
            let is_one = entry.path().extension().is_some_and(|extension| extension == "ndjson");
            if is_one && entry.file_type().is_file() {
                all.push(entry.into_path());
            }
        }
        if all.len() == before {
            let why = "has no recording (*.ndjson); `record` and `run --recordings FOLDER` write them";
            return Err(CliError::Usage(format!("{} {why}", path.display())));
        }
    }
    Ok(all)
}
