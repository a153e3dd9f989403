//! Cases as trials of a test runner.
//!
//! A trial is a case on a subject on a cluster. Its name is its path:
//! `control-plane::ours::rolling::quarter-on-ten`. On a real cluster the case's tags follow,
//! `kind::ours::rolling::rollover#cross-section#smoke`: nextest's profiles choose by names alone.
//! Whether it can run here is decided when the trials are listed, because a trial that skips itself
//! at run time counts as passed.
//!
//! Trials that are known to fail stand in one list, each with its reason. A listed trial must be
//! non-conformant: one that passes is an error, and so is one that is inconclusive.
//!
//! An inconclusive play says nothing about the subject, only about the test environment; it is
//! played once more, on a session of its own, and the second play counts, whatever it is.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::Deserialize;

use crate::case::{self, Case, CaseError};
use crate::cluster::{SiteName, shared};
use crate::controllers::Controller;
use crate::golden::GoldenTimelines;
use crate::outcome::Outcome;
use crate::recording::Recording;
use crate::report::{self, Again};
use crate::run::{Plan, Played, RunError, Setup, Source};
use crate::runner::{Simulation, simulated};
use crate::subject::{Reference, Spec};
use crate::verdict::{self, Verdict};

/// The subjects that cases are judged with: upstream and ours with every one of them, other
/// projects' controllers with those of their profile, on the simulated cluster.
const SUBJECTS: [&str; 4] = ["upstream", "ours", "xing", "reloader"];
/// The clusters that trials run on; a profile of the runner's chooses between them.
const SITES: [SiteName; 4] = [SiteName::Sim, SiteName::ControlPlane, SiteName::Containers, SiteName::Kind];
/// How long a step may take to settle. A right subject never needs it on an idle machine; one that
/// others use as well can be twenty times slower for a minute.
const BUDGET: Duration = Duration::from_secs(90);
/// How long a case of config restarts may wait where time is real.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which trials are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// All of them.
    All,
    /// The one of this name.
    One(String),
}

/// Why the trials cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum TrialsError {
    /// A case is bad.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The list of known failures is bad.
    #[error("{path}: {why}")]
    Known {
        /// The file.
        path: String,
        /// What is wrong.
        why: String,
    },
}

/// The trials of a folder of cases.
#[derive(Debug)]
pub struct Trials {
    cases: Vec<Arc<Case>>,
    known: BTreeMap<String, String>,
    /// Why a cluster is not to be had here, of those that are not.
    unavailable: BTreeMap<SiteName, String>,
}

/// One case on one subject on one cluster.
#[derive(Debug)]
pub struct CaseTrial {
    /// `<cluster>::<subject>::<area>::<case>`, and on a real cluster `#<tag>` for each of the
    /// case's tags.
    pub name: String,
    /// Why it cannot run here, if it cannot.
    pub ignored: Option<String>,
    site: SiteName,
    subject: &'static str,
    case: Arc<Case>,
    known: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    trial: String,
    reason: String,
}

impl Trials {
    /// Read the cases under a folder, or only the one that the wish names.
    ///
    /// # Errors
    /// On the first bad case or list.
    pub fn find(folder: &Path, known: &Path, wish: &Wish) -> Result<Self, TrialsError> {
        let paths = match wish {
            Wish::One(name) => match path(name).splitn(3, "::").nth(2) {
                Some(case) => {
                    let (case, _) = case::split(case);
                    let case = folder.join(case.replace("::", "/")).display().to_string();
                    let paths = case::EXTENSIONS.map(|extension| PathBuf::from(format!("{case}.{extension}")));
                    paths.into_iter().filter(|path| path.is_file()).collect()
                }
                None => Vec::new(),
            },
            Wish::All => case::find(&[folder.to_owned()])?,
        };
        let cases = paths.iter().map(|path| case::load(path)).collect::<Result<Vec<_>, _>>()?;
        let cases = cases.into_iter().flatten().map(Arc::new).collect();
        let known = read_known(known)?;
        // Asking an engine takes a moment: only for those that are wanted.
        let wanted = |site: &SiteName| match wish {
            Wish::One(name) => name.split("::").next() == Some(site.as_str()),
            Wish::All => true,
        };
        let sites = SITES.into_iter().filter(wanted);
        let unavailable = sites.filter_map(|site| Some((site, shared::available(site).err()?))).collect();
        let trials = Self { cases, known, unavailable };
        match wish {
            Wish::All => trials.stale().map_or(Ok(()), Err)?,
            Wish::One(_) => {}
        }
        Ok(trials)
    }

