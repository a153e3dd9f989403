//! The command that does a thing again, put together from the words that were typed.
//!
//! Every flag that was typed is typed again, unless the command says that it does not matter for a
//! single play; so no flag is lost because somebody forgot about this place.

use std::ffi::OsStr;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};

use super::Cli;
use crate::quote::quoted;

/// What cargo's alias for this program is written in, from the root of a checkout.
const ALIAS: &str = ".cargo/config.toml";

/// The command line of this process.
#[derive(Debug, Clone, Default)]
pub(super) struct Typed {
    /// What the program is called where the command was typed.
    pub(super) program: String,
    /// The command and its own words.
    command: Option<(String, ArgMatches)>,
}

impl Typed {
    /// What clap has read.
    pub(super) fn new(program: String, matches: &ArgMatches) -> Self {
        let command = matches.subcommand().map(|(name, matches)| (name.to_owned(), matches.clone()));
        Self { program, command }
    }

    /// `run`: the command's name.
    pub(super) fn name(&self) -> &str {
        self.command.as_ref().map_or("", |(name, _)| name)
    }

    /// The whole line as it was typed, but for these flags.
    pub(super) fn line(&self, without: &[&str]) -> String {
        let Some((name, matches)) = &self.command else { return self.beginning() };
        let cli = Cli::command();
        let command = cli.find_subcommand(name).expect("it was parsed as this command");
        let mut words = self.beginning();
        for argument in command.get_arguments().filter(|argument| argument.is_positional()) {
            let id = argument.get_id().as_str();
            if matches.value_source(id) == Some(ValueSource::CommandLine) {
                for value in matches.get_raw(id).into_iter().flatten() {
                    words += &format!(" {}", quoted(&value.to_string_lossy()));
                }
            }
        }
        words + &self.flags(without)
    }

    /// `cargo lockstep run`: the program and the command.
    pub(super) fn beginning(&self) -> String {
        let command = self.command.as_ref().map_or_else(String::new, |(name, _)| format!(" {name}"));
        format!("{}{command}", self.program)
    }

    /// The flags that were typed, each with a blank before it, but for those that do not matter.
    pub(super) fn flags(&self, without: &[&str]) -> String {
        let Some((name, matches)) = &self.command else { return String::new() };
        let cli = Cli::command();
        let command = cli.find_subcommand(name).expect("it was parsed as this command");
        let mut words = String::new();
        for argument in command.get_arguments().filter(|argument| !argument.is_positional()) {
            let (id, Some(flag)) = (argument.get_id().as_str(), argument.get_long()) else { continue };
            if without.contains(&id) || matches.value_source(id) != Some(ValueSource::CommandLine) {
                continue;
            }
            if !argument.get_action().takes_values() {
                words += &format!(" --{flag}");
                continue;
            }
            for value in matches.get_raw(id).into_iter().flatten() {
                words += &format!(" --{flag} {}", quoted(&value.to_string_lossy()));
            }
        }
        words
    }
}

/// What this program is called where it was started.
pub(super) fn program() -> String {
    let started = std::env::args_os().next().unwrap_or_default();
    let by_cargo = std::env::var_os("CARGO").is_some() && std::env::var_os("CARGO_MANIFEST_DIR").is_some();
    let here = std::env::current_dir().unwrap_or_default();
    called(&started, by_cargo && has_alias(&here))
}

/// By cargo's alias where there is one, else as it was typed.
fn called(started: &OsStr, by_alias: bool) -> String {
    let started = started.to_string_lossy();
    match started.as_ref() {
        _ if by_alias => "cargo lockstep".to_owned(),
        "" => "lockstep".to_owned(),
        typed => quoted(typed),
    }
}

/// Whether cargo knows the alias in this folder.
fn has_alias(folder: &Path) -> bool {
    let of = |folder: &Path| std::fs::read_to_string(folder.join(ALIAS)).unwrap_or_default();
    folder.ancestors().any(|folder| of(folder).lines().any(|line| line.starts_with("lockstep = ")))
}

#[cfg(test)]
#[path = "again_tests.rs"]
mod tests;
