//! `lockstep schema`: the JSON schema of a case, for editors.

use super::CliError;
use crate::case;
use crate::outcome::Outcome;

/// Print the JSON schema of a case; `cases/case.schema.json` is this.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn execute(_: &Arguments) -> Result<Outcome, CliError> {
    println!("{:#}", case::schema());
    Ok(Outcome::Conformant)
}
