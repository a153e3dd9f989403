//! `lockstep explain`: a case told as a story.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser as _;

use super::CliError;
use super::bless::stopped;
use super::coverage::Tables;
use super::out::{self, say};
use super::place::Place;
use super::places;
use super::preview::played;
use super::reporter::colour;
use super::select;
use crate::case::{self, Case};
use crate::cluster::DEFAULT_VERSION;
use crate::golden::GoldenTimelines;
use crate::outcome::Outcome;
use crate::report::{self, Said};
use crate::run::FileError;
use crate::subject::Spec;
use crate::timeline::{Golden, Timeline, legend};
use crate::verdict;
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
    /// Play each case now and explain what this subject does, whether the case is blessed or not
    /// [without SUBJECT: upstream].
    ///
    /// Plays on the simulated cluster; `upstream` and `upstream:VERSION` run in virtual time where
    /// `scripts/upstream-virtual` has built them.
    #[arg(long, value_name = "SUBJECT", num_args = 0..=1, default_missing_value = "upstream")]
    #[arg(conflicts_with_all = ["on", "by", "svg"], require_equals = true)]
    live: Option<String>,
    /// Write a picture of the golden timeline to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Explain the words of a timeline.
    #[arg(long)]
    legend: bool,
}

/// The simulated cluster, as `lockstep run` has it without further arguments.
#[derive(Debug, clap::Parser)]
struct Simulated {
    #[command(flatten)]
    place: Place,
}

pub(super) async fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
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
    if let Some(subject) = &arguments.live {
        return live(subject, cases, &mut tables).await;
    }
    for (number, case) in cases.iter().enumerate() {
        let pins = tables.pinned_by(case)?;
        let golden = GoldenTimelines::of(case)?;
        let golden = match arguments.by.filter(|minor| !minor.is_default()) {
            Some(minor) => golden.by(minor, &case.controllers),
            None => golden,
        };
        if let Some(file) = &arguments.svg {
            draw(file, case, golden.for_server(&server))?;
            continue;
        }
        apart(number);
        match golden.for_server(&server) {
            None => out::result(format_args!("{}", report::story(case, Said::Nothing, &pins, colour()))),
            Some(blessed) => {
                for (number, outcome) in (1..).zip(blessed.outcomes()) {
                    if number > 1 {
                        say!("\nor, outcome {number} of {}:\n", blessed.count());
                    }
                    out::result(format_args!("{}", report::story(case, Said::Golden(outcome), &pins, colour())));
                }
            }
        }
    }
    Ok(Outcome::Conformant)
}

/// What a subject does in each case when it is played now.
async fn live(subject: &str, cases: Vec<Case>, tables: &mut Tables) -> Result<Outcome, CliError> {
    let place = Simulated::parse_from(["lockstep", "--cluster", "sim"]).place;
    let spec: Spec = subject.parse()?;
    let cases: Vec<Arc<Case>> = cases.into_iter().map(Arc::new).collect();
    place.check(&cases, std::slice::from_ref(&spec))?;
    let mut outcomes = Vec::new();
    for (number, (case, recording)) in played(&place, &spec, cases).await?.iter().enumerate() {
        apart(number);
        if let Some((outcome, why)) = stopped(verdict::judge(case, recording, None)) {
            say!("{}: {why}", case.name);
            outcomes.push(outcome);
            continue;
        }
        let (timeline, header) = (Timeline::from_recording(recording), &recording.header);
        let who = format!("{} on {}", header.subject.title(), header.cluster.title());
        let said = Said::Live(&timeline, &who);
        out::result(format_args!("{}", report::story(case, said, &tables.pinned_by(case)?, colour())));
        outcomes.push(Outcome::Conformant);
    }
    Ok(Outcome::of(outcomes))
}

/// A line between two stories.
fn apart(number: usize) {
    if number > 0 {
        say!("\n{}\n", "─".repeat(80));
    }
}

/// Write the picture of a case.
fn draw(file: &Path, case: &Case, golden: Option<&Golden>) -> Result<(), CliError> {
    let timeline = golden.and_then(|golden| golden.outcomes().next());
    let timeline = timeline.ok_or_else(|| CliError::Usage(format!("--svg: {} is not blessed", case.path)))?;
    std::fs::write(file, report::page::picture(case, timeline))
        .map_err(|source| FileError::File { path: file.to_owned(), source })?;
    Ok(())
}
