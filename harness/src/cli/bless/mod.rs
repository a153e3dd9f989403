//! `lockstep bless`: records timelines from upstream and writes them beside their cases.
//!
//! Five recordings from two boots, one of them with all cores busy, must agree, because behaviour
//! that upstream itself does not repeat cannot be expected. A case with `expectation: outcomes` is
//! recorded more often, and keeps every outcome. Only upstream is blessed, on a real control plane.
//!
//! Upstream of a config-restart case is the controller of the project that its restart profile
//! names. That controller needs only writes and watches of a server, so it may also be recorded on
//! the simulated one.
//!
//! `outcomes` blesses a case with several outcomes.
//!
//! `--preview` shows what upstream does on the simulated server, before blessing on a real one. A
//! preview blesses nothing. It is written beside the case to a file that says so in its first line,
//! and that the judge never reads. `bless` on a control plane removes it.

mod outcomes;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockstep_case::Case;
use lockstep_case::rules::Expectation;
use lockstep_cluster::SiteName;
use lockstep_recording::Recording;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_report as report;
use lockstep_runner::run::{ClusterSource, FileError, Setup};
use lockstep_subject::{Reference, SubjectSpec};
use lockstep_support::collection;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize::quote;
use lockstep_timeline::versions::Minor;
use lockstep_timeline::{GoldenOutcomes, Provenance, Timeline};
use lockstep_verdict::{self as verdict, FindingKind, Judgement, Verdict, VerdictFinding, golden};

use super::golden::load_golden;
use super::out::{colour, note, say};
use super::play_args::PlayArgs;
use super::progress::Progress;
use super::reporter::{ProgressReporter, messages};
use super::select::CaseSelection;
use super::subject_parser::SubjectParser;
use super::{CliError, output_paths};

/// How often each boot plays every case. The last play of the last boot is under load.
const BOOTS: [u32; 2] = [2, 3];

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Which upstream: upstream, upstream:VERSION or upstream:PATH; of config restarts xing:PATH or
    /// reloader:PATH.
    #[arg(help_heading = "Subject", long, default_value = "upstream")]
    #[arg(value_parser = SubjectParser, hide_possible_values = true)]
    subject: String,
    #[command(flatten)]
    selection: CaseSelection,
    #[command(flatten)]
    play_args: PlayArgs,
    /// Write nothing; show what would change, line by line.
    #[arg(help_heading = "Output", long)]
    check: bool,
    /// Bless nothing; write what upstream does on the simulated cluster to CASE.preview.
    ///
    /// In a tenth of a second a case, where `scripts/fetch virtual` has built upstream for
    /// virtual time. A preview counts as unblessed.
    #[arg(help_heading = "Output", long, conflicts_with = "check")]
    preview: bool,
}

pub(super) async fn execute(mut arguments: Arguments) -> Result<RunOutcome, CliError> {
    let (cases, judged_by_rules): (Vec<_>, Vec<_>) =
        arguments.selection.cases()?.into_iter().map(Arc::new).partition(|case| case.expectation.is_blessed());
    for case in judged_by_rules {
        say!("not blessed  {}: its rules are the expectation", case.name);
    }
    let spec: SubjectSpec = arguments.subject.parse()?;
    let (cases, other_cases): (Vec<_>, Vec<_>) =
        cases.into_iter().partition(|case| upstream_of(case) == spec.reference());
    for case in other_cases {
        let source = upstream_of(&case).map_or("upstream", Reference::as_str);
        let path = if upstream_of(&case).is_some() { ":PATH" } else { "" };
        say!("not blessed  {}: its timeline comes from {source}; `--subject {source}{path}` records it", case.name);
    }
    if cases.is_empty() {
        return Err(CliError::NothingToBless);
    }
    if let Some(case) = cases.iter().find(|case| collection::is_embedded(Path::new(&case.path))) {
        return Err(CliError::Usage(format!(
            "{} is inside the program, where no timeline can be written beside it; `lockstep init --embedded` writes the \
             embedded cases to a folder cases/, or bless in a checkout of the repository",
            case.path
        )));
    }
    if !matches!(spec, SubjectSpec::Upstream(_) | SubjectSpec::Reference(..)) {
        return Err(CliError::Usage(format!("only upstream can be blessed, not '{spec}'")));
    }
    for case in cases.iter().filter(|_| !arguments.check) {
        output_paths::check_folder("the timeline beside the case", Path::new(&case.path).parent())?;
    }
    if arguments.preview {
        arguments.play_args.cluster_args = arguments.play_args.cluster_args.with_default(SiteName::Sim);
        if arguments.play_args.cluster_args.cluster() != SiteName::Sim {
            return Err(CliError::Usage("--preview plays on --cluster sim only".to_owned()));
        }
        arguments.play_args.check(&cases, std::slice::from_ref(&spec))?;
        return preview(&arguments.play_args, &spec, cases).await;
    }
    let is_simulated = arguments.play_args.cluster_args.cluster() == SiteName::Sim && spec.reference().is_some();
    if arguments.play_args.cluster_args.cluster() != SiteName::ControlPlane && !is_simulated {
        return Err(CliError::Usage("timelines are blessed on --cluster control-plane only".to_owned()));
    }
    arguments.play_args.check(&cases, std::slice::from_ref(&spec))?;
    let mut outcomes = Vec::new();
    for (under_test, cases) in arguments.play_args.by_controllers(cases) {
        let recordings = record(&arguments, &spec, &under_test, &cases).await?;
        for (case, recordings) in cases.iter().zip(&recordings) {
            outcomes.push(bless_case(case, recordings, arguments.check)?);
        }
    }
    Ok(RunOutcome::most_severe(outcomes))
}

