//! Invalid case files, `bad/NAME.yaml`, each with the message that it must lead to,
//! `bad/NAME.stderr`.
//!
//! An expected message has the heading of each finding, the line with its caret, and the help. The
//! location is left out, since the line and the caret show it, and so are lists of more than three
//! names: a new field or operation changes only the messages that concern it. `case::tests` pins
//! complete renderings.
//!
//! Whatever the file contains, reading it is an error and never a panic, and every finding has
//! file, line, column, the line itself and a caret.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lockstep_case::{self as case, Case, CaseError};
use lockstep_support::clock;

/// The number of files may grow, but not shrink.
const MIN_FILES: usize = 217;

/// Writes the expected messages.
const OVERWRITE: &str = "LOCKSTEP_MESSAGES=overwrite scripts/test bad_input::";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad")
}

/// The expected messages by name.
fn expected_messages() -> BTreeMap<String, String> {
    let entries = folder().read_dir().expect("the folder exists").map(|entry| entry.expect("readable").path());
    let messages = entries.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    messages.map(|path| (stem(&path), std::fs::read_to_string(path).expect("text"))).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file").to_string_lossy().into_owned()
}

/// Reads a file under the path `bad/NAME`.
fn read(path: &Path) -> Result<Vec<Case>, CaseError> {
    let name = path.file_name().expect("a file").to_string_lossy();
    case::parse_bytes(&format!("bad/{name}"), "bad/x", &std::fs::read(path).expect("readable"))
}

fn message(error: &CaseError) -> String {
    assert!(matches!(error, CaseError::Invalid(_)), "{error}");
    error.render(false)
}

/// Checks that every finding has a location and shows its line.
fn check_locations(message: &str, path: &str) -> Result<(), String> {
    for finding in message.split("\n\n") {
        let mut lines = finding.lines();
        let heading = lines.next().unwrap_or_default();
        if !heading.starts_with("error: ") {
            return Err(format!("no heading: {finding}"));
        }
        let location = lines.next().unwrap_or_default().trim().strip_prefix("--> ").unwrap_or_default();
        let numbers =
            location.strip_prefix(path).and_then(|rest| rest.strip_prefix(':')).and_then(|at| at.split_once(':'));
        let is_valid =
            numbers.is_some_and(|(line, column)| [line, column].iter().all(|n| n.parse::<u32>().is_ok_and(|n| n > 0)));
        if !is_valid {
            return Err(format!("no file:line:column in `{location}`"));
        }
        if !finding.contains("^") {
            return Err(format!("no caret: {finding}"));
        }
    }
    Ok(())
}

#[test]
fn bad_files_lead_to_their_expected_messages() {
    let paths = case::find(&[folder()]).expect("the folder exists");
    assert!(paths.len() >= MIN_FILES, "{} files", paths.len());
    let overwrite = std::env::var_os("LOCKSTEP_MESSAGES").is_some_and(|value| value == "overwrite");
    let (mut failures, mut expected) = (Vec::new(), expected_messages());
    for path in &paths {
        let name = stem(path);
        let Err(error) = read(path) else {
            failures.push(format!("{name}.yaml is read as a case"));
            continue;
        };
        let message = message(&error);
        if let Err(why) = check_locations(&message, &format!("bad/{name}.yaml")) {
            failures.push(format!("{name}.yaml: {why}\n{message}"));
        }
        let summary = summary(&message);
        let file = path.with_extension("stderr");
        match expected.remove(&name) {
            Some(expected) if expected == summary => {}
            _ if overwrite => std::fs::write(file, summary).expect("writable"),
            Some(expected) => failures.push(format!("{name}.stderr expects\n{expected}but the message is\n{summary}")),
            None => failures.push(format!("{name}.yaml has no expected message {name}.stderr; it is\n{summary}")),
        }
    }
    for name in expected.into_keys() {
        match overwrite {
            true => std::fs::remove_file(folder().join(format!("{name}.stderr"))).expect("removable"),
            false => failures.push(format!("{name}.stderr has no case file {name}.yaml")),
        }
    }
    assert!(failures.is_empty(), "{}\n\n{OVERWRITE} writes the messages", failures.join("\n\n"));
}

