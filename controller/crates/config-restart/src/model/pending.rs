//! The reasons why a restart that is due does not begin, and the annotation that shows it.
//!
//! It informs users and other programs: `{"configs":[…],"since":…,"until":…}`, or instead of
//! `until` `"waitsFor":"turn"` or `"stoppedBy":"deployment/ns/name"`. Whether a restart is due does
//! not depend on it. That follows from the checksums, which are in another annotation and are
//! written first, so a crash or an edit of this annotation loses no restart. `since` is read back,
//! so it survives a restart of the controller; delays count from it. If the annotation cannot be
//! read, it is written again.
//!
//! `waitsFor` does not name the workloads ahead in the group. Otherwise each completed restart
//! would cause a write to every waiting workload.
//! Cases: `config-restart/safe/window-opens-later`, `config-restart/safe/delay`,
//! `config-restart/safe/window-closed-and-killed-twice`, `config-restart/safe/delay-and-killed`,
//! `config-restart/safe/one-at-a-time`.

use jiff::Timestamp;
use rollout_model::whole_second;
use serde::{Deserialize, Serialize};

use crate::names::WorkloadName;

/// What a restart waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockReason {
    /// Its delay ends at this time.
    Delay(Timestamp),
    /// Its restart window opens at this time.
    Window(Timestamp),
    /// The annotation with this name cannot be read, or its windows never open; the text says why.
    Unreadable(&'static str, String),
    /// These workloads of its group restart first.
    Group(Vec<WorkloadName>),
    /// The rollout of this workload of its group has failed.
    Stopped(WorkloadName),
}

impl BlockReason {
    /// When the restart is unblocked, if that time is known.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Delay(until) | Self::Window(until) => Some(*until),
            _ => None,
        }
    }

    /// Whether a change of another workload of the group may unblock it.
    pub fn depends_on_group(&self) -> bool {
        matches!(self, Self::Group(_) | Self::Stopped(_) | Self::Unreadable(..))
    }
}

/// The most configs to name, because an annotation has 256 KiB at most.
const MAX_CONFIGS: usize = 100;

/// The annotation's content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PendingRestart {
    /// The configs that have changed.
    configs: Vec<String>,
    /// When the first of these changes was seen.
    since: Timestamp,
    /// When the delay ends or the window opens; absent if the schedule cannot be read or the
    /// restart waits for its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    /// `turn` if other workloads of the group restart first.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "waitsFor")]
    waits_for: Option<String>,
    /// The workload of the group whose rollout has failed.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "stoppedBy")]
    stopped_by: Option<String>,
}

/// What a write does with the annotation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PendingAnnotation {
    /// Leaves it unchanged.
    #[default]
    Keep,
    /// Removes it.
    Clear,
    /// Sets it to this text.
    Set(String),
}

impl PendingAnnotation {
    /// The operation that turns one value of the annotation into another.
    pub(crate) fn between(before: Option<&String>, after: Option<String>) -> Self {
        match after {
            after if after.as_ref() == before => Self::Keep,
            None => Self::Clear,
            Some(text) => Self::Set(text),
        }
    }

    /// The annotation's value after the operation.
    pub(crate) fn apply_to(&self, before: Option<&String>) -> Option<String> {
        match self {
            Self::Keep => before.cloned(),
            Self::Clear => None,
            Self::Set(text) => Some(text.clone()),
        }
    }
}

/// The annotation for a blocked restart that has been due since `since`.
pub(crate) fn annotation_text(mut configs: Vec<String>, since: Timestamp, reason: &BlockReason) -> String {
    configs.truncate(MAX_CONFIGS);
    let pending = PendingRestart {
        configs,
        since,
        until: reason.until(),
        waits_for: matches!(reason, BlockReason::Group(_)).then(|| "turn".to_owned()),
        stopped_by: match reason {
            BlockReason::Stopped(failed) => Some(failed.to_string()),
            _ => None,
        },
    };
    serde_json::to_string(&pending).unwrap_or_default()
}

/// Since when a restart is pending: the time in the annotation, or else `first`.
pub(crate) fn since(annotation: Option<&String>, first: Timestamp) -> Timestamp {
    read(annotation).map_or(whole_second(first), |pending| pending.since)
}

/// Whether the annotation names this workload as failed.
pub(crate) fn is_stopped_by(annotation: Option<&String>, failed: &str) -> bool {
    read(annotation).is_some_and(|pending| pending.stopped_by.as_deref() == Some(failed))
}

fn read(annotation: Option<&String>) -> Option<PendingRestart> {
    annotation.and_then(|text| serde_json::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{WorkloadKind, WorkloadName};

    #[test]
    fn annotation_keeps_since_and_updates_the_rest() {
        let one = || vec!["secret/ns/s".to_owned()];
        let (now, later) = ("2026-01-05T10:00:00.5Z".parse().unwrap(), "2026-01-05T11:00:00Z".parse().unwrap());
        let until = BlockReason::Window("2026-01-05T21:00:00Z".parse().unwrap());
        let first = annotation_text(one(), since(None, now), &until);
        let text = r#"{"configs":["secret/ns/s"],"since":"2026-01-05T10:00:00Z","until":"2026-01-05T21:00:00Z"}"#;
        assert_eq!(first, text);
        let second = annotation_text(vec![], since(Some(&first), later), &BlockReason::Group(Vec::new()));
        assert_eq!(second, r#"{"configs":[],"since":"2026-01-05T10:00:00Z","waitsFor":"turn"}"#);
        assert_eq!(annotation_text(one(), since(Some(&"edited".to_owned()), now), &until), text);
    }

    #[test]
    fn failed_workload_is_read_back_from_the_annotation() {
        let kind = WorkloadKind::Deployment;
        let failed = WorkloadName { kind, namespace: "ns".to_owned(), name: "a".to_owned() };
        let text = annotation_text(vec![], Timestamp::UNIX_EPOCH, &BlockReason::Stopped(failed));
        assert_eq!(text, r#"{"configs":[],"since":"1970-01-01T00:00:00Z","stoppedBy":"deployment/ns/a"}"#);
        assert!(is_stopped_by(Some(&text), "deployment/ns/a"));
        assert!(!is_stopped_by(Some(&text), "deployment/ns/b") && !is_stopped_by(None, "deployment/ns/a"));
    }

    #[test]
    fn operation_turns_the_old_annotation_into_the_new_one() {
        let (one, two) = ("1".to_owned(), "2".to_owned());
        for before in [None, Some(&one)] {
            for after in [None, Some(one.clone()), Some(two.clone())] {
                assert_eq!(PendingAnnotation::between(before, after.clone()).apply_to(before), after);
            }
        }
        assert_eq!(PendingAnnotation::between(Some(&one), Some(one.clone())), PendingAnnotation::Keep);
        assert_eq!(PendingAnnotation::between(None, None), PendingAnnotation::Keep);
    }
}
