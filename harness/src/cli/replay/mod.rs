//! `lockstep replay`: plays a recording on upstream, and compares what the recorded cluster did;
//! and `lockstep case`: infers a case from what users and nodes did in a recording.
//!
//! A recording of a case contains the case, which is played again. From a recording of a live
//! cluster a case is inferred. `--minimise` removes the steps that a controller does not need to
//! differ in the same way.
//!
//! * `interleavings` finds the ordering of concurrent events whose replay best matches the
//!   recording.

mod interleavings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interleavings::{Interleavings, ReplayComparison, with_recorded_name};
use lockstep_case::{self as case, Case};
use lockstep_cluster::SiteName;
use lockstep_recording::controllers::Controller;
use lockstep_recording::{Header, Recording, SubjectKind, secret};
use lockstep_report::RerunCommands;
use lockstep_runner::run::{JudgedPlay, RunEvent};
use lockstep_search::infer::{Arrangements, InferredCase, infer};
use lockstep_search::{SideComparison, compare};
use lockstep_subject::SubjectSpec;
use lockstep_support::clock;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_timeline::StepId;
use lockstep_timeline::versions::{Minor, without_build};
use lockstep_verdict::{FindingKind, Judgement, TimelineLocation as Where};

use super::cluster_args::default_cluster;
use super::compare::judge_pair;
use super::golden::case_file;
use super::out::note;
use super::play_args::PlayArgs;
use super::progress::Progress;
use super::recording_files::RecordingArg;
use super::reporter::{HumanStyle, ReportArgs, ResultFormat, reporters};
use super::rerun_command::CommandLine;
use super::subject_parser::SubjectParser;
use super::{CliError, out, output_paths};

#[derive(Debug, clap::Args)]
pub(super) struct ReplayArguments {
    #[command(flatten)]
    recording: RecordingArg,
    #[command(flatten)]
    play_args: PlayArgs,
    /// The controller that plays the case [default: upstream of the version of the recorded
    /// cluster].
    #[arg(help_heading = "Subject", long)]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: Option<String>,
    /// Leave out of the case in --out what this controller does not need to differ in the same way,
    /// such as "command:./mine": the one that the recorded cluster has.
    #[arg(help_heading = "Output", long, value_name = "SUBJECT", requires = "out")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    minimise: Option<String>,
    /// Keep the case in this file.
    #[arg(help_heading = "Output", long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    reports: ReportArgs,
}

pub(super) async fn execute_replay(
    mut arguments: ReplayArguments,
    typed: &CommandLine,
) -> Result<RunOutcome, CliError> {
    arguments.reports.check(&[arguments.recording.path()])?;
    output_paths::check_file("--out", arguments.out.as_deref())?;
    output_paths::check_not_input("--out", arguments.out.as_deref(), &[arguments.recording.path()])?;
    let since = clock::instant();
    let recording = arguments.recording.read()?;
    let to_play = ReplayedCase::of(&arguments, &recording)?;
    let spec: SubjectSpec = match &arguments.subject {
        Some(text) => text.parse()?,
        None => upstream_of(&recording.header.cluster.version).parse()?,
    };
    arguments.play_args.cluster_args = arguments.play_args.cluster_args.with_default(default_cluster("replay"));
    // On a real server upstream runs as a process, and need not be built.
    if let Some(error) = spec.not_built().filter(|_| arguments.play_args.cluster_args.cluster() == SiteName::Sim) {
        note!("`--subject ours` needs nothing to be built, and decides as upstream v1.36 does");
        return Err(error.into());
    }
    arguments.play_args.check(std::slice::from_ref(to_play.case()), std::slice::from_ref(&spec))?;
    let reporters = reporters(
        &arguments.reports,
        "lockstep replay",
        ResultFormat::Human(HumanStyle::Compare { timelines: true }),
        None,
    );
    Progress::for_process().expect("play", None);
    let ReplayedPair { case, live, expected, judgements: [first, second], unsettled_end } =
        to_play.play(&arguments, &spec, &recording).await?;
    let titles = [expected.header.subject.name.clone(), live.header.subject.name.clone()];
    reporters.events.emit(&RunEvent::CaseCompared {
        titles: titles.each_ref().map(String::as_str),
        judgements: [&first, &second],
    })?;
    let repeat = format!(
        "{} {}{}",
        typed.beginning(),
        quote(&arguments.recording.path().display().to_string()),
        typed.flags(&[])
    );
    let judged = JudgedPlay {
        judgement: &second,
        expected: Some(&first.timeline),
        golden: None,
        recording: &live,
        rerun: &RerunCommands { program: typed.program.clone(), repeat },
        took: None,
        output: None,
        item: 0,
        seed: None,
        brief: false,
    };
    reporters.events.emit(&RunEvent::CaseJudged(&judged))?;
    arguments.reports.keep_evidence(Path::new(""), &judged);
    note_conclusion(&live.header.subject.name, &expected.header.subject.title(), &second, unsettled_end);
    let outcomes = [second.outcome()];
    reporters.end(&Ok(()), (&outcomes, 1), 0, since)?;
    // What the play has shown is not lost if the case cannot be written.
    if let Some(path) = &arguments.out {
        write_case(path, &case)?;
    }
    Ok(RunOutcome::most_severe(outcomes))
}

