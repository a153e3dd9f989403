//! The generated documentation: the page of commands, from clap and the tree of commands, the
//! pictures, by `lockstep explain`, the numbers of cases, from the collection, and the table of
//! known changes, from the file beside the cases.

use std::fmt::Write;
use std::process::Command;

use clap::Arg;
use lockstep::cli::{Cli, tree};
use lockstep_case::known_changes::{self, KnownChange};
use lockstep_case::{self as case, CollectionSize};
use lockstep_workload::vocabulary;

use super::{OVERWRITE, overwrite, restart_table, root};

/// The page of commands.
const PAGE: &str = "docs/commands.md";
/// The pictures and their cases.
const PICTURES: [(&str, &str); 1] = [("docs/images/rollout.svg", "cases/rolling/rollover.yaml")];
/// The pages that give the numbers of cases, between these two lines.
const SIZED: [&str; 3] = ["README.md", "docs/README.md", "docs/config-restart.md"];
const SIZE_BEGIN: &str = "<!-- collection size -->\n";
const SIZE_END: &str = "<!-- end -->";
/// The page with the words of claims, between this line and the end.
const CLAIMS: &str = "docs/workloads.md";
const CLAIMS_BEGIN: &str = "<!-- claims -->\n";
/// The page with what versions of upstream decide differently, between this line and the end.
const CHANGES: &str = "docs/upstream-versions.md";
const CHANGES_BEGIN: &str = "<!-- known changes -->\n";
const COLUMNS: usize = 100;

/// Generated files that are out of date; empty after an overwrite.
pub(crate) fn stale() -> Vec<String> {
    let mut files = vec![(PAGE, page()), (restart_table::PAGE, restart_table::page())];
    files.extend(PICTURES.map(|(file, case)| (file, picture(case))));
    let size = collection_size();
    files.extend(SIZED.map(|page| (page, with_collection_size(page, &size))));
    files.push((CLAIMS, with_generated(CLAIMS, CLAIMS_BEGIN, vocabulary::table().trim_end())));
    files.push((CHANGES, with_generated(CHANGES, CHANGES_BEGIN, known_changes().trim_end())));
    let mut stale = Vec::new();
    for (path, fresh) in files {
        if std::fs::read_to_string(root().join(path)).is_ok_and(|text| text == fresh) {
            continue;
        }
        if overwrite() {
            std::fs::write(root().join(path), fresh).expect("the file can be written");
        } else {
            stale.push(format!("{path} is stale: {OVERWRITE}"));
        }
    }
    stale
}

fn collection_size() -> CollectionSize {
    let files = case::find(&[root().join("cases")]).expect("the collection has cases");
    let load = |path: &std::path::PathBuf| case::load(path).expect("the collection is valid");
    CollectionSize::of(&files.iter().flat_map(load).collect::<Vec<_>>())
}

/// The table of what versions of upstream decide differently.
fn known_changes() -> String {
    let text = std::fs::read_to_string(root().join("cases").join(known_changes::FILE)).expect("the table exists");
    let mut out =
        "| behaviour | until | since | upstream's function | cases |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for change in known_changes::parse(&text).expect("the table is valid") {
        let KnownChange { behaviour, between: Some([until, since]), function, cases } = change else { continue };
        let cases: Vec<String> = cases.iter().map(|case| format!("`{case}`")).collect();
        let _ = writeln!(out, "| {behaviour} | {until} | {since} | {function} | {} |", cases.join(", "));
    }
    out
}

/// A page with these numbers of cases.
fn with_collection_size(page: &str, size: &CollectionSize) -> String {
    with_generated(page, SIZE_BEGIN, &filled(&format!("The collection has {size}."), ""))
}

