//! `lockstep explore`: one case in every order in which its events can reach the controller, up to
//! a bound.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::again::Typed;
use super::out::{note, say};
use super::place::Place;
use super::reporter::{self, Notes};
use super::select::{Selection, blessed};
use super::sharding::Sharding;
use super::{CliError, places};
use crate::campaign::{self, Item, digest_of};
use crate::case::{self, Case};
use crate::clock;
use crate::cluster::SiteName;
use crate::explore::{Kind, Late, Orders, Outcomes, Seen, states, text};
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::{Entry, FileName, Recording};
use crate::run::{Events, Plan, Setup};
use crate::runner::Player;
use crate::secret;
use crate::subject::Spec;
use crate::supervise::Interrupt;
use crate::timeline::Timeline;
use crate::verdict::{Verdict, What, judge};

/// How many orders are played before their outcomes are looked at.
const BATCH: usize = 64;

/// Play a case in every order in which its events can reach the controller.
///
/// An event of a watch, with all behind it, or the answer to a write, comes after so many others:
/// each event, by each number of others, at --late places of the case. Says how many orders and
/// outcomes there are, and writes the shortest order of each outcome as a case.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// The controller to explore.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    subject: String,
    /// Explore this controller too, and say which outcomes it does not have.
    #[arg(help_heading = "Subject", long, value_name = "SUBJECT")]
    against: Option<String>,
    /// At how many places of a case something may be late; two of them may be in one step, in
    /// different streams.
    #[arg(help_heading = "Search", long, value_name = "N", default_value_t = 1)]
    late: usize,
    /// Play at most this many orders of a case.
    #[arg(help_heading = "Search", long, value_name = "N", default_value_t = 20_000)]
    most: usize,
    /// Folder for cases that repeat the outcomes.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sharding: Sharding,
}

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    if arguments.place.site.cluster() != SiteName::Sim {
        return Err(CliError::Usage("explore plays on --cluster sim only; play what it writes elsewhere".to_owned()));
    }
    let mut specs = vec![arguments.subject.parse::<Spec>()?];
    if let Some(against) = &arguments.against {
        specs.push(against.parse()?);
    }
    let cases = arguments.place.choose(&arguments.selection, &specs)?;
    arguments.place.check(&cases, &specs)?;
    places::folder("--out", arguments.out.as_deref())?;
    arguments.sharding.check()?;
    let setup = arguments.place.setup(Events::to(vec![Arc::new(Notes)]));
    let names = cases.iter().map(|case| (format!("{} explored on {}", case.name, joined(&specs)), digest_of(case)));
    let items = names.enumerate().map(|(number, (name, digest))| Item::new(number, name, &digest)).collect();
    let (shard, since) = (arguments.sharding.shard(), clock::instant());
    let results = arguments.sharding.results(typed, items, |item| shard.has(item.number));
    let mut outcomes = Vec::new();
    for (item, case) in cases.iter().enumerate().filter(|(item, _)| shard.has(*item)) {
        let explored = setup.with_each_kept(&case.controllers, &specs, BATCH, async |spec, player| {
            explored(&arguments, &setup, player, (spec, case)).await
        });
        let explored = explored.await?;
        let mut lines = Vec::new();
        for (spec, (outcomes, one)) in specs.iter().zip(&explored) {
            lines.extend(one.lines(spec, case, outcomes));
            lines.extend(listed(&arguments, typed, (spec, case), outcomes)?);
        }
        let (mut verdict, mut strange) = (Verdict::Inconclusive, Vec::new());
        if let [(subject, one), rest @ ..] = explored.as_slice() {
            (verdict, strange) = judged(&specs, (subject, one), rest.first().map(|(outcomes, _)| outcomes));
        }
        lines.extend(strange);
        lines.iter().for_each(|line| say!("{line}"));
        let outcome = Outcome::from(verdict);
        if let Some(results) = &results {
            let explored = campaign::Explored { item, lines, exit_code: outcome.code() };
            results.take(serde_json::to_string(&explored).expect("texts and numbers can be written as JSON"));
        }
        outcomes.push(outcome);
    }
    setup.close_programs().await;
    if let (Some(results), None) = (results, Interrupt::of_process().cause()) {
        results.write(&outcomes, since.elapsed().as_secs_f64())?;
    }
    let here = outcomes.len();
    Ok(arguments.sharding.outcome(outcomes, here))
}

