//! Cases as trials of a test runner.
//!
//! A trial is a case on a subject on a cluster, named by its path:
//! `control-plane::ours::rolling::quarter-on-ten`, `sim::ours::config-restart::safe::delay`. On a
//! real cluster the case's tags are appended, `kind::ours::rolling::rollover#cross-section#smoke`,
//! because nextest's profiles select by name only. Whether a trial can run on this machine is
//! decided when the trials are listed, because a trial that skips itself at run time counts as
//! passed.
//!
//! Known failures are in one list, each with its reason. A listed trial must be non-conformant: it
//! is an error if it passes or is inconclusive.
//!
//! An inconclusive play says nothing about the subject, only about the test environment. It is
//! repeated once on a new session, and the second verdict counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lockstep_case::model::ClockKind;
use lockstep_case::{self as case, Case, CaseError};
use lockstep_cluster::{SiteName, shared};
use lockstep_recording::controllers::Controller;
use lockstep_recording::{Recording, RecordingEntry, WriterRole};
use lockstep_report::{self as report, RerunCommands};
use lockstep_runner::run::{ClusterSource, CompletedPlay, PlayError, PlayPlan, Setup};
use lockstep_runner::{Simulation, simulate};
use lockstep_subject::SubjectSpec;
use lockstep_support::outcome::RunOutcome;
use lockstep_verdict::golden::GoldenTimelines;
use lockstep_verdict::{self as verdict, Verdict};
use serde::Deserialize;
use serde_json::Value;

/// The subjects to judge.
const SUBJECTS: [&str; 2] = ["upstream", "ours"];
/// The clusters that trials run on; a profile of the test runner selects among them.
const SITES: [SiteName; 4] = [SiteName::Sim, SiteName::ControlPlane, SiteName::Containers, SiteName::Kind];
/// How long a step may take to settle. A correct subject never needs this long on an idle machine,
/// but a shared machine can be twenty times slower for a minute.
const BUDGET: Duration = Duration::from_secs(90);
/// The longest config-restart case, in waiting time, that runs in real time.
const MOST_REAL_WAITING: Duration = Duration::from_secs(30);

/// Which trials to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialFilter {
    /// Every trial.
    All,
    /// The trials whose names contain this text.
    Containing(String),
    /// The trial of this name.
    One(String),
}

impl TrialFilter {
    fn text(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Containing(text) | Self::One(text) => Some(text),
        }
    }
}

/// Why the trials cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum TrialsError {
    /// A case is invalid.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The list of known failures is invalid.
    #[error("{path}: {why}")]
    KnownFailures {
        /// The file.
        path: String,
        /// The error.
        why: String,
    },
}

/// The trials of a folder of cases.
#[derive(Debug)]
pub struct Trials {
    cases: Vec<Arc<Case>>,
    known_failures: BTreeMap<String, String>,
    /// The clusters that are unavailable here, with the reason.
    unavailable: BTreeMap<SiteName, String>,
}

/// One case on one subject on one cluster.
#[derive(Debug)]
pub struct CaseTrial {
    /// `<cluster>::<subject>::<area>::<case>`, on a real cluster followed by `#<tag>` for each tag
    /// of the case.
    pub name: String,
    /// Why it cannot run here, if it cannot.
    pub ignored: Option<String>,
    site: SiteName,
    subject: &'static str,
    case: Arc<Case>,
    known_failure: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownFailure {
    trial: String,
    reason: String,
}

impl Trials {
    /// Read the cases under a folder, or only the one that the filter names.
    ///
    /// # Errors
    /// The first case that is invalid, or an invalid list of known failures.
    pub fn find(folder: &Path, known_failures: &Path, filter: &TrialFilter) -> Result<Self, TrialsError> {
        let paths = match filter {
            TrialFilter::One(name) => match untagged_name(name).splitn(3, "::").nth(2) {
                Some(case) => {
                    let (case, _) = case::split_profile(case);
                    let case = folder.join(case.replace("::", "/")).display().to_string();
                    let paths = case::EXTENSIONS.map(|extension| PathBuf::from(format!("{case}.{extension}")));
                    paths.into_iter().filter(|path| path.is_file()).collect()
                }
                None => Vec::new(),
            },
            TrialFilter::All | TrialFilter::Containing(_) => case::find(&[folder.to_owned()])?,
        };
        let cases = paths.iter().map(|path| case::load(path)).collect::<Result<Vec<_>, _>>()?;
        let cases = cases.into_iter().flatten().map(Arc::new).collect();
        let known_failures = read_known_failures(known_failures)?;
        // Probing a container engine is slow, so only clusters of selected trials are probed.
        let wanted = |site: &SiteName| match filter {
            TrialFilter::One(name) => name.split("::").next() == Some(site.as_str()),
            TrialFilter::All | TrialFilter::Containing(_) => true,
        };
        let sites = SITES.into_iter().filter(wanted);
        let unavailable =
            sites.filter_map(|site| Some((site, shared::available(site, filter.text()).err()?))).collect();
        let trials = Self { cases, known_failures, unavailable };
        match filter {
            TrialFilter::All | TrialFilter::Containing(_) => trials.stale().map_or(Ok(()), Err)?,
            TrialFilter::One(_) => {}
        }
        Ok(trials)
    }

