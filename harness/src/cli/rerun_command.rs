//! The command that repeats a play, built from the typed command line.
//!
//! It repeats every typed flag except those that the command lists as irrelevant for one play, so a
//! new flag cannot be forgotten here.

use std::ffi::OsStr;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};
use lockstep_support::shell::quote;

use super::Cli;

/// The file that defines cargo's alias for this program, from the root of a checkout.
const CARGO_CONFIG: &str = ".cargo/config.toml";

/// The command line of this process.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandLine {
    /// How the user called the program.
    pub(super) program: String,
    /// The name of the command and its arguments.
    command: Option<(String, ArgMatches)>,
}

impl CommandLine {
    /// The command line that clap has parsed.
    pub(super) fn new(program: String, matches: &ArgMatches) -> Self {
        let command = matches.subcommand().map(|(name, matches)| (name.to_owned(), matches.clone()));
        Self { program, command }
    }

    /// The name of the command, such as `run`.
    pub(super) fn name(&self) -> &str {
        self.command.as_ref().map_or("", |(name, _)| name)
    }

    /// The complete command line without these flags.
    pub(super) fn line(&self, without: &[&str]) -> String {
        let Some((name, matches)) = &self.command else { return self.beginning() };
        let cli = Cli::command();
        let command = cli.find_subcommand(name).expect("it was parsed as this command");
        let mut words = self.beginning();
        for argument in command.get_arguments().filter(|argument| argument.is_positional()) {
            let id = argument.get_id().as_str();
            if matches.value_source(id) == Some(ValueSource::CommandLine) {
                for value in matches.get_raw(id).into_iter().flatten() {
                    words += &format!(" {}", quote(&value.to_string_lossy()));
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

    /// The typed flags except those in `without`, each preceded by a blank.
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
                words += &format!(" --{flag} {}", quote(&value.to_string_lossy()));
            }
        }
        words
    }
}

/// How the user called this program.
pub(super) fn program() -> String {
    let argument_zero = std::env::args_os().next().unwrap_or_default();
    let by_cargo = std::env::var_os("CARGO").is_some() && std::env::var_os("CARGO_MANIFEST_DIR").is_some();
    let here = std::env::current_dir().unwrap_or_default();
    program_name(&argument_zero, by_cargo && has_alias(&here))
}

/// The alias of cargo if it was used, else the program as typed.
fn program_name(argument_zero: &OsStr, by_alias: bool) -> String {
    let argument_zero = argument_zero.to_string_lossy();
    match argument_zero.as_ref() {
        _ if by_alias => "cargo lockstep".to_owned(),
        "" => "lockstep".to_owned(),
        typed => quote(typed),
    }
}

/// Whether cargo has the alias in this folder.
fn has_alias(folder: &Path) -> bool {
    let config = |folder: &Path| std::fs::read_to_string(folder.join(CARGO_CONFIG)).unwrap_or_default();
    folder.ancestors().any(|folder| config(folder).lines().any(|line| line.starts_with("lockstep = ")))
}

#[cfg(test)]
#[path = "rerun_command_tests.rs"]
mod tests;
