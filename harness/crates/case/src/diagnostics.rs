//! Collects the problems of a case file and renders each with file, line, column, the line itself
//! and a caret; and finds the known word that is nearest to a misspelt one, for "did you mean".

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::path::PathBuf;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use lockstep_recording::secret;
use lockstep_support::sanitize::{self, sanitize_line};

use super::yaml::YamlNode;

/// Why a case cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file is not a valid case.
    #[error("{}", .0.render(false))]
    Invalid(Diagnostics),
    /// The path does not exist.
    #[error("{} does not exist; {remedy}", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
        /// What to type instead.
        remedy: String,
    },
    /// The path is a symbolic link to something that does not exist.
    #[error("{} is a symbolic link to something that does not exist; fix the link, or name a case file", .0.display())]
    DanglingLink(PathBuf),
    /// The path is a symbolic link to itself.
    #[error("{} is a symbolic link that points back to itself; fix or remove the link", .0.display())]
    LinkLoop(PathBuf),
    /// Two cases have the same name.
    #[error(
        "two cases are called {name}: {first} and {second}; rename one of the files, or run them one after the other"
    )]
    DuplicateName {
        /// `area/name`.
        name: String,
        /// The first file.
        first: String,
        /// The second file.
        second: String,
    },
    /// The file has several cases where one is expected.
    #[error("{path} holds one case for each restart profile ({profiles}); name one, such as {path}@{first}")]
    SeveralCases {
        /// The file.
        path: String,
        /// Its restart profiles.
        profiles: String,
        /// The first profile.
        first: String,
    },
    /// The file has no case of this restart profile.
    #[error("{} has no case of restart profile {profile}", path.display())]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// The profile that the path names.
        profile: String,
    },
    /// The paths hold no case.
    #[error("no case file (*.yaml, *.yml) in {}{}", list_paths(.paths), .remedy.map_or_else(String::new, |it| format!("; {it}")))]
    NoneFound {
        /// The paths.
        paths: Vec<PathBuf>,
        /// What to type instead, where it is known.
        remedy: Option<&'static str>,
    },
    /// Reading failed.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// All problems of one file.
#[derive(Debug)]
pub struct Diagnostics {
    path: String,
    source: String,
    all: Vec<Diagnostic>,
}

/// A problem with its location, for editors and annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocatedDiagnostic<'a> {
    /// The file.
    pub path: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// The column in letters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: &'a str,
    /// What to do; it is shown beside the caret.
    pub hint: &'a str,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Diagnostic {
    span: Range<usize>,
    message: String,
    hint: String,
    help: Option<String>,
}

/// Collects problems while a file is read.
#[derive(Debug, Default)]
pub(super) struct DiagnosticCollector {
    all: Vec<Diagnostic>,
}

impl CaseError {
    /// The message; for an invalid file with the quoted lines, optionally in colour.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        match self {
            Self::Invalid(findings) => findings.render(colour),
            other => other.to_string(),
        }
    }
}

impl DiagnosticCollector {
    /// Adds a problem at this node; `hint` is shown beside the caret.
    pub(super) fn add(&mut self, at: &YamlNode, message: impl Into<String>, hint: impl Into<String>) {
        self.add_at(at.span.clone(), message, hint);
    }

    /// Adds a problem at these bytes.
    pub(super) fn add_at(&mut self, span: Range<usize>, message: impl Into<String>, hint: impl Into<String>) {
        let (mut what, mut hint) = (message.into(), hint.into());
        [&mut what, &mut hint].into_iter().for_each(sanitize_line);
        self.all.push(Diagnostic { span, message: what, hint, help: None });
    }

    /// Adds a line of help below the problem that was added last.
    pub(super) fn help(&mut self, help: impl Into<String>) {
        if let Some(last) = self.all.last_mut() {
            last.help = Some(sanitize::text(&help.into()).into_owned());
        }
    }

    /// Whether there are no problems so far.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Converts the collected problems to an error, in the order of the file.
    pub(super) fn into_error(mut self, path: &str, source: &str) -> CaseError {
        self.all.sort_by_key(|finding| finding.span.start);
        // The fields of a mapping are listed once in a file.
        let mut listed = BTreeSet::new();
        for finding in &mut self.all {
            finding.help.take_if(|help| help.contains(FIELD_LIST) && !listed.insert(help.clone()));
        }
        let (_, redaction) = secret::redact(source);
        for finding in &mut self.all {
            for text in [&mut finding.message, &mut finding.hint].into_iter().chain(&mut finding.help) {
                *text = redaction.text(text).into_owned();
            }
        }
        CaseError::Invalid(Diagnostics {
            path: sanitize::line(path).into_owned(),
            source: secret::mask_text(source),
            all: self.all,
        })
    }
}

