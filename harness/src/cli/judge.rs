//! `lockstep judge`: stored recordings, judged again. No cluster is touched, so the verdict is the
//! one it had.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::WalkDir;

use super::again::Typed;
use super::like::Like;
use super::reporter::{Reports, Results, Style, reporters};
use super::{CliError, recorded, run};
use crate::case;
use crate::clock;
use crate::collection;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::report::Again;
use crate::run::{Event, Events, FileError, Judged};
use crate::supervise::Interrupt;
use crate::verdict;
use crate::workload::Workload;

/// Judge stored recordings again, without a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Recordings, or folders of them.
    #[arg(help_heading = "Output", required = true)]
    recordings: Vec<PathBuf>,
    /// Folder of the cases and golden timelines, if they have moved.
    #[arg(help_heading = "Selection", long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
    /// Compare what this workload compares: for recordings that were made with `run --workload`.
    #[arg(help_heading = "Subject", long, value_name = "WORKLOAD")]
    workload: Option<Workload>,
    #[command(flatten)]
    like: Like,
    /// Output format.
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    output: run::Output,
    #[command(flatten)]
    reports: Reports,
}

pub(super) fn execute(arguments: &Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.reports.check()?;
    let since = clock::instant();
    let results = match arguments.output {
        run::Output::Human => Results::Human(Style::Judge),
        run::Output::Json => Results::Json,
    };
    let events = reporters(&arguments.reports, "lockstep judge", results, None);
    let paths = found(&arguments.recordings)?;
    let mut outcomes = Vec::new();
    let mut cause = None;
    for path in &paths {
        outcomes.push(arguments.judge(typed, &events, path)?);
        cause = Interrupt::of_process().cause();
        if cause.is_some() {
            break;
        }
    }
    let left = cause.map(|_| paths.len() - outcomes.len());
    events.emit(&Event::RunEnded { outcomes: &outcomes, left, cause, took: since.elapsed() })?;
    cause.map_or_else(|| Ok(Outcome::of(outcomes)), |cause| Err(CliError::Interrupted(cause)))
}

impl Arguments {
    /// Judge one recording.
    fn judge(&self, typed: &Typed, events: &Events, path: &Path) -> Result<Outcome, CliError> {
        let mut recording = recorded::read(path)?;
        let recorded = Arc::new(case::recorded(&recording.header).map_err(CliError::Case)?);
        if let (Some(workload), Some(recorded)) = (&self.workload, &mut recording.header.workload) {
            **recorded = workload.clone();
        }
        let case = recorded::case_file(&recording.header, self.cases.as_deref());
        // Without its case a recording would quietly be judged by less than before.
        if !collection::is_file(&case) {
            let source =
                std::io::Error::new(std::io::ErrorKind::NotFound, "the recording's case is not there; give --cases");
            return Err(FileError::File { path: case, source }.into());
        }
        let golden = recorded::golden(&recorded, &case)?;
        let golden = golden.applicable_to(&recording.header, self.like.like);
        let golden = golden.for_server(&recording.header.cluster.version);
        let judgement = verdict::judge(&recorded, &recording, golden);
        let flags = typed.flags(&run::NOT_OF_A_PLAY);
        let repeat = format!("{} {}{flags}", typed.beginning(), quoted(&path.display().to_string()));
        events.emit(&Event::CaseJudged(&Judged {
            judgement: &judgement,
            expected: judgement.expected(golden),
            golden,
            recording: &recording,
            again: &Again { program: typed.program.clone(), repeat },
            took: None,
            output: None,
            item: 0,
            seed: None,
            brief: false,
        }))?;
        Ok(judgement.outcome())
    }
}

/// The recordings that the paths name: files as they are, folders with every `*.ndjson` below them.
fn found(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
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
