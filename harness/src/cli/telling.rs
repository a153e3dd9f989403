//! What is told of a run besides its lines: a page, JUnit, annotations and a summary of a job, a folder of evidence for each failure,
//! and which cases failed, for the next time.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{CliError, failed};
use crate::outcome::Outcome;
use crate::private;
use crate::recording::{Recording, RecordingError, part};
use crate::report::github;
use crate::report::junit::{Played, junit};
use crate::report::page::{Sheet, page};
use crate::subject::Voice;
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
    /// Whether failures are kept.
    pub(super) fn keeps_evidence(&self) -> bool {
        self.evidence.is_some()
    }
}

/// One judged play, kept for the end.
struct Told {
    judgement: Judgement,
    expected: Option<Timeline>,
    repeat: String,
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
    /// The command that plays it again.
    pub(super) repeat: &'a str,
    /// How long it took.
    pub(super) took: Option<Duration>,
    /// What the subject printed meanwhile, if it prints at all; asked for where a failure is kept.
    pub(super) voice: Option<&'a Voice>,
}

/// Collects what is told.
pub(super) struct Telling<'r> {
    reports: &'r Reports,
    github: bool,
    told: RefCell<Vec<Told>>,
    /// The case files that were played.
    played: RefCell<BTreeSet<String>>,
    /// Conformant plays that were not kept.
    forgotten: RefCell<usize>,
}

impl<'r> Telling<'r> {
    pub(super) fn new(reports: &'r Reports) -> Self {
        Self {
            reports,
            github: super::is_github(),
            told: RefCell::default(),
            played: RefCell::default(),
            forgotten: RefCell::default(),
        }
    }

    /// Take one play.
    pub(super) async fn take(&self, play: &Play<'_>) -> Result<(), CliError> {
        let good = play.judgement.outcome() == Outcome::Conformant;
        self.played.borrow_mut().insert(play.judgement.path.clone());
        if self.github
            && let Some(annotation) = github::annotated(play.judgement, play.repeat)
        {
            println!("{annotation}");
        }
        if let (Some(folder), false) = (&self.reports.evidence, good) {
            let kept = evidence(folder, play)?;
            if let Some(voice) = play.voice {
                keep_private(&kept.join("subject.log"), &voice.said().await)?;
            }
            eprintln!("the evidence is in {}", kept.display());
        }
        if good && self.reports.html.is_none() && self.reports.junit.is_none() {
            *self.forgotten.borrow_mut() += 1;
            return Ok(());
        }
        self.told.borrow_mut().push(Told {
            judgement: play.judgement.clone(),
            expected: play.expected.cloned(),
            repeat: play.repeat.to_owned(),
            took: play.took,
        });
        Ok(())
    }

    /// Write what was asked for.
    pub(super) fn finish(&self, title: &str) -> Result<(), CliError> {
        let told = self.told.borrow();
        if let Some(path) = &self.reports.html {
            let sheets: Vec<_> = told.iter().map(Told::sheet).collect();
            write(path, &page(title, &sheets))?;
            eprintln!("the page is {}", path.display());
        }
        if let Some(path) = &self.reports.junit {
            let played = told.iter().map(|it| Played {
                judgement: &it.judgement,
                repeat: &it.repeat,
                took: it.took.unwrap_or_default(),
            });
            write(path, &junit(&played.collect::<Vec<_>>()))?;
        }
        if let (true, Some(path)) = (self.github, std::env::var_os("GITHUB_STEP_SUMMARY")) {
            let bad = told.iter().filter(|it| it.judgement.outcome() != Outcome::Conformant);
            let bad: Vec<_> = bad.map(|it| github::Told { judgement: &it.judgement, repeat: &it.repeat }).collect();
            let good = told.len() - bad.len() + *self.forgotten.borrow();
            append(Path::new(&path), &github::job_summary(good, &bad))?;
        }
        Ok(())
    }

    /// Remember which cases failed, for `--rerun-failed`; those that were not played are as they were.
    pub(super) fn remember(&self) {
        let (told, played) = (self.told.borrow(), self.played.borrow());
        let bad = told.iter().filter(|it| it.judgement.outcome() != Outcome::Conformant);
        failed::remember(&played, bad.map(|it| it.judgement.path.as_str()));
    }
}

impl Told {
    fn sheet(&self) -> Sheet<'_> {
        Sheet { judgement: &self.judgement, expected: self.expected.as_ref(), repeat: &self.repeat, took: self.took }
    }
}

/// Keep all that shows a failure; the folder.
fn evidence(folder: &Path, play: &Play<'_>) -> Result<PathBuf, CliError> {
    let Play { judgement, expected, recording, repeat, took, .. } = *play;
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
        "verdict": judgement.verdict.name(),
        "subject": judgement.subject,
        "cluster": judgement.cluster,
        "seed": repeat.split_whitespace().skip_while(|word| *word != "--seed").nth(1),
        "started": recording.header.started,
        "repeat": repeat,
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    });
    let sheet = Sheet { judgement, expected, repeat, took };
    keep_private(&folder.join("about.json"), &format!("{about:#}\n"))?;
    keep_private(&folder.join("case.yaml"), &judgement.source)?;
    keep_private(&folder.join("happened.timeline"), &judgement.timeline.to_string())?;
    keep_private(&folder.join("report.txt"), &crate::report::failure(judgement, repeat, false))?;
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
