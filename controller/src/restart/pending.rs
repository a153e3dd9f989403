//! A restart that is due and waits, as it is shown: an annotation of the workload.
//!
//! It is for people and for programs that watch: `{"configs":[…],"since":…,"until":…}`, or instead
//! of `until` `"waitsFor":"turn"` or `"stoppedBy":"deployment/ns/name"`. That a restart is due does
//! not depend on it: that follows from the checksums, which stand beside it and are written first,
//! so a crash or an edit of this annotation loses none. `since` is read again, so that it outlives
//! the controller, and a delay counts from it; what cannot be read is written anew.
//!
//! Those for whose restart it waits are not named: with each that is done, all that wait would be
//! written.
//!
//! Cases: `config-restart/window-opens-later`, `config-restart/window-closed-and-killed-twice`,
//! `config-restart/delay-and-killed`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::obstacle::Obstacle;
use crate::model::whole_second;

/// Configs that are named: an annotation has 256 KiB at most.
const MOST_CONFIGS: usize = 100;

/// What the annotation says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    /// Those that have changed.
    configs: Vec<String>,
    /// When that was first seen.
    since: Timestamp,
    /// When the delay ends or the window opens; no field: the schedule cannot be read, or it waits
    /// for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    /// `turn`: others of the group restart first.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "waitsFor")]
    waits_for: Option<String>,
    /// The one of the group that has failed.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "stoppedBy")]
    stopped_by: Option<String>,
}

/// What a write does about the annotation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Note {
    /// Leaves it as it is.
    #[default]
    Keep,
    /// Takes it away.
    Clear,
    /// Writes this.
    Set(String),
}

impl Note {
    /// What makes of an annotation what it is to be.
    pub(super) fn changing(before: Option<&String>, after: Option<String>) -> Self {
        match after {
            after if after.as_ref() == before => Self::Keep,
            None => Self::Clear,
            Some(text) => Self::Set(text),
        }
    }

    /// The annotation after the write.
    pub(super) fn after(&self, before: Option<&String>) -> Option<String> {
        match self {
            Self::Keep => before.cloned(),
            Self::Clear => None,
            Self::Set(text) => Some(text.clone()),
        }
    }
}

/// What is to be shown of configs that have waited since then.
pub(super) fn shown(mut configs: Vec<String>, since: Timestamp, obstacle: &Obstacle) -> String {
    configs.truncate(MOST_CONFIGS);
    let pending = Pending {
        configs,
        since,
        until: obstacle.until(),
        waits_for: matches!(obstacle, Obstacle::Turn(_)).then(|| "turn".to_owned()),
        stopped_by: match obstacle {
            Obstacle::Stopped(failed) => Some(failed.to_string()),
            _ => None,
        },
    };
    serde_json::to_string(&pending).unwrap_or_default()
}

/// Since when something waits: as the annotation says, or else since then.
pub(super) fn since(shown: Option<&String>, first: Timestamp) -> Timestamp {
    read(shown).map_or(whole_second(first), |shown| shown.since)
}

/// Whether the annotation says that this one has failed.
pub(super) fn is_stopped_by(shown: Option<&String>, failed: &str) -> bool {
    read(shown).is_some_and(|shown| shown.stopped_by.as_deref() == Some(failed))
}

fn read(shown: Option<&String>) -> Option<Pending> {
    shown.and_then(|text| serde_json::from_str(text).ok())
}

#[cfg(test)]
mod tests {
    use super::super::workload::{WorkloadKind, WorkloadName};
    use super::*;

    #[test]
    fn since_stays_and_the_rest_is_as_it_is_now() {
        let one = || vec!["secret/ns/s".to_owned()];
        let (now, later) = ("2026-01-05T10:00:00.5Z".parse().unwrap(), "2026-01-05T11:00:00Z".parse().unwrap());
        let until = Obstacle::Window("2026-01-05T21:00:00Z".parse().unwrap());
        let first = shown(one(), since(None, now), &until);
        let text = r#"{"configs":["secret/ns/s"],"since":"2026-01-05T10:00:00Z","until":"2026-01-05T21:00:00Z"}"#;
        assert_eq!(first, text);
        let second = shown(vec![], since(Some(&first), later), &Obstacle::Turn(Vec::new()));
        assert_eq!(second, r#"{"configs":[],"since":"2026-01-05T10:00:00Z","waitsFor":"turn"}"#);
        assert_eq!(shown(one(), since(Some(&"edited".to_owned()), now), &until), text);
    }

    #[test]
    fn who_has_stopped_it_is_read_again() {
        let kind = WorkloadKind::Deployment;
        let failed = WorkloadName { kind, namespace: "ns".to_owned(), name: "a".to_owned() };
        let text = shown(vec![], Timestamp::UNIX_EPOCH, &Obstacle::Stopped(failed));
        assert_eq!(text, r#"{"configs":[],"since":"1970-01-01T00:00:00Z","stoppedBy":"deployment/ns/a"}"#);
        assert!(is_stopped_by(Some(&text), "deployment/ns/a"));
        assert!(!is_stopped_by(Some(&text), "deployment/ns/b") && !is_stopped_by(None, "deployment/ns/a"));
    }

    #[test]
    fn a_note_changes_what_is_there() {
        let (one, two) = ("1".to_owned(), "2".to_owned());
        for before in [None, Some(&one)] {
            for after in [None, Some(one.clone()), Some(two.clone())] {
                assert_eq!(Note::changing(before, after.clone()).after(before), after);
            }
        }
        assert_eq!(Note::changing(Some(&one), Some(one.clone())), Note::Keep);
        assert_eq!(Note::changing(None, None), Note::Keep);
    }
}
