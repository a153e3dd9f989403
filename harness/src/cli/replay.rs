//! `lockstep replay`: what happened in a recording, played on upstream, beside what the recorded cluster did.

use std::path::PathBuf;
use std::sync::Arc;

use super::again::Typed;
use super::infer::{keep, name};
use super::minimise::Minimising;
use super::out::note;
use super::place::Place;
use super::reporter::{Reports, Results, Style, reporters};
use super::ways::{Look, Ways};
use super::{CliError, places, recorded};
use crate::clock;
use crate::cluster::SiteName;
use crate::infer::{Arrangements, infer};
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::report::Again;
use crate::run::{Event, Judged};
use crate::subject::Spec;
use crate::supervise::Interrupt;
use crate::verdict::{Place as Where, What};
use crate::versions::Minor;

/// Infer a case from a recording, play it on upstream, and compare what the recorded cluster did.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A recording, from `capture`, `import`, `record` or `run --recordings`.
    recording: PathBuf,
    #[command(flatten)]
    place: Place,
    /// The controller that plays the case [default: upstream of the version of the recorded cluster].
    #[arg(help_heading = "Subject", long)]
    subject: Option<String>,
    /// Leave out of the case in --out what this controller does not need to differ in the same way, such as "command:./mine": the
    /// one that the recorded cluster has.
    #[arg(help_heading = "Output", long, value_name = "SUBJECT", requires = "out")]
    minimise: Option<String>,
    /// Keep the case in this file.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    reports: Reports,
}

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.reports.check()?;
    places::file("--out", arguments.out.as_deref())?;
    let since = clock::instant();
    let recording = recorded::read(&arguments.recording)?;
    let name = name(&arguments.recording);
    let inferred = infer(&recording, &name, &Arrangements::new())?;
    let spec: Spec = match &arguments.subject {
        Some(text) => text.parse()?,
        None => upstream_of(&inferred.recording.header.cluster.version).parse()?,
    };
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    // On a real server upstream is a process.
    if let Some(error) = spec.not_built().filter(|_| arguments.place.site.cluster() == SiteName::Sim) {
        note!("`--subject ours` needs nothing to be built, and decides as upstream v1.36 does");
        return Err(error.into());
    }
    let place = &arguments.place;
    place.check(std::slice::from_ref(&inferred.case), std::slice::from_ref(&spec))?;
    let events =
        reporters(&arguments.reports, "lockstep replay", Results::Human(Style::Compare { timelines: true }), None);
    let Look { inferred, live, played: expected, judgements: [first, second] } =
        Ways { recording: &recording, name: &name, place, spec: &spec }.nearest(inferred).await?;
    if let Some(path) = &arguments.out {
        let case = match &arguments.minimise {
            Some(other) => Minimising { place, spec: &spec, other: &other.parse()? }.smallest(&inferred).await?,
            None => Arc::clone(&inferred.case),
        };
        keep(path, &case)?;
    }
    let titles = [expected.header.subject.name.clone(), live.header.subject.name.clone()];
    events
        .emit(&Event::CaseCompared { titles: titles.each_ref().map(String::as_str), judgements: [&first, &second] })?;
    let repeat =
        format!("{} {}{}", typed.beginning(), quoted(&arguments.recording.display().to_string()), typed.flags(&[]));
    events.emit(&Event::CaseJudged(&Judged {
        judgement: &second,
        expected: Some(&first.timeline),
        golden: None,
        recording: &live,
        again: &Again { program: typed.program.clone(), repeat },
        took: None,
        output: None,
        item: 0,
        seed: None,
        brief: false,
    }))?;
    let (cluster, controller) = (&live.header.subject.name, expected.header.subject.title());
    match (second.outcome(), second.findings.first()) {
        (Outcome::Conformant, _) => note!("{cluster} did what {controller} does"),
        (Outcome::NonConformant, Some(finding)) => {
            note!("{cluster} did not do what {controller} does: {}", finding.place);
        }
        (_, Some(finding)) if finding.what == What::BothIdle => {
            note!("neither {cluster} nor {controller} decides anything here, so there is nothing to compare");
        }
        _ => note!("whether {cluster} did what {controller} does cannot be said"),
    }
    // A finding in that step says so itself.
    let is_found = |step| second.findings.iter().any(|finding| finding.place == Where::Step(step));
    if let Some(step) = inferred.cut.filter(|step| !is_found(*step)) {
        note!(
            "the recording ends before the controllers had settled, so {step} may lack decisions; capture for longer"
        );
    }
    let outcomes = [second.outcome()];
    let cause = Interrupt::of_process().cause();
    events.emit(&Event::RunEnded { outcomes: &outcomes, left: None, cause, took: since.elapsed() })?;
    Ok(Outcome::of(outcomes))
}

/// Upstream's controller of the server's version, where that is one of upstream's: `v1.33.4+k3s1` is v1.33.4.
fn upstream_of(version: &str) -> String {
    let plain = version.split(['+', '-']).next().unwrap_or_default();
    let has_patch = plain.split('.').count() == 3;
    match Minor::of(plain).filter(|_| has_patch) {
        Some(_) => format!("upstream:{plain}"),
        None => "upstream".to_owned(),
    }
}
