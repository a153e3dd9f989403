//! Which cases failed the last time they were played: one argument a line, in the user's folder for
//! what programs remember, for `--rerun-failed`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::collected::Collected;
use crate::fingerprint::fingerprint;
use crate::run::{Event, FileError, Subscriber};
use crate::state;

/// The cases that failed last.
pub(in super::super) fn last() -> BTreeSet<String> {
    let text = file().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Remembers when the run ends.
pub(super) struct Failed {
    collected: Arc<Collected>,
}

impl Failed {
    pub(super) fn new(collected: Arc<Collected>) -> Self {
        Self { collected }
    }
}

impl Subscriber for Failed {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        if let Event::RunEnded { .. } = event {
            let state = self.collected.so_far();
            let bad = state.kept.iter().filter(|it| !it.is_good());
            remember(&state.played, bad.map(|it| it.judgement.definition.argument()));
        }
        Ok(())
    }
}

/// Of those that were played, these have failed; of the others nothing new is known. What cannot be
/// written is not remembered.
fn remember(played: &BTreeSet<String>, bad: impl Iterator<Item = String>) {
    let mut all = last();
    let before = all.clone();
    all.retain(|path| !played.contains(path));
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

/// A file of this folder's own in the user's folder for what programs remember; nothing where there
/// is no such folder.
fn file() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    Some(state::folder()?.join(name(&here)))
}

/// Paths of cases mean something in one folder only.
fn name(here: &Path) -> String {
    format!("failed-{}", fingerprint(here.as_os_str().as_encoded_bytes().iter().copied()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_of_one_folder() {
        assert_ne!(name(Path::new("/a")), name(Path::new("/b")));
    }
}
