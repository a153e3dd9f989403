//! The results file of a shard.
//!
//! It is written under a temporary name once everything has been played, and then renamed, so a
//! shard that ended early leaves no file. Playing a shard again replaces its file.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lockstep_recording::FileName;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::pluralize;
use lockstep_support::sanitize;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shard::{Item, Shard, fingerprint_of};
use crate::{FaultsSummary, PlaySummary};

/// The end of the line of a run that tried nothing.
pub const SAYS_NOTHING: &str = "which says nothing about the subject";
/// The ending of the name of every results file.
pub const FILE_ENDING: &str = ".shard.ndjson";

/// The keys whose values may have several lines.
const MULTILINE_KEYS: [&str; 2] = ["headline", "why"];
/// The most items of a shard.
const MOST_ITEMS: usize = 10_000_000;
/// The longest duration of a shard in seconds: thirty years.
const MOST_SECONDS: f64 = 1e9;

/// The first line of a results file: the items of the shard, and the command that plays them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultsHeader {
    /// The part of the selection that the file has results of.
    pub shard: Shard,
    /// The version of Lockstep.
    pub lockstep: String,
    /// `run`, `faults`, `fuzz` or `explore`.
    pub command: String,
    /// The typed command line, without the flags that name the shard.
    pub command_line: String,
    /// The flags that affect the result of a play.
    pub arguments: String,
    /// The number of items in all shards.
    pub selected: usize,
    /// The fingerprint of the items of all shards.
    pub selection: String,
    /// The items of this shard.
    pub items: Vec<Item>,
}

/// The last line of a results file: totals of the shard.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResultsEnd {
    /// The number of items that were skipped for lack of time.
    #[serde(rename = "left")]
    pub unplayed: usize,
    /// How often a subject ended by itself between two cases.
    pub ended_between: usize,
    /// The duration.
    pub seconds: f64,
    /// The exit code of the shard.
    pub exit_code: u8,
}

/// The result of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultLine {
    /// A judged play.
    Play(PlaySummary),
    /// The faults of a case.
    Faults(FaultsSummary),
    /// A search.
    Search(SearchResult),
    /// An exploration of a case.
    Explore(ExploreResult),
}

/// The content of a results file.
#[derive(Debug, Clone)]
pub struct Results {
    /// The path of the file.
    pub path: PathBuf,
    /// The first line.
    pub header: ResultsHeader,
    /// The result of each item, with its original line.
    pub lines: Vec<(ResultLine, String)>,
    /// The last line.
    pub end: ResultsEnd,
}

/// Why a results file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// An I/O error.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A line is not of a results file.
    #[error("{}: line {line} is not of a results file: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, from 1.
        line: usize,
        /// The cause.
        why: String,
    },
    /// The file is truncated.
    #[error("{}: the file is cut off: its last line is missing; copy it again, or play its shard again", path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
    },
}

#[derive(Serialize, Deserialize)]
struct EndLine {
    ended: ResultsEnd,
}

impl ResultsHeader {
    /// The name of the file: `run-2-of-8.shard.ndjson`.
    #[must_use]
    pub(crate) fn file_name(&self) -> String {
        let name = format!("{}-{}-of-{}", self.command, self.shard.index(), self.shard.count());
        FileName::of(&name).with_ending(FILE_ENDING).to_string()
    }

    /// The outcome of the shard. One without items is conformant if other shards have items; one
    /// that had no time for its items is inconclusive.
    #[must_use]
    pub fn exit_outcome(&self, outcome: RunOutcome) -> RunOutcome {
        match outcome {
            RunOutcome::NothingSelected if !self.items.is_empty() => RunOutcome::Inconclusive,
            RunOutcome::NothingSelected if self.selected > 0 => RunOutcome::Conformant,
            outcome => outcome,
        }
    }

    /// The header with the items of all shards, of which this shard has those that `is_here`
    /// accepts.
    #[must_use]
    pub fn with_items(self, all: Vec<Item>, is_here: impl Fn(&Item) -> bool) -> Self {
        let (selected, selection) = (all.len(), fingerprint_of(&all));
        Self { selected, selection, items: all.into_iter().filter(|item| is_here(item)).collect(), ..self }
    }
}

