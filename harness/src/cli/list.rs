//! `lockstep list`: the cases and what they are about.

use super::CliError;
use super::again::Typed;
use super::out::say;
use super::select::{Selection, blessed};
use crate::outcome::Outcome;
use crate::shelf::Shelf;

/// List the cases.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: Selection,
}

pub(super) fn execute(arguments: &Arguments, typed: &Typed) -> Result<Outcome, CliError> {
    let cases = arguments.selection.cases()?;
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    let mut some_lack = false;
    for case in &cases {
        let shelf = blessed(case)?;
        // Only what is held against a timeline can lack one.
        let lacks = case.expectation.is_blessed() && shelf.is_empty();
        some_lack |= lacks;
        let mark = if lacks { '?' } else { ' ' };
        say!("{mark} {:width$}  {}{}", case.name, case.description, otherwise(&shelf));
    }
    if some_lack {
        say!("\n? has no blessed timeline yet: `{} bless`", typed.program);
    }
    Ok(Outcome::Conformant)
}

/// The other versions of upstream that do something else here: ` [otherwise in v1.15]`.
fn otherwise(shelf: &Shelf) -> String {
    let minors: Vec<_> = shelf.minors().map(|minor| minor.to_string()).collect();
    if minors.is_empty() { String::new() } else { format!(" [otherwise in {}]", minors.join(", ")) }
}
