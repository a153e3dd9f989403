//! Writes the files that the user asks for: the HTML page and JUnit XML when the run ends, and a
//! folder of evidence for each play that is not conformant.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockstep_recording::{FileName, RecordingError};
use lockstep_report as report;
use lockstep_report::junit::{TimedJudgement, junit};
use lockstep_report::page::{CaseSection, page, page_of_run};
use lockstep_runner::run::{FileError, JudgedPlay, RunEvent, Subscriber};
use lockstep_support::private_fs;
use lockstep_verdict::series::RecordingTrace;

use super::super::out::note;
use super::super::output_paths;
use super::collector::Collector;

/// Writes the page once.
pub(super) struct PageReporter {
    path: PathBuf,
    title: String,
    collected: Arc<Collector>,
    is_written: AtomicBool,
}

impl PageReporter {
    pub(super) fn new(path: PathBuf, title: String, collected: Arc<Collector>) -> Self {
        Self { path, title, collected, is_written: AtomicBool::default() }
    }
}

impl Subscriber for PageReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        let RunEvent::RunEnded { ended_between, .. } = *event else { return Ok(()) };
        if self.is_written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let state = self.collected.snapshot();
        let sheets: Vec<_> = state.plays.iter().map(|it| it.sheet()).collect();
        output_paths::write(&self.path, &page_of_run(&self.title, &sheets, ended_between, state.early.as_ref()))?;
        note!("the page is {}", self.path.display());
        Ok(())
    }
}

/// Writes the XML once.
pub(super) struct JUnitReporter {
    path: PathBuf,
    collected: Arc<Collector>,
    is_written: AtomicBool,
}

impl JUnitReporter {
    pub(super) fn new(path: PathBuf, collected: Arc<Collector>) -> Self {
        Self { path, collected, is_written: AtomicBool::default() }
    }
}

impl Subscriber for JUnitReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        let RunEvent::RunEnded { ended_between, .. } = *event else { return Ok(()) };
        if self.is_written.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let state = self.collected.snapshot();
        let played: Vec<_> = state
            .plays
            .iter()
            .map(|it| TimedJudgement { judgement: &it.judgement, rerun: &it.rerun, took: it.took.unwrap_or_default() })
            .collect();
        output_paths::write(&self.path, &junit(&played, ended_between, state.early.as_ref()))
    }
}

/// Write the evidence of a play. Its folder is `folder/SUBJECT/ROUND/CASE`, and is returned.
pub(super) fn write_evidence(folder: &Path, round: &Path, play: &JudgedPlay<'_>) -> Result<PathBuf, FileError> {
    let JudgedPlay { judgement, expected, recording, rerun, took, output, .. } = *play;
    let case = judgement.case.split('/').map(FileName::of).collect::<PathBuf>();
    let folder = folder.join(FileName::of(&judgement.subject.name)).join(round).join(case);
    let path = folder.join("recording.ndjson");
    let write =
        || -> Result<(), RecordingError> { recording.write(std::io::BufWriter::new(private_fs::create(&path)?)) };
    write().map_err(|source| FileError::Recording { path: path.clone(), source })?;
    let header = &recording.header;
    let about = serde_json::json!({
        "lockstep": env!("CARGO_PKG_VERSION"),
        "case": judgement.case,
        "path": judgement.path,
        "outcome": judgement.outcome().code(),
        "verdict": judgement.outcome().name(),
        "subject": report::identity(&judgement.subject),
        "cluster": report::identity(&judgement.cluster),
        "clusterControllers": judgement.cluster_controllers.as_ref().map(report::identity),
        "beside": judgement.beside.as_ref().map(report::identity),
        "seed": header.seed,
        "started": header.started,
        "repeat": rerun.repeat,
        "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
    });
    let frames = RecordingTrace::of(recording);
    let sheet = CaseSection { judgement, expected, rerun, took, frames: Some(&frames) };
    private_file(&folder.join("about.json"), &format!("{about:#}\n"))?;
    private_file(&folder.join("case.yaml"), &judgement.definition.source)?;
    private_file(&folder.join("happened.timeline"), &judgement.timeline.to_string())?;
    private_file(&folder.join("report.txt"), &report::failure(judgement, rerun, false))?;
    private_file(&folder.join("page.html"), &page(&judgement.case, &[sheet]))?;
    if let Some(expected) = expected {
        private_file(&folder.join("expected.timeline"), &expected.to_string())?;
    }
    if let Some(output) = output {
        private_file(&folder.join("subject.log"), output)?;
    }
    Ok(folder)
}

/// Write a file that only this user can read.
fn private_file(path: &Path, text: &str) -> Result<(), FileError> {
    private_fs::write(path, text.as_bytes()).map_err(|source| FileError::File { path: path.to_owned(), source })
}
