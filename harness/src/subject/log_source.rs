//! What a subject prints. It is kept beside a failure, for a person to read; nothing is ever judged by it.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use k8s_openapi::jiff::Timestamp;
use kube::api::LogParams;

use super::deployment::Pods;
use crate::clock;

/// The most that is kept of one case, in bytes: its end.
const MOST: u64 = 4 << 20;
/// The most that is kept of what was printed before it, in bytes: its beginning, where a program says what it connects to.
const HEAD: u64 = 64 << 10;
/// How many lines are shown with a failure.
const LAST_LINES: usize = 10;
/// The longest line that is shown, in characters.
const LONGEST: usize = 300;

/// Where a subject's output is: from its start on, or from a certain moment on.
#[derive(Clone)]
pub struct LogSource(Source);

#[derive(Clone)]
enum Source {
    /// `begin`: where its output begins; `from`: where the moment's does.
    File {
        path: PathBuf,
        begin: u64,
        from: u64,
    },
    Pods {
        pods: Pods,
        since: Timestamp,
    },
    Said(String),
}

impl LogSource {
    /// What a program whose output begins at a place in this file has printed at its start, and from now on.
    pub(super) fn of_file(path: &Path, begin: u64) -> Self {
        let from = path.metadata().map_or(0, |file| file.len());
        Self(Source::File { path: path.to_owned(), begin: begin.min(from), from })
    }

    /// What these pods have printed at their start, and from now on.
    pub(super) fn of_pods(pods: &Pods) -> Self {
        Self(Source::Pods { pods: pods.clone(), since: clock::now() })
    }

    /// What it said at its start and has said since, or the end of that; empty if that cannot be had.
    pub async fn read(&self) -> String {
        match &self.0 {
            Source::File { path, begin, from } => {
                head(path, *begin, *from).unwrap_or_default() + &tail(path, *from).unwrap_or_default()
            }
            Source::Pods { pods, since } => {
                let first = LogParams { limit_bytes: i64::try_from(HEAD).ok(), ..LogParams::default() };
                let limit_bytes = i64::try_from(MOST).ok();
                let then = LogParams { since_time: Some(*since), limit_bytes, ..LogParams::default() };
                format!("{}{BREAK}\n{}", pods.logs(&first).await, pods.logs(&then).await)
            }
            Source::Said(text) => text.clone(),
        }
    }

    /// The last lines since its start, as they can be shown.
    pub(crate) async fn last_lines(&self) -> Vec<String> {
        let text = match &self.0 {
            Source::File { path, begin, .. } => tail(path, *begin).unwrap_or_default(),
            Source::Pods { pods, .. } => {
                let tail_lines = i64::try_from(LAST_LINES).ok();
                pods.logs(&LogParams { tail_lines, ..LogParams::default() }).await
            }
            Source::Said(text) => text.clone(),
        };
        last_lines(&text)
    }

    /// What it has said until now; what it says later does not belong to it.
    pub async fn until_now(&self) -> Self {
        Self(Source::Said(self.read().await))
    }
}

impl std::fmt::Debug for LogSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}

/// Between the start and the moment.
const BREAK: &str = "[...]";

/// The last lines of an output, cut to a length that a screen has.
pub(super) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    last.iter().map(|line| without_colours(line).chars().take(LONGEST).collect()).collect()
}

/// Without what a terminal takes for colours and cursor movements (ESC, a bracket, up to a letter), which would only be shown as escapes.
fn without_colours(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = |part: &str| {
        let end = part.find(|letter| ('@'..='~').contains(&letter));
        end.map(|end| part[end..].chars().skip(1).collect::<String>()).unwrap_or_default()
    };
    parts.fold(first, |line, part| line + &rest(part))
}

/// The beginning of what a file holds from one place to another.
fn head(path: &Path, begin: u64, end: u64) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(begin))?;
    let (mut said, length) = (Vec::new(), end.saturating_sub(begin));
    file.take(length.min(HEAD)).read_to_end(&mut said)?;
    let left_out = if length > HEAD { format!("\n{BREAK}\n") } else { String::new() };
    Ok(String::from_utf8_lossy(&said).into_owned() + &left_out)
}

/// A file from a place on, or its end if that is too much.
pub(super) fn tail(path: &Path, from: u64) -> std::io::Result<String> {
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
        let log_source = LogSource::of_file(&path, 7);
        assert_eq!(log_source.read().await, "");
        std::fs::write(&path, "before\nafter\n").unwrap();
        assert_eq!(log_source.read().await, "after\n");
        let until_now = log_source.until_now().await;
        std::fs::write(&path, "before\nafter\nlater\n").unwrap();
        assert_eq!([until_now.read().await, log_source.read().await], ["after\n", "after\nlater\n"]);
    }

    #[test]
    fn lines_are_shown_without_colours() {
        let text = "\u{1b}[1;31mred\u{1b}[0m and not\n\n  \nplain [x]\n\u{1b}[";
        assert_eq!(last_lines(text), ["red and not", "plain [x]", ""]);
    }

    #[tokio::test]
    async fn who_has_no_file_has_said_nothing() {
        assert_eq!(LogSource::of_file(Path::new("/nowhere/output.log"), 0).read().await, "");
    }

    #[tokio::test]
    async fn of_much_the_end_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        let log_source = LogSource::of_file(&path, 0);
        let line = "x".repeat(1023) + "\n";
        std::fs::write(&path, line.repeat(5 << 10) + "last").unwrap();
        let said = log_source.read().await;
        assert_eq!(said.len() as u64, MOST);
        assert!(said.ends_with("last"));
    }

    /// What a program says before a case, and after it was started again, belongs to what explains a failure in it.
    #[tokio::test]
    async fn what_was_said_at_the_start_is_told_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output.log");
        let lines = |count: usize| (0..count).map(|line| format!("line {line}\n")).collect::<String>();
        std::fs::write(&path, format!("an earlier run's\n{}", lines(20))).unwrap();
        let log_source = LogSource::of_file(&path, 17);
        assert_eq!(log_source.read().await, lines(20));
        std::fs::write(&path, format!("an earlier run's\n{}{}", lines(20), "now\n\n")).unwrap();
        assert_eq!(log_source.read().await, lines(20) + "now\n\n");
        let last = log_source.last_lines().await;
        assert_eq!((last.len(), last.first().unwrap().as_str(), last.last().unwrap().as_str()), (10, "line 11", "now"));
        let much = "x".repeat(usize::try_from(HEAD).unwrap());
        std::fs::write(&path, format!("{much}left out\n")).unwrap();
        assert_eq!(LogSource::of_file(&path, 0).read().await, format!("{much}\n{BREAK}\n"));
    }
}