    /// All trials, ordered by name.
    pub fn list(&self) -> Vec<CaseTrial> {
        let mut all = Vec::new();
        for site in SITES {
            for subject in SUBJECTS {
                let not_built = not_built_reason(site, subject);
                for case in &self.cases {
                    let name = format!("{site}::{subject}::{}", case.name.replace('/', "::"));
                    let known_failure = self.known_failures.get(&name).cloned();
                    let tags = case.tags.iter().filter(|_| site != SiteName::Sim).map(|tag| format!("#{tag}"));
                    let name = name + &tags.collect::<String>();
                    let ignored = self.unavailable.get(&site).cloned().or_else(|| unsupported_reason(subject, case));
                    let ignored = ignored.or_else(|| real_time_reason(site, case)).or_else(|| not_built.clone());
                    all.push(CaseTrial { name, ignored, site, subject, case: Arc::clone(case), known_failure });
                }
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// A known failure whose trial does not exist (any more).
    fn stale(&self) -> Option<TrialsError> {
        let names: Vec<_> = self.list().into_iter().map(|trial| untagged_name(&trial.name).to_owned()).collect();
        let stale = self.known_failures.keys().find(|name| !names.contains(name))?;
        Some(TrialsError::KnownFailures {
            path: "known failures".into(),
            why: format!("there is no trial {stale}; take it off the list"),
        })
    }
}

impl CaseTrial {
    /// Run the trial.
    ///
    /// # Errors
    /// The failure report, over several lines. A line `Error: …` for the test runner's summary is
    /// written to standard error.
    pub fn run(&self) -> Result<(), String> {
        let outcome = match self.play_and_judge() {
            Ok(TrialResult { verdict: Verdict::Inconclusive, headline, .. }) => {
                eprintln!("{}: {headline}; playing it once more", self.name);
                self.play_and_judge()
            }
            outcome => outcome,
        };
        let failure = match (outcome, &self.known_failure) {
            (Ok(TrialResult { verdict: Verdict::Conformant, .. }), None) => return Ok(()),
            (Ok(TrialResult { verdict: Verdict::NonConformant, .. }), Some(_)) => return Ok(()),
            (Ok(TrialResult { verdict: Verdict::Conformant, .. }), Some(reason)) => TrialResult {
                verdict: Verdict::Conformant,
                headline: format!("passes, but is listed as known to fail ({reason}); take it off the list"),
                text: String::new(),
            },
            (Ok(judged), _) => judged,
            (Err(error), _) => TrialResult {
                verdict: Verdict::Inconclusive,
                headline: format!("inconclusive: {error}"),
                text: String::new(),
            },
        };
        eprintln!("Error: {}: {}", self.name, failure.headline);
        Err(format!("{}\n{}", failure.headline, failure.text))
    }

    fn play_and_judge(&self) -> Result<TrialResult, String> {
        let golden = GoldenTimelines::load(&self.case).map_err(|error| error.to_string())?;
        let spec: SubjectSpec =
            self.subject.parse().map_err(|error: lockstep_subject::SubjectError| error.to_string())?;
        if self.site == SiteName::Sim {
            let simulation = Simulation::new(self.case.controllers.clone(), BUDGET);
            let recording = simulate(&self.case, &spec, &simulation).map_err(|error| error.to_string())?;
            return self.judgement(&recording, &golden);
        }
        let plan = shared::plan(self.site, self.case.controllers.clone())
            .ok_or_else(|| format!("there are no trials on {}", self.site))?;
        let setup = Setup { source: ClusterSource::Shared, budget: BUDGET, ..Setup::new(plan) };
        let (specs, cases) = ([spec], [Arc::clone(&self.case)]);
        let mut recording = None;
        let played =
            runtime()?.block_on(setup.for_each_subject(&self.case.controllers, &specs, 1, async |_, player| {
                let take = async |played: CompletedPlay<'_>| {
                    recording = Some(played.recording);
                    Ok::<_, PlayError>(ControlFlow::Break(()))
                };
                setup.play_each(player, PlayPlan::once(&cases), take).await
            }));
        played.map_err(|error| error.to_string())?;
        self.judgement(&recording.ok_or("the case was not played")?, &golden)
    }

    fn judgement(&self, recording: &Recording, golden: &GoldenTimelines) -> Result<TrialResult, String> {
        let blessed = golden.for_server(&recording.header.cluster.version);
        if blessed.is_none() && self.case.expectation.is_blessed() {
            return Err(format!("{} has no timeline: bless it first", self.case.path));
        }
        let judgement = verdict::judge(&self.case, recording, blessed);
        let repeat = match std::env::var_os("NEXTEST") {
            Some(_) => format!("scripts/test -E 'test(={})'", self.name),
            None => format!("scripts/test --test conformance -- --exact {}", self.name),
        };
        let rerun = RerunCommands { program: "cargo lockstep".to_owned(), repeat };
        if judgement.outcome() == RunOutcome::Unblessed {
            return Err(format!("{}: {}", self.case.path, report::headline(&judgement)));
        }
        if judgement.verdict == Verdict::Conformant && self.case.controllers.has(Controller::ConfigRestart) {
            let unannotated = without_annotations(recording);
            let judgement = verdict::judge(&self.case, &unannotated, blessed);
            if judgement.findings.iter().any(|finding| finding.kind.is_unevaluable()) {
                let why = "a subject that writes no annotation has no verdict: test each key with `in` first";
                return Err(format!("{}: {why}\n{}", self.case.path, report::failure(&judgement, &rerun, false)));
            }
        }
        Ok(TrialResult {
            verdict: judgement.verdict,
            headline: report::headline(&judgement),
            text: report::failure(&judgement, &rerun, false),
        })
    }
}

/// The recording as if no config-restart controller had annotated a workload or its template.
fn without_annotations(recording: &Recording) -> Recording {
    let mut recording = recording.clone();
    let mut given: BTreeMap<(String, &str), BTreeSet<String>> = BTreeMap::new();
    for entry in &mut recording.entries {
        let RecordingEntry::Object(version) = entry else { continue };
        if !["Deployment", "StatefulSet", "DaemonSet"].contains(&version.kind.as_str()) {
            continue;
        }
        for place in ["/metadata/annotations", "/spec/template/metadata/annotations"] {
            let annotations = version.object.change().pointer_mut(place).and_then(Value::as_object_mut);
            let Some(annotations) = annotations else { continue };
            let given = given.entry((format!("{}/{}", version.kind, version.name), place)).or_default();
            if version.by == WriterRole::Driver {
                given.extend(annotations.keys().cloned());
            }
            annotations.retain(|name, _| name.starts_with("deployment.kubernetes.io/") || given.contains(name));
        }
    }
    recording
}

/// A trial's name without tags, which known failures use so that retagging a case does not matter.
fn untagged_name(name: &str) -> &str {
    name.split('#').next().unwrap_or(name)
}

/// Why a subject cannot be judged by a case, if it cannot.
fn unsupported_reason(subject: &str, case: &Case) -> Option<String> {
    let spec = subject.parse::<SubjectSpec>().ok()?;
    let missing = spec.can_bring(&case.controllers).err().map(|error| error.to_string());
    missing.or_else(|| spec.lacks_restart_options(&case.restart))
}

/// Why a subject cannot be judged in virtual time, if it cannot.
fn not_built_reason(site: SiteName, subject: &str) -> Option<String> {
    let spec = subject.parse::<SubjectSpec>().ok().filter(|_| site == SiteName::Sim)?;
    spec.not_built().map(|error| error.to_string())
}

/// Why a case cannot be tried in real time, or takes too long there. `lockstep run` still accepts a
/// long one.
fn real_time_reason(site: SiteName, case: &Case) -> Option<String> {
    if site == SiteName::Sim {
        return None;
    }
    if case.clock == ClockKind::Virtual {
        return Some("has times of day".to_owned());
    }
    let waits = case.total_advance();
    let is_slow = case.controllers.has(Controller::ConfigRestart) && waits > MOST_REAL_WAITING;
    is_slow.then(|| format!("waits for {} of real time", humantime::format_duration(waits)))
}

struct TrialResult {
    verdict: Verdict,
    headline: String,
    text: String,
}

fn read_known_failures(path: &Path) -> Result<BTreeMap<String, String>, TrialsError> {
    let error = |why: String| TrialsError::KnownFailures { path: path.display().to_string(), why };
    let text = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
    let list: Vec<KnownFailure> = serde_saphyr::from_str(&text).map_err(|e| error(e.to_string()))?;
    Ok(list.into_iter().map(|known| (known.trial, known.reason)).collect())
}

/// One runtime for all trials of a process.
fn runtime() -> Result<&'static tokio::runtime::Runtime, String> {
    static RUNTIME: OnceLock<Result<tokio::runtime::Runtime, String>> = OnceLock::new();
    let build = || tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string());
    RUNTIME.get_or_init(build).as_ref().map_err(Clone::clone)
}