/// Write a results file into a folder, and return its path.
///
/// # Errors
/// The file cannot be written.
pub fn write(
    folder: &Path,
    header: &ResultsHeader,
    lines: &[String],
    end: ResultsEnd,
) -> Result<PathBuf, ResultsError> {
    let path = folder.join(header.file_name());
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        // Another user may merge the files.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".partial").permissions(Permissions::from_mode(0o666));
        let file = builder.tempfile_in(folder)?;
        let mut out = BufWriter::new(file.as_file());
        writeln!(out, "{}", serde_json::to_string(header)?)?;
        for line in lines {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{}", serde_json::to_string(&EndLine { ended: end })?)?;
        out.flush()?;
        drop(out);
        file.as_file().sync_all()?;
        file.persist(&path)?;
        Ok(())
    };
    write().map_err(|source| ResultsError::File { path: path.clone(), source })?;
    Ok(path)
}

impl Results {
    /// Read a results file.
    ///
    /// # Errors
    /// The file cannot be read, is not a results file, or is truncated.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let file = std::fs::File::open(path);
        let file = file.map_err(|source| ResultsError::File { path: path.to_owned(), source })?;
        Self::parse(path, BufReader::new(file))
    }

    /// Parse the content of the results file at `path`.
    ///
    /// # Errors
    /// The input cannot be read, is not a results file, or is truncated.
    pub fn parse(path: &Path, input: impl BufRead) -> Result<Self, ResultsError> {
        let failed = |source| ResultsError::File { path: path.to_owned(), source };
        let texts = input.lines().collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let bad = |line: usize, why: String| ResultsError::Line { path: path.to_owned(), line: line + 1, why };
        let (first, rest) = texts.split_first().ok_or_else(|| ResultsError::CutOff { path: path.to_owned() })?;
        let header: ResultsHeader = parse_line(first).map_err(|error| bad(0, error))?;
        let end =
            rest.split_last().and_then(|(last, lines)| Some((serde_json::from_str::<EndLine>(last).ok()?, lines)));
        let (EndLine { ended: end }, rest) = end.ok_or_else(|| ResultsError::CutOff { path: path.to_owned() })?;
        end.check().map_err(|why| bad(rest.len() + 1, why))?;
        let line = |(at, text): (usize, &String)| {
            let line = ResultLine::read(&header.command, text).map_err(|why| bad(at + 1, why))?;
            Ok((line, text.clone()))
        };
        let lines = rest.iter().enumerate().map(line).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { path: path.to_owned(), header, lines, end })
    }
}

/// Parses a line. The file may be hostile, so its texts are sanitised before anything prints them.
fn parse_line<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    sanitize::sanitize_json(&mut value, &MULTILINE_KEYS);
    serde_json::from_value(value).map_err(|error| error.to_string())
}

impl ResultsEnd {
    /// Fails if a number is too large to be added up.
    fn check(&self) -> Result<(), String> {
        if self.unplayed > MOST_ITEMS || self.ended_between > MOST_ITEMS {
            return Err(format!("a shard has at most {MOST_ITEMS} items"));
        }
        if !(0.0..=MOST_SECONDS).contains(&self.seconds) {
            return Err(format!("`seconds` is {:e}: expected 0 to {MOST_SECONDS:e}", self.seconds));
        }
        Ok(())
    }
}

impl ResultLine {
    pub(crate) fn read(command: &str, text: &str) -> Result<Self, String> {
        match command {
            "run" => parse_line(text).map(Self::Play),
            "faults" => parse_line(text).map(Self::Faults),
            "fuzz" => parse_line(text).map(Self::Search),
            "explore" => parse_line(text).map(Self::Explore),
            other => Err(format!("unknown command `{other}`: expected run, faults, fuzz or explore")),
        }
    }

    /// The number of the item.
    #[must_use]
    pub(crate) const fn item(&self) -> usize {
        match self {
            Self::Play(play) => play.item,
            Self::Faults(faults) => faults.item,
            Self::Search(search) => search.item,
            Self::Explore(exploration) => exploration.item,
        }
    }

