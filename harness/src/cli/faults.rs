//! `lockstep faults`: play a case once, and then again for each way in which something can go wrong
//! at each of its writes.
//!
//! A case that has faults of its own, such as a file that this command wrote, is tried with those
//! alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use super::again::Typed;
use super::out::note;
use super::place::Place;
use super::reporter::{self, Faults, Notes};
use super::run::Output;
use super::select::Selection;
use super::sharding::{Sharding, first_item, items};
use super::{CliError, places};
use crate::case::{self, Case};
use crate::clock::{self, Instant};
use crate::cluster::SiteName;
use crate::controllers::Controller;
use crate::faults::{self, Kind, Point, Where};
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::{FileName, Recording};
use crate::report::FaultsOfCase;
use crate::run::{Event, Events, Plan, Round, Setup, Subscriber};
use crate::runner::Player;
use crate::subject::Spec;
use crate::supervise::Interrupt;
use crate::verdict::{Withstood, withstood};

/// Crash the controller, refuse its writes and delay its watches, at every write of a case.
///
/// After each fault the case must end as it ends without one.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// The controller to test; may be given several times.
    #[arg(help_heading = "Subject", long, default_value = "ours")]
    subject: Vec<String>,
    /// Only these faults: crash, crash-before, crash-after, refuse, refuse-409 …, lost, lag.
    #[arg(help_heading = "Faults", long, value_delimiter = ',', value_name = "KINDS")]
    only: Vec<String>,
    /// At most this many faults per case, chosen by the seed, of every kind its share.
    #[arg(help_heading = "Faults", long, value_name = "N")]
    max_points: Option<usize>,
    /// Start no more faults after this time; what was not tried is reported.
    #[arg(help_heading = "Faults", long, value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    /// Folder for case files that repeat the faults that failed.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    sharding: Sharding,
    /// Output format.
    #[arg(help_heading = "Output", long, value_enum, default_value_t)]
    output: Output,
}

/// What a file that has a fault of its own needs not be told.
pub(super) const NOT_OF_A_FAULT: [&str; 11] =
    ["filter", "rerun_failed", "subject", "only", "max_points", "within", "out", "output", "jobs", "shard", "results"];

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    let kinds = kinds(&arguments.only)?;
    let specs = arguments.subject.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    let cases = arguments.place.choose(&arguments.selection, &specs)?;
    arguments.place.check(&cases, &specs)?;
    places::folder("--out", arguments.out.as_deref())?;
    arguments.sharding.check()?;
    let environments = arguments.place.by_environment(&arguments.place.setup(Events::default()), cases);
    let rounds = [Round { time: 1, seed: None }];
    let parts = arguments.sharding.parts(&environments, &rounds, false);
    let (items, here) = items(&parts, &specs);
    let plays = here.len();
    let shard = arguments.sharding.results(typed, items, |item| here.contains(&item.number));
    let since = clock::instant();
    let json = arguments.output == Output::Json;
    let mut reporters: Vec<Arc<dyn Subscriber>> = vec![Arc::new(Notes), Arc::new(Faults::new(json))];
    reporters.extend(shard.map(|shard| Arc::new(shard) as Arc<dyn Subscriber>));
    let events = Events::to(reporters);
    let mut sweep = Sweep { arguments: &arguments, typed, kinds: &kinds, events: &events, now: None, outcomes: vec![] };
    let mut ended = Ok(());
    for ((setup, under_test, _), plan) in environments.iter().zip(&parts) {
        if plan.here().next().is_none() {
            continue;
        }
        let setup = Setup { events: events.clone(), ..setup.clone() };
        let mut number = 0;
        let tried = setup.with_each(under_test, &specs, usize::MAX, async |spec, player| {
            let first = first_item(plan, &specs, number);
            number += 1;
            sweep.subject(spec, player, (plan, first)).await
        });
        // Interrupted here, what was tried before is reported all the same.
        if let Err(error) = tried.await {
            ended = Err(error);
            break;
        }
    }
    sweep.over()?;
    let outcomes = sweep.outcomes;
    let cause = Interrupt::of_process().cause();
    let left = ended.is_err().then_some(plays.saturating_sub(outcomes.len()));
    events.emit(&Event::RunEnded { outcomes: &outcomes, left, cause, took: since.elapsed() })?;
    ended.map(|()| arguments.sharding.outcome(outcomes, plays))
}