    /// All trials, in the order of their names.
    pub fn list(&self) -> Vec<CaseTrial> {
        let mut all = Vec::new();
        for site in SITES {
            for subject in SUBJECTS {
                let not_built = not_built(site, subject);
                for case in self.cases.iter().filter(|case| is_for(subject, site, case)) {
                    let name = format!("{site}::{subject}::{}", case.name.replace('/', "::"));
                    let known = self.known.get(&name).cloned();
                    let tags = case.tags.iter().filter(|_| site != SiteName::Sim).map(|tag| format!("#{tag}"));
                    let name = name + &tags.collect::<String>();
                    let ignored = self.unavailable.get(&site).cloned().or_else(|| cannot(subject, case));
                    let ignored = ignored.or_else(|| slow(site, case)).or_else(|| not_built.clone());
                    all.push(CaseTrial { name, ignored, site, subject, case: Arc::clone(case), known });
                }
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    /// A known failure that is no trial (any more).
    fn stale(&self) -> Option<TrialsError> {
        let names: Vec<_> = self.list().into_iter().map(|trial| path(&trial.name).to_owned()).collect();
        let gone = self.known.keys().find(|name| !names.contains(name))?;
        Some(TrialsError::Known {
            path: "known failures".into(),
            why: format!("there is no trial {gone}; take it off the list"),
        })
    }
}

impl CaseTrial {
    /// Run it.
    ///
    /// # Errors
    /// What a person needs to know, over several lines; a line `Error: …` for the runner's report
    /// goes to standard error.
    pub fn run(&self) -> Result<(), String> {
        let outcome = match self.judged() {
            Ok(Judged { verdict: Verdict::Inconclusive, headline, .. }) => {
                eprintln!("{}: {headline}; playing it once more", self.name);
                self.judged()
            }
            outcome => outcome,
        };
        let failure = match (outcome, &self.known) {
            (Ok(Judged { verdict: Verdict::Conformant, .. }), None) => return Ok(()),
            (Ok(Judged { verdict: Verdict::NonConformant, .. }), Some(_)) => return Ok(()),
            (Ok(Judged { verdict: Verdict::Conformant, .. }), Some(reason)) => Judged {
                verdict: Verdict::Conformant,
                headline: format!("passes, but is listed as known to fail ({reason}); take it off the list"),
                text: String::new(),
            },
            (Ok(judged), _) => judged,
            (Err(error), _) => Judged {
                verdict: Verdict::Inconclusive,
                headline: format!("inconclusive: {error}"),
                text: String::new(),
            },
        };
        eprintln!("Error: {}: {}", self.name, failure.headline);
        Err(format!("{}\n{}", failure.headline, failure.text))
    }

    fn judged(&self) -> Result<Judged, String> {
        let golden = GoldenTimelines::of(&self.case).map_err(|error| error.to_string())?;
        let spec: Spec = self.subject.parse().map_err(|error: crate::subject::SubjectError| error.to_string())?;
        if self.site == SiteName::Sim {
            let simulation = Simulation::new(self.case.controllers.clone(), BUDGET);
            let recording = simulated(&self.case, &spec, &simulation).map_err(|error| error.to_string())?;
            return self.judgement(&recording, &golden);
        }
        let plan = shared::plan(self.site, self.case.controllers.clone())
            .ok_or_else(|| format!("there are no trials on {}", self.site))?;
        let setup = Setup { source: Source::Shared, budget: BUDGET, ..Setup::new(plan) };
        let (specs, cases) = ([spec], [Arc::clone(&self.case)]);
        let mut recording = None;
        let played = runtime()?.block_on(setup.with_each(&self.case.controllers, &specs, 1, async |_, player| {
            let take = async |played: Played<'_>| {
                recording = Some(played.recording);
                Ok::<_, RunError>(ControlFlow::Break(()))
            };
            setup.play_each(player, Plan::once(&cases), take).await
        }));
        played.map_err(|error| error.to_string())?;
        self.judgement(&recording.ok_or("the case was not played")?, &golden)
    }

    fn judgement(&self, recording: &Recording, golden: &GoldenTimelines) -> Result<Judged, String> {
        let blessed = golden.for_server(&recording.header.cluster.version);
        if blessed.is_none() && self.case.expectation.is_blessed() {
            return Err(format!("{} has no timeline: bless it first", self.case.path));
        }
        let judgement = verdict::judge(&self.case, recording, blessed);
        let repeat = format!("cargo nextest run -E 'test(={})'", self.name);
        let again = Again { program: "cargo lockstep".to_owned(), repeat };
        if judgement.outcome() == Outcome::Unblessed {
            return Err(format!("{}: {}", self.case.path, report::headline(&judgement)));
        }
        Ok(Judged {
            verdict: judgement.verdict,
            headline: report::headline(&judgement),
            text: report::failure(&judgement, &again, false),
        })
    }
}

/// A trial's name without tags: so known failures name it, however its case is tagged.
fn path(name: &str) -> &str {
    name.split('#').next().unwrap_or(name)
}

/// Why a subject cannot be judged by a case, if it cannot.
fn cannot(subject: &str, case: &Case) -> Option<String> {
    let spec = subject.parse::<Spec>().ok()?;
    let lacking = spec.can_bring(&case.controllers).err().map(|error| error.to_string());
    lacking.or_else(|| spec.lacks_restart_options(&case.restart))
}

/// Whether a trial says anything: another project's controller has nothing to do with most cases,
/// and waits for none in real time.
fn is_for(subject: &str, site: SiteName, case: &Case) -> bool {
    let Some(one) = subject.parse::<Spec>().ok().and_then(|spec| spec.reference()) else { return true };
    let is_judged = Reference::controllers().lacks(&case.controllers).is_none();
    site == SiteName::Sim && is_judged && one.profile() == case.restart.profile
}

/// Why a subject cannot be judged in virtual time, if it cannot.
fn not_built(site: SiteName, subject: &str) -> Option<String> {
    let spec = subject.parse::<Spec>().ok().filter(|_| site == SiteName::Sim)?;
    spec.not_built().or_else(|| spec.not_there()).map(|error| error.to_string())
}

/// Why a case is not for a cluster where time is real, if it is not: `lockstep run` takes it there
/// all the same.
fn slow(site: SiteName, case: &Case) -> Option<String> {
    let waits = case.waits();
    let is_slow = site != SiteName::Sim && case.controllers.has(Controller::ConfigRestart) && waits > PATIENCE;
    is_slow.then(|| format!("waits for {} of real time", humantime::format_duration(waits)))
}

struct Judged {
    verdict: Verdict,
    headline: String,
    text: String,
}

fn read_known(path: &Path) -> Result<BTreeMap<String, String>, TrialsError> {
    let error = |why: String| TrialsError::Known { path: path.display().to_string(), why };
    let text = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
    let list: Vec<Known> = serde_saphyr::from_str(&text).map_err(|e| error(e.to_string()))?;
    Ok(list.into_iter().map(|known| (known.trial, known.reason)).collect())
}

/// One runtime for all trials of a process.
fn runtime() -> Result<&'static tokio::runtime::Runtime, String> {
    static RUNTIME: OnceLock<Result<tokio::runtime::Runtime, String>> = OnceLock::new();
    let build = || tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| error.to_string());
    RUNTIME.get_or_init(build).as_ref().map_err(Clone::clone)
}