/// A page with this text between a line and the end.
fn with_generated(page: &str, begin: &str, generated: &str) -> String {
    let text = std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    let (before, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{page} has no {begin}"));
    let (_, after) = rest.split_once(SIZE_END).unwrap_or_else(|| panic!("{page} has no {SIZE_END}"));
    format!("{before}{begin}\n{generated}\n\n{SIZE_END}{after}")
}

fn picture(case: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("picture.svg");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let output = command.current_dir(root()).args(["explain", case, "--svg"]).arg(&file).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(file).expect("a picture")
}

fn page() -> String {
    let mut cli = Cli::definition();
    cli.build();
    let mut out = "# Command reference\n\n\
        <!-- Generated from the tree of commands and the program's own help; a test compares it. Do not edit. -->\n\n\
        In a checkout each command begins with `cargo lockstep`. `lockstep COMMAND -h` lists the usual options,\n\
        `--help` all of them.\n"
        .to_owned();
    for group in tree::GROUPS.iter().chain([&tree::OWN_GROUP]) {
        let _ = write!(out, "\n**{}**\n\n", group.name);
        for tree::CommandEntry { name, line, .. } in group.commands {
            let _ = writeln!(out, "{}", filled(&format!("* [`lockstep {name}`](#lockstep-{name}): {line}"), "  "));
        }
    }
    let run = cli.find_subcommand("run").expect("there is a command `run`");
    let of_run: Vec<String> = visible_arguments(run).map(item).collect();
    for entry in tree::commands() {
        let command = cli.find_subcommand(entry.name).expect("the tree has only commands that exist");
        let known_items = if entry.name == "run" { &[] } else { of_run.as_slice() };
        section(&mut out, command, &format!("lockstep {}", entry.name), known_items);
    }
    out += "\n## Why each option\n\nAn option has the same name and meaning in every command that has it. Each has \
            a reason:\n\n| option | for |\n| --- | --- |\n";
    for tree::OptionEntry { name, reason } in tree::OPTIONS {
        let _ = writeln!(out, "| `--{name}` | {reason} |");
    }
    let codes = text(cli.get_after_long_help());
    let codes = codes.split_once("\n\n").map_or(codes.as_str(), |(_, codes)| codes);
    let _ = write!(out, "\n## Exit codes\n\n```text\n{codes}\n```\n");
    out
}

/// The arguments that `--help` shows.
fn visible_arguments(command: &clap::Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| !argument.is_hide_set() && argument.get_id() != "help")
}

/// Writes the section of a command. Options that `lockstep run` describes in the same words are
/// only named.
fn section(out: &mut String, command: &clap::Command, name: &str, known_items: &[String]) {
    let about = command.get_long_about().or(command.get_about());
    let _ = write!(out, "\n## {name}\n\n{}\n", filled(&text(about), ""));
    let (known, own): (Vec<&Arg>, Vec<&Arg>) =
        visible_arguments(command).partition(|argument| known_items.contains(&item(argument)));
    if !own.is_empty() {
        let _ = write!(out, "\n{}\n", own.into_iter().map(item).collect::<Vec<_>>().join("\n"));
    }
    if !known.is_empty() {
        let names: Vec<String> = known.into_iter().map(|argument| format!("`{}`", flag(argument))).collect();
        let _ = write!(
            out,
            "\n{}\n",
            filled(&format!("As for [`lockstep run`](#lockstep-run): {}.", names.join(", ")), "")
        );
    }
    for below in command.get_subcommands().filter(|command| command.get_name() != "help") {
        section(out, below, &format!("{name} {}", below.get_name()), known_items);
    }
}

/// An option's heading: `-E, --filter FILTER`.
fn flag(argument: &Arg) -> String {
    let value = argument.get_value_names().filter(|_| argument.get_action().takes_values());
    let value =
        value.map_or_else(String::new, |names| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
    let value = match argument.get_num_args().is_some_and(|number| number.min_values() == 0) {
        true if argument.is_require_equals_set() => format!("[={value}]"),
        false if argument.is_require_equals_set() => format!("={value}"),
        _ => format!(" {value}"),
    };
    let flag = match (argument.get_short(), argument.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{value}"),
        (Some(short), None) => format!("-{short}{value}"),
        (None, Some(long)) => format!("--{long}{value}"),
        (None, None) => value,
    };
    flag.trim().to_owned()
}

fn item(argument: &Arg) -> String {
    let values = argument.get_action().takes_values();
    let mut says = text(argument.get_long_help().or(argument.get_help()));
    let is_shown = values && !argument.is_hide_possible_values_set();
    let possible = if is_shown { argument.get_possible_values() } else { Vec::new() };
    let possible: Vec<&clap::builder::PossibleValue> = possible.iter().filter(|value| !value.is_hide_set()).collect();
    if !possible.is_empty() {
        let described = possible.iter().map(|value| match value.get_help() {
            Some(help) => format!("`{}` ({})", value.get_name(), help.to_string().trim_end_matches('.')),
            None => format!("`{}`", value.get_name()),
        });
        says = format!("{}. One of {}.", says.trim_end_matches('.'), described.collect::<Vec<_>>().join(", "));
    }
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy())).collect();
    if values && !defaults.is_empty() {
        says = format!("{}. Default: {}.", says.trim_end_matches('.'), defaults.join(", "));
    }
    if let Some(variable) = argument.get_env() {
        says = format!("{}. Environment: `{}`.", says.trim_end_matches('.'), variable.to_string_lossy());
    }
    filled(&format!("* `{}`: {says}", flag(argument)), "  ")
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

/// Fills lines of at most 100 columns and indents all but the first.
fn filled(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line");
        let empty = line.trim().is_empty();
        if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(format!("{indent}{word}"));
        } else {
            line.push_str(if empty { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}