/// What is tried, and what came of it so far.
struct Sweep<'a> {
    arguments: &'a Arguments,
    typed: &'a Typed,
    kinds: &'a [Kind],
    events: &'a Events,
    /// The case that is being tried.
    now: Option<FaultsOfCase>,
    /// Of each case and subject.
    outcomes: Vec<Outcome>,
}

impl Sweep<'_> {
    /// A subject on every case and its points.
    async fn subject(
        &mut self,
        spec: &Spec,
        player: &Player,
        (plan, first): (&Plan<'_>, usize),
    ) -> Result<(), CliError> {
        let (since, before) = (clock::instant(), self.outcomes.len());
        let mut plays = 0;
        for (play, _, number) in plan.here() {
            if self.arguments.is_over(since) {
                break;
            }
            let (case, item) = (&plan.cases[number], first + play - plan.before);
            let longer = with_respite(self.arguments, case)?;
            self.case((spec, player), (longer.as_ref().unwrap_or(case), item), since).await?;
            plays += 1 + self.now.as_ref().map_or(0, |of| of.tried.len());
            self.over()?;
        }
        note!("{spec}: {plays} plays in {:.1} s", since.elapsed().as_secs_f64());
        let cases = plan.here().count();
        let left = cases - (self.outcomes.len() - before);
        if left > 0 {
            note!("{spec}: the time was spent; {left} of {cases} cases were not tried");
        }
        Ok(())
    }

    /// All points of the case were tried, or no more will be.
    fn over(&mut self) -> Result<(), CliError> {
        if let Some(of) = self.now.take() {
            self.outcomes.push(of.outcome());
            self.events.emit(&Event::FaultsTried(&of))?;
        }
        Ok(())
    }

    /// One case and its points.
    async fn case(
        &mut self,
        (spec, player): (&Spec, &Player),
        (case, item): (&Arc<Case>, usize),
        since: Instant,
    ) -> Result<(), CliError> {
        let arguments = self.arguments;
        let plain = without_faults(case);
        let own = plain != **case;
        let reference = player.play(&plain).await?;
        let writes = faults::writes(&reference);
        let all = faults::points(case, &reference).into_iter().filter(|point| self.kinds.contains(&point.kind));
        let all: Vec<Point> = if own { Vec::new() } else { all.collect() };
        let of = self.now.insert(FaultsOfCase {
            item,
            case: case.name.clone(),
            subject: reference.header.subject.clone(),
            again: arguments.again(self.typed, spec),
            writes: writes.values().sum(),
            points: if own { 1 } else { all.len() },
            tried: Vec::new(),
        });
        if own {
            let faulted = player.play(case).await?;
            of.tried.push((own_point(case), withstood(case, &reference, &faulted), Some(case.argument())));
            return Ok(());
        }
        let points = faults::sample(all, &case.name, arguments.max_points, arguments.place.seed);
        let points = stream::iter(points).take_while(|_| std::future::ready(!arguments.is_over(since)));
        let plays = points.map(|point| arguments.point(player, case, &reference, point));
        let mut plays = std::pin::pin!(plays.buffered(player.lanes()));
        while let Some(tried) = plays.try_next().await? {
            of.tried.push(tried);
        }
        Ok(())
    }
}

impl Arguments {
    /// What stands before and after a file's name in the command that tries the fault in it again.
    fn again(&self, typed: &Typed, spec: &Spec) -> [String; 2] {
        let subject = self.subject.iter().find(|text| text.parse().is_ok_and(|one: Spec| one == *spec));
        let subject = quoted(&subject.map_or_else(|| spec.to_string(), Clone::clone));
        [typed.beginning(), format!(" --subject {subject}{}", typed.flags(&NOT_OF_A_FAULT))]
    }

