//! `lockstep compare`: plays the same cases on two subjects, and compares what they did.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_case::Case;
use lockstep_recording::Recording;
use lockstep_report::RerunCommands;
use lockstep_runner::Executor;
use lockstep_runner::run::{JudgedPlay, PlayPlan, RunEvent, Setup, Subscribers};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_verdict::{self as verdict, Judgement};

use super::coverage::RequirementTables;
use super::golden::load_golden;
use super::play_args::PlayArgs;
use super::reporter::{HumanStyle, ReportArgs, ResultFormat, reporters};
use super::rerun_command::{CommandLine, OMITTED_FROM_RERUN};
use super::select::CaseSelection;
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths, recording_files};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The two controllers; give the flag twice. Values as for `lockstep run`.
    #[arg(help_heading = "Subject", long, required = true, num_args = 1)]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: Vec<String>,
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    play_args: PlayArgs,
    /// Show both timelines side by side, not only where they differ.
    #[arg(help_heading = "Output", long)]
    timelines: bool,
    /// Keep the recordings in this folder, one folder per side.
    #[arg(help_heading = "Output", long, value_name = "FOLDER")]
    recordings: Option<PathBuf>,
    #[command(flatten)]
    reports: ReportArgs,
}

/// The plays of one subject.
struct ComparedSubject {
    title: String,
    /// For each case the recording, and the output of the subject.
    plays: Vec<Option<(Recording, Option<String>)>>,
}

pub(super) async fn execute(arguments: Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let specs = arguments.subject.iter().map(|text| text.parse::<SubjectSpec>()).collect::<Result<Vec<_>, _>>()?;
    let [left, right] = specs.as_slice() else {
        return Err(CliError::Usage(format!(
            "compare needs two --subject flags; there {}",
            match specs.len() {
                1 => "is one".to_owned(),
                n => format!("are {n}"),
            }
        )));
    };
    let cases = arguments.play_args.choose(&arguments.selection, &specs)?;
    arguments.play_args.check(&cases, &specs)?;
    arguments.reports.check(&cases.iter().map(|case| Path::new(&case.path)).collect::<Vec<_>>())?;
    output_paths::check_folder("--recordings", arguments.recordings.as_deref())?;
    let since = clock::instant();
    let title = format!("lockstep compare, {}", arguments.subject.join(" and "));
    let timelines = arguments.timelines || cases.len() == 1;
    let reporters = reporters(&arguments.reports, &title, ResultFormat::Human(HumanStyle::Compare { timelines }), None);
    let events = &reporters.events;
    let setup = arguments.play_args.setup(events.clone());
    let all = cases.len();
    events.emit(&RunEvent::RunStarted { plays: all * 2 })?;
    let (mut outcomes, mut tables) = (Vec::new(), RequirementTables::default());
    let mut result: Result<(), CliError> = Ok(());
    for (setup, under_test, cases) in arguments.play_args.by_environment(&setup, cases) {
        let mut sides: Vec<ComparedSubject> = Vec::new();
        let both = setup.for_each_subject(&under_test, &specs, cases.len(), async |spec, player| {
            let number = sides.len() + 1;
            // Number two subjects of the same name.
            let title = if left == right { format!("{spec} #{number}") } else { spec.to_string() };
            sides.push(ComparedSubject { title, plays: (0..cases.len()).map(|_| None).collect() });
            let side = sides.last_mut().expect("it was just put there");
            arguments.play_all((number, side), &setup, player, &cases).await
        });
        result = both.await.map(drop);
        // Also after an early end, judge the cases that both subjects have played.
        if let [left, right] = sides.as_slice() {
            for (number, case) in cases.iter().enumerate() {
                if let (Some(one), Some(two)) = (&left.plays[number], &right.plays[number]) {
                    outcomes.push(arguments.judge(typed, events, &mut tables, case, [(left, one), (right, two)])?);
                }
            }
        }
        if result.is_err() {
            break;
        }
    }
    reporters.end(&result, (&outcomes, all), 0, since)?;
    result.map(|()| RunOutcome::most_severe(outcomes))
}

/// One play of a comparison: the subject, the recording, and the output of the subject.
type SubjectPlay<'a> = (&'a ComparedSubject, &'a (Recording, Option<String>));

impl Arguments {
    /// Play every case with one subject.
    async fn play_all(
        &self,
        (number, side): (usize, &mut ComparedSubject),
        setup: &Setup,
        player: &Executor,
        cases: &[Arc<Case>],
    ) -> Result<(), CliError> {
        let since = clock::instant();
        let plan = PlayPlan { output: self.reports.keeps_evidence(), ..PlayPlan::once(cases) };
        setup
            .play_each(player, plan, async |played| {
                let mut recording = played.recording;
                recording.header.subject.name.clone_from(&side.title);
                if let Some(folder) = &self.recordings {
                    recording_files::store(&folder.join(number.to_string()), &recording)?;
                }
                side.plays[played.number] = Some((recording, played.output));
                Ok::<_, CliError>(ControlFlow::Continue(()))
            })
            .await?;
        let (title, plays, took) = (side.title.as_str(), cases.len(), since.elapsed());
        Ok(setup.events.emit(&RunEvent::CasesPlayed { title, plays, took })?)
    }

    fn judge(
        &self,
        typed: &CommandLine,
        events: &Subscribers,
        tables: &mut RequirementTables,
        case: &Arc<Case>,
        [(left, (one, _)), (right, (two, output))]: [SubjectPlay<'_>; 2],
    ) -> Result<RunOutcome, CliError> {
        let [first, mut second] = judge_pair(case, one, two)?;
        tables.add_quirks(&mut second);
        let titles = [left.title.as_str(), right.title.as_str()];
        events.emit(&RunEvent::CaseCompared { titles, judgements: [&first, &second] })?;
        // A case without a golden timeline can still be compared.
        let alone = if first.outcome() == RunOutcome::Unblessed { RunOutcome::Conformant } else { first.outcome() };
        // Repeat both subjects and the seed.
        let flags =
            typed.flags(&OMITTED_FROM_RERUN.map(|flag| if matches!(flag, "subject" | "seeds") { "" } else { flag }));
        let repeat = format!("{} {}{flags}", typed.beginning(), quote(&case.argument()));
        let judged = JudgedPlay {
            judgement: &second,
            expected: Some(&first.timeline),
            golden: None,
            recording: two,
            rerun: &RerunCommands { program: typed.program.clone(), repeat },
            took: None,
            output: output.as_deref(),
            item: 0,
            seed: None,
            brief: false,
        };
        events.emit(&RunEvent::CaseJudged(&judged))?;
        self.reports.keep_evidence(Path::new(""), &judged);
        Ok(RunOutcome::most_severe([alone, second.outcome()]))
    }
}

/// Judges the first recording by its golden timelines (those of its version, for upstream), if
/// there are any, and the second by the first.
pub(super) fn judge_pair(case: &Arc<Case>, one: &Recording, two: &Recording) -> Result<[Judgement; 2], CliError> {
    let golden = load_golden(case)?;
    let by_golden = |recording: &Recording| {
        let golden = golden.for_subject(&recording.header, None);
        verdict::judge(case, recording, golden.for_server(&recording.header.cluster.version))
    };
    let first = by_golden(one);
    let mut second = verdict::judge_live(case, two, one);
    // If upstream has several outcomes, two subjects with different outcomes are both right.
    if first.nearest.is_some() {
        let any = by_golden(two);
        if any.outcome() == RunOutcome::Conformant {
            second = any;
        }
    }
    Ok([first, second])
}
