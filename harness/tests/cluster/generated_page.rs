//! A page of the documentation with a part that a command writes, between two comments.

use std::collections::BTreeSet;
use std::path::PathBuf;

use libtest_mimic::Failed;
use lockstep_case::known_changes::{self, KnownChange};

use crate::outcome::Outcome;

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Whether to write rather than to compare.
pub(crate) fn overwrite() -> bool {
    std::env::var_os("LOCKSTEP_DOCS").is_some_and(|value| value == "overwrite")
}

/// A page with one generated part.
pub(crate) struct GeneratedPage {
    pub(crate) path: &'static str,
    /// The comments around the part.
    pub(crate) marks: [&'static str; 2],
}

impl GeneratedPage {
    /// The generated part of the page, and the text around it.
    pub(crate) fn parts(&self) -> Result<[String; 3], Failed> {
        let text = std::fs::read_to_string(root().join(self.path))?;
        let [begins, ends] = self.marks;
        let parts = text.split_once(begins).and_then(|(before, rest)| Some((before, rest.split_once(ends)?)));
        let (before, (inside, after)) = parts.ok_or_else(|| format!("{} has no generated part", self.path))?;
        Ok([before, inside, after].map(str::to_owned))
    }

    /// Replaces the generated part.
    pub(crate) fn write(&self, fresh: &str) -> Outcome {
        let ([before, _, after], [begins, ends]) = (self.parts()?, self.marks);
        Ok(std::fs::write(root().join(self.path), format!("{before}{begins}{fresh}{ends}{after}"))?)
    }
}

/// The table rows about a case, with their headings.
pub(crate) fn rows(text: &str) -> BTreeSet<(String, String)> {
    let mut heading = "";
    let mut rows = BTreeSet::new();
    for line in text.lines() {
        heading = line.strip_prefix("### ").unwrap_or(heading);
        if line.starts_with("| `") {
            rows.insert((heading.to_owned(), line.to_owned()));
        }
    }
    rows
}

/// The case that a row names.
pub(crate) fn case_of(row: &str) -> &str {
    row.split('`').nth(1).unwrap_or_default()
}

/// The words in code quotes.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// What versions of upstream are known to decide differently.
pub(crate) fn known_changes() -> Result<Vec<KnownChange>, Failed> {
    let text = std::fs::read_to_string(root().join("cases").join(known_changes::FILE))?;
    Ok(known_changes::parse(&text)?)
}
