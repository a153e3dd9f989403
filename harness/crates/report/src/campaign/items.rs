//! The items of a selection.

use lockstep_case::Case;
use lockstep_support::fingerprint::fingerprint;
use lockstep_timeline::digest_of_case;
use serde::{Deserialize, Serialize};

/// One item of a selection, such as a play of a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// The number in the selection of all shards, from 0, in play order.
    pub number: usize,
    /// `rolling/surge on ours, seed 3`.
    pub name: String,
    /// The digest of its case.
    pub digest: String,
}

impl Item {
    /// An item with this digest of its case.
    #[must_use]
    pub fn new(number: usize, name: String, digest: &str) -> Self {
        Self { number, name, digest: digest.to_owned() }
    }
}

/// The digest of a case, which ignores comments and layout.
#[must_use]
pub fn digest_of(case: &Case) -> String {
    digest_of_case(&case.source)
}

/// The fingerprint of items in this order.
#[must_use]
pub(crate) fn fingerprint_of<'a>(items: impl IntoIterator<Item = &'a Item>) -> String {
    let lines = items.into_iter().map(|item| format!("{} {} {}\n", item.number, item.name, item.digest));
    fingerprint(lines.flat_map(String::into_bytes))
}
