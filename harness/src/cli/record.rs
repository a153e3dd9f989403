//! The two halves of `lockstep run`: `lockstep record` plays cases and stores the recordings
//! without judging them, and `lockstep judge` judges stored recordings again, without a cluster.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_case as case;
use lockstep_cluster::supervise::Interrupt;
use lockstep_recording::SubjectKind;
use lockstep_report::RerunCommands;
use lockstep_runner::run::{CompletedPlay, FileError, JudgedPlay, PlayPlan, RunEvent, Subscribers};
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_support::{clock, collection};
use lockstep_verdict as verdict;
use walkdir::WalkDir;

use super::coverage::RequirementTables;
use super::golden::{GoldenArgs, load_golden_beside};
use super::out::say;
use super::play_args::PlayArgs;
use super::progress::Progress;
use super::recording_files::store;
use super::reporter::{FormatArgs, HumanStyle, ProgressReporter, ReportArgs, messages, reporters};
use super::rerun_command::{CommandLine, OMITTED_FROM_RERUN};
use super::select::CaseSelection;
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths, recording_files};

#[derive(Debug, clap::Args)]
pub(super) struct RecordArguments {
    /// The controller to record.
    #[arg(help_heading = "Subject", long, default_value = "upstream")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: String,
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    play_args: PlayArgs,
    /// Folder for the recordings: `<area>/<case>.ndjson`.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(super) async fn execute_record(arguments: RecordArguments) -> Result<RunOutcome, CliError> {
    let spec: SubjectSpec = arguments.subject.parse()?;
    let cases = arguments.play_args.choose(&arguments.selection, std::slice::from_ref(&spec))?;
    arguments.play_args.check(&cases, std::slice::from_ref(&spec))?;
    output_paths::check_folder("--out", Some(&arguments.out))?;
    let mut is_unfinished = false;
    let setup = arguments.play_args.setup(messages(ProgressReporter::Counting));
    setup.events.emit(&RunEvent::RunStarted { plays: cases.len() })?;
    let specs = std::slice::from_ref(&spec);
    for (setup, under_test, cases) in arguments.play_args.by_environment(&setup, cases) {
        let recorded = setup.for_each_subject(&under_test, specs, cases.len(), async |_, player| {
            let take = async |played: CompletedPlay<'_>| {
                is_unfinished |= !played.recording.end.as_ref().is_some_and(|end| end.completed);
                say!("{}", store(&arguments.out, &played.recording)?.display());
                Ok::<_, CliError>(ControlFlow::Continue(()))
            };
            setup.play_each(player, PlayPlan::once(&cases), take).await
        });
        recorded.await?;
    }
    // `lockstep judge` decides whether the subject is to blame for an unfinished case.
    Ok(if is_unfinished { RunOutcome::Inconclusive } else { RunOutcome::Conformant })
}

#[derive(Debug, clap::Args)]
pub(super) struct JudgeArguments {
    /// Recordings, or folders of them.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    #[command(flatten)]
    golden: GoldenArgs,
    #[command(flatten)]
    format: FormatArgs,
    #[command(flatten)]
    reports: ReportArgs,
}

pub(super) fn execute_judge(arguments: &JudgeArguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let paths = find_recordings(&arguments.recordings)?;
    arguments.reports.check(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let since = clock::instant();
    let results = arguments.format.results(HumanStyle::Judge);
    let reporters = reporters(&arguments.reports, "lockstep judge", results, None);
    let (mut outcomes, mut tables) = (Vec::new(), RequirementTables::default());
    let mut result = Ok(());
    Progress::for_process().expect("recording", Some(paths.len()));
    for path in &paths {
        match arguments.judge(typed, &reporters.events, &mut tables, path) {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        Progress::for_process().advance(1);
        if let Some(cause) = Interrupt::for_process().cause() {
            result = Err(CliError::Interrupted(cause));
            break;
        }
    }
    reporters.end(&result, (&outcomes, paths.len()), 0, since)?;
    result.map(|()| RunOutcome::most_severe(outcomes))
}

impl JudgeArguments {
    /// Judge one recording.
    fn judge(
        &self,
        typed: &CommandLine,
        events: &Subscribers,
        tables: &mut RequirementTables,
        path: &Path,
    ) -> Result<RunOutcome, CliError> {
        let mut recording = recording_files::read(path)?;
        if recording.header.kind == SubjectKind::Cluster {
            return Err(CliError::Usage(format!(
                "{} is of a live rollout, which has no case to be judged by; `lockstep replay {}` compares it with what \
                 upstream does",
                path.display(),
                quote(&path.display().to_string())
            )));
        }
        let recorded = Arc::new(case::parse_recorded(&recording.header)?);
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
        let mut judgement = verdict::judge(&recorded, &recording, golden);
        tables.add_quirks(&mut judgement);
        let flags = typed.flags(&OMITTED_FROM_RERUN);
        let repeat = format!("{} {}{flags}", typed.beginning(), quote(&path.display().to_string()));
        let judged = JudgedPlay {
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
        };
        events.emit(&RunEvent::CaseJudged(&judged))?;
        self.reports.keep_evidence(Path::new(""), &judged);
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
