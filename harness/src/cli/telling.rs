//! What is told of a run besides its lines: a page, JUnit, annotations and a summary of a job, a folder of evidence for each failure,
//! and which cases failed, for the next time.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::out::{note, say};
use super::run::colour;
use super::{CliError, failed, places};
use crate::outcome::Outcome;
use crate::private;
use crate::recording::{Recording, RecordingError, part};
use crate::report::junit::{Played, junit};
use crate::report::page::{Sheet, page};
use crate::report::{self, Again, github};
use crate::subject::LogSource;
use crate::supervise::Interrupt;
use crate::timeline::Timeline;
use crate::verdict::Judgement;

/// Where else to tell of it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Reports {
    /// Write a page for a browser: what happened beside what was expected, as pictures and line by line. It needs no network.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write JUnit XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// For each failure, keep in this folder what shows it: recording, timelines, report, page, what the subject printed, versions, and the command that repeats it.
    #[arg(long, value_name = "FOLDER")]
    evidence: Option<PathBuf>,
}

impl Reports {
    /// What cannot be written, before anything runs.
    pub(super) fn check(&self) -> Result<(), CliError> {
        places::file("--html", self.html.as_deref())?;
        places::file("--junit", self.junit.as_deref())?;
        places::folder("--evidence", self.evidence.as_deref())?;
        match (&self.html, &self.junit) {
            (Some(page), Some(xml)) if page == xml => {
                Err(CliError::Usage(format!("--html and --junit are both {}; name two files", page.display())))
            }
            _ => Ok(()),
        }
    }

    /// Whether failures are kept.
    pub(super) fn keeps_evidence(&self) -> bool {
        self.evidence.is_some()
    }
}

/// One judged play, kept for the end.
struct Told {
    judgement: Judgement,
    expected: Option<Timeline>,
    again: Again,
    took: Option<Duration>,
}

/// A play as it is told of.
pub(super) struct Play<'a> {
    /// What was found.
    pub(super) judgement: &'a Judgement,
    /// What was expected, if anything was.
    pub(super) expected: Option<&'a Timeline>,
    /// What was seen.
    pub(super) recording: &'a Recording,
    /// The commands that play it again, and explain it.
    pub(super) again: &'a Again,
    /// How long it took.
    pub(super) took: Option<Duration>,
    /// What the subject printed meanwhile, if it prints at all; asked for where a failure is kept.
    pub(super) log_source: Option<&'a LogSource>,
}

/// Collects what is told. What was asked for is written in the end, also where the end is an interruption that leaves no time for anything else.
pub(super) struct Telling(Arc<Kept>);

struct Kept {
    reports: Reports,
    /// What stands above it all.
    title: String,
    github: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    told: Vec<Told>,
    /// The case files that were played.
    played: BTreeSet<String>,
    /// Conformant plays that were not kept.
    forgotten: usize,
    /// Whether it is all written.
    finished: bool,
}

impl Telling {
    pub(super) fn new(reports: &Reports, title: String) -> Self {
        let state = Mutex::default();
        let kept = Arc::new(Kept { reports: reports.clone(), title, github: super::is_github(), state });
        let last = Arc::clone(&kept);
        Interrupt::of_process().at_last(move || {
            if let Err(error) = last.finish() {
                note!("error: {error}");
            }
        });
        Self(kept)
    }

    /// Take one play.
    pub(super) async fn take(&self, play: &Play<'_>) -> Result<(), CliError> {
        let Kept { reports, github, .. } = &*self.0;
        let good = play.judgement.outcome() == Outcome::Conformant;
        if *github && let Some(annotation) = github::annotated(play.judgement, play.again) {
            say!("{annotation}");
        }
        if let (Some(folder), false) = (&reports.evidence, good) {
            let kept = evidence(folder, play)?;
            if let Some(log_source) = play.log_source {
                keep_private(&kept.join("subject.log"), &log_source.read().await)?;
            }
            note!("the evidence is in {}", kept.display());
        }
        let mut state = self.0.state();
        state.played.insert(play.judgement.path.clone());
        if good && reports.html.is_none() && reports.junit.is_none() {
            state.forgotten += 1;
            return Ok(());
        }
        state.told.push(Told {
            judgement: play.judgement.clone(),
            expected: play.expected.cloned(),
            again: play.again.clone(),
            took: play.took,
        });
        Ok(())
    }

