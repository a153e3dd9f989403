//! `lockstep inspect`: steps through a recording in a terminal, or writes it as a page or a trace,
//! without a cluster.

#[cfg(feature = "terminal")]
mod screen;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use lockstep_case as case;
use lockstep_recording::Recording;
use lockstep_report::RerunCommands;
use lockstep_report::inspect::{Inspection, trace};
use lockstep_report::page::{self, CaseSection};
#[cfg(feature = "terminal")]
use lockstep_runner::run::FileError;
use lockstep_search::infer::{Arrangements, infer};
use lockstep_support::collection;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_timeline::Timeline;
use lockstep_verdict::{self as verdict, Judgement};

use super::coverage::RequirementTables;
use super::golden::{GoldenArgs, load_golden_beside};
use super::out::{note, say};
use super::progress::Progress;
use super::recording_files::RecordingArg;
use super::rerun_command::CommandLine;
use super::{CliError, output_paths};

/// The message of a build without the feature.
const NOT_BUILT: &str = "this lockstep was built without the feature `terminal`; \
    build it with cargo's default features (`cargo run --package lockstep -- inspect FILE`), \
    or write a page for a browser with `--html FILE`, or a trace for Perfetto with `--trace FILE`";

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    recording: RecordingArg,
    /// Write an HTML page with a slider instead; it needs no network.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a trace in Chrome's trace event format instead; Perfetto opens it.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    golden: GoldenArgs,
}

/// A judgement, and the timeline that was expected.
type GoldenJudgement = (Judgement, Option<Timeline>);

pub(super) fn execute(arguments: &Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    for (flag, path) in [("--html", &arguments.html), ("--trace", &arguments.trace)] {
        output_paths::check_file(flag, path.as_deref())?;
        output_paths::check_not_input(flag, path.as_deref(), &[arguments.recording.path()])?;
    }
    let to_files = arguments.html.is_some() || arguments.trace.is_some();
    if !to_files && !cfg!(feature = "terminal") {
        return Err(CliError::Usage(NOT_BUILT.to_owned()));
    }
    if !to_files && !std::io::stdout().is_terminal() {
        let why = "inspect needs a terminal on standard output; \
            `--html FILE` writes a page for a browser, `--trace FILE` a trace for Perfetto";
        return Err(CliError::Usage(why.to_owned()));
    }
    let mut recording = arguments.recording.read()?;
    arguments.golden.replace_workload(&mut recording);
    let judged = arguments.judge(&recording)?;
    let inspected = match &judged {
        Some((judgement, expected)) => Inspection::of_judgement(&recording, judgement, expected.as_ref()),
        None => match infer(&recording, "captured/rollout", &Arrangements::new()) {
            Ok(inferred) => Inspection::of_inferred(&inferred.annotated),
            Err(error) => Inspection::without_steps(&recording, &error.to_string()),
        },
    };
    if let Some(file) = &arguments.trace {
        output_paths::write(file, &trace(&inspected))?;
        say!("{}", file.display());
    }
    if let Some(file) = &arguments.html {
        output_paths::write(file, &arguments.page(typed, &inspected, judged.as_ref()))?;
        say!("{}", file.display());
    }
    if !to_files {
        Progress::for_process().stop();
        show(&inspected)?;
    }
    Ok(RunOutcome::Conformant)
}

/// Shows a recording in the terminal.
#[cfg(feature = "terminal")]
fn show(inspected: &Inspection) -> Result<(), CliError> {
    let failed = |source| FileError::File { path: PathBuf::from("the terminal"), source };
    Ok(screen::show(inspected).map_err(failed)?)
}

/// Fails: this build has no view for terminals.
#[cfg(not(feature = "terminal"))]
fn show(_: &Inspection) -> Result<(), CliError> {
    Err(CliError::Usage(NOT_BUILT.to_owned()))
}

impl Arguments {
    /// Judge the recording; `None` if it has no case. If the case file is missing, the recording is
    /// judged by the invariants and its rules only, with a note.
    fn judge(&self, recording: &Recording) -> Result<Option<GoldenJudgement>, CliError> {
        let Ok(case) = case::parse_recorded(&recording.header) else { return Ok(None) };
        let case = Arc::new(case);
        let file = self.golden.case_file(&recording.header);
        if !collection::is_file(&file) {
            note!(
                "{} is not there, so there is no golden timeline; --cases FOLDER names where the cases are",
                file.display()
            );
            return Ok(Some((verdict::judge(&case, recording, None), None)));
        }
        let golden = load_golden_beside(&file, &case)?;
        let golden = golden.for_subject(&recording.header, self.golden.as_version.minor);
        let golden = golden.for_server(&recording.header.cluster.version);
        let mut judgement = verdict::judge(&case, recording, golden);
        RequirementTables::default().add_quirks(&mut judgement);
        let expected = judgement.expected_timeline(golden).cloned();
        Ok(Some((judgement, expected)))
    }

    /// The page of this recording.
    fn page(&self, typed: &CommandLine, inspected: &Inspection, judged: Option<&GoldenJudgement>) -> String {
        let Some((judgement, expected)) = judged else {
            let mut facts = vec![
                ("recording", self.recording_path()),
                ("subject", inspected.subject.clone()),
                ("verdict", inspected.verdict.clone()),
            ];
            facts.extend(inspected.instead_of_requests().map(|why| ("requests", why)));
            return page::recording_page(&inspected.title, &facts, &inspected.timeline, &inspected.frames);
        };
        let repeat =
            format!("{} {}{}", typed.beginning(), quote(&self.recording_path()), typed.flags(&["html", "trace"]));
        let rerun = RerunCommands { program: typed.program.clone(), repeat };
        let (expected, frames) = (expected.as_ref(), Some(&inspected.frames));
        page::page(&inspected.title, &[CaseSection { judgement, expected, rerun: &rerun, took: None, frames }])
    }

    fn recording_path(&self) -> String {
        self.recording.path().display().to_string()
    }
}
