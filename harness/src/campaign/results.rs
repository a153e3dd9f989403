//! The file in which a shard leaves what came of its part.
//!
//! It is written when everything was played, under another name, and renamed: a shard that was
//! ended early leaves no file. A shard that is played again replaces the file of the same name.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::explored::Explored;
use super::items::{Item, fingerprint_of};
use super::searched::Searched;
use super::shard::Shard;
use crate::outcome::Outcome;
use crate::plain;
use crate::recording::FileName;
use crate::report::{FaultsSummary, PlaySummary};

/// How the name of every results file ends.
pub const FILE_ENDING: &str = ".shard.ndjson";

/// The keys whose texts may have several lines.
const OF_LINES: [&str; 2] = ["headline", "why"];
/// More items than a shard ever has.
const MOST: usize = 10_000_000;
/// More seconds than a shard ever takes: thirty years.
const LONGEST: f64 = 1e9;

/// The items of this part, the program and the subject that play them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Which part this is.
    pub shard: Shard,
    /// The version of the program that played.
    pub lockstep: String,
    /// `run`, `faults`, `fuzz` or `explore`.
    pub command: String,
    /// What was typed, without what says which shard this is.
    pub command_line: String,
    /// The flags that decide what comes of a play.
    pub arguments: String,
    /// How many items were selected, in all shards together.
    pub selected: usize,
    /// A fingerprint of them.
    pub selection: String,
    /// Those of this shard.
    pub items: Vec<Item>,
}

/// What came of everything together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// How many of the items were not played, for want of time.
    pub left: usize,
    /// How often a subject ended by itself between two cases.
    pub ended_between: usize,
    /// How long it took.
    pub seconds: f64,
    /// What the shard's own exit code was.
    pub exit_code: u8,
}

/// What came of one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// A judged play.
    Play(PlaySummary),
    /// The faults of a case.
    Faults(FaultsSummary),
    /// A search.
    Searched(Searched),
    /// A case in every order of its events.
    Explored(Explored),
}

/// The content of a results file.
#[derive(Debug, Clone)]
pub struct Results {
    /// Where it was read from.
    pub path: PathBuf,
    /// The items of this part.
    pub header: Header,
    /// What came of each item, and the line as it was written.
    pub lines: Vec<(Line, String)>,
    /// What came of everything together.
    pub end: End,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// The system says so.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is something else, or was cut off.
    #[error("{}: line {line} is not of a results file: {why}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// The end is missing.
    #[error("{}: the file is cut off: its last line is missing; copy it again, or play its shard again", path.display())]
    CutOff {
        /// The file.
        path: PathBuf,
    },
}

#[derive(Serialize, Deserialize)]
struct Ended {
    ended: End,
}

impl Header {
    /// The file's name: `run-2-of-8.shard.ndjson`.
    #[must_use]
    pub fn file_name(&self) -> String {
        let name = format!("{}-{}-of-{}", self.command, self.shard.index(), self.shard.count());
        FileName::of(&name).with_ending(FILE_ENDING).to_string()
    }

    /// The outcome of the shard: one that has no items has nothing to prove, where others have.
    #[must_use]
    pub fn exit(&self, outcome: Outcome) -> Outcome {
        let is_empty = outcome == Outcome::NothingSelected && self.items.is_empty() && self.selected > 0;
        if is_empty { Outcome::Conformant } else { outcome }
    }

    /// The same with these items, of which a shard has some.
    #[must_use]
    pub fn with_items(self, all: Vec<Item>, is_here: impl Fn(&Item) -> bool) -> Self {
        let (selected, selection) = (all.len(), fingerprint_of(&all));
        Self { selected, selection, items: all.into_iter().filter(|item| is_here(item)).collect(), ..self }
    }
}

/// Write a results file into a folder; its path.
///
/// # Errors
/// What the system says.
pub fn write(folder: &Path, header: &Header, lines: &[String], end: End) -> Result<PathBuf, ResultsError> {
    let path = folder.join(header.file_name());
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        // Whoever merges may be another user.
        let mut builder = tempfile::Builder::new();
        builder.prefix(".").suffix(".partial").permissions(Permissions::from_mode(0o666));
        let file = builder.tempfile_in(folder)?;
        let mut out = BufWriter::new(file.as_file());
        writeln!(out, "{}", serde_json::to_string(header)?)?;
        for line in lines {
            writeln!(out, "{line}")?;
        }
        writeln!(out, "{}", serde_json::to_string(&Ended { ended: end })?)?;
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
    /// Read a file.
    ///
    /// # Errors
    /// It cannot be read, is not a results file, or is not whole.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let file = std::fs::File::open(path);
        let file = file.map_err(|source| ResultsError::File { path: path.to_owned(), source })?;
        Self::parse(path, BufReader::new(file))
    }

    /// The content of a file of this name.
    ///
    /// # Errors
    /// It cannot be read, is not a results file, or is not whole.
    pub fn parse(path: &Path, input: impl BufRead) -> Result<Self, ResultsError> {
        let failed = |source| ResultsError::File { path: path.to_owned(), source };
        let texts = input.lines().collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let bad = |line: usize, why: String| ResultsError::Line { path: path.to_owned(), line: line + 1, why };
        let (first, rest) = texts.split_first().ok_or_else(|| ResultsError::CutOff { path: path.to_owned() })?;
        let header: Header = read(first).map_err(|error| bad(0, error))?;
        let end = rest.split_last().and_then(|(last, lines)| Some((serde_json::from_str::<Ended>(last).ok()?, lines)));
        let (Ended { ended: end }, rest) = end.ok_or_else(|| ResultsError::CutOff { path: path.to_owned() })?;
        end.check().map_err(|why| bad(rest.len() + 1, why))?;
        let line = |(at, text): (usize, &String)| {
            let line = Line::read(&header.command, text).map_err(|why| bad(at + 1, why))?;
            Ok((line, text.clone()))
        };
        let lines = rest.iter().enumerate().map(line).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { path: path.to_owned(), header, lines, end })
    }
}

/// A line of a file that may come from anybody: its texts are plain, so that they can be printed.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    plain::tidy_json(&mut value, &OF_LINES);
    serde_json::from_value(value).map_err(|error| error.to_string())
}

impl End {
    /// What is wrong with its numbers, which are added up.
    fn check(&self) -> Result<(), String> {
        if self.left > MOST || self.ended_between > MOST {
            return Err(format!("a shard has at most {MOST} items"));
        }
        if !(0.0..=LONGEST).contains(&self.seconds) {
            return Err(format!("`seconds` is {:e}: expected 0 to {LONGEST:e}", self.seconds));
        }
        Ok(())
    }
}

impl Line {
    fn read(command: &str, text: &str) -> Result<Self, String> {
        match command {
            "run" => read(text).map(Self::Play),
            "faults" => read(text).map(Self::Faults),
            "fuzz" => read(text).map(Self::Searched),
            "explore" => read(text).map(Self::Explored),
            other => Err(format!("unknown command `{other}`: expected run, faults, fuzz or explore")),
        }
    }

    /// The number of its item.
    #[must_use]
    pub const fn item(&self) -> usize {
        match self {
            Self::Play(play) => play.item,
            Self::Faults(of) => of.item,
            Self::Searched(searched) => searched.item,
            Self::Explored(explored) => explored.item,
        }
    }

    /// What it means for the exit code.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Play(play) => play.outcome,
            Self::Faults(of) => of.outcome,
            Self::Searched(searched) => searched.outcome(),
            Self::Explored(explored) => explored.outcome(),
        }
    }
}
