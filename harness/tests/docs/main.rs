//! The documentation is true: README.md, the book in `docs/`, and the other pages at the root.
//!
//! * A `console` block is run, on the simulated cluster, and must print what it shows (`console`).
//! * A `sh` block is not run, but each `lockstep` command in it must parse.
//! * A `yaml` block that has a description must be a valid case. After `<!-- file: PATH -->` it is
//!   that file: the repository's where it has one, else one that the page's commands find.
//! * Links lead somewhere, and files and cases that a page names are there (`links`).
//! * Options and metrics that a page names exist (`names`).
//! * `docs/commands.md`, `tests/messages.txt` and the pictures are what the program makes
//!   (`reference`).
//!
//! `LOCKSTEP_DOCS=overwrite cargo nextest run -E 'binary(docs)'` writes what is generated anew, and
//! the output of every block that leaves nothing out. The rest is for an editor.

mod console;
mod links;
mod messages;
mod names;
mod pages;
mod reference;
mod sandbox;

use std::path::{Path, PathBuf};

use lockstep::case;
use pages::{Page, pages};
use sandbox::Sandbox;

/// Writes what is generated.
const OVERWRITE: &str = "LOCKSTEP_DOCS=overwrite cargo nextest run -E 'binary(docs)'";

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

/// Whether to write rather than to compare.
fn overwrite() -> bool {
    std::env::var_os("LOCKSTEP_DOCS").is_some_and(|value| value == "overwrite")
}

/// Fails with all that is wrong at once.
fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n\n"));
}

#[test]
fn console_blocks_print_what_they_show() {
    let mut wrong = Vec::new();
    let mut commands = 0;
    for page in pages() {
        let mut fresh = page.text.clone();
        let sandbox = Sandbox::of(&page);
        for block in page.blocks().iter().filter(|block| block.language == "console") {
            let ran = console::run(block, &sandbox);
            commands += ran.commands;
            if let Some(text) = ran.rewritten.filter(|_| overwrite()) {
                fresh = fresh.replacen(&block.text, &text, 1);
            } else {
                wrong.extend(ran.wrong.map(|why| format!("{}:{}: {why}", page.path, block.line)));
            }
        }
        if fresh != page.text {
            std::fs::write(root().join(&page.path), fresh).expect("the page can be written");
        }
    }
    eprintln!("{commands} commands were run");
    assert!(commands > 12, "only {commands} commands were found");
    if !wrong.is_empty() {
        wrong.push(format!("{OVERWRITE} writes what leaves no lines out; edit the rest"));
    }
    none(&wrong);
}

#[test]
fn commands_that_are_not_run_can_be_typed() {
    let mut wrong = Vec::new();
    let mut commands = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "sh") {
            for line in console::joined(&block.text) {
                let Some(words) = console::words(&line) else { continue };
                commands += 1;
                if let Err(error) = lockstep::cli::Cli::read(words.iter().map(Into::into))
                    && error.use_stderr()
                {
                    wrong.push(format!("{}:{}: {line}\n{error}", page.path, block.line));
                }
            }
        }
    }
    assert!(commands > 20, "only {commands} commands were found");
    none(&wrong);
}

#[test]
fn cases_on_pages_are_cases() {
    let mut wrong = Vec::new();
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "yaml") {
            let file = block.file.as_deref().unwrap_or_default();
            let theirs = std::fs::read_to_string(root().join(file)).unwrap_or_else(|_| block.text.clone());
            if theirs != block.text {
                wrong.push(format!("{}:{}: is not {file}", page.path, block.line));
            }
            if block.text.starts_with("description:") {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("case.yaml");
                std::fs::write(&path, &block.text).expect("writable");
                if let Err(error) = case::load(&path) {
                    wrong.push(format!("{}:{}: {error}", page.path, block.line));
                }
            }
        }
    }
    none(&wrong);
}

#[test]
fn links_lead_somewhere() {
    let pages = pages();
    none(&pages.iter().flat_map(|page| links::broken(page, &pages)).collect::<Vec<_>>());
}

#[test]
fn files_and_cases_that_are_named_are_there() {
    none(&pages().iter().flat_map(links::missing).collect::<Vec<_>>());
}

#[test]
fn options_and_metrics_that_are_named_exist() {
    let names = names::Names::read();
    none(&pages().iter().flat_map(|page| names.unknown(page)).collect::<Vec<_>>());
}

#[test]
fn the_book_has_every_page() {
    let pages = pages();
    let summary = &pages.iter().find(|page| page.path == "docs/SUMMARY.md").expect("the book has a summary").text;
    let left_out = |page: &&Page| {
        let name = page.path.strip_prefix("docs/").filter(|name| *name != "SUMMARY.md");
        name.is_some_and(|name| !summary.contains(&format!("({name})")))
    };
    none(
        &pages
            .iter()
            .filter(left_out)
            .map(|page| format!("{} is not in docs/SUMMARY.md", page.path))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let (lines, columns) = (text.lines().count(), text.lines().map(|line| line.chars().count()).max().unwrap_or(0));
    assert!(lines <= 150 && columns <= 100, "{lines} lines of up to {columns} columns; 150 of 100 are the most");
}

#[test]
fn generated_pages_are_fresh() {
    none(&reference::stale());
}
