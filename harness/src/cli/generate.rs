//! `lockstep completions` and `lockstep schema`: what shells and editors need to know about the
//! command and the cases, generated from them.

use clap_complete::Shell;
use lockstep_case as case;
use lockstep_support::outcome::RunOutcome;

use super::out::say;
use super::{CliError, out};

#[derive(Debug, clap::Args)]
pub(super) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

pub(super) fn execute_completions(
    arguments: &CompletionsArguments,
    program: &mut clap::Command,
) -> Result<RunOutcome, CliError> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, program, "lockstep", &mut text);
    out::result(format_args!("{}", String::from_utf8_lossy(&text)));
    Ok(RunOutcome::Conformant)
}

#[derive(Debug, clap::Args)]
pub(super) struct SchemaArguments {
    /// Print the reference page instead; `docs/case-reference.md` is this.
    #[arg(long)]
    reference: bool,
}

pub(super) fn execute_schema(arguments: &SchemaArguments) -> Result<RunOutcome, CliError> {
    if arguments.reference {
        say!("{}", case::reference().trim_end());
    } else {
        say!("{:#}", case::schema());
    }
    Ok(RunOutcome::Conformant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;

    #[test]
    fn every_command_is_completed() {
        let mut text = Vec::new();
        clap_complete::generate(Shell::Bash, &mut Cli::definition(), "lockstep", &mut text);
        let text = String::from_utf8(text).unwrap();
        let lacks = |command: &&clap::Command| !text.contains(command.get_name());
        assert_eq!(Cli::definition().get_subcommands().find(lacks).map(|one| one.get_name().to_owned()), None);
    }
}
