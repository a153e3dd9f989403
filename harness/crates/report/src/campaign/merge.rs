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

    /// Whether nothing was tried in any shard, although there was something to try.
    #[must_use]
    pub fn tried_nothing(&self) -> bool {
        let has_items = self.shards.iter().any(|shard| !shard.header.items.is_empty());
        has_items && self.lines().into_iter().all(|(line, _)| line.tried() == 0)
    }

    /// The outcome of each item. To have tried nothing is inconclusive.
    #[must_use]
    pub fn outcomes(&self) -> Vec<RunOutcome> {
        let lines = self.lines().into_iter().map(|(line, _)| line.outcome());
        lines.chain(self.tried_nothing().then_some(RunOutcome::Inconclusive)).collect()
    }

    /// How often a subject ended by itself between two cases, which is non-conformant.
    #[must_use]
    pub fn ended_between(&self) -> usize {
        self.shards.iter().map(|shard| shard.end.ended_between).sum()
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
mod tests {
    use std::path::Path;

    use rstest::rstest;

    use super::*;
    use crate::campaign::{ResultsEnd, ResultsHeader, write};

    /// Six items, of which the fifth is non-conformant.
    fn items() -> Vec<Item> {
        let name = |number: usize| format!("rolling/{number} on ours");
        (0..6).map(|number| Item { number, name: name(number), digest: "0".repeat(16) }).collect()
    }

    fn header(shard: &str) -> ResultsHeader {
        let shard: Shard = shard.parse().unwrap();
        let header = ResultsHeader {
            shard,
            lockstep: "0.1.0".to_owned(),
            command: "run".to_owned(),
            command_line: "lockstep run cases".to_owned(),
            arguments: " --seeds 3".to_owned(),
            selected: 0,
            selection: String::new(),
            items: Vec::new(),
        };
        header.with_items(items(), |item| shard.has(item.number))
    }

    fn line(item: usize) -> String {
        let code = if item == 4 { 1 } else { 0 };
        let of = |name: &str| serde_json::json!({"name": name, "program": "p", "version": "p v1"});
        serde_json::json!({"item": item, "case": format!("rolling/{item}"), "subject": of("ours"), "cluster": of("sim"),
        "exitCode": code, "headline": "h", "causes": [], "timeline": "f", "nearest": null, "seed": null,
        "upstream": [], "repeat": "lockstep run x", "metrics": {"wallMilliseconds": item}})
        .to_string()
    }

    const END: ResultsEnd = ResultsEnd { unplayed: 0, ended_between: 0, seconds: 1.5, exit_code: 0 };

    /// Writes a results file and reads it.
    fn file(folder: &Path, header: &ResultsHeader, lines: &[String], end: ResultsEnd) -> Results {
        std::fs::create_dir_all(folder).unwrap();
        Results::read(&write(folder, header, lines, end).unwrap()).unwrap()
    }

    /// Shard 1, 2 or 3 of 3.
    fn part(folder: &Path, shard: &str) -> Results {
        let header = header(shard);
        let lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
        file(folder, &header, &lines, END)
    }

    fn refusal(files: Vec<Results>) -> String {
        let message = merge(files).map(|merged| panic!("{merged:?}")).unwrap_err().to_string();
        // The folder of the files differs each time.
        let words = message.split_inclusive(' ').map(|word| match word.rfind('/') {
            Some(at) if word.starts_with('/') => &word[at + 1..],
            _ => word,
        });
        words.collect()
    }

    #[test]
    fn all_shards_merge_into_one_run() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        let merged = merge(vec![part(at, "3/3"), part(at, "1/3"), part(at, "2/3")]).unwrap();
        let items: Vec<usize> = merged.lines().iter().map(|(line, _)| line.item()).collect();
        assert_eq!(items, [0, 1, 2, 3, 4, 5]);
        assert!(merged.missing.is_empty() && merged.repeated.is_empty());
        assert_eq!(RunOutcome::most_severe(merged.outcomes()), RunOutcome::NonConformant);
        assert_eq!(merged.total_duration(), Duration::from_millis(4_500));
        // The original line is kept, with fields that only readers of JSON use.
        assert_eq!(merged.lines()[3].1, line(3));
        assert_eq!(std::fs::read_dir(at).unwrap().count(), 3, "a partial file is left");
    }

    #[test]
    fn missing_shard_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let merged = merge(vec![part(folder.path(), "3/3"), part(folder.path(), "1/3")]).unwrap();
        assert_eq!(merged.missing.iter().map(ToString::to_string).collect::<Vec<_>>(), ["2/3"]);
        assert_eq!(merged.lines().len(), 4);
    }

    #[test]
    fn shard_that_was_played_twice_counts_once() {
        let (folder, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let header = header("2/3");
        let mut lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
        // In another order, with other durations.
        lines.reverse();
        let lines: Vec<String> =
            lines.into_iter().map(|line| line.replace("\"wallMilliseconds\":", "\"wallMilliseconds\":9")).collect();
        let repeated = file(again.path(), &header, &lines, ResultsEnd { seconds: 9.0, ..END });
        let at = folder.path();
        let merged = merge(vec![part(at, "1/3"), part(at, "2/3"), repeated.clone(), part(at, "3/3")]).unwrap();
        assert_eq!(merged.repeated, [repeated.path]);
        assert_eq!(merged.lines().len(), 6);
    }

    #[test]
    fn contradicting_results_of_one_shard_are_refused() {
        let (folder, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let header = header("2/3");
        let lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
        let name = "run-2-of-3.shard.ndjson";
        let with = |from: &str, to: &str| {
            let lines: Vec<String> = lines.iter().map(|line| line.replace(from, to)).collect();
            refusal(vec![part(folder.path(), "2/3"), file(again.path(), &header, &lines, END)])
        };
        let beginning = format!("{name} and {name} are both shard 2/3, and contradict each other:");
        let other = with("\"exitCode\":1", "\"exitCode\":0");
        assert_eq!(other, format!("{beginning} rolling/4 on ours is non-conformant, and conformant; keep one of them"));
        let other = with("\"timeline\":\"f\"", "\"timeline\":\"g\"");
        assert_eq!(
            other,
            format!("{beginning} rolling/1 on ours is conformant in both, differently; keep one of them")
        );
    }

    #[rstest]
    #[case::version(|header: &mut ResultsHeader| header.lockstep = "0.2.0".to_owned(), "the version is 0.1.0 in the first and 0.2.0 in the second")]
    #[case::command(|header: &mut ResultsHeader| header.arguments = " --seeds 4".to_owned(), "the command line is `--seeds 3` in the first and `--seeds 4` in the second")]
    #[case::count(|header: &mut ResultsHeader| header.shard = "2/4".parse().unwrap(), "the shard is one of 3 in the first and one of 4 in the second")]
    fn shards_of_different_runs_are_refused(#[case] change: fn(&mut ResultsHeader), #[case] why: &str) {
        let folder = tempfile::tempdir().unwrap();
        let mut other = header("2/3");
        change(&mut other);
        let lines: Vec<String> = other.items.iter().map(|item| line(item.number)).collect();
        let message = refusal(vec![part(folder.path(), "1/3"), file(folder.path(), &other, &lines, END)]);
        assert!(message.ends_with(&format!("are of different runs: {why}")), "{message}");
    }

    #[test]
    fn different_selection_or_program_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut edited = items();
        edited[4].digest = "1".repeat(16);
        let other = header("2/3").with_items(edited, |item| item.number % 3 == 1);
        let lines: Vec<String> = other.items.iter().map(|item| line(item.number)).collect();
        let message = refusal(vec![part(folder.path(), "1/3"), file(folder.path(), &other, &lines, END)]);
        assert!(message.contains("the selection is"), "{message}");
        let lines: Vec<String> = lines.iter().map(|line| line.replace("p v1", "p v2")).collect();
        let message = refusal(vec![part(folder.path(), "1/3"), file(folder.path(), &header("2/3"), &lines, END)]);
        assert!(message.ends_with("the cluster is sim (p v1) in the first and sim (p v2) in the second"), "{message}");
    }

    #[test]
    fn items_played_twice_or_never_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let header = header("2/3");
        let lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
        let with = |lines: &[String]| refusal(vec![file(folder.path(), &header, lines, END)]);
        assert!(with(&lines[1..]).ends_with("there is no result of rolling/1 on ours"));
        let twice = [lines[0].clone(), lines[0].clone(), lines[1].clone()];
        assert!(with(&twice).ends_with("there are two results of item 1, or it is not of this shard"));
        // A shard with the items of another shard.
        let mut wrong = self::header("1/3");
        wrong.items.clone_from(&header.items);
        let message = refusal(vec![part(folder.path(), "2/3"), file(folder.path(), &wrong, &lines, END)]);
        assert!(message.contains("rolling/1 on ours is in run-"), "{message}");
    }

    #[test]
    fn truncated_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = part(folder.path(), "1/3").path;
        let text = std::fs::read_to_string(&path).unwrap();
        for at in [0, 10, text.len() / 2, text.len() - 3] {
            std::fs::write(&path, &text[..at]).unwrap();
            let message = Results::read(&path).map(|read| panic!("{read:?}")).unwrap_err().to_string();
            assert!(message.contains("cut off") || message.contains("line 1 is not of a results file"), "{message}");
        }
    }
}
