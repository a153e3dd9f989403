//! `lockstep list`: the cases and what they are about.

use super::CliError;
use super::again::Typed;
use super::out::say;
use super::select::{Selection, blessed};
use crate::golden::GoldenTimelines;
use crate::outcome::Outcome;

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
        let golden = blessed(case)?;
        // Only what is held against a timeline can lack one.
        let lacks = case.expectation.is_blessed() && golden.is_empty();
        some_lack |= lacks;
        let mark = if lacks { '?' } else { ' ' };
        say!("{mark} {:width$}  {}{}", case.name, case.description, otherwise(&golden));
    }
    if some_lack {
        say!("\n? has no golden timeline yet: `{} bless`", typed.program);
    }
    Ok(Outcome::Conformant)
}

/// The other versions of upstream that do something else here: ` [otherwise in v1.15]`.
fn otherwise(golden: &GoldenTimelines) -> String {
    let minors: Vec<_> = golden.minors().map(|minor| minor.to_string()).collect();
    if minors.is_empty() { String::new() } else { format!(" [otherwise in {}]", minors.join(", ")) }
}
