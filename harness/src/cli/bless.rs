//! `lockstep bless`: record timelines from upstream and write them beside their cases.
//!
//! Five recordings from two boots, one of them with every core kept busy, must agree; what does not
//! repeat on upstream itself is no expectation; a case that says `expectation: outcomes` is
//! recorded more often, and has all that was seen. Only upstream is ever blessed, on a real control
//! plane.
//!
//! Upstream of a case of config restarts is the controller of the project whose profile it has.
//! What that does depends on no more of a server than writes and watches, and its cases wait for
//! minutes; so it is recorded on the simulated cluster as well, in virtual time, and each recording
//! has a seed of its own in place of a busy machine.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::out::{note, say};
use super::place::Place;
use super::reporter::Notes;
use super::reporter::colour;
use super::select::{Selection, blessed};
use super::{CliError, preview, several};
use crate::case::Case;
use crate::cluster::SiteName;
use crate::collection;
use crate::controllers::{Controller, Controllers};
use crate::golden;
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::report;
use crate::rules::Expectation;
use crate::run::{Events, FileError, Plan, Played, Round, Setup, Source};
use crate::subject::{Reference, Spec};
use crate::timeline::{Golden, Provenance, Timeline};
use crate::verdict::{self, Finding, Judgement, Verdict, What};
use crate::versions::Minor;

/// How many times each boot plays every case; the last time of all is under load.
const BOOTS: [u32; 2] = [2, 3];

/// Record golden timelines from upstream.
///
/// Each case is recorded five times on two boots of a control plane; the timelines are written
/// beside the cases.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    pub(super) place: Place,
    /// Which upstream: upstream, upstream:VERSION or upstream:PATH; of config restarts xing or
    /// reloader.
    #[arg(help_heading = "Subject", long, default_value = "upstream")]
    subject: String,
    /// Write nothing; show what would change, line by line.
    #[arg(help_heading = "Output", long)]
    check: bool,
    /// Bless nothing; write what upstream does on the simulated cluster to CASE.preview.
    ///
    /// In a tenth of a second a case, where `scripts/upstream-virtual` has built upstream for
    /// virtual time. A preview counts as unblessed.
    #[arg(help_heading = "Output", long, conflicts_with = "check")]
    preview: bool,
}

pub(super) async fn execute(mut arguments: Arguments) -> Result<Outcome, CliError> {
    let (cases, ruled): (Vec<_>, Vec<_>) =
        arguments.selection.cases()?.into_iter().map(Arc::new).partition(|case| case.expectation.is_blessed());
    for case in ruled {
        say!("not blessed  {}: its rules are the expectation", case.name);
    }
    let spec: Spec = arguments.subject.parse()?;
    let (cases, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| upstream_of(case) == spec.reference());
    for case in others {
        let whose = upstream_of(&case).map_or("upstream", Reference::as_str);
        say!("not blessed  {}: its timeline comes from {whose}; `--subject {whose}` records it", case.name);
    }
    if cases.is_empty() {
        return Err(CliError::NothingToBless);
    }
    if let Some(case) = cases.iter().find(|case| collection::is_embedded(Path::new(&case.path))) {
        return Err(CliError::Usage(format!(
            "{} is inside the program, where no timeline can be written beside it; `lockstep init --cases` writes the \
             embedded cases to a folder cases/, or bless in a checkout of the repository",
            case.path
        )));
    }
    if !matches!(spec, Spec::Upstream(_) | Spec::Reference(..)) {
        return Err(CliError::Usage(format!("only upstream can be blessed, not '{spec}'")));
    }
    if arguments.preview {
        arguments.place.site = arguments.place.site.or(SiteName::Sim);
        if arguments.place.site.cluster() != SiteName::Sim {
            return Err(CliError::Usage("--preview plays on --cluster sim only".to_owned()));
        }
        arguments.place.check(&cases, std::slice::from_ref(&spec))?;
        return preview::preview(&arguments, &spec, cases).await;
    }
    let is_simulated = arguments.place.site.cluster() == SiteName::Sim && spec.reference().is_some();
    if arguments.place.site.cluster() != SiteName::ControlPlane && !is_simulated {
        return Err(CliError::Usage("timelines are blessed on --cluster control-plane only".to_owned()));
    }
    arguments.place.check(&cases, std::slice::from_ref(&spec))?;
    let mut outcomes = Vec::new();
    for (under_test, cases) in arguments.place.by_controllers(cases) {
        let recordings = match is_simulated {
            true => simulated(&arguments, &spec, &under_test, &cases).await?,
            false => recorded(&arguments, &spec, &under_test, &cases).await?,
        };
        for (case, recordings) in cases.iter().zip(&recordings) {
            outcomes.push(one(case, recordings, arguments.check)?);
        }
    }
    Ok(Outcome::of(outcomes))
}