fn joined(specs: &[Spec]) -> String {
    specs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// How far one exploration went.
struct Explored {
    /// How many plays it took.
    plays: usize,
    /// How many orders were different.
    orders: usize,
    /// How many states the server had.
    states: usize,
    /// In how many of them steps settled.
    settled: usize,
    /// Whether orders were left out.
    is_cut: bool,
    seconds: f64,
}

/// All orders of a case, played by one subject.
async fn explored(
    arguments: &Arguments,
    setup: &Setup,
    player: &Player,
    (spec, case): (&Spec, &Arc<Case>),
) -> Result<(Outcomes, Explored), CliError> {
    let since = clock::instant();
    let (mut outcomes, mut all) = (Outcomes::default(), BTreeSet::new());
    let first = played(setup, player, &[Arc::clone(case)]).await?;
    let Some(first) = first.into_iter().next().flatten() else {
        return Err(CliError::Usage(format!("{spec} did not play {}", case.path)));
    };
    outcomes.add(Timeline::from_recording(&first), &[], stopped(case, &first));
    let undelayed = states(&first);
    let mut orders = Orders::of(case, &first.header.under_test, arguments.late, &undelayed.settled);
    all.extend(undelayed.all);
    let mut plays = 1;
    let mut said = clock::instant();
    while plays < arguments.most && Interrupt::of_process().cause().is_none() {
        let batch = orders.take(BATCH);
        if batch.is_empty() {
            break;
        }
        let cases = batch.iter().map(|order| with_late(case, order)).collect::<Result<Vec<_>, _>>()?;
        plays += batch.len();
        for ((order, case), recording) in batch.iter().zip(&cases).zip(played(setup, player, &cases).await?) {
            let Some(recording) = recording else { continue };
            // Where nothing came that could be late, the play was ended.
            let Some(overtaken) = overtaken(order, &recording) else { continue };
            let states = states(&recording);
            let settled = order.last().and_then(|last| states.settled.get(last.step).copied());
            if let Some(real) = orders.seen(order, Seen { overtaken, settled }) {
                outcomes.add(Timeline::from_recording(&recording), &real, stopped(case, &recording));
            }
            all.extend(states.all);
        }
        if said.elapsed().as_secs() >= 20 {
            said = clock::instant();
            note!("{spec}: {plays} plays, {} orders, {} outcomes", orders.count(), outcomes.kinds().len());
        }
    }
    let is_cut = !orders.take(1).is_empty();
    let (states, settled) = (all.len(), orders.states());
    let seconds = since.elapsed().as_secs_f64();
    Ok((outcomes, Explored { plays, orders: orders.count(), states, settled, is_cut, seconds }))
}

/// The case of an order.
fn with_late(case: &Case, order: &[Late]) -> Result<Arc<Case>, CliError> {
    let Some(text) = text(case, order) else {
        let why = "a step leaves no place for a fault; write its operation on the line of its dash";
        return Err(CliError::Usage(format!("{}: {why}", case.path)));
    };
    Ok(Arc::new(case::parse(&case.path, &case.name, &text).map_err(CliError::Case)?))
}

async fn played(setup: &Setup, player: &Player, cases: &[Arc<Case>]) -> Result<Vec<Option<Recording>>, CliError> {
    let mut recordings: Vec<Option<Recording>> = cases.iter().map(|_| None).collect();
    let playing = setup.play_each(player, Plan::once(cases), async |played| {
        recordings[played.number] = Some(played.recording);
        Ok::<_, CliError>(ControlFlow::Continue(()))
    });
    playing.await?;
    Ok(recordings)
}

/// By how many the last late thing of an order was overtaken, if it came.
fn overtaken(order: &[Late], recording: &Recording) -> Option<u32> {
    // Each late thing is noted in turn.
    let mut notes = recording.entries.iter().filter_map(|entry| match entry {
        Entry::Met(met) => met.what.rsplit_once(": overtaken by ")?.1.parse().ok(),
        _ => None,
    });
    notes.nth(order.len().checked_sub(1)?)
}

/// Why a play did not go through to the end, where it is the subject's doing.
fn stopped(case: &Arc<Case>, recording: &Recording) -> Option<String> {
    let judgement = judge(case, recording, None);
    judgement.findings.iter().find_map(|finding| match &finding.what {
        What::Unsettled(trouble) | What::Trouble(trouble) => Some(trouble.why.clone()),
        _ => None,
    })
}

impl Explored {
    fn lines(&self, spec: &Spec, case: &Case, outcomes: &Outcomes) -> Vec<String> {
        let Self { plays, orders, states, settled, seconds, .. } = self;
        let kinds = outcomes.kinds().len();
        let mut lines = vec![format!(
            "{} on {spec}: {orders} orders in {plays} plays, {states} states of the server, {settled} of them settled; \
             {kinds} {}, {seconds:.1} s",
            case.name,
            if kinds == 1 { "outcome" } else { "outcomes" }
        )];
        if self.is_cut {
            lines.push("  not all of them: --most, or an interruption, ended it".to_owned());
        }
        lines
    }
}

/// Each outcome, and the case that repeats it.
fn listed(
    arguments: &Arguments,
    typed: &Typed,
    (spec, case): (&Spec, &Case),
    outcomes: &Outcomes,
) -> Result<Vec<String>, CliError> {
    let (golden, mut lines) = (blessed(case)?, Vec::new());
    let kinds = outcomes.kinds();
    for (number, kind) in (1..).zip(kinds) {
        let goldens = golden.for_server(crate::cluster::DEFAULT_VERSION);
        let is_golden = goldens.is_some_and(|golden| golden.outcomes().any(|timeline| kind.is_as(timeline)));
        let mark = if is_golden { ", as upstream's golden timeline" } else { "" };
        lines.push(format!("  {number}  {} {}{mark}", kind.orders, if kind.orders == 1 { "order" } else { "orders" }));
        if let Some(difference) = kinds.first().and_then(|first| kind.differs_from(first)) {
            let line = |line: Option<&crate::timeline::Line>| {
                line.map_or_else(|| "nothing".to_owned(), |line| line.to_string().trim().to_owned())
            };
            let (done, instead_of) = (line(difference.actual_line()), line(difference.expected_line()));
            lines.push(format!("     {}: {done} instead of {instead_of}", difference.label));
        }
        lines.extend(kind.stopped.iter().map(|why| format!("     {why}")));
        lines.extend(kind.breaches().iter().map(|breach| format!("     invariant {breach}")));
        if kind.order.is_empty() {
            continue;
        }
        lines.extend(kind.order.iter().map(|late| format!("     {late}")));
        if let Some(folder) = &arguments.out {
            let path = keep(folder, case, (spec, number), kind)?;
            let file = quoted(&path.display().to_string());
            lines.push(format!("     {} run {file} --subject {}", typed.program, quoted(&spec.to_string())));
        }
    }
    Ok(lines)
}

/// Write the shortest order of an outcome as a case.
fn keep(folder: &Path, case: &Case, (spec, number): (&Spec, usize), kind: &Kind) -> Result<PathBuf, CliError> {
    let subject: String =
        spec.to_string().chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let name = FileName::of(&format!("{}-{subject}-{number}", case.name.replace('/', "-")));
    let path = folder.join(name.with_ending(".yaml"));
    let text = secret::redacted(&text(case, &kind.order).unwrap_or_default());
    reporter::write(&path, &text)?;
    Ok(path)
}

/// What it comes to, and what the other controller does not do: a broken invariant or such an
/// outcome is the subject's.
fn judged(specs: &[Spec], (subject, one): (&Outcomes, &Explored), other: Option<&Outcomes>) -> (Verdict, Vec<String>) {
    let mut strange = Vec::new();
    let mut worst = if one.is_cut { Verdict::Inconclusive } else { Verdict::Conformant };
    for (number, kind) in (1..).zip(subject.kinds()) {
        let known = other.map(|other| other.have(kind));
        if known == Some(false) {
            strange.push(format!("  outcome {number} of {} is none of {}'s", specs[0], specs[1]));
        }
        let breaks = kind.stopped.is_some() || !kind.breaches().is_empty();
        if known == Some(false) || (known.is_none() && breaks) {
            worst = Verdict::NonConformant;
        }
    }
    (worst, strange)
}
