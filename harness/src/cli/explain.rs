//! `lockstep explain`: explains a case step by step.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser as _;
use lockstep_case::{self as case, Case};
use lockstep_cluster::DEFAULT_VERSION;
use lockstep_report::{self as report, ExplainedTimeline};
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::versions::Minor;
use lockstep_timeline::{GoldenOutcomes, Timeline, legend};
use lockstep_verdict as verdict;
use lockstep_verdict::golden::GoldenTimelines;

use super::bless::unusable_reason;
use super::coverage::RequirementTables;
use super::golden::recorded_version;
use super::out::{self, colour, say};
use super::play_args::PlayArgs;
use super::progress::Progress;
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths, select};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Cases, areas, files and folders, such as rolling/rollover, rolling or my-case.yaml.
    ///
    /// FILE@PROFILE is the case of one restart profile.
    #[arg(required_unless_present = "legend", value_name = "CASE")]
    paths: Vec<PathBuf>,
    /// On a server of this version, where upstream differs there.
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_VERSION)]
    k8s_version: String,
    /// As upstream of this version does it, such as v1.15.
    #[arg(long = "as", value_name = "VERSION", value_parser = recorded_version)]
    minor: Option<Minor>,
    /// Play each case now and explain what this subject does, whether the case is blessed or not
    /// [without SUBJECT: upstream].
    ///
    /// Plays on the simulated cluster; `upstream` and `upstream:VERSION` run in virtual time where
    /// `scripts/fetch virtual` has built them.
    #[arg(long, value_name = "SUBJECT", num_args = 0..=1, default_missing_value = "upstream")]
    #[arg(conflicts_with_all = ["k8s_version", "minor", "svg"], require_equals = true)]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    live: Option<String>,
    /// Write a picture of the golden timeline to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Explain the words of a timeline.
    #[arg(long)]
    legend: bool,
}

/// The play arguments of `lockstep run` on the simulated cluster, with all defaults.
#[derive(Debug, clap::Parser)]
struct DefaultSimulation {
    #[command(flatten)]
    play_args: PlayArgs,
}

pub(super) async fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    if arguments.legend {
        out::result(format_args!("{}", legend()));
        if arguments.paths.is_empty() {
            return Ok(RunOutcome::Conformant);
        }
        say!("");
    }
    let server = format!("kube-apiserver {}", arguments.k8s_version);
    let mut tables = RequirementTables::default();
    let cases =
        select::find_files(&arguments.paths)?.iter().map(|path| case::load(path)).collect::<Result<Vec<_>, _>>()?;
    let cases = cases.concat();
    output_paths::check_file("--svg", arguments.svg.as_deref())?;
    let files: Vec<&Path> = cases.iter().map(|case| Path::new(&case.path)).collect();
    output_paths::check_not_input("--svg", arguments.svg.as_deref(), &files)?;
    if arguments.svg.is_some() && cases.len() != 1 {
        return Err(CliError::Usage(format!("--svg draws one case, not {}", cases.len())));
    }
    if let Some(subject) = &arguments.live {
        return live(subject, cases, &mut tables).await;
    }
    for (number, case) in cases.iter().enumerate() {
        let pins = tables.requirements_of(case)?;
        let golden = GoldenTimelines::load(case)?;
        let golden = match arguments.minor.filter(|minor| !minor.is_default()) {
            Some(minor) => golden.for_minor(minor, &case.controllers),
            None => golden,
        };
        if let Some(file) = &arguments.svg {
            draw(file, case, golden.for_server(&server))?;
            continue;
        }
        separate(number);
        match golden.for_server(&server) {
            None => {
                out::report(&report::explanation(case, ExplainedTimeline::Missing, &pins, colour()));
            }
            Some(blessed) => {
                for (number, outcome) in (1..).zip(blessed.outcomes()) {
                    if number > 1 {
                        say!("\nor, outcome {number} of {}:\n", blessed.count());
                    }
                    out::report(&report::explanation(case, ExplainedTimeline::Golden(outcome), &pins, colour()));
                }
            }
        }
    }
    Ok(RunOutcome::Conformant)
}

/// Play each case now and explain what the subject does.
async fn live(subject: &str, cases: Vec<Case>, tables: &mut RequirementTables) -> Result<RunOutcome, CliError> {
    let play_args = DefaultSimulation::parse_from(["lockstep", "--cluster", "sim"]).play_args;
    let spec: SubjectSpec = subject.parse()?;
    let cases: Vec<Arc<Case>> = cases.into_iter().map(Arc::new).collect();
    play_args.check(&cases, std::slice::from_ref(&spec))?;
    let mut outcomes = Vec::new();
    Progress::for_process().expect("play", Some(cases.len()));
    for (number, (case, recording)) in play_args.record_once(&spec, cases).await?.iter().enumerate() {
        separate(number);
        if let Some((outcome, why)) = unusable_reason(verdict::judge(case, recording, None)) {
            say!("{}: {why}", case.name);
            outcomes.push(outcome);
            continue;
        }
        let (timeline, header) = (Timeline::from_recording(recording), &recording.header);
        let who = format!("{} on {}", header.subject.title(), header.cluster.title());
        let live = ExplainedTimeline::Live(&timeline, &who);
        out::report(&report::explanation(case, live, &tables.requirements_of(case)?, colour()));
        outcomes.push(RunOutcome::Conformant);
    }
    Ok(RunOutcome::most_severe(outcomes))
}

/// Print a line between two explanations.
fn separate(number: usize) {
    if number > 0 {
        say!("\n{}\n", "─".repeat(80));
    }
}

/// Write the picture of a case to a file.
fn draw(file: &Path, case: &Case, golden: Option<&GoldenOutcomes>) -> Result<(), CliError> {
    let timeline = golden.and_then(|golden| golden.outcomes().next());
    let timeline = timeline.ok_or_else(|| CliError::Usage(format!("--svg: {} is not blessed", case.path)))?;
    Ok(output_paths::write(file, &report::page::picture(case, timeline))?)
}
