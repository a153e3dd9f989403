//! What a subject prints. It is kept beside a failure, for a person to read; nothing is ever judged
//! by it.

use std::collections::BTreeSet;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use k8s_openapi::jiff::Timestamp;
use kube::api::LogParams;

use super::deployment::Pods;
use crate::clock;

/// The most that is kept of one case, in bytes: its end.
const MOST: u64 = 4 << 20;
/// The most that is kept of what was printed before it, in bytes: its beginning, where a program
/// says what it connects to.
const HEAD: u64 = 64 << 10;
/// How many of the first lines are shown with a failure, and how many of the last.
const FIRST_LINES: usize = 5;
const LAST_LINES: usize = 10;
/// Of how many traces before the last lines the head is shown, and how many lines a head has.
const TRACES: usize = 3;
const TRACE_HEAD: usize = 2;
/// How many lines are read from pods, for the heads of their traces.
pub(super) const POD_LINES: i64 = 1_000;
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
    /// What a program whose output begins at a place in this file has printed at its start, and
    /// from now on.
    pub(super) fn of_file(path: &Path, begin: u64) -> Self {
        let from = path.metadata().map_or(0, |file| file.len());
        Self(Source::File { path: path.to_owned(), begin: begin.min(from), from })
    }

    /// What these pods have printed at their start, and from now on.
    pub(super) fn of_pods(pods: &Pods) -> Self {
        Self(Source::Pods { pods: pods.clone(), since: clock::now() })
    }

    /// What it said at its start and has said since, or the end of that; empty if that cannot be
    /// had.
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

    /// The lines since its start that say most, as they can be shown.
    pub(crate) async fn excerpt(&self) -> Vec<String> {
        let text = match &self.0 {
            Source::File { path, begin, .. } => whole(path, *begin),
            Source::Pods { pods, .. } => {
                let tail_lines = Some(POD_LINES);
                pods.logs(&LogParams { tail_lines, ..LogParams::default() }).await
            }
            Source::Said(text) => text.clone(),
        };
        excerpt(&text)
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

/// The lines of an output that say most: the first, where a program says what it connects to; the
/// heads of its last traces, where many languages say what went wrong; and the last. All cut to a
/// length that a screen has.
pub(super) fn excerpt(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().map(without_colours).filter(|line| !line.trim().is_empty()).collect();
    let last = lines.len().saturating_sub(LAST_LINES);
    let mut shown: BTreeSet<usize> = (0..FIRST_LINES.min(lines.len())).chain(last..lines.len()).collect();
    let heads = (0..last).rev().filter(|at| is_head_of_trace(&lines, *at)).take(TRACES);
    shown.extend(heads.flat_map(|at| at..at + TRACE_HEAD));
    let mut out = Vec::new();
    let mut next = 0;
    for at in shown {
        match at - next {
            0 => {}
            // A mark is as long as the line that it stands for.
            1 => out.push(lines[next].chars().take(LONGEST).collect()),
            left_out => out.push(format!("[... {left_out} lines]")),
        }
        out.push(lines[at].chars().take(LONGEST).collect());
        next = at + 1;
    }
    out
}

/// Whether a stack trace begins at a line: Java's and JavaScript's `Error: why` before the first
/// `at`, Python's `Traceback`, Go's `panic: why`, Rust's `thread 'main' panicked at`, and what
/// Java's was caused by.
fn is_head_of_trace(lines: &[String], at: usize) -> bool {
    let is_frame = |line: &String| line.trim_start().starts_with("at ") && line.starts_with([' ', '\t']);
    let line = &lines[at];
    let begins = ["Traceback (", "panic: ", "fatal error: ", "Caused by: ", "thread '"];
    let has_frames = lines.get(at + 1).is_some_and(is_frame) && !is_frame(line) && !line.starts_with([' ', '\t']);
    has_frames || begins.iter().any(|begin| line.starts_with(begin))
}

/// What a file holds from a place on: its beginning and its end if that is too much.
pub(super) fn whole(path: &Path, begin: u64) -> String {
    let end = path.metadata().map_or(0, |file| file.len()).saturating_sub(MOST).max(begin);
    head(path, begin, end).unwrap_or_default() + &tail(path, end).unwrap_or_default()
}

/// Without what a terminal takes for colours and cursor movements (ESC, a bracket, up to a letter),
/// which would only be shown as escapes.
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
        assert_eq!(excerpt(text), ["red and not", "plain [x]"]);
    }

    /// What each language prints of an error that nobody catches, after 50 lines of another kind,
    /// and with 30 frames.
    #[rstest::rstest]
    #[case::node(
        "/app/index.js:7\n    throw new Error(\"no such host\");\n    ^\n\nError: no such host\n",
        "    at f (/app/x.js:1:2)",
        "\nNode.js v20.1.0\n",
        "Error: no such host"
    )]
    #[case::java(
        "Exception in thread \"main\" java.lang.IllegalStateException: no such host\n",
        "\tat x.Main.f(Main.java:3)",
        "",
        "java.lang.IllegalStateException: no such host"
    )]
    #[case::java_by_cause(
        "Exception in thread \"main\" a.B: x\n\tat a.B.c(B.java:1)\nCaused by: java.net.UnknownHostException: no such host\n",
        "\tat x.Main.f(Main.java:3)",
        "\t... 4 more\n",
        "Caused by: java.net.UnknownHostException: no such host"
    )]
    #[case::python(
        "Traceback (most recent call last):\n",
        "  File \"x.py\", line 1, in f\n    g()",
        "ValueError: no such host\n",
        "ValueError: no such host"
    )]
    #[case::go(
        "panic: no such host\n\ngoroutine 1 [running]:\n",
        "main.f(...)\n\t/x.go:1 +0x1",
        "exit status 2\n",
        "panic: no such host"
    )]
    #[case::rust(
        "thread 'main' panicked at src/main.rs:1:2:\nno such host\nstack backtrace:\n",
        "   0: f\n             at ./x.rs:1:2",
        "",
        "no such host"
    )]
    fn the_message_of_a_trace_is_shown(
        #[case] head: &str,
        #[case] frame: &str,
        #[case] end: &str,
        #[case] message: &str,
    ) {
        let before: String = (0..50).map(|line| format!("INFO line {line}\n")).collect();
        let frames = format!("{frame}\n").repeat(30);
        let shown = excerpt(&format!("{before}{head}{frames}{end}"));
        assert!(shown.iter().any(|line| line.contains(message)), "{shown:#?}");
        assert_eq!(shown[0], "INFO line 0");
        assert!(shown.len() <= 25, "{shown:#?}");
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

    /// What a program says before a case, and after it was started again, belongs to what explains
    /// a failure in it.
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
        let shown = log_source.excerpt().await;
        let wanted: Vec<_> = (0..5).map(|line| format!("line {line}")).collect();
        assert_eq!(
            (&shown[..5], shown[5].as_str(), shown.last().unwrap().as_str()),
            (&wanted[..], "[... 6 lines]", "now")
        );
        assert_eq!(shown.len(), 5 + 1 + 10);
        let much = "x".repeat(usize::try_from(HEAD).unwrap());
        std::fs::write(&path, format!("{much}left out\n")).unwrap();
        assert_eq!(LogSource::of_file(&path, 0).read().await, format!("{much}\n{BREAK}\n"));
    }
}
