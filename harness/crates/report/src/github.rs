//! Annotations of GitHub Actions at the lines of case files, and the summary of a job in Markdown.
//!
//! An annotation is a line on standard output, `::error file=…,line=…::…`. The caller prints it
//! only in a job of GitHub Actions.

use std::fmt::Write;

use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize;
use lockstep_verdict::Judgement;

use super::failure::{RerunCommands, failure, headline};
use super::failure_signature::first_line;
use super::page::escape;
use super::summary::{EarlyEnd, ends_between};

/// The most failures in a summary, whose size GitHub limits. The rest is counted.
const MOST_FAILURES: usize = 20;

/// The location of an annotation. Line and column count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnnotationLocation<'a> {
    /// The path from the root of the repository.
    pub file: &'a str,
    /// The line.
    pub line: usize,
    /// The column, if known.
    pub column: Option<usize>,
}

/// `::error file=cases/a/b.yaml,line=3::…`; `warning` for what is not the subject's failure.
#[must_use]
pub fn annotation(level: &str, at: AnnotationLocation<'_>, title: &str, message: &str) -> String {
    let column = at.column.map_or_else(String::new, |column| format!(",col={column}"));
    let (file, line) = (property(at.file), at.line);
    format!("::{level} file={file},line={line}{column},title={}::{}", property(title), data(message))
}

/// The annotation of a case at the line of the step that went wrong; `None` if the case is
/// conformant.
#[must_use]
pub fn case_annotation(judgement: &Judgement, rerun: &RerunCommands) -> Option<String> {
    let level = match judgement.outcome() {
        RunOutcome::Conformant | RunOutcome::NothingSelected => return None,
        RunOutcome::NonConformant | RunOutcome::BadInput | RunOutcome::Internal | RunOutcome::Interrupted(_) => "error",
        RunOutcome::Inconclusive | RunOutcome::Unblessed => "warning",
    };
    let line = judgement.headline().and_then(|finding| finding.line).unwrap_or(1);
    let title = format!("{}: {}", judgement.case, headline(judgement));
    let at = AnnotationLocation { file: &judgement.path, line, column: None };
    Some(annotation(level, at, &title, failure(judgement, rerun, false).trim_end()))
}

/// The annotation of a run that ended early. No file is to blame.
#[must_use]
pub fn early_end_annotation(early: &EarlyEnd) -> String {
    format!("::error title={}::{}", property(&format!("the run {}", early.title())), data(&early.error))
}

/// The annotation of a subject that ended by itself between two cases; `None` if it did not.
#[must_use]
pub fn ends_between_annotation(times: usize) -> Option<String> {
    Some(format!("::error title=the subject ended::{}", data(&ends_between(times)?)))
}

/// A judged play in a summary.
#[derive(Debug, Clone, Copy)]
pub struct JudgedCase<'a> {
    /// The judgement.
    pub judgement: &'a Judgement,
    /// The commands that repeat it.
    pub rerun: &'a RerunCommands,
}

/// The summary of a job: counts, how often the subject ended between two cases, why the run ended
/// early if it did, and each failure with a collapsed diff.
#[must_use]
pub fn job_summary(
    conformant: usize,
    failed: &[JudgedCase<'_>],
    ended_between: usize,
    early: Option<&EarlyEnd>,
) -> String {
    let ended = ends_between(ended_between).map_or_else(String::new, |ended| format!("; {ended}"));
    let early =
        early.map_or_else(String::new, |early| format!(", then {}\n\n{}", early.title(), block("", &early.error)));
    let cut = ended + &early;
    let total = conformant + failed.len();
    let mut text = match failed.len() {
        0 => format!("### Lockstep: {total} conformant{cut}\n"),
        bad => format!(
            "### Lockstep: {bad} of {total} not conformant{cut}\n\n| case | subject | verdict | line | what |\n| --- | --- | --- | --- | --- |\n"
        ),
    };
    for JudgedCase { judgement, .. } in failed.iter().take(MOST_FAILURES) {
        let line = judgement.headline().and_then(|finding| finding.line);
        let line = line.map_or_else(String::new, |line| line.to_string());
        let what = headline(judgement);
        let what = what.split_once(": ").map_or("", |(_, what)| first_line(what)).to_owned();
        let cells = [&judgement.case, &judgement.subject.name, judgement.outcome().name(), &line, &what].map(cell);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for JudgedCase { judgement, rerun } in failed.iter().take(MOST_FAILURES) {
        let body = failure(judgement, rerun, false);
        let _ = write!(
            text,
            "\n<details><summary>{}</summary>\n\n{}\n</details>\n",
            escape(&judgement.case),
            diff_block(body.trim_end())
        );
    }
    if failed.len() > MOST_FAILURES {
        let _ = write!(text, "\nand {} more\n", failed.len() - MOST_FAILURES);
    }
    text
}

/// A report as a block that GitHub colours like a diff of git: its signs begin the lines.
fn diff_block(report: &str) -> String {
    let lines: Vec<&str> = report.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    block("diff", &lines.join("\n"))
}

/// A block of code, which its text cannot end.
fn block(language: &str, text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}\n", sanitize::text(text))
}

/// A cell of a table: one line, no bars.
fn cell(text: &str) -> String {
    escape(text).replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// The message of an annotation, on one line.
fn data(text: &str) -> String {
    sanitize::text(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of an annotation.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_cannot_break_out_of_annotation() {
        let at = AnnotationLocation { file: "a,b:c.yaml", line: 3, column: Some(5) };
        let line = annotation("error", at, "100%: no", "one\n::error::two\r\n50% \u{1b}[31m");
        let message = r"one%0A\x3a:error::two%0A50%25 \x1b[31m";
        assert_eq!(line, format!("::error file=a%2Cb%3Ac.yaml,line=3,col=5,title=100%25%3A no::{message}"));
        assert_eq!(cell("<b>|\n"), "&lt;b&gt;\\| ");
        assert_eq!(diff_block("a\n  - b\n````\n"), "`````diff\na\n- b\n````\n`````\n");
    }
}
