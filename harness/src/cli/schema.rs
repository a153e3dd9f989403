//! `lockstep schema`: prints the JSON schema of cases, or the reference page.

use lockstep_case as case;
use lockstep_support::outcome::RunOutcome;

use super::CliError;
use super::out::say;

/// Print the JSON schema of a case; `cases/case.schema.json` is this.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the reference page instead; `docs/case-reference.md` is this.
    #[arg(long)]
    reference: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<RunOutcome, CliError> {
    if arguments.reference {
        say!("{}", case::reference().trim_end());
    } else {
        say!("{:#}", case::schema());
    }
    Ok(RunOutcome::Conformant)
}
