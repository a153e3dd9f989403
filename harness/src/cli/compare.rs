//! `lockstep compare`: the same cases live on two subjects, and the difference between what they
//! did.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::again::Typed;
use super::place::Place;
use super::reporter::{Reports, Results, Style, reporters};
use super::run::NOT_OF_A_PLAY;
use super::select::{Selection, blessed};
use super::{CliError, places, record};
use crate::case::Case;
use crate::clock;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::Recording;
use crate::report::Again;
use crate::run::{Event, Events, Judged, Plan, Setup};
use crate::runner::Player;
use crate::subject::Spec;
use crate::supervise::Interrupt;
use crate::verdict::{self, Judgement};

/// Run the cases live on two controllers and compare what they did.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// The two controllers; give the flag twice. Values as for `lockstep run`.
    #[arg(help_heading = "Subject", long, required = true, num_args = 1)]
    subject: Vec<String>,
    /// Show both timelines side by side, not only where they differ.
    #[arg(help_heading = "Output", long)]
    timelines: bool,
    /// Keep the recordings in this folder, one folder per side.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    recordings: Option<std::path::PathBuf>,
    #[command(flatten)]
    reports: Reports,
}

/// What one subject did.
struct Side {
    title: String,
    /// By the number of the case: the recording, and what was printed meanwhile.
    played: Vec<Option<(Recording, Option<String>)>>,
}

pub(super) async fn execute(arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    let specs = arguments.subject.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    let [left, right] = specs.as_slice() else {
        return Err(CliError::Usage(format!(
            "compare needs two --subject flags; there {}",
            match specs.len() {
                1 => "is one".to_owned(),
                n => format!("are {n}"),
            }
        )));
    };
    let cases = arguments.place.choose(&arguments.selection, &specs)?;
    arguments.place.check(&cases, &specs)?;
    arguments.reports.check()?;
    places::folder("--recordings", arguments.recordings.as_deref())?;
    let since = clock::instant();
    let title = format!("lockstep compare, {}", arguments.subject.join(" and "));
    let timelines = arguments.timelines || cases.len() == 1;
    let events = reporters(&arguments.reports, &title, Results::Human(Style::Compare { timelines }), None);
    let setup = arguments.place.setup(events.clone());
    let all = cases.len();
    events.emit(&Event::RunStarted { plays: all * 2 })?;
    let mut outcomes = Vec::new();
    let mut ended: Result<(), CliError> = Ok(());
    for (setup, under_test, cases) in arguments.place.by_environment(&setup, cases) {
        let mut sides: Vec<Side> = Vec::new();
        let both = setup.with_each(&under_test, &specs, cases.len(), async |spec, player| {
            let number = sides.len() + 1;
            // Two of a name are told apart.
            let title = if left == right { format!("{spec} #{number}") } else { spec.to_string() };
            sides.push(Side { title, played: (0..cases.len()).map(|_| None).collect() });
            let side = sides.last_mut().expect("it was just put there");
            arguments.played((number, side), &setup, player, &cases).await
        });
        ended = both.await.map(drop);
        // Also of what was ended early, the cases that both sides have played.
        if let [left, right] = sides.as_slice() {
            for (number, case) in cases.iter().enumerate() {
                if let (Some(one), Some(two)) = (&left.played[number], &right.played[number]) {
                    outcomes.push(arguments.judge(typed, &events, case, [(left, one), (right, two)])?);
                }
            }
        }
        if ended.is_err() {
            break;
        }
    }
    let left = ended.is_err().then_some(all - outcomes.len());
    let cause = Interrupt::of_process().cause();
    events.emit(&Event::RunEnded { outcomes: &outcomes, left, cause, took: since.elapsed() })?;
    ended.map(|()| Outcome::of(outcomes))
}

/// What is known of one side of a case: whose it is, the recording, and what was printed.
type Half<'a> = (&'a Side, &'a (Recording, Option<String>));

impl Arguments {
    /// One subject on every case.
    async fn played(
        &self,
        (number, side): (usize, &mut Side),
        setup: &Setup,
        player: &Player,
        cases: &[Arc<Case>],
    ) -> Result<(), CliError> {
        let since = clock::instant();
        let plan = Plan { output: self.reports.keeps_evidence(), ..Plan::once(cases) };
        setup
            .play_each(player, plan, async |played| {
                let mut recording = played.recording;
                recording.header.subject.name.clone_from(&side.title);
                if let Some(folder) = &self.recordings {
                    record::keep(&folder.join(number.to_string()), &recording)?;
                }
                side.played[played.number] = Some((recording, played.output));
                Ok::<_, CliError>(ControlFlow::Continue(()))
            })
            .await?;
        let (title, plays, took) = (side.title.as_str(), cases.len(), since.elapsed());
        Ok(setup.events.emit(&Event::CasesPlayed { title, plays, took })?)
    }

    fn judge(
        &self,
        typed: &Typed,
        events: &Events,
        case: &Arc<Case>,
        [(left, (one, _)), (right, (two, output))]: [Half<'_>; 2],
    ) -> Result<Outcome, CliError> {
        let [first, second] = judged(case, one, two)?;
        let titles = [left.title.as_str(), right.title.as_str()];
        events.emit(&Event::CaseCompared { titles, judgements: [&first, &second] })?;
        // What is not blessed yet can be compared all the same.
        let alone = if first.outcome() == Outcome::Unblessed { Outcome::Conformant } else { first.outcome() };
        // Both subjects, and all chances as they were.
        let flags = typed.flags(&NOT_OF_A_PLAY.map(|flag| if matches!(flag, "subject" | "seed") { "" } else { flag }));
        let repeat = format!("{} {}{flags}", typed.beginning(), quoted(&case.argument()));
        events.emit(&Event::CaseJudged(&Judged {
            judgement: &second,
            expected: Some(&first.timeline),
            golden: None,
            recording: two,
            again: &Again { program: typed.program.clone(), repeat },
            took: None,
            output: output.as_deref(),
            item: 0,
            seed: None,
            brief: false,
        }))?;
        Ok(Outcome::of([alone, second.outcome()]))
    }
}

/// The first is judged by what is golden of it (upstream of another version by what that does), if
/// anything is; the second by the first.
pub(super) fn judged(case: &Arc<Case>, one: &Recording, two: &Recording) -> Result<[Judgement; 2], CliError> {
    let golden = blessed(case)?;
    let by_golden = |recording: &Recording| {
        let golden = golden.applicable_to(&recording.header, None);
        verdict::judge(case, recording, golden.for_server(&recording.header.cluster.version))
    };
    let first = by_golden(one);
    let mut second = verdict::judge_live(case, two, one);
    // Where upstream does several things, two that do different ones are both right.
    if first.nearest.is_some() {
        let any = by_golden(two);
        if any.outcome() == Outcome::Conformant {
            second = any;
        }
    }
    Ok([first, second])
}
