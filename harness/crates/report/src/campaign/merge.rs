//! Merges the results of all shards into those of one run.
//!
//! Files that do not belong together are refused, because a wrong sum looks like a right one: files
//! of different runs, two files of one shard that contradict each other, and an item that is in two
//! shards or in none. A missing shard is not an error: it is reported, and the merged result is
//! inconclusive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use lockstep_support::outcome::RunOutcome;

use super::results::{ResultLine, Results};
use super::shard::{Item, Shard, fingerprint_of};
use crate::{FaultsSummary, PlaySummary};

/// Why results cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The files are of different runs.
    #[error("{} and {} are of different runs: {fact} is {value_a} in the first and {value_b} in the second", a.display(), b.display())]
    DifferentRuns {
        /// The first file.
        a: PathBuf,
        /// The second file.
        b: PathBuf,
        /// The fact that differs.
        fact: &'static str,
        /// Its value in the first file.
        value_a: String,
        /// Its value in the second file.
        value_b: String,
    },
    /// A shard was played twice with different results.
    #[error("{} and {} are both shard {shard}, and contradict each other: {difference}; keep one of them", a.display(), b.display())]
    Contradiction {
        /// The first file.
        a: PathBuf,
        /// The second file.
        b: PathBuf,
        /// The shard.
        shard: Shard,
        /// The difference.
        difference: String,
    },
    /// A file's items do not fit its shard, or its results do not fit its items.
    #[error("{}: {why}", path.display())]
    Items {
        /// The file.
        path: PathBuf,
        /// The cause.
        why: String,
    },
}

/// The merged results.
#[derive(Debug, Clone)]
pub struct MergedResults {
    /// The results of each shard, ordered by shard.
    pub shards: Vec<Results>,
    /// The shards without a file.
    pub missing: Vec<Shard>,
    /// Files that repeat another file.
    pub repeated: Vec<PathBuf>,
}

/// Merge results files. The result of no files is empty.
///
/// # Errors
/// The files do not belong together.
pub fn merge(files: Vec<Results>) -> Result<MergedResults, MergeError> {
    let mut shards: BTreeMap<Shard, Results> = BTreeMap::new();
    let mut repeated = Vec::new();
    for file in files {
        if let Some((_, first)) = shards.first_key_value() {
            check_same_run(first, &file)?;
        }
        check_complete(&file)?;
        match shards.get(&file.header.shard) {
            Some(first) => {
                check_same_results(first, &file)?;
                repeated.push(file.path);
            }
            None => drop(shards.insert(file.header.shard, file)),
        }
    }
    let count = shards.first_key_value().map_or(0, |(shard, _)| shard.count());
    let all = (1..=count).filter_map(|index| Shard::new(index, count));
    let missing: Vec<Shard> = all.filter(|shard| !shards.contains_key(shard)).collect();
    let shards: Vec<Results> = shards.into_values().collect();
    check_items(&shards, missing.is_empty())?;
    Ok(MergedResults { shards, missing, repeated })
}

/// Fails unless two files are of one run.
fn check_same_run(a: &Results, b: &Results) -> Result<(), MergeError> {
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
    let programs = first.into_iter().filter_map(|((fact, name), version_a)| {
        let version_b = second.remove(&(fact, name.clone()))?;
        Some((fact, format!("{name} ({version_a})"), format!("{name} ({version_b})")))
    });
    match facts.into_iter().chain(programs).find(|(_, value_a, value_b)| value_a != value_b) {
        Some((fact, value_a, value_b)) => {
            Err(MergeError::DifferentRuns { a: a.path.clone(), b: b.path.clone(), fact, value_a, value_b })
        }
        None => Ok(()),
    }
}

