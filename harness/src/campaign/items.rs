//! What was selected, by name.

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::fingerprint::fingerprint;
use crate::timeline::digest_of_case;

/// One thing that a run plays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Item {
    /// Its number in the whole selection, from 0, in the order in which one run plays it.
    pub number: usize,
    /// `rolling/surge on ours, seed 3`.
    pub name: String,
    /// Of what its case means.
    pub digest: String,
}

impl Item {
    /// A play of a case.
    #[must_use]
    pub fn new(number: usize, name: String, digest: &str) -> Self {
        Self { number, name, digest: digest.to_owned() }
    }
}

/// What a case means, in short.
#[must_use]
pub fn digest_of(case: &Case) -> String {
    digest_of_case(&case.source)
}

/// A fingerprint of items, in their order.
#[must_use]
pub fn fingerprint_of<'a>(items: impl IntoIterator<Item = &'a Item>) -> String {
    let lines = items.into_iter().map(|item| format!("{} {} {}\n", item.number, item.name, item.digest));
    fingerprint(lines.flat_map(String::into_bytes))
}