/// Record each case five times.
async fn record(
    arguments: &Arguments,
    spec: &SubjectSpec,
    under_test: &ControllerSet,
    cases: &[Arc<Case>],
) -> Result<Vec<Vec<Recording>>, CliError> {
    let setup = Setup { source: ClusterSource::Boot, ..arguments.play_args.setup(messages(ProgressReporter::Naming)) };
    let a_round: usize = cases.iter().map(|case| recordings_in_a_row(case)).sum();
    let rounds: u32 = BOOTS.iter().sum();
    Progress::for_process().expect("recording", Some(a_round * rounds as usize));
    let mut recordings: Vec<Vec<Recording>> = vec![Vec::new(); cases.len()];
    for (boot, times) in (1..).zip(BOOTS) {
        let played = setup.for_each_subject(under_test, std::slice::from_ref(spec), cases.len(), async |_, player| {
            for time in 1..=times {
                let last = boot == BOOTS.len() && time == times;
                let _load = last.then(BusyCores::start);
                note!("boot {boot}, recording {time}{}", if last { ", with all cores busy" } else { "" });
                for (case, recordings) in cases.iter().zip(&mut recordings) {
                    for _ in 0..recordings_in_a_row(case) {
                        Progress::for_process().describe(case.name.clone());
                        recordings.push(player.play(case).await?);
                        Progress::for_process().advance(1);
                    }
                }
            }
            Ok::<_, CliError>(())
        });
        played.await?;
    }
    Ok(recordings)
}

/// The controller of another project that a case is blessed from; `None` is
/// kube-controller-manager.
fn upstream_of(case: &Case) -> Option<Reference> {
    Reference::of(case.restart.profile).filter(|_| case.controllers.has(Controller::ConfigRestart))
}

/// The number of recordings of a case in a row.
fn recordings_in_a_row(case: &Case) -> usize {
    if case.expectation == Expectation::Outcomes { outcomes::RECORDINGS_FACTOR } else { 1 }
}

/// Bless one case, or print why it cannot be blessed.
fn bless_case(case: &Arc<Case>, recordings: &[Recording], check: bool) -> Result<RunOutcome, CliError> {
    let name = &case.name;
    let recorded = recordings.iter().map(|recording| verdict::judge(case, recording, None));
    // An invariant that upstream itself breaks becomes part of the timeline. A failed test
    // environment, or a case that upstream cannot finish, is not blessed.
    if let Some((outcome, why)) = recorded.into_iter().find_map(unusable_reason) {
        say!("not blessed  {name}: {why}");
        return Ok(outcome);
    }
    let timelines: Vec<_> = recordings.iter().map(Timeline::from_recording).collect();
    let header = &recordings[0].header;
    let provenance = Provenance {
        name: "upstream".into(),
        controller: header.subject.title(),
        server: header.cluster.title(),
        recordings: u32::try_from(recordings.len()).unwrap_or(u32::MAX),
        times_seen: None,
        boots: u32::try_from(BOOTS.len()).unwrap_or(u32::MAX),
    };
    let golden = load_golden(case)?;
    let path = golden::path(case, header);
    let is_default = path == case.timeline_base().with_extension("timeline");
    if !is_default && golden.fallback_for(header).is_none() {
        say!("not blessed  {name}: bless the default version first; another one has a timeline only where it differs");
        return Ok(RunOutcome::Unblessed);
    }
    let applicable = golden.for_subject(header, None);
    let before = applicable.for_server(&header.cluster.version);
    if case.expectation == Expectation::Outcomes {
        return outcomes::bless(case, &timelines, &provenance, before, (&path, check));
    }
    let timeline = match verdict::agree(&timelines) {
        Ok(timeline) => timeline,
        Err(disagreement) => {
            say!("not blessed  {name}: upstream's own recordings differ\n{disagreement}");
            return Ok(RunOutcome::Inconclusive);
        }
    };
    let timeline = timeline.with_provenance(provenance);
    if golden.fallback_for(header).is_some_and(|already| golden::covers(&already, &timeline.clone().into())) {
        return remove_duplicate(name, &path, &header.subject.title(), check);
    }
    let before = before.map(GoldenOutcomes::first);
    if before == Some(&timeline) {
        say!("as blessed   {name}");
        return Ok(RunOutcome::Conformant);
    }
    if check {
        say!("would change {name}\n{}", report::bless_diff(before, &timeline, colour()));
        return Ok(RunOutcome::Unblessed);
    }
    golden::outcomes::write(&path, &timeline.clone().into())?;
    // The real timeline replaces a preview. Most cases have none.
    let previewed = std::fs::remove_file(preview_path(Path::new(&case.path))).is_ok();
    say!("blessed      {name}\n{}", report::bless_diff(before, &timeline, colour()));
    say!("wrote {}{}", path.display(), if previewed { " and removed the preview" } else { "" });
    Ok(RunOutcome::Conformant)
}