/// Five recordings of each case.
async fn recorded(
    arguments: &Arguments,
    spec: &Spec,
    under_test: &Controllers,
    cases: &[Arc<Case>],
) -> Result<Vec<Vec<Recording>>, CliError> {
    let events = Events::to(vec![Arc::new(Notes)]);
    let setup = Setup { source: Source::Boot, ..arguments.place.setup(events) };
    let mut recordings: Vec<Vec<Recording>> = vec![Vec::new(); cases.len()];
    for (boot, times) in (1..).zip(BOOTS) {
        let played = setup.with_each(under_test, std::slice::from_ref(spec), cases.len(), async |_, player| {
            for time in 1..=times {
                let last = boot == BOOTS.len() && time == times;
                let _load = last.then(Load::start);
                note!("boot {boot}, recording {time}{}", if last { ", with all cores busy" } else { "" });
                for (case, recordings) in cases.iter().zip(&mut recordings) {
                    for _ in 0..plays(case) {
                        recordings.push(player.play(case).await?);
                    }
                }
            }
            Ok::<_, CliError>(())
        });
        played.await?;
    }
    Ok(recordings)
}

/// The controller of another project that a case's timeline comes from; `None`:
/// kube-controller-manager.
fn upstream_of(case: &Case) -> Option<Reference> {
    Reference::of(case.restart.profile).filter(|_| case.controllers.has(Controller::ConfigRestart))
}

/// Five recordings of each case on simulated clusters, each with another seed: `--seed` and those
/// that follow it.
async fn simulated(
    arguments: &Arguments,
    spec: &Spec,
    under_test: &Controllers,
    cases: &[Arc<Case>],
) -> Result<Vec<Vec<Recording>>, CliError> {
    let setup = arguments.place.setup(Events::to(vec![Arc::new(Notes)]));
    let mut recordings: Vec<Vec<Recording>> = vec![Vec::new(); cases.len()];
    let all = BOOTS.iter().sum::<u32>();
    let rounds: Vec<Round> =
        (1..=all).map(|time| Round { time, seed: Some(setup.seed + u64::from(time) - 1) }).collect();
    let specs = std::slice::from_ref(spec);
    let played = setup.with_each(under_test, specs, cases.len(), async |_, player| {
        let plan = Plan { rounds: &rounds, ..Plan::once(cases) };
        let take = async |played: Played<'_>| {
            recordings[played.number].push(played.recording);
            Ok::<_, CliError>(ControlFlow::Continue(()))
        };
        setup.play_each(player, plan, take).await
    });
    played.await?;
    Ok(recordings)
}

/// How many recordings of a case are made in a row.
fn plays(case: &Case) -> usize {
    if case.expectation == Expectation::Outcomes { several::TIMES } else { 1 }
}

