//! What a job of GitHub Actions shows: an annotation for each play that is not conformant, and the
//! job's summary.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::out;
use super::collected::Collected;
use crate::report::github;
use crate::run::{Event, FileError, Subscriber};

/// Writes annotations as they come, and the summary once.
pub(super) struct GitHub {
    collected: Arc<Collected>,
    written: AtomicBool,
}

impl GitHub {
    pub(super) fn new(collected: Arc<Collected>) -> Self {
        Self { collected, written: AtomicBool::default() }
    }
}

impl Subscriber for GitHub {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        match event {
            Event::CaseJudged(judged) => {
                if let Some(annotation) = github::annotated(judged.judgement, judged.again) {
                    out::command(&annotation);
                }
                Ok(())
            }
            Event::RunEnded { cause, .. } if !self.written.swap(true, Ordering::Relaxed) => {
                let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY") else { return Ok(()) };
                let state = self.collected.so_far();
                let bad: Vec<_> = state.kept.iter().filter(|it| !it.is_good()).collect();
                let told: Vec<_> =
                    bad.iter().map(|it| github::Told { judgement: &it.judgement, again: &it.again }).collect();
                let good = state.kept.len() - bad.len() + state.forgotten;
                append(Path::new(&path), &github::job_summary(good, &told, *cause))
            }
            _ => Ok(()),
        }
    }
}

fn append(path: &Path, text: &str) -> Result<(), FileError> {
    use std::io::Write;
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|source| FileError::File { path: path.to_owned(), source })
}
