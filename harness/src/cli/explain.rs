//! `lockstep explain`: a case told as a story.

use std::path::{Path, PathBuf};

use super::CliError;
use super::coverage::Tables;
use super::out::{self, say};
use super::places;
use super::reporter::colour;
use super::select;
use crate::case::{self, Case};
use crate::cluster::DEFAULT_VERSION;
use crate::golden::GoldenTimelines;
use crate::outcome::Outcome;
use crate::report;
use crate::run::FileError;
use crate::timeline::{Golden, legend};
use crate::versions::Minor;

/// Explain a case step by step: what happens, what upstream does, and why.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Case files, folders of them, or FILE@PROFILE for the case of one restart profile.
    #[arg(required_unless_present = "legend", value_name = "CASE")]
    paths: Vec<PathBuf>,
    /// On a server of this version, where upstream differs there.
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_VERSION)]
    on: String,
    /// As upstream of this version does it, such as v1.15.
    #[arg(long, value_name = "VERSION")]
    by: Option<Minor>,
    /// Write a picture of the golden timeline to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Explain the words of a timeline.
    #[arg(long)]
    legend: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
    if arguments.legend {
        out::result(format_args!("{}", legend()));
        if arguments.paths.is_empty() {
            return Ok(Outcome::Conformant);
        }
        say!("");
    }
    let server = format!("kube-apiserver {}", arguments.on);
    let mut tables = Tables::default();
    let cases = select::found(&arguments.paths)?.iter().map(|path| case::load(path)).collect::<Result<Vec<_>, _>>()?;
    let cases = cases.concat();
    places::file("--svg", arguments.svg.as_deref())?;
    if arguments.svg.is_some() && cases.len() != 1 {
        return Err(CliError::Usage(format!("--svg draws one case, not {}", cases.len())));
    }
    for (number, case) in cases.iter().enumerate() {
        let pins = tables.pinned_by(case)?;
        let golden = GoldenTimelines::beside(Path::new(&case.path))?;
        let golden = match arguments.by.filter(|minor| !minor.is_default()) {
            Some(minor) => golden.by(minor, &case.controllers),
            None => golden,
        };
        if let Some(file) = &arguments.svg {
            draw(file, case, golden.for_server(&server))?;
            continue;
        }
        if number > 0 {
            say!("\n{}\n", "─".repeat(80));
        }
        match golden.for_server(&server) {
            None => out::result(format_args!("{}", report::story(case, None, &pins, colour()))),
            Some(blessed) => {
                for (number, outcome) in (1..).zip(blessed.outcomes()) {
                    if number > 1 {
                        say!("\nor, outcome {number} of {}:\n", blessed.count());
                    }
                    out::result(format_args!("{}", report::story(case, Some(outcome), &pins, colour())));
                }
            }
        }
    }
    Ok(Outcome::Conformant)
}

/// Write the picture of a case.
fn draw(file: &Path, case: &Case, golden: Option<&Golden>) -> Result<(), CliError> {
    let timeline = golden.and_then(|golden| golden.outcomes().next());
    let timeline = timeline.ok_or_else(|| CliError::Usage(format!("--svg: {} is not blessed", case.path)))?;
    std::fs::write(file, report::page::picture(case, timeline))
        .map_err(|source| FileError::File { path: file.to_owned(), source })?;
    Ok(())
}
