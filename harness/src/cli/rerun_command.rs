//! The command that repeats a play, built from the typed command line.
//!
//! It repeats every typed flag except those that the command lists as irrelevant for one play, so a
//! new flag cannot be forgotten here.

use std::ffi::OsStr;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use lockstep_support::sanitize::quote;

/// The file that defines cargo's alias for this program, from the root of a checkout.
const CARGO_CONFIG: &str = ".cargo/config.toml";

/// The flags that the rerun command of one play leaves out, because they do not affect it or are
/// added otherwise.
pub(super) const OMITTED_FROM_RERUN: [&str; 16] = [
    // These select the plays; the rerun command names the case, the subject and the seed.
    "filter",
    "rerun_failed",
    "repeat",
    "seeds",
    "subject",
    "fail_fast",
    "jobs",
    "shard",
    // These select the reports.
    "output",
    "timelines",
    "recordings",
    "results",
    "html",
    "junit",
    "evidence",
    "score",
];

/// The command line of this process.
#[derive(Debug, Clone, Default)]
pub(super) struct CommandLine {
    /// How the user called the program.
    pub(super) program: String,
    /// The definition of the command, and its arguments.
    command: Option<(Command, ArgMatches)>,
}

impl CommandLine {
    /// The command line of this definition that clap has parsed.
    pub(super) fn new(program: String, definition: &Command, matches: &ArgMatches) -> Self {
        let typed = matches.subcommand();
        let command =
            typed.and_then(|(name, matches)| Some((definition.find_subcommand(name)?.clone(), matches.clone())));
        Self { program, command }
    }

    /// The name of the command, such as `run`.
    pub(super) fn name(&self) -> &str {
        self.command.as_ref().map_or("", |(command, _)| command.get_name())
    }

    /// The complete command line without these flags.
    pub(super) fn line(&self, without: &[&str]) -> String {
        let Some((command, matches)) = &self.command else { return self.beginning() };
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
        let blank = if self.command.is_some() { " " } else { "" };
        format!("{}{blank}{}", self.program, self.name())
    }

    /// The typed flags except those in `without`, each preceded by a blank.
    pub(super) fn flags(&self, without: &[&str]) -> String {
        let Some((command, matches)) = &self.command else { return String::new() };
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
            let between = if argument.is_require_equals_set() { "=" } else { " " };
            for value in matches.get_raw(id).into_iter().flatten() {
                words += &format!(" --{flag}{between}{}", quote(&value.to_string_lossy()));
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
mod tests {
    use std::collections::BTreeSet;
    use std::ffi::OsString;

    use clap::Arg;
    use rstest::rstest;

    use super::*;
    use crate::cli::{Cli, faults};

    /// A valid value for each flag.
    fn sample(argument: &Arg) -> String {
        let known = argument.get_possible_values();
        if let Some(value) = known.last().filter(|_| !argument.is_hide_possible_values_set()) {
            return value.get_name().to_owned();
        }
        let value = match argument.get_id().as_str() {
            "budget" => "3s",
            "check_determinism" => "9",
            "controllers" => "replicaset",
            "beside" => "upstream:v1.33.13",
            "cluster_controllers" => "upstream:v1.33.13",
            "k8s_version" => "v1.33.13",
            "minor" => "v1.33",
            "kind_name" => "mine",
            "profile" => "xing",
            "subject_env" => "PATH",
            "workload" => "argo-rollouts",
            "subject" => "command:./it 'a b' $HOME",
            "cluster" => "kind",
            "cases" | "kubeconfig" | "yes_this_cluster" => "it's here",
            // A new flag that needs another value is added above, or to the flags that are left
            // out.
            _ => "1",
        };
        value.to_owned()
    }

    fn parsed(line: &[String]) -> CommandLine {
        let cli = Cli::read(line.iter().map(OsString::from));
        cli.unwrap_or_else(|error| panic!("{line:?}: {error}")).typed
    }

    #[rstest]
    #[case("run", &OMITTED_FROM_RERUN)]
    #[case("compare", &["filter", "rerun_failed", "timelines", "recordings", "html", "junit", "evidence", "score", "jobs"])]
    #[case("faults", &faults::OMITTED_FROM_FAULT_RERUN)]
    #[case("judge", &["output", "html", "junit", "evidence", "score"])]
    fn rerun_repeats_every_relevant_flag(#[case] name: &str, #[case] without: &[&str]) {
        let cli = Cli::definition();
        let command = cli.find_subcommand(name).unwrap();
        let flags: Vec<&Arg> = command.get_arguments().filter(|argument| !argument.is_positional()).collect();
        let known: BTreeSet<&str> = flags.iter().map(|flag| flag.get_id().as_str()).collect();
        let stale: Vec<_> = without.iter().filter(|id| !known.contains(**id)).collect();
        assert!(stale.is_empty(), "{name} has no {stale:?} that could be left out");

        let mut line = vec!["lockstep".to_owned(), name.to_owned(), "a.yaml".to_owned()];
        let mut expected = Vec::new();
        for flag in flags.iter().filter(|flag| !without.contains(&flag.get_id().as_str())) {
            let long = format!("--{}", flag.get_long().unwrap_or_else(|| panic!("{flag} has no long form")));
            let mut words = vec![long];
            if flag.is_require_equals_set() {
                words = vec![format!("{}={}", words[0], sample(flag))];
            } else if flag.get_action().takes_values() {
                words.push(sample(flag));
            }
            line.extend(words.clone());
            expected.push(words);
        }
        let typed = parsed(&line);
        let flags = typed.flags(without);
        let read = shlex::split(&flags).unwrap();
        for words in &expected {
            assert!(read.windows(words.len()).any(|found| found == words), "{words:?} is lost: {flags}");
        }
        assert_eq!(read.len(), expected.iter().map(Vec::len).sum::<usize>(), "{flags}");

        // The rerun command reproduces itself.
        let line: Vec<String> = ["lockstep", name, "a.yaml"].map(str::to_owned).into_iter().chain(read).collect();
        assert_eq!(parsed(&line).flags(without), flags);
    }

    /// What does not matter is not typed flags, and defaults need not be.
    #[test]
    fn rerun_omits_irrelevant_flags() {
        let line = "lockstep run a.yaml --junit x.xml -j 3 --budget 1s --repeat 2 --fail-fast --check-determinism";
        let typed = parsed(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(typed.flags(&OMITTED_FROM_RERUN), " --budget 1s --check-determinism=2");
        assert!(typed.beginning().ends_with(" run"));
    }

    #[rstest]
    #[case("lockstep", false, "lockstep")]
    #[case("target/debug/lockstep", false, "target/debug/lockstep")]
    #[case("/opt/my tools/lockstep", false, "'/opt/my tools/lockstep'")]
    #[case("target/debug/lockstep", true, "cargo lockstep")]
    #[case("", false, "lockstep")]
    fn rerun_names_program_as_it_was_called(
        #[case] argument_zero: &str,
        #[case] by_alias: bool,
        #[case] expected: &str,
    ) {
        assert_eq!(program_name(OsStr::new(argument_zero), by_alias), expected);
    }

    #[test]
    fn alias_exists_only_in_checkout() {
        assert!(has_alias(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
        assert!(!has_alias(tempfile::tempdir().unwrap().path()));
    }
}
