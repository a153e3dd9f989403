//! Which results are merged, and which are refused.

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
        arguments: " --seed 3".to_owned(),
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
    assert_eq!(other, format!("{beginning} rolling/1 on ours is conformant in both, differently; keep one of them"));
}

#[rstest]
#[case::version(|header: &mut ResultsHeader| header.lockstep = "0.2.0".to_owned(), "the version is 0.1.0 in the first and 0.2.0 in the second")]
#[case::command(|header: &mut ResultsHeader| header.arguments = " --seed 4".to_owned(), "the command line is `--seed 3` in the first and `--seed 4` in the second")]
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