/// Remove the timeline of a version that behaves as the default version.
fn remove_duplicate(name: &str, path: &Path, version: &str, check: bool) -> Result<RunOutcome, CliError> {
    if !path.is_file() {
        say!("as blessed   {name}: {version} does what the default version does");
        return Ok(RunOutcome::Conformant);
    }
    if check {
        say!("would remove {}: {version} does what the default version does", path.display());
        return Ok(RunOutcome::Unblessed);
    }
    std::fs::remove_file(path).map_err(|source| FileError::File { path: path.to_owned(), source })?;
    say!("removed      {}: {version} does what the default version does", path.display());
    Ok(RunOutcome::Conformant)
}

/// Keeps all cores busy until it is dropped.
struct BusyCores(Arc<AtomicBool>);

impl BusyCores {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        Self(stop)
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Play each case once and write its preview.
async fn preview(play_args: &PlayArgs, spec: &SubjectSpec, cases: Vec<Arc<Case>>) -> Result<RunOutcome, CliError> {
    let mut outcomes = Vec::new();
    Progress::for_process().expect("play", Some(cases.len()));
    for (case, recording) in &play_args.record_once(spec, cases).await? {
        outcomes.push(write_preview(case, recording)?);
    }
    Ok(RunOutcome::most_severe(outcomes))
}

/// The file of a case's preview.
fn preview_path(case: &Path) -> PathBuf {
    case.with_extension("preview")
}

fn write_preview(case: &Arc<Case>, recording: &Recording) -> Result<RunOutcome, CliError> {
    if let Some((outcome, why)) = unusable_reason(verdict::judge(case, recording, None)) {
        say!("no preview   {}: {why}", case.name);
        return Ok(outcome);
    }
    let (path, header) = (preview_path(Path::new(&case.path)), &recording.header);
    let timeline = Timeline::from_recording(recording);
    let text = format!(
        "# preview: {} on {}; not blessed, and compared with nothing: `lockstep bless {}` asks a real API server.\n{timeline}",
        header.subject.title(),
        header.cluster.title(),
        quote(&case.path),
    );
    std::fs::write(&path, &text).map_err(|source| FileError::File { path: path.clone(), source })?;
    let golden = load_golden(case)?;
    match golden.for_server(&header.cluster.version).map(GoldenOutcomes::first) {
        Some(before) if before.steps == timeline.steps && before.events == timeline.events => {
            say!("as blessed   {}  {}", case.name, path.display());
        }
        Some(before) => {
            say!(
                "otherwise    {}  {}\n{}",
                case.name,
                path.display(),
                report::bless_diff(Some(before), &timeline, colour())
            );
        }
        None => say!("preview      {}  {}\n{text}", case.name, path.display()),
    }
    Ok(RunOutcome::Conformant)
}

/// Why a recording cannot be blessed, if it cannot: the case did not finish, or its rules or
/// expectations contradict upstream.
pub(super) fn unusable_reason(mut judgement: Judgement) -> Option<(RunOutcome, String)> {
    let is_default = is_default(&judgement);
    judgement.findings.retain(|finding| prevents_blessing(finding, is_default));
    let is_inconclusive = judgement.verdict == Verdict::Inconclusive;
    let outcome = if is_inconclusive { RunOutcome::Inconclusive } else { RunOutcome::NonConformant };
    (!judgement.findings.is_empty()).then(|| (outcome, report::headline(&judgement)))
}

/// Whether controllers of the default version were judged. The rules and expectations of a case
/// apply only to those.
fn is_default(judgement: &Judgement) -> bool {
    let is_upstream = judgement.subject.program == "kube-controller-manager";
    !is_upstream || Minor::of(&judgement.subject.version).is_none_or(Minor::is_default)
}

fn prevents_blessing(finding: &VerdictFinding, is_default: bool) -> bool {
    match finding.kind {
        FindingKind::Unsettled(..) | FindingKind::Trouble(..) => true,
        FindingKind::Unexpected(_) | FindingKind::Rule(_) => is_default,
        _ => false,
    }
}
