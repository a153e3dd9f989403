//! What is wrong with a case file, and how it is shown: file, line, column, the line itself and a
//! caret.

use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::path::PathBuf;

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

use super::tree::Node;
use crate::plain::{self, tidy};
use crate::secret;

/// Why there is no case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file says something that no case can mean.
    #[error("{}", .0.render(false))]
    Bad(Findings),
    /// A path that was named does not exist.
    #[error("{} does not exist; name a case file or a folder of them", .0.display())]
    Missing(PathBuf),
    /// A path that was named is a link to nothing.
    #[error("{} is a symbolic link to something that does not exist; fix the link, or name a case file", .0.display())]
    Nowhere(PathBuf),
    /// A path leads back to itself.
    #[error("{} is a symbolic link that points back to itself; fix or remove the link", .0.display())]
    Circle(PathBuf),
    /// Two cases are called the same.
    #[error("two cases are called {name}: {one} and {other}; rename one of the files, or run them one after the other")]
    Twins {
        /// `area/name`.
        name: String,
        /// One file.
        one: String,
        /// The other.
        other: String,
    },
    /// One case was asked for, and the file stands for several.
    #[error("{path} holds one case for each restart profile ({profiles}); name one, such as {path}@{first}")]
    Several {
        /// The file.
        path: String,
        /// Its restart profiles.
        profiles: String,
        /// One of them.
        first: String,
    },
    /// The file has no case of the restart profile that was named.
    #[error("{} has no case of restart profile {profile}", path.display())]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// What was named.
        profile: String,
    },
    /// The paths hold no case.
    #[error("no case file (*.yaml, *.yml) in {}", paths(.0))]
    NoneFound(Vec<PathBuf>),
    /// Reading failed.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// What was read.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// Everything that is wrong with one file.
#[derive(Debug)]
pub struct Findings {
    path: String,
    source: String,
    all: Vec<Finding>,
}

/// A finding and where it is: what an editor or an annotation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<'a> {
    /// The file.
    pub path: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// The column in letters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: &'a str,
    /// What stands beside the caret.
    pub hint: &'a str,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    span: Range<usize>,
    what: String,
    hint: String,
    help: Option<String>,
}

/// Collects findings while a file is read.
#[derive(Debug, Default)]
pub(super) struct Report {
    all: Vec<Finding>,
}

impl CaseError {
    /// The message; for a bad file with its lines, in colour if asked for.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        match self {
            Self::Bad(findings) => findings.render(colour),
            other => other.to_string(),
        }
    }
}

impl Report {
    /// Something is wrong at this node; `hint` stands beside the caret.
    pub(super) fn add(&mut self, at: &Node, what: impl Into<String>, hint: impl Into<String>) {
        self.add_at(at.span.clone(), what, hint);
    }

    /// Something is wrong in these bytes.
    pub(super) fn add_at(&mut self, span: Range<usize>, what: impl Into<String>, hint: impl Into<String>) {
        let (mut what, mut hint) = (what.into(), hint.into());
        [&mut what, &mut hint].into_iter().for_each(tidy);
        self.all.push(Finding { span, what, hint, help: None });
    }

    /// A word of help below the finding that was added last.
    pub(super) fn help(&mut self, help: impl Into<String>) {
        if let Some(last) = self.all.last_mut() {
            last.help = Some(plain::text(&help.into()).into_owned());
        }
    }

    /// Whether nothing is wrong so far.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The error that says it all, in the file's order.
    pub(super) fn into_error(mut self, path: &str, source: &str) -> CaseError {
        self.all.sort_by_key(|finding| finding.span.start);
        let (_, redaction) = secret::redact(source);
        for finding in &mut self.all {
            for text in [&mut finding.what, &mut finding.hint].into_iter().chain(&mut finding.help) {
                *text = redaction.text(text).into_owned();
            }
        }
        CaseError::Bad(Findings {
            path: plain::line(path).into_owned(),
            source: secret::starred(source),
            all: self.all,
        })
    }
}

impl Findings {
    /// How many there are; at least one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The messages alone, each after its line: for a list.
    pub fn brief(&self) -> impl Iterator<Item = (usize, &str)> {
        self.all.iter().map(|finding| (self.line(finding), finding.what.as_str()))
    }

    /// Every finding with its place.
    pub fn placed(&self) -> impl Iterator<Item = Placed<'_>> {
        self.all.iter().map(|finding| {
            let before = &self.source[..self.whole(&finding.span).start];
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            Placed { path: &self.path, line: self.line(finding), column, what: &finding.what, hint: &finding.hint }
        })
    }

    /// All findings, each with its line and a caret.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
        let all: Vec<String> = self.all.iter().map(|finding| self.render_one(finding, &renderer)).collect();
        all.join("\n\n")
    }

    fn render_one(&self, finding: &Finding, renderer: &Renderer) -> String {
        let span = self.whole(&finding.span);
        let caret = AnnotationKind::Primary.span(span).label(finding.hint.as_str());
        let snippet = Snippet::source(&self.source).path(&self.path).annotation(caret);
        let group = Level::ERROR.primary_title(finding.what.as_str()).element(snippet);
        let group = match &finding.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        };
        renderer.render(&[group])
    }

    /// The bytes of whole letters, all of them in the file; one at least where there is one, so
    /// that there is a caret.
    fn whole(&self, span: &Range<usize>) -> Range<usize> {
        let end = self.source.len();
        let start = (0..=span.start.min(end)).rev().find(|at| self.source.is_char_boundary(*at)).unwrap_or(0);
        let last = span.end.min(end).max(start);
        start..(last..=end).find(|at| self.source.is_char_boundary(*at)).unwrap_or(end)
    }

    fn line(&self, finding: &Finding) -> usize {
        self.source.as_bytes()[..finding.span.start.min(self.source.len())].iter().filter(|b| **b == b'\n').count() + 1
    }
}

impl Display for Findings {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.render(false))
    }
}

fn paths(paths: &[PathBuf]) -> String {
    let all: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if all.is_empty() { "no path at all".to_owned() } else { all.join(", ") }
}
