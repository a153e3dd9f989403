//! `lockstep record`: plays cases and stores the recordings without judging them.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use lockstep_runner::run::{CompletedPlay, PlayPlan, Subscribers};
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::RunOutcome;

use super::out::say;
use super::play_args::PlayArgs;
use super::recording_files::store;
use super::reporter::NotesReporter;
use super::select::CaseSelection;
use super::{CliError, output_paths};

/// Play cases and keep the recordings, unjudged.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    play_args: PlayArgs,
    /// The controller to record.
    #[arg(help_heading = "Subject", long, default_value = "upstream")]
    subject: String,
    /// Folder for the recordings: `<area>/<case>.ndjson`.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(super) async fn execute(arguments: Arguments) -> Result<RunOutcome, CliError> {
    let spec: SubjectSpec = arguments.subject.parse()?;
    let cases = arguments.play_args.choose(&arguments.selection, std::slice::from_ref(&spec))?;
    arguments.play_args.check(&cases, std::slice::from_ref(&spec))?;
    output_paths::check_folder("--out", Some(&arguments.out))?;
    let mut is_unfinished = false;
    let setup = arguments.play_args.setup(Subscribers::new(vec![Arc::new(NotesReporter)]));
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
