//! `lockstep list`: the cases and what they are about.

use super::CliError;
use super::select::{Selection, blessed};
use crate::case::Case;
use crate::outcome::Outcome;

/// List the cases.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
}

pub(super) fn execute(arguments: &Arguments) -> Result<Outcome, CliError> {
    let cases = arguments.selection.cases()?;
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    for case in &cases {
        let mark = if lacks(case)? { '?' } else { ' ' };
        println!("{mark} {:width$}  {}{}", case.name, case.description, otherwise(case)?);
    }
    if cases.iter().any(|case| lacks(case).unwrap_or(false)) {
        println!("\n? has no blessed timeline yet: `lockstep bless`");
    }
    Ok(Outcome::Conformant)
}

/// The other versions of upstream that do something else here: ` [otherwise in v1.15]`.
fn otherwise(case: &Case) -> Result<String, CliError> {
    let minors: Vec<_> = blessed(case)?.minors().map(|minor| minor.to_string()).collect();
    Ok(if minors.is_empty() { String::new() } else { format!(" [otherwise in {}]", minors.join(", ")) })
}

/// Whether a case that is held against a timeline has none.
fn lacks(case: &Case) -> Result<bool, CliError> {
    Ok(case.expectation.is_blessed() && blessed(case)?.is_empty())
}
