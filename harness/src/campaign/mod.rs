//! Campaigns: one selection, played by several runs on several machines, whose results are one
//! again.
//!
//! * `shard` says which part of a selection a run plays.
//! * `items` names what was selected, so that two runs can be seen to be parts of one.
//! * `results` is the file in which a shard leaves what came of its part.
//! * `merge` puts the files of all shards together, and refuses those that do not belong together.
//! * `searched` is what a search found, `explored` what exploring a case came to.
//!
//! A results file has one JSON object a line: a header; for each play what `--output json` prints
//! of it; and an end, which is how a file shows that it is whole.
//!
//! Pure but for reading and writing that file. Who plays is `cli`'s to say, and how it is printed.

mod explored;
mod items;
mod merge;
mod results;
mod searched;
mod shard;

pub use explored::Explored;
pub use items::{Item, digest_of, fingerprint_of};
pub use merge::{MergeError, Merged, merge};
pub use results::{End, FILE_ENDING, Header, Line, Results, ResultsError, write};
pub use searched::{Cause, Searched};
pub use shard::Shard;
