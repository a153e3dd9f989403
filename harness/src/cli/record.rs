//! `lockstep record`: play cases and keep what was seen, unjudged.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::out::say;
use super::place::Place;
use super::reporter::Notes;
use super::select::Selection;
use super::{CliError, places};
use crate::outcome::Outcome;
use crate::private;
use crate::recording::{FileName, Recording, RecordingError};
use crate::run::{Events, FileError, Plan, Played};
use crate::subject::Spec;

/// Play cases and keep the recordings, unjudged.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// The controller to record.
    #[arg(help_heading = "Subject", long, default_value = "upstream")]
    subject: String,
    /// Folder for the recordings: `<area>/<case>.ndjson`.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: PathBuf,
}

pub(super) async fn execute(arguments: Arguments) -> Result<Outcome, CliError> {
    let spec: Spec = arguments.subject.parse()?;
    let cases = arguments.place.choose(&arguments.selection, std::slice::from_ref(&spec))?;
    arguments.place.check(&cases, std::slice::from_ref(&spec))?;
    places::folder("--out", Some(&arguments.out))?;
    let mut cut = false;
    let setup = arguments.place.setup(Events::to(vec![Arc::new(Notes)]));
    let specs = std::slice::from_ref(&spec);
    for (setup, under_test, cases) in arguments.place.by_environment(&setup, cases) {
        let recorded = setup.with_each(&under_test, specs, cases.len(), async |_, player| {
            let take = async |played: Played<'_>| {
                cut |= !played.recording.end.as_ref().is_some_and(|end| end.completed);
                say!("{}", keep(&arguments.out, &played.recording)?.display());
                Ok::<_, CliError>(ControlFlow::Continue(()))
            };
            setup.play_each(player, Plan::once(&cases), take).await
        });
        recorded.await?;
    }
    // Whose fault an unfinished case is, `lockstep judge` says.
    Ok(if cut { Outcome::Inconclusive } else { Outcome::Conformant })
}

/// Write a recording into a folder, by its case's name.
pub(super) fn keep(folder: &Path, recording: &Recording) -> Result<PathBuf, CliError> {
    let path = folder.join(FileName::path_of(&recording.header.case, ".ndjson"));
    let written =
        || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private::create(&path)?)) };
    written().map_err(|source| FileError::Recording { path: path.clone(), source })?;
    Ok(path)
}
