//! Campaigns: one selection, played by several runs on several machines, with merged results.
//!
//! * `shard` decides which part of a selection a run plays, and names the selected items, so that
//!   two runs can be recognised as shards of one.
//! * `results` is the file to which a shard writes its results, those of `fuzz` and `explore` too.
//! * `merge` merges the files of all shards, and refuses files that do not belong together.
//!
//! A results file has one JSON object per line: a header; for each play what `--output json` prints
//! of it; and an end line, without which the file counts as truncated.
//!
//! The only I/O is reading and writing that file. `cli` plays the cases and prints the results.

mod merge;
mod results;
mod shard;

pub use merge::{MergeError, MergedResults, merge};
pub use results::{
    ExploreResult, FILE_ENDING, FindingSummary, ResultLine, Results, ResultsEnd, ResultsError, ResultsHeader,
    SAYS_NOTHING, SearchResult, write,
};
pub use shard::{Item, Shard, digest_of};
