//! `lockstep compare`: the same cases live on two subjects, and the difference between what they did.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::again::Typed;
use super::out::say;
use super::run::{NOT_OF_A_PLAY, colour, width};
use super::select::{Selection, blessed};
use super::stage::Place;
use super::telling::{Play, Reports, Telling};
use super::{CliError, places, record, stage};
use crate::case::Case;
use crate::clock;
use crate::outcome::Outcome;
use crate::quote::quoted;
use crate::recording::Recording;
use crate::report::{self, Again};
use crate::runner::{Player, Session};
use crate::subject::{LogSource, Spec};
use crate::verdict::{self, Judgement, Verdict};

/// Run the cases live on two subjects and diff what they did.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
    /// The two subjects: ours, upstream, upstream:VERSION, "command:PROGRAM ARGUMENTS", or on kind deployment:MANIFEST.
    #[arg(long, required = true, num_args = 1)]
    subject: Vec<String>,
    /// Show both timelines side by side, not only where they differ.
    #[arg(long)]
    timelines: bool,
    /// Keep the recordings in this folder, in one folder for each side.
    #[arg(long, value_name = "FOLDER")]
    recordings: Option<std::path::PathBuf>,
    #[command(flatten)]
    reports: Reports,
}

/// What one subject did on all cases.
struct Side {
    title: String,
    /// With what it printed meanwhile, where that may have to be kept.
    played: Vec<(Recording, Option<LogSource>)>,
}

pub(super) async fn execute(arguments: Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    let specs = arguments.subject.iter().map(|text| text.parse::<Spec>()).collect::<Result<Vec<_>, _>>()?;
    let [left, right] = specs.as_slice() else {
        return Err(CliError::Usage(format!("compare takes --subject twice, not {} times", specs.len())));
    };
    let cases = arguments.place.choose(&arguments.selection, &specs)?;
    arguments.place.check(&cases, &specs)?;
    arguments.reports.check()?;
    places::folder("--recordings", arguments.recordings.as_deref())?;
    let all = clock::instant();
    let telling = Telling::new(&arguments.reports, format!("lockstep compare, {}", arguments.subject.join(" and ")));
    let mut outcomes = Vec::new();
    let mut ended: Result<(), CliError> = Ok(());
    for (under_test, cases) in arguments.place.by_environment(cases) {
        let mut number = 0;
        let mut sides = Vec::new();
        let both = arguments.place.with_each(&under_test, &specs, cases.len(), async |spec, player| {
            number += 1;
            // Two of a name are told apart.
            let title = if left == right { format!("{spec} #{number}") } else { spec.to_string() };
            sides.push(Side { title, played: Vec::new() });
            let side = sides.last_mut().expect("it was just put there");
            played(&arguments, number, side, player, &cases).await
        });
        ended = both.await.map(drop);
        // Also of what was ended early, the cases that both sides have played.
        if let [left, right] = sides.as_slice() {
            outcomes.extend(tell(&arguments, typed, &telling, &cases, left, right).await?);
        }
        if ended.is_err() {
            break;
        }
    }
    telling.finish()?;
    say!("{}", report::summary(&outcomes, all.elapsed(), colour()));
    telling.list();
    ended.map(|()| Outcome::of(outcomes))
}

/// One subject on every case.
async fn played(
    arguments: &Arguments,
    number: u32,
    side: &mut Side,
    player: &Player<'_>,
    cases: &[Arc<Case>],
) -> Result<(), CliError> {
    let since = clock::instant();
    let plays = stream::iter(cases).map(async |case| {
        let turn = player.turn().await;
        let log_source = turn.session().and_then(Session::log_source).filter(|_| arguments.reports.keeps_evidence());
        let recording = turn.play(case, None).await?;
        let log_source = match log_source {
            Some(log_source) => Some(log_source.until_now().await),
            None => None,
        };
        Ok::<_, CliError>((recording, log_source))
    });
    let mut plays = plays.buffered(player.lanes());
    while let Some((mut recording, log_source)) = plays.try_next().await? {
        recording.header.subject.name.clone_from(&side.title);
        if let Some(folder) = &arguments.recordings {
            record::keep(&folder.join(number.to_string()), &recording)?;
        }
        side.played.push((recording, log_source));
    }
    stage::pace(&side.title, cases.len(), since.elapsed());
    Ok(())
}

/// The left side is held against what is blessed for it (upstream of another version against what that does), if anything is; the right side
/// against the left.
async fn tell(
    arguments: &Arguments,
    typed: &Typed,
    telling: &Telling,
    cases: &[Arc<Case>],
    left: &Side,
    right: &Side,
) -> Result<Vec<Outcome>, CliError> {
    let mut judgements = Vec::new();
    let mut outcomes = Vec::new();
    for (case, ((one, _), (two, log_source))) in cases.iter().zip(left.played.iter().zip(&right.played)) {
        let golden = blessed(case)?;
        let held = |side: &Recording| golden.applicable_to(&side.header, None);
        let theirs = held(one);
        let expected = theirs.for_server(&one.header.cluster.version);
        let first = verdict::judge(case, one, expected);
        let mut second = verdict::judge_live(case, two, one);
        // Where upstream does several things, two that do different ones are both right.
        if first.nearest.is_some() {
            let any = verdict::judge(case, two, held(two).for_server(&two.header.cluster.version));
            if any.outcome() == Outcome::Conformant {
                second = any;
            }
        }
        let differ = second.verdict != Verdict::Conformant;
        if arguments.timelines || cases.len() == 1 || differ {
            let title = |side: &Side, judgement: &Judgement| format!("{} ({})", side.title, judgement.subject.title());
            let (a, b) = (title(left, &first), title(right, &second));
            say!("{}\n", case.name);
            let a = report::Side { title: &a, timeline: &first.timeline };
            let b = report::Side { title: &b, timeline: &second.timeline };
            say!("{}\n", report::side_by_side(a, b, width(), colour()));
        }
        // What is not blessed yet can be compared all the same.
        let alone = if first.outcome() == Outcome::Unblessed { Outcome::Conformant } else { first.outcome() };
        outcomes.push(Outcome::of([alone, second.outcome()]));
        // Both subjects, and all chances as they were.
        let flags = typed.flags(&NOT_OF_A_PLAY.map(|flag| if matches!(flag, "subject" | "seed") { "" } else { flag }));
        let repeat = format!("{} {}{flags}", typed.beginning(), quoted(&case.path));
        let again = Again { program: typed.program.clone(), repeat, seed: None };
        let play = Play {
            judgement: &second,
            expected: Some(&first.timeline),
            recording: two,
            again: &again,
            took: None,
            log_source: log_source.as_ref(),
        };
        telling.take(&play).await?;
        judgements.extend([first, second]);
    }
    say!("{}", report::table(&judgements, colour()));
    say!("{}", report::totals(&judgements, colour()));
    Ok(outcomes)
}
