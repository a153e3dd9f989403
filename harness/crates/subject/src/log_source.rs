//! The output of a subject. It is saved with a failure for a person to read; no verdict depends on
//! it.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use k8s_openapi::jiff::Timestamp;
use kube::api::LogParams;
use lockstep_support::clock;

use crate::deployment::SubjectPods;
use crate::excerpt::{POD_LINES, excerpt};

/// The maximum size of a case's output, in bytes; the end is kept.
const MAX_BYTES: u64 = 4 << 20;
/// The maximum size of the output before the case, in bytes; the beginning is kept, where a program
/// reports what it connects to.
const MAX_HEAD_BYTES: u64 = 64 << 10;
/// Where a subject's output is, from its start or from a certain moment.
#[derive(Clone)]
pub struct LogSource(OutputSource);

#[derive(Clone)]
enum OutputSource {
    /// `begin`: the position of its first output; `from`: the position at the moment.
    File {
        path: PathBuf,
        begin: u64,
        from: u64,
    },
    Pods {
        pods: SubjectPods,
        since: Timestamp,
    },
}

impl LogSource {
    /// The output of a program in a file, from `begin` at its start, and from now on.
    pub(super) fn of_file(path: &Path, begin: u64) -> Self {
        let from = path.metadata().map_or(0, |file| file.len());
        Self(OutputSource::File { path: path.to_owned(), begin: begin.min(from), from })
    }

    /// The output of these pods at their start, and from now on.
    pub(super) fn of_pods(pods: &SubjectPods) -> Self {
        Self(OutputSource::Pods { pods: pods.clone(), since: clock::now() })
    }

    /// The output at its start and since the moment, or the end of that; empty if it is not
    /// available.
    pub async fn read(&self) -> String {
        match &self.0 {
            OutputSource::File { path, begin, from } => {
                head(path, *begin, *from).unwrap_or_default() + &tail(path, *from).unwrap_or_default()
            }
            OutputSource::Pods { pods, since } => {
                let first = LogParams { limit_bytes: i64::try_from(MAX_HEAD_BYTES).ok(), ..LogParams::default() };
                let limit_bytes = i64::try_from(MAX_BYTES).ok();
                let then = LogParams { since_time: Some(*since), limit_bytes, ..LogParams::default() };
                format!("{}{BREAK}\n{}", pods.logs(&first).await, pods.logs(&then).await)
            }
        }
    }

    /// The most informative lines since its start, ready to be shown.
    pub async fn excerpt(&self) -> Vec<String> {
        let text = match &self.0 {
            OutputSource::File { path, begin, .. } => read_from(path, *begin),
            OutputSource::Pods { pods, .. } => {
                let tail_lines = Some(POD_LINES);
                pods.logs(&LogParams { tail_lines, ..LogParams::default() }).await
            }
        };
        excerpt(&text)
    }
}

impl std::fmt::Debug for LogSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogSource").finish_non_exhaustive()
    }
}

/// Marks omitted output.
const BREAK: &str = "[...]";

/// The content of a file from a position, or its beginning and end if it is too long.
pub(super) fn read_from(path: &Path, begin: u64) -> String {
    let end = path.metadata().map_or(0, |file| file.len()).saturating_sub(MAX_BYTES).max(begin);
    head(path, begin, end).unwrap_or_default() + &tail(path, end).unwrap_or_default()
}

/// The beginning of a file's content between two positions.
fn head(path: &Path, begin: u64, end: u64) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(begin))?;
    let (mut bytes, length) = (Vec::new(), end.saturating_sub(begin));
    file.take(length.min(MAX_HEAD_BYTES)).read_to_end(&mut bytes)?;
    let left_out = if length > MAX_HEAD_BYTES { format!("\n{BREAK}\n") } else { String::new() };
    Ok(String::from_utf8_lossy(&bytes).into_owned() + &left_out)
}

/// A file's content from a position, or its end if it is too long.
pub(super) fn tail(path: &Path, from: u64) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(from.max(length.saturating_sub(MAX_BYTES))))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reads_only_output_since_the_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        std::fs::write(&path, "before\n").unwrap();
        let log_source = LogSource::of_file(&path, 7);
        assert_eq!(log_source.read().await, "");
        std::fs::write(&path, "before\nafter\n").unwrap();
        assert_eq!(log_source.read().await, "after\n");
        std::fs::write(&path, "before\nafter\nlater\n").unwrap();
        assert_eq!(log_source.read().await, "after\nlater\n");
    }

    #[tokio::test]
    async fn missing_file_has_no_output() {
        assert_eq!(LogSource::of_file(Path::new("/nowhere/output.log"), 0).read().await, "");
    }

    #[tokio::test]
    async fn keeps_the_end_of_long_output() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        let log_source = LogSource::of_file(&path, 0);
        let line = "x".repeat(1023) + "\n";
        std::fs::write(&path, line.repeat(5 << 10) + "last").unwrap();
        let said = log_source.read().await;
        assert_eq!(said.len() as u64, MAX_BYTES);
        assert!(said.ends_with("last"));
    }

    /// Output before a case, and after a restart, helps to explain a failure in it.
    #[tokio::test]
    async fn reads_output_of_the_start_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        let lines = |count: usize| (0..count).map(|line| format!("line {line}\n")).collect::<String>();
        std::fs::write(&path, format!("an earlier run's\n{}", lines(20))).unwrap();
        let log_source = LogSource::of_file(&path, 17);
        assert_eq!(log_source.read().await, lines(20));
        std::fs::write(&path, format!("an earlier run's\n{}{}", lines(20), "now\n\n")).unwrap();
        assert_eq!(log_source.read().await, lines(20) + "now\n\n");
        let shown = log_source.excerpt().await;
        let wanted: Vec<_> = (0..5).map(|line| format!("line {line}")).collect();
        assert_eq!(
            (&shown[..5], shown[5].as_str(), shown.last().unwrap().as_str()),
            (&wanted[..], "[... 6 lines]", "now")
        );
        assert_eq!(shown.len(), 5 + 1 + 10);
        let much = "x".repeat(usize::try_from(MAX_HEAD_BYTES).unwrap());
        std::fs::write(&path, format!("{much}left out\n")).unwrap();
        assert_eq!(LogSource::of_file(&path, 0).read().await, format!("{much}\n{BREAK}\n"));
    }
}