/// A message without locations, empty lines and long lists of names.
fn summary(message: &str) -> String {
    let is_frame = |line: &&str| line.trim().is_empty() || line.trim() == "|" || line.trim_start().starts_with("--> ");
    message.lines().filter(|line| !is_frame(line)).map(|line| format!("{}\n", shorten_list(line))).collect()
}

/// What precedes a list of names.
const LIST_PREFIXES: [&str; 4] = [" are ", "a case has ", "one of ", "known: "];

/// Replaces a list of more than three names by `…`.
fn shorten_list(line: &str) -> String {
    let names = LIST_PREFIXES.iter().find_map(|prefix| line.find(prefix).map(|at| at + prefix.len()));
    match names.filter(|at| line[*at..].matches(", ").count() > 2) {
        Some(at) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Reads a file on a thread with the small stack of a runtime's worker; returns the message if
/// there is one.
fn message_on_small_stack(bytes: Vec<u8>) -> Option<String> {
    let read = move || case::parse_bytes("bad/x.yaml", "bad/x", &bytes).err().map(|error| message(&error));
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(read).expect("a thread");
    thread.join().expect("no panic and no overflow")
}

const HEAD: &str = "description: x\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\nsteps:\n";

#[test]
fn rejects_large_and_deeply_nested_files_quickly() {
    let ten = 10 << 20;
    let lines = HEAD.to_owned() + &"  - set: {image: \"app:2\"}\n".repeat(ten / 26);
    let one_line = format!("description: {}\n", "x".repeat(ten));
    let many_steps = HEAD.to_owned() + &"  - scale: 3\n".repeat(30_000);
    let deep =
        |open: &str, close: &str, times: usize| format!("{HEAD}  - {}{}\n", open.repeat(times), close.repeat(times));
    let indented: String = (0..5_000).map(|level| format!("{}a:\n", " ".repeat(level % 200))).collect();
    let cases = [
        ("ten MB of steps", lines.into_bytes(), "the file is too large"),
        ("ten MB in one line", one_line.into_bytes(), "the file is too large"),
        ("ten MB of zero bytes", vec![0; ten], "the file is too large"),
        ("too many steps", many_steps.into_bytes(), "the file holds too much"),
        ("lists in lists", deep("[", "]", 100_000).into_bytes(), "nested too deeply"),
        ("mappings in mappings", deep("{a: ", "}", 50_000).into_bytes(), "nested too deeply"),
        ("unclosed brackets", deep("[", "", 100_000).into_bytes(), "nested too deeply"),
        ("ever deeper indentation", format!("{HEAD}{indented}").into_bytes(), "nested too deeply"),
    ];
    for (input, bytes, expected) in cases {
        let since = clock::instant();
        let message = message_on_small_stack(bytes).unwrap_or_else(|| panic!("{input} is read as a case"));
        assert!(since.elapsed() < Duration::from_secs(5), "{input} took {:?}", since.elapsed());
        assert!(message.starts_with(&format!("error: {expected}\n")), "{input}: {message}");
        assert!(message.len() < 2_000, "{input}: {} letters", message.len());
        check_locations(&message, "bad/x.yaml").unwrap_or_else(|why| panic!("{input}: {why}"));
    }
}

#[test]
fn damaged_file_never_causes_a_panic() {
    let good = include_bytes!("../../../cases/kill-order/restarts.yaml");
    let insertions: [&[u8]; 12] =
        [b"", b"\t", b"\n", b"\r", b"\"", b"{", b"]", b": ", b"- ", b"&a *a", b"\xff", "\u{2028}".as_bytes()];
    let mut errors = 0;
    for at in 0..=good.len() {
        for insertion in insertions {
            let after = if insertion.is_empty() { (at + 1).min(good.len()) } else { at };
            let bytes = [&good[..at], insertion, &good[after..]].concat();
            if let Err(error) = case::parse_bytes("bad/x.yaml", "bad/x", &bytes) {
                check_locations(&message(&error), "bad/x.yaml")
                    .unwrap_or_else(|why| panic!("{insertion:?} at {at}: {why}"));
                errors += 1;
            }
        }
        // The file cut off at this byte.
        if let Err(error) = case::parse_bytes("bad/x.yaml", "bad/x", &good[..at]) {
            check_locations(&message(&error), "bad/x.yaml").unwrap_or_else(|why| panic!("cut at {at}: {why}"));
        }
    }
    assert!(errors > good.len(), "only {errors} errors");
}
