//! Options that have another name now, or are gone. A command line with an old name is refused by
//! a message that says what to type.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// An old option.
struct OldOption {
    /// The commands that had it.
    commands: &'static [&'static str],
    /// The old name, with its dashes.
    name: &'static str,
    /// What to type instead.
    instead: &'static str,
}

const fn old(commands: &'static [&'static str], name: &'static str, instead: &'static str) -> OldOption {
    OldOption { commands, name, instead }
}

/// The commands that play cases.
const PLAYING: &[&str] = &["run", "compare", "record", "bless", "replay", "faults", "explore", "fuzz"];
/// The commands that can play on a cluster other than `sim`.
const ON_CLUSTERS: &[&str] = &["run", "compare", "record", "bless", "replay", "faults"];
/// The commands that name a cluster.
const WITH_CLUSTER: &[&str] = &["run", "compare", "record", "bless", "replay", "faults", "explore", "fuzz", "cluster"];
/// The commands that play on `sim` only.
const SIMULATED: &[&str] = &["explore", "fuzz"];
const ALWAYS_SIM: &str = "leave it out: this command always plays on the simulated cluster, `sim`";

/// Every old option.
const OLD: [OldOption; 29] = [
    old(PLAYING, "--seed", "--seeds N"),
    old(&["mutants"], "--seed", "--seeds N"),
    old(PLAYING, "--check-plays", "--check-determinism=N"),
    old(PLAYING, "--most-sub-steps", "leave it out: 100000 sub-steps are the most"),
    old(ON_CLUSTERS, "--keep", "`lockstep cluster up --cluster kind`, which leaves a cluster running for later runs"),
    old(WITH_CLUSTER, "--image-registry", "the variable LOCKSTEP_IMAGE_REGISTRY"),
    old(WITH_CLUSTER, "--etcd-image", "the variable LOCKSTEP_ETCD_IMAGE"),
    old(WITH_CLUSTER, "--node-image", "the variable LOCKSTEP_NODE_IMAGE"),
    old(WITH_CLUSTER, "--kind-config", "the variable LOCKSTEP_KIND_CONFIG"),
    old(&["run", "compare", "judge", "replay"], "--legend", "`lockstep explain --legend`"),
    old(&["explain"], "--by", "--as VERSION"),
    old(&["explain"], "--on", "--k8s-version VERSION"),
    old(&["faults"], "--within", "--for TIME"),
    old(&["fuzz"], "--first", "--fail-fast"),
    old(&["fuzz"], "--confirm", "--confirm-on CLUSTER"),
    old(&["fuzz"], "--cases", "--keep-programs FOLDER"),
    old(&["explore"], "--most", "--max-orders N"),
    old(&["init"], "--cases", "--embedded"),
    old(&["watch"], "--keep", "--evidence-span TIME"),
    old(SIMULATED, "--cluster", ALWAYS_SIM),
    old(SIMULATED, "--k8s-version", ALWAYS_SIM),
    old(SIMULATED, "--kind-name", ALWAYS_SIM),
    old(SIMULATED, "--kubeconfig", ALWAYS_SIM),
    old(SIMULATED, "--yes-this-cluster", ALWAYS_SIM),
    old(SIMULATED, "--accept-unguarded-pods", ALWAYS_SIM),
    old(SIMULATED, "--pods", ALWAYS_SIM),
    old(SIMULATED, "--keep", ALWAYS_SIM),
    old(&["fuzz"], "--controllers", "--only AREA, which chooses what is played"),
    old(&["fuzz"], "--profile", "--only AREA, which chooses what is played"),
];

/// The error with the new name, if an unknown option is an old one.
pub(super) fn with_new_name(error: Error, program: &mut Command, typed: &[String]) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return error };
    let Some(name) = typed.iter().skip(1).find(|word| !word.starts_with('-')) else { return error };
    let Some(option) = OLD.iter().find(|old| unknown == old.name && old.commands.contains(&name.as_str())) else {
        return error;
    };
    let message = format!("`lockstep {name}` has no {} any more; use {}", option.name, option.instead);
    let message = message.replace("use leave", "leave");
    program.error(ErrorKind::UnknownArgument, message)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::cli::Cli;

    fn read(line: &[&str]) -> Result<Cli, Error> {
        Cli::read(line.iter().map(OsString::from))
    }

    #[test]
    fn every_old_name_gives_an_error_that_says_what_to_type() {
        for OldOption { commands, name, instead } in &OLD {
            for command in *commands {
                let words: &[&str] = if *command == "cluster" { &["up"] } else { &[] };
                let line = [&["lockstep", command], words, &[*name, "1"]].concat();
                let error = read(&line).expect_err(name);
                let text = error.to_string();
                assert!(text.contains(&format!("has no {name} any more; ")), "{line:?}: {text}");
                assert!(text.contains(instead) && error.use_stderr(), "{line:?}: {text}");
            }
        }
    }

    #[test]
    fn new_names_exist_where_the_old_ones_were() {
        let program = Cli::definition();
        for OldOption { commands, name, instead } in &OLD {
            let Some(new) = instead.strip_prefix("--") else { continue };
            let new = new.split([' ', '=', ',']).next().unwrap();
            for command in *commands {
                let found = program.find_subcommand(command).unwrap();
                let has = |long: &str| found.get_arguments().any(|it| it.get_long() == Some(long));
                assert!(has(new), "{command} has no --{new}, which {name} became");
                assert!(!has(name.trim_start_matches('-')), "{command} still has {name}");
            }
        }
    }

    #[test]
    fn misspelt_option_keeps_its_own_error() {
        let text = read(&["lockstep", "run", "--seedz", "1"]).unwrap_err().to_string();
        assert!(text.contains("--seeds") && !text.contains("any more"), "{text}");
    }
}
