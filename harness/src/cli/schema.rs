//! `lockstep schema`: the case language, as JSON schema for editors or as a page for readers.

use super::CliError;
use super::out::say;
use crate::case;
use crate::outcome::Outcome;

/// Print the JSON schema of a case; `cases/case.schema.json` is this.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Print the reference page instead; `docs/case-reference.md` is this.
    #[arg(long)]
    reference: bool,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
    if arguments.reference {
        say!("{}", case::reference().trim_end());
    } else {
        say!("{:#}", case::schema());
    }
    Ok(Outcome::Conformant)
}
