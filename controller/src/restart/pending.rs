//! A restart that waits for its window, as it is shown: an annotation of the workload.
//!
//! It is for people and for programs that watch: `{"configs":[…],"since":…,"until":…}`. Nothing depends on it
//! but itself: that a restart is due follows from the checksums, which stand beside it and are written first,
//! so a crash or an edit of this annotation loses none. `since` is read again, so that it outlives the
//! controller; what cannot be read is written anew.
//!
//! Cases: `config-restart/window-opens-later`, `config-restart/window-closed-and-killed-twice`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::schedule::Closed;

/// What the annotation says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Pending {
    /// Those that have changed.
    configs: Vec<String>,
    /// When that was first seen.
    since: Timestamp,
    /// When the window opens; no field: the schedule cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
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

/// What is to be shown of these configs now; the annotation before says since when.
pub(super) fn shown(before: Option<&String>, configs: Vec<String>, closed: &Closed, now: Timestamp) -> String {
    let before: Option<Pending> = before.and_then(|text| serde_json::from_str(text).ok());
    let pending = Pending {
        configs,
        since: before.map_or(seconds(now), |before| before.since),
        until: match closed {
            Closed::Until(until) => Some(*until),
            Closed::Never(_) => None,
        },
    };
    serde_json::to_string(&pending).unwrap_or_default()
}

fn seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_stays_and_the_rest_is_as_it_is_now() {
        let one = || vec!["secret/ns/s".to_owned()];
        let (now, later) = ("2026-01-05T10:00:00.5Z".parse().unwrap(), "2026-01-05T11:00:00Z".parse().unwrap());
        let until = Closed::Until("2026-01-05T21:00:00Z".parse().unwrap());
        let first = shown(None, one(), &until, now);
        let text = r#"{"configs":["secret/ns/s"],"since":"2026-01-05T10:00:00Z","until":"2026-01-05T21:00:00Z"}"#;
        assert_eq!(first, text);
        let second = shown(Some(&first), vec![], &Closed::Never(String::new()), later);
        assert_eq!(second, r#"{"configs":[],"since":"2026-01-05T10:00:00Z"}"#);
        assert_eq!(shown(Some(&"edited".to_owned()), one(), &until, now), text);
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
