//! What GitHub Actions shows: annotations at the lines of case files, and a job's summary in
//! Markdown.
//!
//! An annotation is a line on standard output, `::error file=…,line=…::…`; whoever prints it knows
//! that a job reads along.

use std::fmt::Write;

use super::again::Again;
use super::escape::escape;
use super::failure::{failure, headline};
use crate::outcome::{Cause, Outcome};
use crate::plain;
use crate::verdict::Judgement;

/// More failures than this are counted, not shown: a summary has a limited size.
const SHOWN: usize = 20;

/// Where an annotation stands: file, line and column from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot<'a> {
    /// The path from the root of the repository.
    pub file: &'a str,
    /// The line.
    pub line: usize,
    /// The column, where it is known.
    pub column: Option<usize>,
}

/// `::error file=cases/a/b.yaml,line=3::…`; `warning` for what is not the subject's failure.
#[must_use]
pub fn annotation(level: &str, at: Spot<'_>, title: &str, message: &str) -> String {
    let column = at.column.map_or_else(String::new, |column| format!(",col={column}"));
    let (file, line) = (property(at.file), at.line);
    format!("::{level} file={file},line={line}{column},title={}::{}", property(title), data(message))
}

/// The annotation of one case at the line of the step that went wrong; nothing if none did.
#[must_use]
pub fn annotated(judgement: &Judgement, again: &Again) -> Option<String> {
    let level = match judgement.outcome() {
        Outcome::Conformant | Outcome::NothingSelected => return None,
        Outcome::NonConformant | Outcome::BadInput | Outcome::Internal | Outcome::Interrupted(_) => "error",
        Outcome::Inconclusive | Outcome::Unblessed => "warning",
    };
    let line = judgement.decisive().and_then(|finding| finding.line).unwrap_or(1);
    let title = format!("{}: {}", judgement.case, headline(judgement));
    let at = Spot { file: &judgement.path, line, column: None };
    Some(annotation(level, at, &title, failure(judgement, again, false).trim_end()))
}

/// One judged play, for a summary.
#[derive(Debug, Clone, Copy)]
pub struct Told<'a> {
    /// What was found.
    pub judgement: &'a Judgement,
    /// The commands that play it again.
    pub again: &'a Again,
}

/// A job's summary: counts, what cut the run short if anything did, and each failure with its diff
/// folded.
#[must_use]
pub fn job_summary(conformant: usize, failed: &[Told<'_>], cut: Option<Cause>) -> String {
    let cut = cut.map_or_else(String::new, |cause| format!(", then interrupted ({cause})"));
    let total = conformant + failed.len();
    let mut text = match failed.len() {
        0 => format!("### Lockstep: {total} conformant{cut}\n"),
        bad => format!(
            "### Lockstep: {bad} of {total} not conformant{cut}\n\n| case | subject | verdict | where |\n| --- | --- | --- | --- |\n"
        ),
    };
    for Told { judgement, .. } in failed.iter().take(SHOWN) {
        let place = judgement.decisive().map_or_else(String::new, |finding| {
            let line = finding.line.map_or_else(String::new, |line| format!(", line {line}"));
            format!("{}{line}", finding.place)
        });
        let cells = [&judgement.case, &judgement.subject.name, judgement.outcome().name(), &place].map(cell);
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for Told { judgement, again } in failed.iter().take(SHOWN) {
        let body = failure(judgement, again, false);
        let _ = write!(
            text,
            "\n<details><summary>{}</summary>\n\n<pre>{}</pre>\n</details>\n",
            escape(&judgement.case),
            escape(body.trim_end())
        );
    }
    if failed.len() > SHOWN {
        let _ = write!(text, "\nand {} more\n", failed.len() - SHOWN);
    }
    text
}

/// A cell of a table: one line, no bars.
fn cell(text: &str) -> String {
    escape(text).replace('|', "\\|").replace(['\n', '\r'], " ")
}

/// The message of an annotation, on one line.
fn data(text: &str) -> String {
    plain::text(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of an annotation.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_message_ends_it() {
        let at = Spot { file: "a,b:c.yaml", line: 3, column: Some(5) };
        let line = annotation("error", at, "100%: no", "one\n::error::two\r\n50% \u{1b}[31m");
        let message = r"one%0A\x3a:error::two%0A50%25 \x1b[31m";
        assert_eq!(line, format!("::error file=a%2Cb%3Ac.yaml,line=3,col=5,title=100%25%3A no::{message}"));
        assert_eq!(cell("<b>|\n"), "&lt;b&gt;\\| ");
    }
}
