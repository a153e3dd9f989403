//! Remembers for `--rerun-failed` which cases failed last time, one argument per line, in the
//! user's state folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockstep_runner::run::{FileError, RunEvent, Subscriber};
use lockstep_support::fingerprint::fingerprint;
use lockstep_support::private_fs;

use super::collector::Collector;

/// The cases that failed when they were last played.
pub(in super::super) fn read_last() -> BTreeSet<String> {
    let text = file().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Updates the failed cases when the run ends.
pub(super) struct FailedCasesReporter {
    collected: Arc<Collector>,
}

impl FailedCasesReporter {
    pub(super) fn new(collected: Arc<Collector>) -> Self {
        Self { collected }
    }
}

impl Subscriber for FailedCasesReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        if let RunEvent::RunEnded { .. } = event {
            let state = self.collected.snapshot();
            let bad = state.plays.iter().filter(|it| !it.is_good());
            remember(&state.cases, bad.map(|it| it.judgement.definition.argument()));
        }
        Ok(())
    }
}

/// Update the failed cases: of the `cases` those in `bad` have failed, the others are
/// unchanged. An error of writing is logged and ignored.
fn remember(cases: &BTreeSet<String>, bad: impl Iterator<Item = String>) {
    let mut all = read_last();
    let before = all.clone();
    all.retain(|path| !cases.contains(path));
    all.extend(bad);
    if all == before {
        return;
    }
    let Some(path) = file() else { return };
    let text: String = all.iter().map(|path| format!("{path}\n")).collect();
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
    if let Err(error) = written {
        tracing::warn!(%error, path = %path.display(), "what failed is not remembered");
    }
}

/// The state file for the current folder; `None` if the user has no state folder.
fn file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    Some(private_fs::state_dir()?.join(file_name(&here)))
}

/// The name of the state file. Paths of cases are relative, so each folder has its own file.
fn file_name(here: &Path) -> String {
    format!("failed-{}", fingerprint(here.as_os_str().as_encoded_bytes().iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_has_its_own_state_file() {
        assert_ne!(file_name(Path::new("/a")), file_name(Path::new("/b")));
    }
}