impl Diagnostics {
    /// The number of problems; at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The messages alone, each with its line, for a list.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> impl Iterator<Item = (usize, &str)> {
        self.all.iter().map(|finding| (self.line_of(finding), finding.message.as_str()))
    }

    /// All problems with their locations.
    pub fn located(&self) -> impl Iterator<Item = LocatedDiagnostic<'_>> {
        self.all.iter().map(|finding| {
            let before = &self.source[..self.char_range(&finding.span).start];
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            LocatedDiagnostic {
                path: &self.path,
                line: self.line_of(finding),
                column,
                message: &finding.message,
                hint: &finding.hint,
            }
        })
    }

    /// Renders all problems, each with its line and a caret.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let all: Vec<String> = self.all.iter().map(|finding| self.render_one(finding, &renderer)).collect();
        all.join("\n\n")
    }

    fn render_one(&self, finding: &Diagnostic, renderer: &Renderer) -> String {
        let span = self.char_range(&finding.span);
        let caret = AnnotationKind::Primary.span(span).label(finding.hint.as_str());
        let snippet = Snippet::source(&self.source).path(&self.path).annotation(caret);
        let group = Level::ERROR.primary_title(finding.message.as_str()).element(snippet);
        let group = match &finding.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        };
        renderer.render(&[group])
    }

    /// Extends a span to whole characters within the file. It covers at least one character if
    /// possible, so that a caret is visible.
    fn char_range(&self, span: &Range<usize>) -> Range<usize> {
        let end = self.source.len();
        let start = (0..=span.start.min(end)).rev().find(|at| self.source.is_char_boundary(*at)).unwrap_or(0);
        let last = span.end.min(end).max(start);
        start..(last..=end).find(|at| self.source.is_char_boundary(*at)).unwrap_or(end)
    }

    fn line_of(&self, finding: &Diagnostic) -> usize {
        self.source.as_bytes()[..finding.span.start.min(self.source.len())].iter().filter(|b| **b == b'\n').count() + 1
    }
}

impl Display for Diagnostics {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

fn list_paths(paths: &[PathBuf]) -> String {
    let all: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if all.is_empty() { "no path at all".to_owned() } else { all.join(", ") }
}

/// A part of each line of help that lists the fields of a mapping.
pub(super) const FIELD_LIST: &str = "fields of ";

/// Returns the nearest word if it is near enough for a typo: a third of its letters differ at most,
/// or only their case. Otherwise returns the only word that begins with the misspelt one, such as
/// `deployment` for `deploy`.
pub(super) fn nearest<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = wrong.to_lowercase();
    let near = |word: &&str| distance(&lower, &word.to_lowercase()) <= (word.chars().count().max(3)) / 3;
    let known: Vec<&str> = candidates.into_iter().collect();
    let slip = known.iter().copied().filter(near).min_by_key(|word| distance(&lower, &word.to_lowercase()));
    let mut longer =
        known.iter().copied().filter(|word| lower.len() >= MIN_PREFIX && word.to_lowercase().starts_with(&lower));
    slip.or_else(|| longer.next().filter(|_| longer.next().is_none()))
}

/// The shortest prefix that is completed to a word.
const MIN_PREFIX: usize = 4;

/// `did you mean `replicas`?`, or `None`.
pub(super) fn did_you_mean<'a>(wrong: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wrong, candidates).map(|word| format!("did you mean `{word}`?"))
}

/// The number of letters to insert, remove, replace or swap with a neighbour to turn one word into
/// the other.
fn distance(from: &str, to: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i.max(j)
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let swapped = if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    rows[i - 2][j - 2] + 1
                } else {
                    usize::MAX
                };
                replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(swapped)
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::nearest;

    #[rstest]
    #[case("replica", Some("replicas"))]
    #[case("repilcas", Some("replicas"))]
    #[case("maxsurge", Some("maxSurge"))]
    #[case("Replicas", Some("replicas"))]
    #[case("colour", None)]
    #[case("repl", Some("replicas"))]
    #[case("max", None)]
    #[case("", None)]
    fn finds_slips(#[case] wrong: &str, #[case] expected: Option<&str>) {
        assert_eq!(nearest(wrong, ["name", "replicas", "image", "maxSurge"]), expected);
    }
}
