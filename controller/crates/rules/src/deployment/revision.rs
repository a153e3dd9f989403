//! `deployment.kubernetes.io/revision`: numbers ReplicaSets, and copies annotations from a
//! Deployment to its new ReplicaSet.
//!
//! Upstream: `MaxRevision`, `LastRevision`, `SetNewReplicaSetAnnotations`.
//!
//! Cases: `undo/previous`, `history/revision-history`, `annotations/copied`,
//! `annotations/not-copied`.

use std::collections::BTreeMap;

use rollout_model::{Deployment, ReplicaSet, names};

/// The longest revision history, in bytes.
const HISTORY_LIMIT: usize = 2000;

/// Annotations to set on the new ReplicaSet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct AnnotationUpdate {
    pub(super) annotations: BTreeMap<String, String>,
    /// Whether they must be written. False if the ReplicaSet's revision is not a number: upstream
    /// stops there with the user's annotations already copied in memory, so they are written only
    /// together with another change.
    pub(super) is_needed: bool,
}

/// The highest revision. A revision that is not a number is ignored.
pub(super) fn max_revision<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
    all.into_iter().filter_map(ReplicaSet::revision).fold(0, i64::max)
}

/// The second highest revision, or 0. If two share the highest revision, that revision.
pub(super) fn last_revision<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i64 {
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

/// The annotations that the new ReplicaSet lacks: the user's, and a revision above all others. Its
/// earlier revision is appended to its history. It keeps a revision that is already the highest,
/// even above `next`: old ReplicaSets may have been deleted since.
pub(super) fn annotation_update(
    deployment: &Deployment,
    current: &BTreeMap<String, String>,
    next: i64,
) -> AnnotationUpdate {
    annotation_update_within(deployment, current, next, HISTORY_LIMIT)
}

pub(super) fn annotation_update_within(
    deployment: &Deployment,
    current: &BTreeMap<String, String>,
    next: i64,
    limit: usize,
) -> AnnotationUpdate {
    let mut annotations: BTreeMap<String, String> = deployment
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
            Err(_) => return AnnotationUpdate { annotations, is_needed: false },
        },
    };
    if number < next {
        annotations.insert(names::REVISION.to_owned(), next.to_string());
        if let Some(before) = before
            && let Some(history) = append_to_history(current.get(names::REVISION_HISTORY), before, limit)
        {
            annotations.insert(names::REVISION_HISTORY.to_owned(), history);
        }
    }
    AnnotationUpdate { is_needed: !annotations.is_empty(), annotations }
}

/// Whether an annotation of the Deployment is copied to its ReplicaSet.
fn is_copied(key: &str) -> bool {
    !names::NOT_COPIED.contains(&key)
}

/// The history with one more revision at its end. The oldest revisions are dropped to keep the
/// limit; `None` if the new one alone exceeds it.
fn append_to_history(history: Option<&String>, revision: &str, limit: usize) -> Option<String> {
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
