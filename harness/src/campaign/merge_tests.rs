//! What is merged, and what is refused.

use std::path::Path;

use rstest::rstest;

use super::*;
use crate::campaign::{End, Header, write};

/// Six items, of which the fifth is non-conformant.
fn items() -> Vec<Item> {
    let name = |number: usize| format!("rolling/{number} on ours");
    (0..6).map(|number| Item { number, name: name(number), digest: "0".repeat(16) }).collect()
}

fn header(shard: &str) -> Header {
    let shard: Shard = shard.parse().unwrap();
    let header = Header {
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

const END: End = End { left: 0, ended_between: 0, seconds: 1.5, exit_code: 0 };

/// A results file, as it is read.
fn file(folder: &Path, header: &Header, lines: &[String], end: End) -> Results {
    std::fs::create_dir_all(folder).unwrap();
    Results::read(&write(folder, header, lines, end).unwrap()).unwrap()
}

/// Shard 1, 2 or 3 of 3.
fn part(folder: &Path, shard: &str) -> Results {
    let header = header(shard);
    let lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
    file(folder, &header, &lines, END)
}

fn refused(files: Vec<Results>) -> String {
    let said = merge(files).map(|merged| panic!("{merged:?}")).unwrap_err().to_string();
    // Where the files are is different each time.
    let words = said.split_inclusive(' ').map(|word| match word.rfind('/') {
        Some(at) if word.starts_with('/') => &word[at + 1..],
        _ => word,
    });
    words.collect()
}

#[test]
fn all_shards_are_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let merged = merge(vec![part(at, "3/3"), part(at, "1/3"), part(at, "2/3")]).unwrap();
    let items: Vec<usize> = merged.lines().iter().map(|(line, _)| line.item()).collect();
    assert_eq!(items, [0, 1, 2, 3, 4, 5]);
    assert!(merged.missing.is_empty() && merged.repeated.is_empty());
    assert_eq!(Outcome::of(merged.outcomes()), Outcome::NonConformant);
    assert_eq!(merged.took(), Duration::from_millis(4_500));
    // The line stays as it was, with what only readers of JSON want.
    assert_eq!(merged.lines()[3].1, line(3));
    assert_eq!(std::fs::read_dir(at).unwrap().count(), 3, "something half is left");
}

#[test]
fn a_missing_shard_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let merged = merge(vec![part(folder.path(), "3/3"), part(folder.path(), "1/3")]).unwrap();
    assert_eq!(merged.missing.iter().map(ToString::to_string).collect::<Vec<_>>(), ["2/3"]);
    assert_eq!(merged.lines().len(), 4);
}

#[test]
fn a_shard_that_was_played_again_counts_once() {
    let (folder, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let header = header("2/3");
    let mut lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
    // Another order, and another time.
    lines.reverse();
    let lines: Vec<String> =
        lines.into_iter().map(|line| line.replace("\"wallMilliseconds\":", "\"wallMilliseconds\":9")).collect();
    let same = file(again.path(), &header, &lines, End { seconds: 9.0, ..END });
    let at = folder.path();
    let merged = merge(vec![part(at, "1/3"), part(at, "2/3"), same.clone(), part(at, "3/3")]).unwrap();
    assert_eq!(merged.repeated, [same.path]);
    assert_eq!(merged.lines().len(), 6);
}

#[test]
fn two_results_of_a_shard_that_differ_are_refused() {
    let (folder, again) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let header = header("2/3");
    let lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
    let name = "run-2-of-3.shard.ndjson";
    let with = |from: &str, to: &str| {
        let lines: Vec<String> = lines.iter().map(|line| line.replace(from, to)).collect();
        refused(vec![part(folder.path(), "2/3"), file(again.path(), &header, &lines, END)])
    };
    let beginning = format!("{name} and {name} are both shard 2/3, and contradict each other:");
    let other = with("\"exitCode\":1", "\"exitCode\":0");
    assert_eq!(other, format!("{beginning} rolling/4 on ours is non-conformant, and conformant; keep one of them"));
    let other = with("\"timeline\":\"f\"", "\"timeline\":\"g\"");
    assert_eq!(other, format!("{beginning} rolling/1 on ours is conformant in both, differently; keep one of them"));
}

#[rstest]
#[case::version(|header: &mut Header| header.lockstep = "0.2.0".to_owned(), "the version is 0.1.0 in the first and 0.2.0 in the second")]
#[case::command(|header: &mut Header| header.arguments = " --seed 4".to_owned(), "the command line is `--seed 3` in the first and `--seed 4` in the second")]
#[case::count(|header: &mut Header| header.shard = "2/4".parse().unwrap(), "the shard is one of 3 in the first and one of 4 in the second")]
fn shards_of_different_runs_are_refused(#[case] change: fn(&mut Header), #[case] why: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut other = header("2/3");
    change(&mut other);
    let lines: Vec<String> = other.items.iter().map(|item| line(item.number)).collect();
    let said = refused(vec![part(folder.path(), "1/3"), file(folder.path(), &other, &lines, END)]);
    assert!(said.ends_with(&format!("are of different runs: {why}")), "{said}");
}

#[test]
fn another_selection_and_another_subject_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut edited = items();
    edited[4].digest = "1".repeat(16);
    let other = header("2/3").with_items(edited, |item| item.number % 3 == 1);
    let lines: Vec<String> = other.items.iter().map(|item| line(item.number)).collect();
    let said = refused(vec![part(folder.path(), "1/3"), file(folder.path(), &other, &lines, END)]);
    assert!(said.contains("the selection is"), "{said}");
    let lines: Vec<String> = lines.iter().map(|line| line.replace("p v1", "p v2")).collect();
    let said = refused(vec![part(folder.path(), "1/3"), file(folder.path(), &header("2/3"), &lines, END)]);
    assert!(said.ends_with("the cluster is sim (p v1) in the first and sim (p v2) in the second"), "{said}");
}

#[test]
fn nothing_is_played_twice_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let header = header("2/3");
    let lines: Vec<String> = header.items.iter().map(|item| line(item.number)).collect();
    let with = |lines: &[String]| refused(vec![file(folder.path(), &header, lines, END)]);
    assert!(with(&lines[1..]).ends_with("there is no result of rolling/1 on ours"));
    let twice = [lines[0].clone(), lines[0].clone(), lines[1].clone()];
    assert!(with(&twice).ends_with("there are two results of item 1, or it is not of this shard"));
    // A shard that has the items of another.
    let mut wrong = self::header("1/3");
    wrong.items.clone_from(&header.items);
    let said = refused(vec![part(folder.path(), "2/3"), file(folder.path(), &wrong, &lines, END)]);
    assert!(said.contains("rolling/1 on ours is in run-"), "{said}");
}

#[test]
fn what_is_cut_off_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = part(folder.path(), "1/3").path;
    let text = std::fs::read_to_string(&whole).unwrap();
    for at in [0, 10, text.len() / 2, text.len() - 3] {
        std::fs::write(&whole, &text[..at]).unwrap();
        let said = Results::read(&whole).map(|read| panic!("{read:?}")).unwrap_err().to_string();
        assert!(said.contains("cut off") || said.contains("line 1 is not of a results file"), "{said}");
    }
}
