//! Which cases failed the last time they were played: one path a line, in the build's own folder, for `--rerun-failed`.

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The cases that failed last.
pub(super) fn last() -> BTreeSet<String> {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Of those that were played, these have failed; of the others nothing new is known. What cannot be written is not remembered.
pub(super) fn remember<'a>(played: &BTreeSet<String>, bad: impl Iterator<Item = &'a str>) {
    let mut all = last();
    let before = all.clone();
    all.retain(|path| !played.contains(path));
    all.extend(bad.map(str::to_owned));
    if all == before {
        return;
    }
    let path = file();
    let text: String = all.iter().map(|path| format!("{path}\n")).collect();
    let written = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
    if let Err(error) = written {
        tracing::warn!(%error, path = %path.display(), "what failed is not remembered");
    }
}

fn file() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join("lockstep/failed")
}
