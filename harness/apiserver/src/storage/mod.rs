//! The store: objects by key, the log of all changes, the index of owners, and positions of watches
//! in the log.
//!
//! It imports `types`, `http` (selectors and formats of watches) and `fields` (managers). It must
//! not know verbs, admission or controllers: it stores what it is given.

pub(crate) mod error;
pub(crate) mod keys;
pub(crate) mod lazy_json;
pub(crate) mod object;
pub(crate) mod owner_index;
pub(crate) mod store;
pub(crate) mod watch;
