//! Options that a command does not have, but that users of the other commands expect of it. The
//! error for one says what to do instead.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// An option that some commands lack.
struct AbsentOption {
    /// The commands that lack it.
    commands: &'static [&'static str],
    /// Its name, with its dashes.
    name: &'static str,
    /// What to do instead.
    instead: &'static str,
}

const fn absent(commands: &'static [&'static str], name: &'static str, instead: &'static str) -> AbsentOption {
    AbsentOption { commands, name, instead }
}

/// The commands that play on `sim` only.
const SIMULATED: &[&str] = &["explore", "fuzz"];
const ALWAYS_SIM: &str = "this command always plays on the simulated cluster, `sim`";

const ABSENT: [AbsentOption; 6] = [
    absent(SIMULATED, "--cluster", ALWAYS_SIM),
    absent(SIMULATED, "--k8s-version", ALWAYS_SIM),
    absent(SIMULATED, "--kubeconfig", ALWAYS_SIM),
    absent(SIMULATED, "--pods", ALWAYS_SIM),
    absent(&["handover"], "--subject", "--from names the controller that begins, and --to the one that takes over"),
    absent(&["run"], "--against", "`lockstep compare` plays two subjects and compares them"),
];

/// The error that says what to do, if an unknown option is one of these.
pub(super) fn explain(error: Error, program: &mut Command, typed: &[String]) -> Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return error };
    let Some(command) = typed.iter().skip(1).find(|word| !word.starts_with('-')) else { return error };
    let is_it = |option: &&AbsentOption| unknown == option.name && option.commands.contains(&command.as_str());
    let Some(AbsentOption { name, instead, .. }) = ABSENT.iter().find(is_it) else { return error };
    program.error(ErrorKind::UnknownArgument, format!("`lockstep {command}` has no {name}: {instead}"))
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
    fn error_for_an_absent_option_says_what_to_do() {
        for AbsentOption { commands, name, instead } in &ABSENT {
            for command in *commands {
                let error = read(&["lockstep", command, name, "1"]).expect_err(name);
                let text = error.to_string();
                assert!(text.contains(&format!("`lockstep {command}` has no {name}: {instead}")), "{text}");
                assert!(error.use_stderr());
            }
        }
    }

    #[test]
    fn misspelt_option_keeps_its_own_error() {
        let text = read(&["lockstep", "run", "--seedz", "1"]).unwrap_err().to_string();
        assert!(text.contains("--seeds") && !text.contains("has no"), "{text}");
    }
}
