//! `lockstep replay`: what happened in a recording, played on upstream, beside what the recorded
//! cluster did.
//!
//! The recording of a case has the case: that is played again. What happened on a live cluster is
//! inferred.

use std::path::PathBuf;
use std::sync::Arc;

use super::again::Typed;
use super::compare::judged;
use super::infer::{keep, name};
use super::minimise::Minimising;
use super::out::note;
use super::place::Place;
use super::preview::played;
use super::reporter::{Reports, Results, Style, reporters};
use super::ways::{Look, Ways, named};
use super::{CliError, places, recorded};
use crate::case::{self, Case};
use crate::clock;
use crate::cluster::SiteName;
use crate::controllers::Controller;
use crate::infer::{Arrangements, Inferred, infer};
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::{Header, SubjectKind};
use crate::report::Again;
use crate::run::{Event, Judged};
use crate::secret;
use crate::subject::Spec;
use crate::supervise::Interrupt;
use crate::verdict::{Place as Where, What};
use crate::versions::Minor;

/// Play the case of a recording, or what is inferred from it, on upstream, and compare what was
/// recorded.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A recording, from `capture`, `import`, `record` or `run --recordings`.
    recording: PathBuf,
    #[command(flatten)]
    place: Place,
    /// The controller that plays the case [default: upstream of the version of the recorded
    /// cluster].
    #[arg(help_heading = "Subject", long)]
    subject: Option<String>,
    /// Leave out of the case in --out what this controller does not need to differ in the same way,
    /// such as "command:./mine": the one that the recorded cluster has.
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
    // A smaller case has steps that are put together anew.
    let is_played = recording.header.kind != SubjectKind::Cluster && arguments.minimise.is_none();
    let to_play = if is_played {
        ToPlay::Recorded(Arc::new(recorded_case(&recording.header)?))
    } else {
        ToPlay::Inferred(Box::new(infer(&recording, &name(&arguments.recording), &Arrangements::new())?))
    };
    let spec: Spec = match &arguments.subject {
        Some(text) => text.parse()?,
        None => upstream_of(&recording.header.cluster.version).parse()?,
    };
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    // On a real server upstream is a process.
    if let Some(error) = spec.not_built().filter(|_| arguments.place.site.cluster() == SiteName::Sim) {
        note!("`--subject ours` needs nothing to be built, and decides as upstream v1.36 does");
        return Err(error.into());
    }
    let place = &arguments.place;
    place.check(std::slice::from_ref(to_play.case()), std::slice::from_ref(&spec))?;
    let events =
        reporters(&arguments.reports, "lockstep replay", Results::Human(Style::Compare { timelines: true }), None);
    let mut cut = None;
    let (case, live, expected, judgements) = match to_play {
        ToPlay::Recorded(case) => {
            let played = played(place, &spec, vec![Arc::clone(&case)]).await?.pop();
            let (_, played) = played.expect("what is played is recorded, or an error");
            let live = named(&recording);
            let judgements = judged(&case, &played, &live)?;
            (case, live, played, judgements)
        }
        ToPlay::Inferred(inferred) => {
            let name = name(&arguments.recording);
            let ways = Ways { recording: &recording, name: &name, place, spec: &spec };
            let Look { inferred, live, played, judgements } = ways.nearest(*inferred).await?;
            cut = inferred.cut;
            let case = match arguments.minimise.as_deref() {
                Some(other) => Minimising { place, spec: &spec, other: &other.parse()? }.smallest(&inferred).await?,
                None => inferred.case,
            };
            (case, live, played, judgements)
        }
    };
    let [first, second] = judgements;
    if let Some(path) = &arguments.out {
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
    if let Some(step) = cut.filter(|step| !is_found(*step)) {
        note!(
            "the recording ends before the controllers had settled, so {step} may lack decisions; capture for longer"
        );
    }
    let outcomes = [second.outcome()];
    let cause = Interrupt::of_process().cause();
    events.emit(&Event::RunEnded { outcomes: &outcomes, left: None, cause, took: since.elapsed() })?;
    Ok(Outcome::of(outcomes))
}

/// What is played.
enum ToPlay {
    /// The case that was recorded.
    Recorded(Arc<Case>),
    /// What was inferred from a live cluster.
    Inferred(Box<Inferred>),
}

impl ToPlay {
    fn case(&self) -> &Arc<Case> {
        match self {
            Self::Recorded(case) => case,
            Self::Inferred(inferred) => &inferred.case,
        }
    }
}

/// The case of a recording; with the values of its Secrets, which a recording lacks, if its file is
/// there.
fn recorded_case(header: &Header) -> Result<Case, CliError> {
    let of_file = case::load(&recorded::case_file(header, None)).unwrap_or_default();
    let is_same = |case: &Case| case.name == header.case && case.source == header.source;
    match of_file.into_iter().find(is_same) {
        Some(case) => Ok(case),
        // A controller of restarts writes checksums of the values.
        None if secret::is_redacted(&header.source) && header.judged.has(Controller::ConfigRestart) => {
            Err(CliError::Usage(format!(
                "recordings lack the values of Secrets, so {} is needed as it was recorded; run this where it is",
                header.path
            )))
        }
        None => case::recorded(header).map_err(CliError::Case),
    }
}

/// Upstream's controller of the server's version, where that is one of upstream's: `v1.33.4+k3s1`
/// is v1.33.4.
fn upstream_of(version: &str) -> String {
    let plain = version.split(['+', '-']).next().unwrap_or_default();
    let has_patch = plain.split('.').count() == 3;
    match Minor::of(plain).filter(|_| has_patch) {
        Some(_) => format!("upstream:{plain}"),
        None => "upstream".to_owned(),
    }
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
