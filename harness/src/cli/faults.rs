//! `lockstep faults`: play a case once, and then again for each way in which something can go wrong at each of its writes.
//!
//! A case that has faults of its own, such as a file that this command wrote, is tried with those alone.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use super::again::Typed;
use super::out::{note, say};
use super::run::{Output, colour};
use super::select::Selection;
use super::stage::Place;
use super::{CliError, places};
use crate::case::{self, Case};
use crate::clock::{self, Instant};
use crate::cluster::SiteName;
use crate::controllers::Controller;
use crate::faults::{self, Kind, Point, Where};
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::report::{self, FaultsOfCase};
use crate::runner::Player;
use crate::subject::Spec;
use crate::verdict::{Withstood, withstood};

/// Crash, refuse, lose answers and lag at every write of a case, and see whether it ends as it does without.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// Whom to try; may be given several times.
    #[arg(long, default_value = "ours")]
    subject: Vec<String>,
    /// Only these: crash, crash-before, crash-after, refuse, refuse-409, …, lost, lag.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    only: Vec<String>,
    /// At most so many points of each case, chosen by the seed, of every kind its share.
    #[arg(long, value_name = "N")]
    max_points: Option<usize>,
    /// Begin no more points once this time is spent; what was not tried is told.
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    within: Option<Duration>,
    /// A folder for the case files that repeat what was not withstood.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// What a file that has a fault of its own needs not be told.
pub(super) const NOT_OF_A_FAULT: [&str; 9] =
    ["filter", "rerun_failed", "subject", "only", "max_points", "within", "out", "output", "jobs"];

pub(super) async fn execute(mut arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    arguments.place.site = arguments.place.site.or(SiteName::Sim);
    let kinds = kinds(&arguments.only)?;
    let specs = arguments.subject.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    let cases = arguments.place.choose(&arguments.selection, &specs)?;
    arguments.place.check(&cases, &specs)?;
    places::folder("--out", arguments.out.as_deref())?;
    let told = Told { output: arguments.output, cases: RefCell::default(), complete: Cell::default() };
    let mut ended = Ok(());
    for (under_test, cases) in arguments.place.by_environment(cases) {
        let tried = arguments.place.with_each(&under_test, &specs, usize::MAX, async |spec, player| {
            tried(&arguments, typed, spec, player, &cases, &kinds, &told).await
        });
        // Interrupted here, what was tried before is still told.
        if let Err(error) = tried.await {
            ended = Err(error);
            break;
        }
    }
    told.close();
    ended.map(|()| Outcome::of(told.cases.borrow().iter().map(FaultsOfCase::outcome)))
}

/// What was tried so far, case by case: printed with each case, and whatever the end is, summed up.
struct Told {
    output: Output,
    cases: RefCell<Vec<FaultsOfCase>>,
    /// How many of them are whole, and printed.
    complete: Cell<usize>,
}

impl Told {
    /// A case begins.
    fn open(&self, of: FaultsOfCase) {
        self.cases.borrow_mut().push(of);
    }

    /// One of its points was tried.
    fn point(&self, tried: (Point, Withstood, Option<String>)) {
        if let Some(of) = self.cases.borrow_mut().last_mut() {
            of.tried.push(tried);
        }
    }

    /// All of its points were tried, or no more will be.
    fn case(&self) {
        let cases = self.cases.borrow();
        for of in &cases[self.complete.get()..] {
            match self.output {
                Output::Human => say!("{}", report::faults(of, colour())),
                Output::Json => say!("{}", report::faults_json(of)),
            }
        }
        self.complete.set(cases.len());
    }

    fn close(&self) {
        self.case();
        let cases = self.cases.borrow();
        if self.output == Output::Human && !cases.is_empty() {
            say!("\n{}\n", report::faults_table(&cases));
            let failed = report::not_withstood(&cases);
            if !failed.is_empty() {
                say!("{failed}\n");
            }
        }
    }
}

