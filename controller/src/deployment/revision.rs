//! Revisions, and the annotations that travel from a Deployment to its new ReplicaSet.
//!
//! Upstream: `MaxRevision`, `LastRevision`, `SetNewReplicaSetAnnotations`.
//!
//! Cases: `undo/previous`, `history/revision-history`, `annotations/copied`,
//! `annotations/not-copied`.

use std::collections::BTreeMap;

use crate::model::{Deployment, ReplicaSet, names};

/// Longest revision history, in characters.
const HISTORY_LIMIT: usize = 2000;

/// Annotations to set on a new ReplicaSet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Update {
    /// What to set.
    pub(super) set: BTreeMap<String, String>,
    /// Whether it is worth a write. Not if the ReplicaSet's revision is not a number: upstream
    /// gives up there, with the user's annotations already copied, and they travel along only if
    /// something else is written.
    pub(super) counts: bool,
}

/// The highest revision; what is not a number does not count.
pub(super) fn highest<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    all.into_iter().filter_map(ReplicaSet::revision).fold(0, i64::max)
}

/// The second highest revision, 0 without one; of two equal ones the second counts.
pub(super) fn second_highest<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    let (mut first, mut second) = (0, 0);
    for revision in all.into_iter().filter_map(ReplicaSet::revision) {
        if revision >= first {
            (first, second) = (revision, first);
        } else if revision > second {
            second = revision;
        }
    }
    second
}

/// What the new ReplicaSet's annotations lack: the user's, and a revision above all others. A
/// revision that it had before goes into its history. The number it has is kept while it is the
/// highest: old ReplicaSets may have been deleted since.
pub(super) fn update(deployment: &Deployment, current: &BTreeMap<String, String>, next: i64) -> Update {
    update_within(deployment, current, next, HISTORY_LIMIT)
}

pub(super) fn update_within(
    deployment: &Deployment,
    current: &BTreeMap<String, String>,
    next: i64,
    limit: usize,
) -> Update {
    let mut set: BTreeMap<String, String> = deployment
        .meta
        .annotations
        .iter()
        .filter(|(key, value)| is_copied(key) && current.get(*key) != Some(*value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let before = current.get(names::REVISION);
    let number = match before.map(String::as_str) {
        None | Some("") => 0,
        Some(text) => match text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => return Update { set, counts: false },
        },
    };
    if number < next {
        set.insert(names::REVISION.to_owned(), next.to_string());
        if let Some(before) = before
            && let Some(history) = remember(current.get(names::REVISION_HISTORY), before, limit)
        {
            set.insert(names::REVISION_HISTORY.to_owned(), history);
        }
    }
    Update { counts: !set.is_empty(), set }
}

/// Whether an annotation of the Deployment is its ReplicaSet's as well.
fn is_copied(key: &str) -> bool {
    !names::NOT_COPIED.contains(&key)
}

/// The history with one more revision at its end; the oldest go where it would be too long.
fn remember(history: Option<&String>, revision: &str, limit: usize) -> Option<String> {
    let history = history.map_or("", String::as_str);
    let mut entries: Vec<&str> = history.split(',').collect();
    if entries[0].is_empty() {
        return Some(revision.to_owned());
    }
    let mut length = history.len() + revision.len() + 1;
    let mut dropped = 0;
    while length > limit && dropped < entries.len() {
        length -= entries[dropped].len() + 1;
        dropped += 1;
    }
    if length > limit {
        return None;
    }
    entries.drain(..dropped);
    entries.push(revision);
    Some(entries.join(","))
}
