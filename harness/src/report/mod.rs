//! Reports: judgements as text that a stranger understands at a glance.
//!
//! Every function here takes judgements or timelines and returns a string. Nothing is printed,
//! nothing is measured, and colour appears only where the caller asks for it.
//!
//! * [`failure()`] shows one case: the first wrong step, its lines as a small diff, where it stands
//!   in the case file, and the command that repeats it.
//! * [`table()`], [`totals()`] and [`summary()`] show many cases; [`json()`] is one object a case,
//!   for machines.
//! * [`PlaySummary`] is what the last lines need of a judgement; [`Tally`] counts what several
//!   plays of a case have in common.
//! * [`faults()`] shows what became of a case's faults, [`faults_table()`] counts them by kind.
//! * [`story()`] tells a case from its golden timeline; [`staircase()`] draws one step of it.
//! * [`page::page`] is all of it for a browser, [`github`] for a job's page.
//! * [`versions()`] shows what changed between which two versions of upstream.
//! * [`side_by_side()`] shows two timelines in two columns, the first difference marked.

mod again;
mod causes;
mod change;
mod conduct;
mod escape;
mod failure;
mod faults;
mod folded;
pub mod github;
mod hint;
mod json;
pub mod junit;
pub mod page;
mod paint;
mod parts;
mod played;
mod rows;
mod side_by_side;
mod staircase;
mod story;
mod summary;
mod table;
mod tally;
mod totals;
mod versions;

pub use again::Again;
pub use causes::causes;
pub use change::change;
pub use failure::{failure, headline, outcome};
pub use faults::{FaultCounts, FaultsOfCase, FaultsSummary, faults, faults_json, faults_table, not_withstood};
pub use json::{identity, json, json_of_play};
pub use played::{Named, PlaySummary};
pub(crate) use rows::{Row, rows};
pub use side_by_side::{Side, side_by_side};
pub use staircase::staircase;
pub use story::{Said, story};
pub use summary::{not_conformant, summary};
pub use table::table;
pub use tally::Tally;
pub use totals::totals;
pub use versions::{Pair, Version, Versions, versions, versions_json, versions_markdown};

#[cfg(test)]
mod tests;