/// A subject on every case and its points, told of as it goes.
async fn tried(
    arguments: &Arguments,
    typed: &Typed,
    spec: &Spec,
    player: &Player<'_>,
    cases: &[Arc<Case>],
    kinds: &[Kind],
    told: &Told,
) -> Result<(), CliError> {
    let (since, before) = (clock::instant(), told.cases.borrow().len());
    for case in cases {
        if arguments.is_over(since) {
            break;
        }
        let longer = with_respite(arguments, case)?;
        one(arguments, arguments.again(typed, spec), player, longer.as_ref().unwrap_or(case), kinds, since, told)
            .await?;
        told.case();
    }
    let took = since.elapsed().as_secs_f64();
    let all = told.cases.borrow();
    let plays: usize = all[before..].iter().map(|of| 1 + of.tried.len()).sum();
    note!("{spec}: {plays} plays in {took:.1} s");
    let left = cases.len() - (all.len() - before);
    if left > 0 {
        note!("{spec}: the time was spent; {left} of {} cases were not tried", cases.len());
    }
    Ok(())
}

impl Arguments {
    /// What stands before and after a file's name in the command that tries the fault in it again.
    fn again(&self, typed: &Typed, spec: &Spec) -> [String; 2] {
        let subject = self.subject.iter().find(|text| text.parse().is_ok_and(|one: Spec| one == *spec));
        let subject = quoted(&subject.map_or_else(|| spec.to_string(), Clone::clone));
        [typed.beginning(), format!(" --subject {subject}{}", typed.flags(&NOT_OF_A_FAULT))]
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
            let why = format!("there is no fault `{word}`; use crash, refuse, or one of {}", known.join(", "));
            return Err(CliError::Usage(why));
        }
        kinds.extend(meant);
    }
    Ok(kinds)
}

/// One case and its points.
async fn one(
    arguments: &Arguments,
    again: [String; 2],
    player: &Player<'_>,
    case: &Arc<Case>,
    kinds: &[Kind],
    since: Instant,
    told: &Told,
) -> Result<(), CliError> {
    let plain = without_faults(case);
    let own = plain != **case;
    let reference = player.play(&plain).await?;
    let writes = faults::writes(&reference);
    let mut of = FaultsOfCase {
        case: case.name.clone(),
        subject: reference.header.subject.clone(),
        again,
        writes: writes.values().sum(),
        points: 1,
        tried: Vec::new(),
    };
    if own {
        let point = own_point(case);
        let faulted = player.play(case).await?;
        of.tried.push((point, withstood(case, &reference, &faulted), Some(case.path.clone())));
        told.open(of);
        return Ok(());
    }
    let all: Vec<Point> =
        faults::points(case, &reference).into_iter().filter(|point| kinds.contains(&point.kind)).collect();
    of.points = all.len();
    told.open(of);
    let points = faults::sample(all, &case.name, arguments.max_points, arguments.place.seed);
    let plays = stream::iter(points).take_while(|_| std::future::ready(!arguments.is_over(since))).map(async |point| {
        let Some(text) = faults::inject(case, &point) else {
            let why =
                "the step's line leaves no place for a fault; write the operation on the line of its dash".to_owned();
            return Ok((point, Withstood::Unknown(why), None));
        };
        let injected = Arc::new(case::parse(&case.path, &case.name, &text).map_err(CliError::Case)?);
        let faulted = player.play(&injected).await?;
        let result = withstood(&injected, &reference, &faulted);
        let failed = matches!(result, Withstood::No(_) | Withstood::Unknown(_));
        let file = match &arguments.out {
            Some(folder) if failed => Some(keep(folder, case, &point, &text)?),
            _ => None,
        };
        tracing::info!(case = case.name, %point, ?result, "tried");
        Ok::<_, CliError>((point, result, file))
    });
    let mut plays = std::pin::pin!(plays.buffered(player.lanes()));
    while let Some(tried) = plays.try_next().await? {
        told.point(tried);
    }
    Ok(())
}

/// A case of config restarts with time at its end, where time costs nothing; one that has faults of its own has the time that it needs.
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
    let name = format!("{}-{}.yaml", case.name.replace('/', "-"), point.file_name());
    let path = folder.join("faults").join(name);
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
        std::fs::write(&path, text)
    };
    write().map_err(|source| CliError::File { path: path.clone(), source })?;
    Ok(path.display().to_string())
}
