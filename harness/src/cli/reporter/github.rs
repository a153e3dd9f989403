//! Writes annotations for GitHub Actions, one for each play that is not conformant, and the summary
//! of the job.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockstep_report::github;
use lockstep_runner::run::{FileError, RunEvent, Subscriber};

use super::super::out::{self, note};
use super::collector::Collector;

/// Writes annotations during the run, and the summary once at its end.
pub(super) struct GitHubReporter {
    collected: Arc<Collector>,
    is_written: AtomicBool,
}

impl GitHubReporter {
    pub(super) fn new(collected: Arc<Collector>) -> Self {
        Self { collected, is_written: AtomicBool::default() }
    }
}

impl Subscriber for GitHubReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match event {
            RunEvent::CaseJudged(judged) => {
                if let Some(annotation) = github::case_annotation(judged.judgement, judged.rerun) {
                    out::command(&annotation);
                }
                Ok(())
            }
            RunEvent::RunEnded { ended_between, .. } if !self.is_written.swap(true, Ordering::Relaxed) => {
                let state = self.collected.snapshot();
                let ended = github::ends_between_annotation(*ended_between);
                let early = state.early.as_ref().map(github::early_end_annotation);
                ended.iter().chain(&early).for_each(|annotation| out::command(annotation));
                let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") else { return Ok(()) };
                let bad: Vec<_> = state.plays.iter().filter(|it| !it.is_good()).collect();
                let judged: Vec<_> =
                    bad.iter().map(|it| github::JudgedCase { judgement: &it.judgement, rerun: &it.rerun }).collect();
                let good = state.plays.len() - bad.len() + state.discarded;
                let summary = github::job_summary(good, &judged, *ended_between, state.early.as_ref());
                // A job without a summary still has its verdict and its annotations.
                if let Err(error) = append(Path::new(&path), &summary) {
                    note!("warning: GITHUB_STEP_SUMMARY: {}: {error}", path.display());
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    std::fs::OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}

/// Whether this process runs in a job of GitHub Actions.
pub(in super::super) fn is_github() -> bool {
    std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}
