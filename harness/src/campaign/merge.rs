//! The results of all shards as those of one run.
//!
//! What does not fit is refused, as a sum over the wrong parts looks like any other sum: files of
//! different runs, two files of one shard that say different things, an item that is played twice
//! or in no shard. A shard that is missing is no error: it is reported, and the whole is
//! inconclusive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::items::{Item, fingerprint_of};
use super::results::{Line, Results};
use super::shard::Shard;
use crate::outcome::Outcome;
use crate::report::{FaultsSummary, PlaySummary};

/// Why results are not merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// They are of different runs.
    #[error("{} and {} are of different runs: {what} is {one} in the first and {other} in the second", a.display(), b.display())]
    OtherRun {
        /// A file.
        a: PathBuf,
        /// Another.
        b: PathBuf,
        /// What is different.
        what: &'static str,
        /// What it is in the first.
        one: String,
        /// What it is in the second.
        other: String,
    },
    /// One shard was played twice, and not with the same result.
    #[error("{} and {} are both shard {shard}, and contradict each other: {what}; keep one of them", a.display(), b.display())]
    Contradiction {
        /// A file.
        a: PathBuf,
        /// Another.
        b: PathBuf,
        /// Which shard.
        shard: Shard,
        /// What is different.
        what: String,
    },
    /// A file's items are not those of its shard, or not what its results are about.
    #[error("{}: {why}", path.display())]
    Items {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// All shards that are there.
#[derive(Debug, Clone)]
pub struct Merged {
    /// Their results, each shard once, in order.
    pub parts: Vec<Results>,
    /// The shards of which there is no file.
    pub missing: Vec<Shard>,
    /// Files that say the same as another.
    pub repeated: Vec<PathBuf>,
}

/// Put files together. There is at least one, or nothing is merged.
///
/// # Errors
/// They do not belong together.
pub fn merge(files: Vec<Results>) -> Result<Merged, MergeError> {
    let mut parts: BTreeMap<Shard, Results> = BTreeMap::new();
    let mut repeated = Vec::new();
    for file in files {
        if let Some((_, first)) = parts.first_key_value() {
            same_run(first, &file)?;
        }
        complete(&file)?;
        match parts.get(&file.header.shard) {
            Some(known) => {
                same_results(known, &file)?;
                repeated.push(file.path);
            }
            None => drop(parts.insert(file.header.shard, file)),
        }
    }
    let count = parts.first_key_value().map_or(0, |(shard, _)| shard.count());
    let shards = (1..=count).filter_map(|index| Shard::new(index, count));
    let missing: Vec<Shard> = shards.filter(|shard| !parts.contains_key(shard)).collect();
    let parts: Vec<Results> = parts.into_values().collect();
    whole(&parts, missing.is_empty())?;
    Ok(Merged { parts, missing, repeated })
}

/// The files are parts of one run.
fn same_run(a: &Results, b: &Results) -> Result<(), MergeError> {
    let (x, y) = (&a.header, &b.header);
    let selection = |it: &Results| format!("{} of {} items", it.header.selection, it.header.selected);
    let shards = |it: &Results| format!("one of {}", it.header.shard.count());
    let facts = [
        ("the command", x.command.clone(), y.command.clone()),
        ("the version", x.lockstep.clone(), y.lockstep.clone()),
        ("the command line", format!("`{}`", x.arguments.trim()), format!("`{}`", y.arguments.trim())),
        ("the shard", shards(a), shards(b)),
        ("the selection", selection(a), selection(b)),
    ];
    let (first, mut second) = (versions(a), versions(b));
    let programs = first.into_iter().filter_map(|((what, name), version)| {
        let other = second.remove(&(what, name.clone()))?;
        Some((what, format!("{name} ({version})"), format!("{name} ({other})")))
    });
    match facts.into_iter().chain(programs).find(|(_, one, other)| one != other) {
        Some((what, one, other)) => {
            Err(MergeError::OtherRun { a: a.path.clone(), b: b.path.clone(), what, one, other })
        }
        None => Ok(()),
    }
}

/// The versions of the subjects and clusters that a file's plays name.
fn versions(of: &Results) -> BTreeMap<(&'static str, String), String> {
    let mut all: BTreeMap<(&'static str, String), BTreeSet<&str>> = BTreeMap::new();
    for (line, _) in &of.lines {
        let mut add = |what, name: &str, version| {
            all.entry((what, name.to_owned())).or_default().insert(version);
        };
        match line {
            Line::Play(PlaySummary { subject, cluster, .. }) => {
                add("the subject", &subject.name, subject.version.as_str());
                add("the cluster", &cluster.name, cluster.version.as_str());
            }
            Line::Faults(FaultsSummary { subject, .. }) => add("the subject", &subject.name, subject.version.as_str()),
            Line::Searched(_) | Line::Explored(_) => {}
        }
    }
    let joined = |versions: BTreeSet<&str>| versions.into_iter().collect::<Vec<_>>().join(", ");
    all.into_iter().map(|(what, versions)| (what, joined(versions))).collect()
}

/// Fails unless each item of the header was played exactly once.
fn complete(file: &Results) -> Result<(), MergeError> {
    let wrong = |why: String| Err(MergeError::Items { path: file.path.clone(), why });
    let mut waiting: BTreeMap<usize, &Item> = file.header.items.iter().map(|item| (item.number, item)).collect();
    for (line, _) in &file.lines {
        if waiting.remove(&line.item()).is_none() {
            return wrong(format!("there are two results of item {}, or it is not of this shard", line.item()));
        }
    }
    match waiting.values().next() {
        Some(item) if waiting.len() != file.end.left => wrong(format!("there is no result of {}", item.name)),
        _ => Ok(()),
    }
}

/// Two files of one shard say the same; how long it took aside.
fn same_results(a: &Results, b: &Results) -> Result<(), MergeError> {
    let by_item = |it: &Results| -> BTreeMap<usize, Line> {
        it.lines.iter().map(|(line, _)| (line.item(), line.clone())).collect()
    };
    let (x, y) = (by_item(a), by_item(b));
    let name = |item: &usize| {
        let found = a.header.items.iter().chain(&b.header.items).find(|it| it.number == *item);
        found.map_or_else(|| item.to_string(), |it| it.name.clone())
    };
    let different = x.keys().chain(y.keys()).find(|item| x.get(item) != y.get(item));
    let what = match different {
        Some(item) => {
            let word = |of: &BTreeMap<usize, Line>| of.get(item).map_or("not played", |line| line.outcome().name());
            let (one, other) = (word(&x), word(&y));
            let how = if one == other { format!("{one} in both, differently") } else { format!("{one}, and {other}") };
            format!("{} is {how}", name(item))
        }
        None if a.header.items != b.header.items => "their items are different".to_owned(),
        None if a.end.ended_between != b.end.ended_between => {
            let (one, other) = (a.end.ended_between, b.end.ended_between);
            format!("the subject ended between two cases {one} times, and {other} times")
        }
        None => return Ok(()),
    };
    Err(MergeError::Contradiction { a: a.path.clone(), b: b.path.clone(), shard: a.header.shard, what })
}

/// No item is in two shards, and where no shard is missing none is in no shard.
fn whole(parts: &[Results], is_all: bool) -> Result<(), MergeError> {
    let mut items: BTreeMap<usize, (&Item, &Results)> = BTreeMap::new();
    for part in parts {
        for item in &part.header.items {
            if let Some((_, other)) = items.insert(item.number, (item, part)) {
                let why = format!("{} is in {} as well", item.name, other.path.display());
                return Err(MergeError::Items { path: part.path.clone(), why });
            }
        }
    }
    let Some(part) = parts.first().filter(|_| is_all) else { return Ok(()) };
    if fingerprint_of(items.values().map(|(item, _)| *item)) != part.header.selection {
        let (all, selected) = (items.len(), part.header.selected);
        let why = format!("{all} items in all shards are not the {selected} that were selected");
        return Err(MergeError::Items { path: part.path.clone(), why });
    }
    Ok(())
}

impl Merged {
    /// What came of each item, in the order of the selection, with the line as it was written.
    #[must_use]
    pub fn lines(&self) -> Vec<&(Line, String)> {
        let mut lines: Vec<_> = self.parts.iter().flat_map(|part| &part.lines).collect();
        lines.sort_by_key(|(line, _)| line.item());
        lines
    }

    /// All outcomes, as one run would have them: a subject that ended by itself between two cases
    /// is its failure.
    #[must_use]
    pub fn outcomes(&self) -> Vec<Outcome> {
        let between = self.parts.iter().map(|part| part.end.ended_between).sum();
        let lines = self.lines().into_iter().map(|(line, _)| line.outcome());
        lines.chain(std::iter::repeat_n(Outcome::NonConformant, between)).collect()
    }

    /// How long all shards took, one after the other.
    #[must_use]
    pub fn took(&self) -> Duration {
        self.parts.iter().map(|part| Duration::try_from_secs_f64(part.end.seconds).unwrap_or_default()).sum()
    }

    /// How many items of the shards that are there were not played, for want of time.
    #[must_use]
    pub fn left(&self) -> usize {
        self.parts.iter().map(|part| part.end.left).sum()
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