    /// Write what was asked for, once.
    pub(super) fn finish(&self) -> Result<(), CliError> {
        self.0.finish()
    }

    /// Print what was not conformant, a line each; nothing where all was, or where the only play has just been told of at length.
    pub(super) fn list(&self) {
        let state = self.0.state();
        let list = report::not_conformant(state.told.iter().map(|it| &it.judgement), colour());
        if !list.is_empty() && state.told.len() + state.forgotten > 1 {
            say!("{list}");
        }
    }

    /// Remember which cases failed, for `--rerun-failed`; those that were not played are as they were.
    pub(super) fn remember(&self) {
        let state = self.0.state();
        let bad = state.told.iter().filter(|it| it.judgement.outcome() != Outcome::Conformant);
        failed::remember(&state.played, bad.map(|it| it.judgement.path.as_str()));
    }
}

impl Kept {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self) -> Result<(), CliError> {
        let mut state = self.state();
        if std::mem::replace(&mut state.finished, true) {
            return Ok(());
        }
        let told = &state.told;
        let cause = Interrupt::of_process().cause();
        let cut = cause.map_or_else(String::new, |cause| format!(" (interrupted: {cause})"));
        if let Some(path) = &self.reports.html {
            let sheets: Vec<_> = told.iter().map(Told::sheet).collect();
            write(path, &page(&format!("{}{cut}", self.title), &sheets))?;
            note!("the page is {}", path.display());
        }
        if let Some(path) = &self.reports.junit {
            let played = told.iter().map(|it| Played {
                judgement: &it.judgement,
                again: &it.again,
                took: it.took.unwrap_or_default(),
            });
            write(path, &junit(&played.collect::<Vec<_>>()))?;
        }
        if let (true, Some(path)) = (self.github, std::env::var_os("GITHUB_STEP_SUMMARY")) {
            let bad = told.iter().filter(|it| it.judgement.outcome() != Outcome::Conformant);
            let bad: Vec<_> = bad.map(|it| github::Told { judgement: &it.judgement, again: &it.again }).collect();
            let good = told.len() - bad.len() + state.forgotten;
            append(Path::new(&path), &github::job_summary(good, &bad, cause))?;
        }
        Ok(())
    }
}

impl Told {
    fn sheet(&self) -> Sheet<'_> {
        Sheet { judgement: &self.judgement, expected: self.expected.as_ref(), again: &self.again, took: self.took }
    }
}

/// Keep all that shows a failure; the folder.
fn evidence(folder: &Path, play: &Play<'_>) -> Result<PathBuf, CliError> {
    let Play { judgement, expected, recording, again, took, .. } = *play;
    let case = judgement.case.split('/').map(part).collect::<PathBuf>();
    let folder = folder.join(part(&judgement.subject.name)).join(case);
    let path = folder.join("recording.ndjson");
    let keep = || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private::create(&path)?)) };
    keep().map_err(|source| CliError::Recording { path: path.clone(), source })?;
    let about = serde_json::json!({
        "lockstep": env!("CARGO_PKG_VERSION"),
        "case": judgement.case,
        "path": judgement.path,
        "outcome": judgement.outcome().code(),
        "verdict": judgement.outcome().name(),
        "subject": judgement.subject,
        "cluster": judgement.cluster,
        "seed": again.seed,
        "started": recording.header.started,
        "repeat": again.repeat,
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    });
    let sheet = Sheet { judgement, expected, again, took };
    keep_private(&folder.join("about.json"), &format!("{about:#}\n"))?;
    keep_private(&folder.join("case.yaml"), &judgement.definition.source)?;
    keep_private(&folder.join("happened.timeline"), &judgement.timeline.to_string())?;
    keep_private(&folder.join("report.txt"), &report::failure(judgement, again, false))?;
    keep_private(&folder.join("page.html"), &page(&judgement.case, &[sheet]))?;
    if let Some(expected) = expected {
        keep_private(&folder.join("expected.timeline"), &expected.to_string())?;
    }
    Ok(folder)
}

/// Write a file that only this user can read.
fn keep_private(path: &Path, text: &str) -> Result<(), CliError> {
    private::write(path, text.as_bytes()).map_err(|source| CliError::File { path: path.to_owned(), source })
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let failed = |source| CliError::File { path: path.to_owned(), source };
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}

fn append(path: &Path, text: &str) -> Result<(), CliError> {
    use std::io::Write;
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| CliError::File { path: path.to_owned(), source })
}