/// Bless one case, or say why not.
fn one(case: &Arc<Case>, recordings: &[Recording], check: bool) -> Result<Outcome, CliError> {
    let name = &case.name;
    let recorded = recordings.iter().map(|recording| verdict::judge(case, recording, None));
    // An invariant that upstream itself breaks is blessed as an exception; a test environment that
    // failed, or a case that upstream cannot go through, is not.
    if let Some((outcome, why)) = recorded.into_iter().find_map(stopped) {
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
        seen: None,
        // Each simulated cluster is another one.
        boots: match header.seed {
            Some(_) => u32::try_from(recordings.len()).unwrap_or(u32::MAX),
            None => u32::try_from(BOOTS.len()).unwrap_or(u32::MAX),
        },
    };
    let golden = blessed(case)?;
    let path = golden::path(case, header);
    let is_default = path == case.timelines_of().with_extension("timeline");
    if !is_default && golden.instead_of(header).is_none() {
        say!("not blessed  {name}: bless the default version first; another one has a timeline only where it differs");
        return Ok(Outcome::Unblessed);
    }
    let held = golden.applicable_to(header, None);
    let before = held.for_server(&header.cluster.version);
    if case.expectation == Expectation::Outcomes {
        return several::bless(case, &timelines, &provenance, before, (&path, check));
    }
    let timeline = match verdict::agree(&timelines) {
        Ok(timeline) => timeline,
        Err(disagreement) => {
            say!("not blessed  {name}: upstream's own recordings differ\n{disagreement}");
            return Ok(Outcome::Inconclusive);
        }
    };
    let timeline = timeline.with_provenance(provenance);
    if golden.instead_of(header).is_some_and(|already| golden::is_said(&already, &timeline.clone().into())) {
        return needless(name, &path, &header.subject.title(), check);
    }
    let before = before.map(Golden::first);
    if before == Some(&timeline) {
        say!("as blessed   {name}");
        return Ok(Outcome::Conformant);
    }
    if check {
        say!("would change {name}\n{}", report::change(before, &timeline, colour()));
        return Ok(Outcome::Unblessed);
    }
    std::fs::write(&path, timeline.to_string()).map_err(|source| FileError::File { path: path.clone(), source })?;
    // The real answer is there now. Most cases have no preview.
    let previewed = std::fs::remove_file(preview::path(Path::new(&case.path))).is_ok();
    say!("blessed      {name}\n{}", report::change(before, &timeline, colour()));
    say!("wrote {}{}", path.display(), if previewed { " and removed the preview" } else { "" });
    Ok(Outcome::Conformant)
}

/// A version that does what the default one does has no timeline of its own.
fn needless(name: &str, path: &Path, version: &str, check: bool) -> Result<Outcome, CliError> {
    if !path.is_file() {
        say!("as blessed   {name}: {version} does what the default version does");
        return Ok(Outcome::Conformant);
    }
    if check {
        say!("would remove {}: {version} does what the default version does", path.display());
        return Ok(Outcome::Unblessed);
    }
    std::fs::remove_file(path).map_err(|source| FileError::File { path: path.to_owned(), source })?;
    say!("removed      {}: {version} does what the default version does", path.display());
    Ok(Outcome::Conformant)
}

/// Why a recording gives no timeline, if it does not: the case did not go through to its end, or
/// says another thing than upstream does.
pub(super) fn stopped(mut judgement: Judgement) -> Option<(Outcome, String)> {
    let is_default = is_default(&judgement);
    judgement.findings.retain(|finding| stops(finding, is_default));
    let is_inconclusive = judgement.verdict == Verdict::Inconclusive;
    let outcome = if is_inconclusive { Outcome::Inconclusive } else { Outcome::NonConformant };
    (!judgement.findings.is_empty()).then(|| (outcome, report::headline(&judgement)))
}

/// Whether the controllers of the default version were judged: what a case says by itself is about
/// them.
fn is_default(judgement: &Judgement) -> bool {
    let is_upstream = judgement.subject.program == "kube-controller-manager";
    !is_upstream || Minor::of(&judgement.subject.version).is_none_or(Minor::is_default)
}

fn stops(finding: &Finding, is_default: bool) -> bool {
    match finding.what {
        What::Unsettled(..) | What::Trouble(..) => true,
        What::Unexpected(_) | What::Rule(_) => is_default,
        _ => false,
    }
}

/// Every core kept busy until it is dropped.
struct Load(Arc<AtomicBool>);

impl Load {
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

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
