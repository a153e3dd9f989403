//! `lockstep judge`: stored recordings, judged again. No cluster is touched, so the verdict is the one it had.

use std::path::{Path, PathBuf};

use super::like::Like;
use super::telling::{Play, Reports, Telling};
use super::{CliError, run};
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::shelf::Shelf;
use crate::verdict;

/// Judge stored recordings again; needs no cluster.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Recordings, as `lockstep record` and `lockstep run --recordings` write them.
    #[arg(required = true)]
    recordings: Vec<PathBuf>,
    /// Where the cases and their blessed timelines are, if not where they were.
    #[arg(long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
    #[command(flatten)]
    like: Like,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    output: run::Output,
    #[command(flatten)]
    reports: Reports,
}

pub(super) async fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
    let telling = Telling::new(&arguments.reports);
    let mut outcomes = Vec::new();
    for path in &arguments.recordings {
        let recording = read(path)?;
        let case = match &arguments.cases {
            Some(folder) => folder.join(&recording.header.case).with_extension("yaml"),
            None => PathBuf::from(&recording.header.path),
        };
        // Without its case a recording would quietly be judged by less than before.
        if !case.is_file() {
            let source =
                std::io::Error::new(std::io::ErrorKind::NotFound, "the recording's case is not there; give --cases");
            return Err(CliError::File { path: case, source });
        }
        let shelf = Shelf::beside(&case)?;
        let shelf = shelf.held_to(&recording.header, arguments.like.like);
        let blessed = shelf.for_server(&recording.header.cluster.version);
        let judgement = verdict::judge_blessed(&recording, blessed);
        let expected = judgement.expected(blessed);
        let like = arguments.like.words();
        let repeat = format!("cargo lockstep judge {}{like}", path.display());
        run::print(&judgement, None, arguments.output, &repeat);
        let play =
            Play { judgement: &judgement, expected, recording: &recording, repeat: &repeat, took: None, voice: None };
        telling.take(&play).await?;
        outcomes.push(judgement.outcome());
    }
    telling.finish("lockstep judge")?;
    Ok(Outcome::of(outcomes))
}

/// Read a recording from a file.
fn read(path: &Path) -> Result<Recording, CliError> {
    let file = std::fs::File::open(path).map_err(|source| CliError::File { path: path.to_owned(), source })?;
    Recording::read(std::io::BufReader::new(file))
        .map_err(|source| CliError::Recording { path: path.to_owned(), source })
}