/// The versions of the subjects and clusters that the plays of a file name.
fn versions(results: &Results) -> BTreeMap<(&'static str, String), String> {
    let mut all: BTreeMap<(&'static str, String), BTreeSet<&str>> = BTreeMap::new();
    for (line, _) in &results.lines {
        let mut add = |fact, name: &str, version| {
            all.entry((fact, name.to_owned())).or_default().insert(version);
        };
        match line {
            ResultLine::Play(PlaySummary { subject, cluster, .. }) => {
                add("the subject", &subject.name, subject.version.as_str());
                add("the cluster", &cluster.name, cluster.version.as_str());
            }
            ResultLine::Faults(FaultsSummary { subject, .. }) => {
                add("the subject", &subject.name, subject.version.as_str());
            }
            ResultLine::Search(_) | ResultLine::Explore(_) => {}
        }
    }
    let joined = |versions: BTreeSet<&str>| versions.into_iter().collect::<Vec<_>>().join(", ");
    all.into_iter().map(|(fact, versions)| (fact, joined(versions))).collect()
}

/// Fails unless each item of the header was played exactly once.
fn check_complete(file: &Results) -> Result<(), MergeError> {
    let wrong = |why: String| Err(MergeError::Items { path: file.path.clone(), why });
    let mut missing: BTreeMap<usize, &Item> = file.header.items.iter().map(|item| (item.number, item)).collect();
    for (line, _) in &file.lines {
        if missing.remove(&line.item()).is_none() {
            return wrong(format!("there are two results of item {}, or it is not of this shard", line.item()));
        }
    }
    match missing.values().next() {
        Some(item) if missing.len() != file.end.unplayed => wrong(format!("there is no result of {}", item.name)),
        _ => Ok(()),
    }
}

/// Fails unless two files of one shard have the same results. Durations may differ.
fn check_same_results(a: &Results, b: &Results) -> Result<(), MergeError> {
    let by_item = |it: &Results| -> BTreeMap<usize, ResultLine> {
        it.lines.iter().map(|(line, _)| (line.item(), line.clone())).collect()
    };
    let (x, y) = (by_item(a), by_item(b));
    let name = |item: &usize| {
        let named = a.header.items.iter().chain(&b.header.items).find(|it| it.number == *item);
        named.map_or_else(|| item.to_string(), |it| it.name.clone())
    };
    let different = x.keys().chain(y.keys()).find(|item| x.get(item) != y.get(item));
    let difference = match different {
        Some(item) => {
            let word = |lines: &BTreeMap<usize, ResultLine>| {
                lines.get(item).map_or("not played", |line| line.outcome().name())
            };
            let (outcome_a, outcome_b) = (word(&x), word(&y));
            let how = if outcome_a == outcome_b {
                format!("{outcome_a} in both, differently")
            } else {
                format!("{outcome_a}, and {outcome_b}")
            };
            format!("{} is {how}", name(item))
        }
        None if a.header.items != b.header.items => "their items are different".to_owned(),
        None if a.end.ended_between != b.end.ended_between => {
            let (times_a, times_b) = (a.end.ended_between, b.end.ended_between);
            format!("the subject ended between two cases {times_a} times, and {times_b} times")
        }
        None => return Ok(()),
    };
    Err(MergeError::Contradiction { a: a.path.clone(), b: b.path.clone(), shard: a.header.shard, difference })
}

/// Fails if an item is in two shards, or, with all shards present, if an item is in none.
fn check_items(shards: &[Results], is_complete: bool) -> Result<(), MergeError> {
    let mut items: BTreeMap<usize, (&Item, &Results)> = BTreeMap::new();
    for shard in shards {
        for item in &shard.header.items {
            if let Some((_, first)) = items.insert(item.number, (item, shard)) {
                let why = format!("{} is in {} as well", item.name, first.path.display());
                return Err(MergeError::Items { path: shard.path.clone(), why });
            }
        }
    }
    let Some(shard) = shards.first().filter(|_| is_complete) else { return Ok(()) };
    if fingerprint_of(items.values().map(|(item, _)| *item)) != shard.header.selection {
        let (all, selected) = (items.len(), shard.header.selected);
        let why = format!("{all} items in all shards are not the {selected} that were selected");
        return Err(MergeError::Items { path: shard.path.clone(), why });
    }
    Ok(())
}

impl MergedResults {
    /// The result of each item in the order of the selection, with its original line.
    #[must_use]
    pub fn lines(&self) -> Vec<&(ResultLine, String)> {
        let mut lines: Vec<_> = self.shards.iter().flat_map(|shard| &shard.lines).collect();
        lines.sort_by_key(|(line, _)| line.item());
        lines
    }

    /// All outcomes of the run. A subject that ended by itself between two cases counts as one
    /// non-conformant outcome.
    #[must_use]
    pub fn outcomes(&self) -> Vec<RunOutcome> {
        let between = self.shards.iter().map(|shard| shard.end.ended_between).sum();
        let lines = self.lines().into_iter().map(|(line, _)| line.outcome());
        lines.chain(std::iter::repeat_n(RunOutcome::NonConformant, between)).collect()
    }

    /// The sum of the durations of all shards.
    #[must_use]
    pub fn total_duration(&self) -> Duration {
        self.shards.iter().map(|shard| Duration::try_from_secs_f64(shard.end.seconds).unwrap_or_default()).sum()
    }

    /// The number of items that the shards skipped for lack of time.
    #[must_use]
    pub fn unplayed(&self) -> usize {
        self.shards.iter().map(|shard| shard.end.unplayed).sum()
    }
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
