//! `lockstep run`: a subject on cases, against the timelines blessed from upstream.

use std::path::PathBuf;
use std::time::Duration;

use super::select::{Selection, blessed};
use super::stage::Place;
use super::{CliError, record, stage};
use crate::case::Case;
use crate::clock;
use crate::cluster::SiteName;
use crate::controllers::Controllers;
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::report;
use crate::runner::{self, Lab};
use crate::shelf::Shelf;
use crate::subject::Spec;
use crate::verdict::{self, Judgement};

/// Judge a subject on cases, against the timelines blessed from upstream.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// Whom to judge: ours, ours:fixed, ours:process, upstream, upstream:VERSION, upstream:PATH, "command:PROGRAM ARGUMENTS", or on
    /// kind deployment:MANIFEST, a controller that runs as pods of the cluster, from a file or a folder of kustomize's.
    #[arg(long, default_value = "ours")]
    subject: Vec<String>,
    /// Play each case so many times.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Keep the recordings in this folder, for `lockstep judge`.
    #[arg(long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(super) enum Output {
    /// For people.
    #[default]
    Human,
    /// One JSON object a line for each case.
    Json,
}

pub(super) async fn execute(arguments: Arguments) -> Result<Outcome, CliError> {
    let cases = arguments.selection.cases()?;
    let specs = arguments.subject.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    arguments.place.check(&cases, &specs)?;
    // All of them are read before anything runs.
    cases.iter().try_for_each(|case| blessed(case).map(drop))?;
    let all = clock::instant();
    let mut outcomes = Vec::new();
    for (brought, cases) in arguments.place.by_lab(cases) {
        let shelves = cases.iter().map(blessed).collect::<Result<Vec<_>, _>>()?;
        if arguments.place.site.cluster == SiteName::Sim {
            outcomes.extend(simulated(&arguments, &brought, &specs, &cases, &shelves).await?);
            continue;
        }
        let lab = arguments.place.open(&brought).await?;
        let judged = stage::on(lab, async |lab| {
            let outcomes = judged(&arguments, lab, &specs, &cases, &shelves).await?;
            if outcomes.contains(&Outcome::Inconclusive)
                && let Some(logs) = lab.keep_logs().await
            {
                eprintln!("the cluster's own logs are in {}", logs.display());
            }
            Ok(outcomes)
        });
        outcomes.extend(judged.await?);
    }
    if arguments.output == Output::Human {
        println!("{}", report::summary(&outcomes, all.elapsed(), colour()));
    }
    Ok(Outcome::of(outcomes))
}

/// Every subject on every case, told of as it goes.
async fn judged(
    arguments: &Arguments,
    lab: &Lab,
    specs: &[Spec],
    cases: &[Case],
    shelves: &[Shelf],
) -> Result<Vec<Outcome>, CliError> {
    let mut outcomes = Vec::new();
    for spec in specs {
        let seat = arguments.place.seat(lab, spec).await?;
        let since = clock::instant();
        for time in 1..=arguments.repeat {
            for (case, shelf) in cases.iter().zip(shelves) {
                let began = clock::instant();
                let recording = seat.play(case).await;
                outcomes.push(tell(arguments, spec, time, case, shelf, &recording, began.elapsed())?);
            }
        }
        stage::pace(spec, cases.len() * arguments.repeat as usize, since.elapsed());
        stage::refusals(spec, &seat);
        seat.leave().await;
    }
    Ok(outcomes)
}

/// Every subject on every case, each on a simulated cluster of its own.
async fn simulated(
    arguments: &Arguments,
    brought: &Controllers,
    specs: &[Spec],
    cases: &[Case],
    shelves: &[Shelf],
) -> Result<Vec<Outcome>, CliError> {
    let mut outcomes = Vec::new();
    for spec in specs {
        let since = clock::instant();
        for time in 1..=arguments.repeat {
            for (case, shelf) in cases.iter().zip(shelves) {
                let began = clock::instant();
                let simulation = arguments.place.simulation(brought);
                let recording = {
                    let (case, spec) = (case.clone(), spec.clone());
                    // A thread of its own: its time stands still and its runtime is not this one.
                    let played = tokio::task::spawn_blocking(move || runner::simulated(&case, &spec, &simulation));
                    played.await.map_err(|error| CliError::Usage(error.to_string()))??
                };
                outcomes.push(tell(arguments, spec, time, case, shelf, &recording, began.elapsed())?);
            }
        }
        stage::pace(spec, cases.len() * arguments.repeat as usize, since.elapsed());
    }
    Ok(outcomes)
}

/// Judge what was recorded of one play, keep it where that is wanted, and tell of it.
fn tell(
    arguments: &Arguments,
    spec: &Spec,
    time: u32,
    case: &Case,
    shelf: &Shelf,
    recording: &Recording,
    took: Duration,
) -> Result<Outcome, CliError> {
    if let Some(folder) = &arguments.recordings {
        let several = arguments.subject.len() > 1;
        let folder = if several { folder.join(spec.to_string().replace('/', "_")) } else { folder.clone() };
        let folder = if arguments.repeat > 1 { folder.join(time.to_string()) } else { folder };
        record::keep(&folder, recording)?;
    }
    let judgement = verdict::judge(recording, shelf.for_server(&recording.header.cluster.version));
    let repeat = format!("cargo lockstep run {} --subject '{spec}'{}", case.path, arguments.place.words());
    print(&judgement, Some(took), arguments.output, &repeat);
    Ok(judgement.outcome())
}

/// Print one case's judgement: a line, and all that a person needs where it is not conformant.
pub(super) fn print(judgement: &Judgement, took: Option<Duration>, output: Output, repeat: &str) {
    match output {
        Output::Json => println!("{}", report::json(judgement)),
        Output::Human if judgement.outcome() == Outcome::Conformant => {
            let took = took.map_or_else(String::new, |took| format!("  {:.2} s", took.as_secs_f64()));
            println!("{:15} {} on {}{took}", judgement.verdict.name(), judgement.case, judgement.subject.name);
        }
        Output::Human => println!("{}\n", report::failure(judgement, repeat, colour())),
    }
}

/// Whether standard output is for a person's eyes.
pub(super) fn colour() -> bool {
    use std::io::IsTerminal;
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stdout().is_terminal()
}
