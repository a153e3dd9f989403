//! What a subject prints. It is kept beside a failure, for a person to read; nothing is ever judged by it.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use k8s_openapi::jiff::Timestamp;
use kube::api::LogParams;

use super::deployment::Pods;
use crate::clock;

/// The most that is kept of one case, in bytes: its end.
const MOST: u64 = 4 << 20;

/// Where a subject's output is, from a certain moment on.
#[derive(Clone)]
pub struct Voice(Source);

#[derive(Clone)]
enum Source {
    File { path: PathBuf, from: u64 },
    Pods { pods: Pods, since: Timestamp },
    Said(String),
}

impl Voice {
    /// What is written to this file from now on.
    pub(super) fn of_file(path: &Path) -> Self {
        let from = path.metadata().map_or(0, |file| file.len());
        Self(Source::File { path: path.to_owned(), from })
    }

    /// What these pods print from now on.
    pub(super) fn of_pods(pods: &Pods) -> Self {
        Self(Source::Pods { pods: pods.clone(), since: clock::now() })
    }

    /// What it has said since, or the end of that; empty if that cannot be had.
    pub async fn said(&self) -> String {
        match &self.0 {
            Source::File { path, from } => tail(path, *from).unwrap_or_default(),
            Source::Pods { pods, since } => {
                let limit = i64::try_from(MOST).ok();
                let how = LogParams { since_time: Some(*since), limit_bytes: limit, ..LogParams::default() };
                pods.logs(&how).await
            }
            Source::Said(text) => text.clone(),
        }
    }

    /// What it has said until now; what it says later does not belong to it.
    pub async fn until_now(&self) -> Self {
        Self(Source::Said(self.said().await))
    }
}

impl std::fmt::Debug for Voice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}

/// A file from a place on, or its end if that is too much.
fn tail(path: &Path, from: u64) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(MOST))))?;
    let mut said = Vec::new();
    file.take(MOST).read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_was_said_since_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        std::fs::write(&path, "before\n").unwrap();
        let voice = Voice::of_file(&path);
        assert_eq!(voice.said().await, "");
        std::fs::write(&path, "before\nafter\n").unwrap();
        assert_eq!(voice.said().await, "after\n");
        let until_now = voice.until_now().await;
        std::fs::write(&path, "before\nafter\nlater\n").unwrap();
        assert_eq!([until_now.said().await, voice.said().await], ["after\n", "after\nlater\n"]);
    }

    #[tokio::test]
    async fn who_has_no_file_has_said_nothing() {
        assert_eq!(Voice::of_file(Path::new("/nowhere/output.log")).said().await, "");
    }

    #[tokio::test]
    async fn of_much_the_end_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        let voice = Voice::of_file(&path);
        let line = "x".repeat(1023) + "\n";
        std::fs::write(&path, line.repeat(5 << 10) + "last").unwrap();
        let said = voice.said().await;
        assert_eq!(said.len() as u64, MOST);
        assert!(said.ends_with("last"));
    }
}