    /// The number of plays that show something about the subject.
    #[must_use]
    pub(crate) fn tried(&self) -> usize {
        match self {
            Self::Faults(faults) => faults.tried(),
            Self::Search(search) => search.programs,
            Self::Play(_) | Self::Explore(_) => 1,
        }
    }

    /// The outcome, for the exit code.
    #[must_use]
    pub(crate) fn outcome(&self) -> RunOutcome {
        match self {
            Self::Play(play) => play.outcome,
            Self::Faults(faults) => faults.outcome,
            Self::Search(search) => search.outcome(),
            Self::Explore(exploration) => exploration.outcome(),
        }
    }
}

/// The result of a search: how many programs were played, which could not be compared, and the
/// findings. The results of several shards add up to those of one search, with each cause listed
/// once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchResult {
    /// The number of the shard, from 0.
    pub item: usize,
    /// The seed from the command line; each shard derives its own.
    pub seed: u64,
    /// The number of programs that were played.
    pub programs: usize,
    /// The number of programs that could not be compared, by reason.
    pub inconclusive: BTreeMap<String, usize>,
    /// The findings by cause of the difference.
    #[serde(rename = "found")]
    pub findings: BTreeMap<String, FindingSummary>,
}

/// A finding of a search: a cause of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FindingSummary {
    /// The number of programs that show it.
    pub programs: usize,
    /// The file of the case that reproduces it.
    pub file: String,
    /// Whether the reference controller differs from itself there.
    pub is_chance: bool,
}

impl SearchResult {
    /// The outcome, for the exit code. What a random program does may be incomparable, so a search
    /// is inconclusive only if no program could be compared.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        match (self.findings.values().any(|finding| !finding.is_chance), self.compared()) {
            (true, _) => RunOutcome::NonConformant,
            (false, 1..) => RunOutcome::Conformant,
            (false, 0) => RunOutcome::Inconclusive,
        }
    }

    /// The number of programs that could be compared.
    fn compared(&self) -> usize {
        self.programs.saturating_sub(self.inconclusive.values().sum())
    }

    /// Add the result of another shard. Of two cases for one cause the first is kept.
    pub fn add(&mut self, shard: &Self) {
        self.programs = self.programs.saturating_add(shard.programs);
        for (why, programs) in &shard.inconclusive {
            let all = self.inconclusive.entry(why.clone()).or_default();
            *all = all.saturating_add(*programs);
        }
        for (cause, finding) in &shard.findings {
            match self.findings.get_mut(cause) {
                // A difference by chance may not show in the few seeds of one shard.
                Some(existing) => {
                    existing.programs = existing.programs.saturating_add(finding.programs);
                    existing.is_chance |= finding.is_chance;
                }
                None => drop(self.findings.insert(cause.clone(), finding.clone())),
            }
        }
    }

    /// The last lines of a search.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let programs = |number: usize| pluralize(number, "program");
        let mut lines = Vec::new();
        for (why, number) in &self.inconclusive {
            lines.push(format!("inconclusive    {}: {why}", programs(*number)));
        }
        for (cause, finding) in &self.findings {
            let word = if finding.is_chance { "chance        " } else { "non-conformant" };
            lines.push(format!("{word}  {cause}  {}  {}", programs(finding.programs), finding.file));
        }
        if self.programs == 0 {
            lines.push(format!("no program was judged, {SAYS_NOTHING}; raise --programs or --for"));
            return lines;
        }
        let all = programs(self.compared());
        lines.push(match self.findings.values().filter(|finding| !finding.is_chance).count() {
            0 => format!("no difference in {all}"),
            1 => format!("1 cause of a difference in {all}"),
            causes => format!("{causes} causes of a difference in {all}"),
        });
        lines
    }
}

/// The result of exploring a case completely or up to a bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExploreResult {
    /// The number of the case, from 0.
    pub item: usize,
    /// The lines of the report.
    pub lines: Vec<String>,
    /// The exit code of exploring this case alone.
    pub exit_code: u8,
}

impl ExploreResult {
    /// The outcome, for the exit code of the run.
    #[must_use]
    pub(crate) fn outcome(&self) -> RunOutcome {
        RunOutcome::from_code(self.exit_code).unwrap_or(RunOutcome::Internal)
    }
}