/// Says in a sentence whether the cluster did what the controller does. `unsettled_end` is the step
/// in which the recording ended before the controllers had settled.
fn note_conclusion(cluster: &str, controller: &str, judgement: &Judgement, unsettled_end: Option<StepId>) {
    match (judgement.outcome(), judgement.findings.first()) {
        (RunOutcome::Conformant, _) => note!("{cluster} did what {controller} does"),
        (RunOutcome::NonConformant, Some(finding)) => {
            note!("{cluster} did not do what {controller} does: {}", finding.place);
        }
        (_, Some(finding)) if finding.kind == FindingKind::BothIdle => {
            note!("neither {cluster} nor {controller} decides anything here, so there is nothing to compare");
        }
        _ => note!("whether {cluster} did what {controller} does cannot be said"),
    }
    // A finding in that step already says so.
    let has_finding = |step| judgement.findings.iter().any(|finding| finding.place == Where::Step(step));
    if let Some(step) = unsettled_end.filter(|step| !has_finding(*step)) {
        note!(
            "the recording ends before the controllers had settled, so {step} may lack decisions; capture for longer"
        );
    }
}

/// The case to play.
enum ReplayedCase {
    /// The case in the recording.
    Recorded(Arc<Case>),
    /// A case inferred from a live cluster.
    Inferred(Box<InferredCase>),
}

/// A case that was played, beside what was recorded.
struct ReplayedPair {
    /// The case, minimised if the user asks for it.
    case: Arc<Case>,
    /// What was recorded.
    live: Recording,
    /// What the controller did.
    expected: Recording,
    /// Of the controller, and of what was recorded.
    judgements: [Judgement; 2],
    /// The step in which the recording ended before the controllers had settled.
    unsettled_end: Option<StepId>,
}

impl ReplayedCase {
    fn of(arguments: &ReplayArguments, recording: &Recording) -> Result<Self, CliError> {
        // Minimising needs steps that can be recombined, so it always infers the case.
        if recording.header.kind != SubjectKind::Cluster && arguments.minimise.is_none() {
            return Ok(Self::Recorded(Arc::new(recorded_case(&recording.header)?)));
        }
        let inferred = infer(recording, &case_name(arguments.recording.path()), &Arrangements::new())?;
        Ok(Self::Inferred(Box::new(inferred)))
    }

    async fn play(
        self,
        arguments: &ReplayArguments,
        spec: &SubjectSpec,
        recording: &Recording,
    ) -> Result<ReplayedPair, CliError> {
        let play_args = &arguments.play_args;
        let inferred = match self {
            Self::Recorded(case) => {
                let played = play_args.record_once(spec, vec![Arc::clone(&case)]).await?.pop();
                let (_, expected) = played.expect("what is played is recorded, or an error");
                let live = with_recorded_name(recording);
                let judgements = judge_pair(&case, &expected, &live)?;
                return Ok(ReplayedPair { case, live, expected, judgements, unsettled_end: None });
            }
            Self::Inferred(inferred) => *inferred,
        };
        let name = case_name(arguments.recording.path());
        let interleavings = Interleavings { recording, name: &name, play_args, spec };
        let ReplayComparison { inferred, live, replay: expected, judgements } = interleavings.nearest(inferred).await?;
        let unsettled_end = inferred.incomplete_step;
        let case = match arguments.minimise.as_deref() {
            Some(subject) => Minimizer { play_args, spec, differing: &subject.parse()? }.smallest(&inferred).await?,
            None => inferred.case,
        };
        Ok(ReplayedPair { case, live, expected, judgements, unsettled_end })
    }

    fn case(&self) -> &Arc<Case> {
        match self {
            Self::Recorded(case) => case,
            Self::Inferred(inferred) => &inferred.case,
        }
    }
}

