//! Tests the documentation: README.md, the book in `docs/`, and the other pages at the root.
//!
//! * A `console` block runs on the simulated cluster and must print what it shows (`console`).
//! * A `sh` block is not run, but each `lockstep` command in it must parse.
//! * A `yaml` block with a description must be a valid case. After `<!-- file: PATH -->` it is that
//!   file: it must equal the repository's file, or else the page's commands can use it.
//! * Links resolve, and named files and cases exist (`links`).
//! * Options and metrics that a page names exist (`names`).
//! * `docs/commands.md`, the pictures, the numbers of cases (`reference`) and the table of restarts
//!   (`restart_table`) are up to date.
//! * Scores on the page of implementations are by the descriptions as they are (`implementations`).
//!
//! `LOCKSTEP_DOCS=overwrite scripts/test --test docs` regenerates these files, and the
//! output of every block that omits no lines. Edit the rest by hand.

mod console;
mod implementations;
mod links;
mod names;
mod pages;
mod reference;
mod restart_table;
mod sandbox;

use std::path::{Path, PathBuf};

use lockstep_case as case;
use pages::{Page, pages};
use sandbox::Sandbox;

/// The command that regenerates files.
const OVERWRITE: &str = "LOCKSTEP_DOCS=overwrite scripts/test --test docs";

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the repository is there")
}

/// Whether to write rather than to compare.
fn overwrite() -> bool {
    std::env::var_os("LOCKSTEP_DOCS").is_some_and(|value| value == "overwrite")
}

/// Fails with all problems at once.
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
fn commands_in_sh_blocks_parse() {
    // Commands are typed at the repository's root, and a description of a workload is read.
    std::env::set_current_dir(root()).expect("the repository is there");
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
fn yaml_blocks_are_valid_cases() {
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
fn links_resolve() {
    let pages = pages();
    none(&pages.iter().flat_map(|page| links::broken(page, &pages)).collect::<Vec<_>>());
}

#[test]
fn named_files_and_cases_exist() {
    none(&pages().iter().flat_map(links::missing).collect::<Vec<_>>());
}

#[test]
fn named_options_and_metrics_exist() {
    let names = names::Names::read();
    none(&pages().iter().flat_map(|page| names.unknown(page)).collect::<Vec<_>>());
}

#[test]
fn summary_lists_every_page() {
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
fn readme_is_short() {
    let text = std::fs::read_to_string(root().join("README.md")).expect("there is a README");
    let (lines, columns) = (text.lines().count(), text.lines().map(|line| line.chars().count()).max().unwrap_or(0));
    assert!(lines <= 150 && columns <= 100, "{lines} lines of up to {columns} columns; 150 of 100 are the most");
}

#[test]
fn generated_pages_are_up_to_date() {
    none(&reference::stale());
}

#[test]
fn scores_of_implementations_fit_their_descriptions() {
    none(&implementations::problems());
}
