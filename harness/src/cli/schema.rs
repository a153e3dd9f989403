//! `lockstep schema`: the JSON schema of a case, for editors.

use super::CliError;
use super::out::say;
use crate::case;
use crate::outcome::Outcome;

/// Print the JSON schema of a case; `cases/case.schema.json` is this.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn execute(_: &Arguments) -> Result<Outcome, CliError> {
    say!("{:#}", case::schema());
    Ok(Outcome::Conformant)
}
