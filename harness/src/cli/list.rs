//! `lockstep list`: lists the cases with their descriptions, and counts them.

use lockstep_case::CollectionSize;
use lockstep_support::outcome::RunOutcome;
use lockstep_verdict::golden::GoldenTimelines;

use super::CliError;
use super::golden::load_golden;
use super::out::say;
use super::rerun_command::CommandLine;
use super::select::CaseSelection;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    selection: CaseSelection,
}

pub(super) fn execute(arguments: &Arguments, typed: &CommandLine) -> Result<RunOutcome, CliError> {
    let cases = arguments.selection.cases()?;
    let width = cases.iter().map(|case| case.name.len()).max().unwrap_or(0);
    let mut some_lack = false;
    for case in &cases {
        let golden = load_golden(case)?;
        // Only a blessed case can lack a golden timeline.
        let lacks = case.expectation.is_blessed() && golden.is_empty();
        some_lack |= lacks;
        let mark = if lacks { '?' } else { ' ' };
        say!("{mark} {:width$}  {}{}", case.name, case.description, differing_versions(&golden));
    }
    say!("\n{}", CollectionSize::of(&cases));
    if some_lack {
        say!("\n? has no golden timeline yet: `{} bless`", typed.program);
    }
    Ok(RunOutcome::Conformant)
}

/// The versions of upstream that differ from the default: ` [otherwise in v1.15]`.
fn differing_versions(golden: &GoldenTimelines) -> String {
    let minors: Vec<_> = golden.minors().map(|minor| minor.to_string()).collect();
    if minors.is_empty() { String::new() } else { format!(" [otherwise in {}]", minors.join(", ")) }
}
