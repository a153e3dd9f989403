//! Every error's message in one file, so that a change of words is read as a reader meets it.
//!
//! What a case file can do wrong is in `tests/bad/messages.snap`; help is in `docs/commands.md`.
//! A message is the text of `#[error("…")]`; `{0}` and the like stand for what is filled in.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::root;

/// Where the messages are, and whose.
const SOURCES: [&str; 3] = ["harness/src", "harness/apiserver/src", "controller/src"];

/// The page, sorted by file.
pub(crate) fn page() -> String {
    let mut out = "The messages of all errors. Generated from the sources; a test compares it.\n".to_owned();
    for folder in SOURCES {
        let mut files = Vec::new();
        rust_files(&root().join(folder), &mut files);
        files.sort();
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source can be read");
            let messages = messages(&text);
            if messages.is_empty() {
                continue;
            }
            let name = file.strip_prefix(root()).expect("it is below the root").display().to_string();
            let _ = writeln!(out, "\n{name}");
            messages.iter().for_each(|message| out.push_str(&format!("  {message}\n")));
        }
    }
    out
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            rust_files(&entry, files);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            files.push(entry);
        }
    }
}

/// The first string of each `#[error(…)]`, but for those that are nothing but what is filled in.
fn messages(source: &str) -> Vec<String> {
    let attributes = source.split("#[error(").skip(1);
    let strings = attributes.filter_map(|rest| string(rest.trim_start()));
    strings.filter(|message| !message.starts_with('{') || message.contains(' ')).collect()
}

/// A string literal at the start of `rest`, a line that goes on joined as the compiler does.
fn string(rest: &str) -> Option<String> {
    let mut letters = rest.strip_prefix('"')?.chars().peekable();
    let mut message = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next()? {
                '\n' => while letters.next_if(|next| next.is_whitespace()).is_some() {},
                'n' => message.push(' '),
                other => message.push(other),
            },
            other => message.push(other),
        }
    }
    Some(message)
}

#[test]
fn a_message_is_read_as_the_compiler_reads_it() {
    let source =
        "#[error(transparent)]\n#[error(\"{0}\")]\n#[error(\n    \"no \\\"{0}\\\": \\\n     {why}\", why = 1)]\n";
    assert_eq!(messages(source), ["no \"{0}\": {why}"]);
}
