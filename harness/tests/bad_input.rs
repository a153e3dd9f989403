//! Case files that are wrong, `bad/NAME.yaml`, and what a person reads about each of them,
//! `bad/messages.snap`.
//!
//! The snapshot has of every finding its message, the line with its caret and the help. Lists of
//! more than three names are left out, so that one new field or operation changes nothing there;
//! the whole of a rendering is in `case::tests`.
//!
//! Whatever the file holds, reading it is an error and never a panic, and every finding has file,
//! line, column, the line itself and a caret. `INSTA_UPDATE=always` writes the messages anew; the
//! difference is then for a person to judge.

use std::path::{Path, PathBuf};
use std::time::Duration;

use insta::{Settings, assert_snapshot};
use lockstep::case::{self, Case, CaseError};
use lockstep::clock;

/// Fewer files than this, and somebody has lost some.
const AT_LEAST: usize = 190;

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    case::find(&[folder]).expect("the corpus is there")
}

/// Read a file under the name that it has for a person in this folder.
fn read(path: &Path) -> Result<Vec<Case>, CaseError> {
    let name = path.file_name().expect("a file").to_string_lossy();
    case::parse_bytes(&format!("bad/{name}"), "bad/x", &std::fs::read(path).expect("readable"))
}

fn message(error: &CaseError) -> String {
    assert!(matches!(error, CaseError::Bad(_)), "{error}");
    error.render(false)
}

/// Every finding says where it is and shows the line, unless the file has none.
fn is_placed(message: &str, path: &str) -> Result<(), String> {
    let findings = message.split("\n\n");
    for finding in findings {
        let mut lines = finding.lines();
        let heading = lines.next().unwrap_or_default();
        if !heading.starts_with("error: ") {
            return Err(format!("no heading: {finding}"));
        }
        let place = lines.next().unwrap_or_default().trim().strip_prefix("--> ").unwrap_or_default();
        let numbers =
            place.strip_prefix(path).and_then(|rest| rest.strip_prefix(':')).and_then(|at| at.split_once(':'));
        let placed =
            numbers.is_some_and(|(line, column)| [line, column].iter().all(|n| n.parse::<u32>().is_ok_and(|n| n > 0)));
        if !placed {
            return Err(format!("no file:line:column in `{place}`"));
        }
        if !finding.contains("^") {
            return Err(format!("no caret: {finding}"));
        }
    }
    Ok(())
}

#[test]
fn every_bad_file_is_told_of_as_it_was() {
    let corpus = corpus();
    assert!(corpus.len() >= AT_LEAST, "{} files", corpus.len());
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path("bad");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        let (mut wrong, mut messages) = (Vec::new(), String::new());
        for path in &corpus {
            let name = path.file_stem().expect("a file").to_string_lossy();
            let Err(error) = read(path) else {
                wrong.push(format!("{name} is read as a case"));
                continue;
            };
            let message = message(&error);
            if let Err(why) = is_placed(&message, &format!("bad/{name}.yaml")) {
                wrong.push(format!("{name}: {why}\n{message}"));
            }
            messages += &format!("{name}\n{}", essence(&message));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
        assert_snapshot!("messages", messages);
    });
}

/// A message without what says nothing of its own: the place, which the numbered line and the caret
/// show again, the frame, and long lists of names.
fn essence(message: &str) -> String {
    let frame = |line: &&str| line.trim().is_empty() || line.trim() == "|" || line.trim_start().starts_with("--> ");
    message.lines().filter(|line| !frame(line)).map(|line| format!("  {}\n", cut(line))).collect()
}

/// What comes before a list of names.
const LISTS: [&str; 3] = [" are ", "a case has ", "one of "];

/// A list of more than three names becomes `…`.
fn cut(line: &str) -> String {
    let names = LISTS.iter().find_map(|list| line.find(list).map(|at| at + list.len()));
    match names.filter(|at| line[*at..].matches(", ").count() > 2) {
        Some(at) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Read it on a thread with little stack, as a worker of a runtime has it, and give the message if
/// there is one.
fn on_a_small_stack(bytes: Vec<u8>) -> Option<String> {
    let read = move || case::parse_bytes("bad/x.yaml", "bad/x", &bytes).err().map(|error| message(&error));
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(read).expect("a thread");
    thread.join().expect("no panic and no overflow")
}

const HEAD: &str = "description: x\ngiven:\n  - deployment: {name: web, image: \"app:1\"}\nsteps:\n";

#[test]
fn what_is_too_large_or_too_deep_is_told_of_at_once() {
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
        ("ten MB of nothing", vec![0; ten], "the file is too large"),
        ("more steps than a case has", many_steps.into_bytes(), "the file holds too much"),
        ("lists in lists", deep("[", "]", 100_000).into_bytes(), "nested too deeply"),
        ("mappings in mappings", deep("{a: ", "}", 50_000).into_bytes(), "nested too deeply"),
        ("brackets that nobody closes", deep("[", "", 100_000).into_bytes(), "nested too deeply"),
        ("steps indented for ever", format!("{HEAD}{indented}").into_bytes(), "nested too deeply"),
    ];
    for (what, bytes, expected) in cases {
        let since = clock::instant();
        let message = on_a_small_stack(bytes).unwrap_or_else(|| panic!("{what} is read as a case"));
        assert!(since.elapsed() < Duration::from_secs(5), "{what} took {:?}", since.elapsed());
        assert!(message.starts_with(&format!("error: {expected}\n")), "{what}: {message}");
        assert!(message.len() < 2_000, "{what}: {} letters", message.len());
        is_placed(&message, "bad/x.yaml").unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

#[test]
fn no_slip_of_the_hand_makes_it_panic() {
    let good = include_bytes!("../../cases/kill-order/restarts.yaml");
    let slips: [&[u8]; 12] =
        [b"", b"\t", b"\n", b"\r", b"\"", b"{", b"]", b": ", b"- ", b"&a *a", b"\xff", "\u{2028}".as_bytes()];
    let mut told = 0;
    for at in 0..=good.len() {
        for slip in slips {
            let after = if slip.is_empty() { (at + 1).min(good.len()) } else { at };
            let bytes = [&good[..at], slip, &good[after..]].concat();
            if let Err(error) = case::parse_bytes("bad/x.yaml", "bad/x", &bytes) {
                is_placed(&message(&error), "bad/x.yaml").unwrap_or_else(|why| panic!("{slip:?} at {at}: {why}"));
                told += 1;
            }
        }
        // Cut off here.
        if let Err(error) = case::parse_bytes("bad/x.yaml", "bad/x", &good[..at]) {
            is_placed(&message(&error), "bad/x.yaml").unwrap_or_else(|why| panic!("cut at {at}: {why}"));
        }
    }
    assert!(told > good.len(), "{told} of them were seen");
}