/// Minimises an inferred case.
struct Minimizer<'a> {
    /// Where to play.
    play_args: &'a PlayArgs,
    /// The controller whose decisions are expected.
    spec: &'a SubjectSpec,
    /// The controller whose decisions differ.
    differing: &'a SubjectSpec,
}

impl Minimizer<'_> {
    /// The case without unnecessary steps, or the whole case if the controllers do not differ.
    async fn smallest(&self, inferred: &InferredCase) -> Result<Arc<Case>, CliError> {
        let all = inferred.steps();
        let mut needed: BTreeSet<usize> = (0..all).collect();
        let mut smallest = Arc::clone(&inferred.case);
        let Some(cause) = self.cause(&smallest).await? else {
            note!("not made smaller: {} does not differ on this case", self.differing);
            return Ok(smallest);
        };
        // Remove later steps first, which shortens the plays of the rest.
        for step in (0..all).rev() {
            needed.remove(&step);
            let without = if needed.is_empty() { None } else { inferred.with_steps(&needed).ok() };
            match without {
                Some(case) if self.cause(&case).await?.as_ref() == Some(&cause) => smallest = case,
                _ => drop(needed.insert(step)),
            }
        }
        note!(
            "{} of {} enough: {cause}",
            needed.len(),
            if all == 1 { "1 step is".to_owned() } else { format!("{all} steps are") }
        );
        Ok(smallest)
    }

    /// The cause of the difference on this case.
    async fn cause(&self, case: &Arc<Case>) -> Result<Option<String>, CliError> {
        let mut recordings = Vec::new();
        for spec in [self.spec, self.differing] {
            let (_, recording) = self
                .play_args
                .record_once(spec, vec![Arc::clone(case)])
                .await?
                .pop()
                .expect("what is played is recorded, or an error");
            recordings.push(recording);
        }
        let [expected, actual] = recordings.as_slice() else { return Ok(None) };
        Ok(match compare(case, Some(expected), actual) {
            SideComparison::Differs(differing) => Some(differing.cause),
            SideComparison::Equal | SideComparison::CutShort | SideComparison::Unknown(_) => None,
        })
    }
}

/// The case of a recording. It is read from its file if that is unchanged, because a recording
/// lacks the values of Secrets.
fn recorded_case(header: &Header) -> Result<Case, CliError> {
    let of_file = case::load(&case_file(header, None)).unwrap_or_default();
    let is_same = |case: &Case| case.name == header.case && case.source == header.source;
    match of_file.into_iter().find(is_same) {
        Some(case) => Ok(case),
        // A config-restart controller writes checksums of the values.
        None if secret::is_redacted(&header.source) && header.controllers.has(Controller::ConfigRestart) => {
            Err(CliError::Usage(format!(
                "recordings lack the values of Secrets, so {} is needed as it was recorded; run this where it is",
                header.path
            )))
        }
        None => case::parse_recorded(header).map_err(CliError::from),
    }
}

/// Upstream's controller of the server's version, if upstream has that version: `v1.33.4+k3s1` is
/// v1.33.4.
fn upstream_of(version: &str) -> String {
    let plain = without_build(version);
    let has_patch = plain.split('.').count() == 3;
    match Minor::of(plain).filter(|_| has_patch) {
        Some(_) => format!("upstream:{plain}"),
        None => "upstream".to_owned(),
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct CaseArguments {
    #[command(flatten)]
    recording: RecordingArg,
    /// Write the case to this file [default: standard output].
    #[arg(help_heading = "Output", short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn execute_case(arguments: &CaseArguments) -> Result<RunOutcome, CliError> {
    let path = arguments.recording.path();
    output_paths::check_file("--out", arguments.out.as_deref())?;
    output_paths::check_not_input("--out", arguments.out.as_deref(), &[path])?;
    let inferred = infer(&arguments.recording.read()?, &case_name(path), &Arrangements::new())?;
    match &arguments.out {
        None => out::result(format_args!("{}", inferred.case.source)),
        Some(out) => {
            write_case(out, &inferred.case)?;
            let recording = quote(&path.display().to_string());
            note!("wrote {}; `lockstep replay {recording}` plays it", out.display());
        }
    }
    Ok(RunOutcome::Conformant)
}

/// The name of the case for a recording, derived from the name of its file.
fn case_name(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let letters =
        stem.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let name: String = letters.collect();
    let name = name.trim_matches('-');
    format!("captured/{}", if name.is_empty() { "rollout" } else { name })
}

/// Write the case to a file.
fn write_case(path: &Path, case: &Case) -> Result<(), CliError> {
    Ok(output_paths::write(path, &case.source)?)
}

#[cfg(test)]
mod tests;
