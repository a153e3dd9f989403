//! The verbs: one file for each operation that a request asks for.
//!
//! They must not import the dispatcher.

pub(crate) mod apply;
pub(crate) mod delete;
pub(crate) mod dry_run;
pub(crate) mod evict;
pub(crate) mod list;
pub(crate) mod subresources;
pub(crate) mod watch;
pub(crate) mod write;
