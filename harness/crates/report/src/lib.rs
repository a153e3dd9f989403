//! Reports: judgements as text.
//!
//! **Architecture Invariant:** it decides no verdict, prints nothing and knows no cluster.
//!
//! The functions take judgements or timelines and return strings. They print nothing, and use
//! colour only if the caller asks for it.
//!
//! * [`failure()`] reports one case: the first wrong step with a small diff, its line in the case
//!   file, and the rerun command.
//! * [`table()`], [`totals()`] and [`summary()`] show many cases; [`json()`] is one JSON object
//!   per case.
//! * [`PlaySummary`] has what the last lines need of a judgement; [`PlayTally`] counts outcomes and
//!   timelines over several plays of a case.
//! * [`faults()`] reports the faults of a case, [`faults_table()`] counts them by kind.
//! * [`explanation()`] explains a case by its golden timeline; `ascii_chart` draws one step.
//! * [`page::page`] is an HTML page of a run, [`github`] the summary of a GitHub job.
//! * [`versions()`] shows what changed between neighbouring versions of upstream.
//! * [`inspect`] shows a recording step by step, [`campaign`] merges the results of several runs.
//! * [`side_by_side()`] shows two timelines in two columns and marks the first difference.

mod ascii_chart;
pub mod campaign;
mod diagnosis;
mod explanation;
mod failure;
mod failure_signature;
mod faults;
pub mod github;
mod handover;
pub mod inspect;
mod json;
pub mod junit;
pub mod page;
mod paint;
mod play_summary;
mod rows;
mod score;
mod side_by_side;
mod summary;
mod table;
mod versions;
mod wrap;

pub use explanation::{ExplainedTimeline, explanation};
pub use failure::{RerunCommands, failure, headline, outcome};
pub use faults::{CaseFaults, FaultsSummary, faults, faults_json, faults_table, list_failed_points};
pub use handover::{
    CaseHandovers, HandoverDifference, TriedHandover, handovers, handovers_json, handovers_markdown, handovers_table,
};
pub use json::{early_end_json, ends_between_json, identity, json, json_of_play};
pub use play_summary::{PlayScore, PlaySummary, PlayTally};
pub use rows::bless_diff;
pub use score::{score, score_json, score_markdown, score_of_plays};
pub use side_by_side::{TitledTimeline, side_by_side};
pub use summary::{EarlyEnd, common_causes, list_not_conformant, summary};
pub use table::{table, totals};
pub use versions::{VersionPair, VersionSummary, VersionsReport, versions, versions_json, versions_markdown};
pub use wrap::wrap;

#[cfg(test)]
mod terminal_tests;
#[cfg(test)]
mod tests;