    /// Try one point of a case: what came of it, and the file that repeats it where it was not
    /// withstood.
    async fn point(
        &self,
        player: &Player,
        case: &Arc<Case>,
        reference: &Recording,
        point: Point,
    ) -> Result<(Point, Withstood, Option<String>), CliError> {
        let Some(text) = faults::inject(case, &point) else {
            let why =
                "the step's line leaves no place for a fault; write the operation on the line of its dash".to_owned();
            return Ok((point, Withstood::Unknown(why), None));
        };
        let injected = Arc::new(case::parse(&case.path, &case.name, &text).map_err(CliError::Case)?);
        let faulted = player.play(&injected).await?;
        let result = withstood(&injected, reference, &faulted);
        let failed = matches!(result, Withstood::No(_) | Withstood::Unknown(_));
        let file = match &self.out {
            Some(folder) if failed => Some(keep(folder, case, &point, &injected.source)?),
            _ => None,
        };
        tracing::info!(case = case.name, %point, ?result, "tried");
        Ok((point, result, file))
    }

    /// Whether the time is spent.
    fn is_over(&self, since: Instant) -> bool {
        self.within.is_some_and(|within| since.elapsed() >= within)
    }
}

/// The kinds that were asked for.
fn kinds(only: &[String]) -> Result<Vec<Kind>, CliError> {
    if only.is_empty() {
        return Ok(Kind::ALL.to_vec());
    }
    let mut kinds = Vec::new();
    for word in only {
        let meant = Kind::meant(word);
        if meant.is_empty() {
            let known: Vec<String> = Kind::ALL.iter().map(ToString::to_string).collect();
            let why = format!("unknown fault `{word}`: expected crash, refuse, or one of {}", known.join(", "));
            return Err(CliError::Usage(why));
        }
        kinds.extend(meant);
    }
    Ok(kinds)
}

/// A case of config restarts with time at its end, where time costs nothing; one that has faults of
/// its own has the time that it needs.
fn with_respite(arguments: &Arguments, case: &Case) -> Result<Option<Arc<Case>>, CliError> {
    let free = arguments.place.site.cluster() == SiteName::Sim && case.controllers.has(Controller::ConfigRestart);
    if !free || without_faults(case) != *case {
        return Ok(None);
    }
    let text = faults::respite(case);
    text.map(|text| Ok(Arc::new(case::parse(&case.path, &case.name, &text).map_err(CliError::Case)?))).transpose()
}

/// The case as it would be if nothing went wrong.
fn without_faults(case: &Case) -> Case {
    let mut plain = case.clone();
    plain.given.iter_mut().chain(&mut plain.steps).for_each(|step| step.fault = None);
    plain
}

/// What to call the faults that a case has itself.
fn own_point(case: &Case) -> Point {
    use crate::case::model::{FaultAction, FaultPoint};
    let mut steps = case.given.iter().chain(&case.steps);
    let found = steps.find_map(|step| step.fault.as_ref().map(|fault| (step.line, fault)));
    let watch = |resource: &str| Point { kind: Kind::Lag, place: Where::Watch(resource.to_owned()) };
    let Some((line, fault)) = found else { return watch("nothing") };
    match &fault.point {
        FaultPoint::Watch { resource, .. } => watch(resource),
        FaultPoint::Write { nth, resource, subresource, after } => {
            let kind = match fault.action {
                FaultAction::Refuse(code) => Kind::Refuse(code),
                FaultAction::Drop => Kind::Lost,
                _ if *after => Kind::CrashAfter,
                _ => Kind::CrashBefore,
            };
            let slash = if subresource.is_empty() { "" } else { "/" };
            Point { kind, place: Where::Write { line, resource: format!("{resource}{slash}{subresource}"), nth: *nth } }
        }
    }
}

fn keep(folder: &Path, case: &Case, point: &Point, text: &str) -> Result<String, CliError> {
    let name = FileName::of(&format!("{}-{}", case.name.replace('/', "-"), point.file_name()));
    let path = folder.join("faults").join(name.with_ending(".yaml"));
    reporter::write(&path, text)?;
    Ok(format!("{}{}", path.display(), case.suffix()))
}
