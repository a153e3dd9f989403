//! Times in annotations of workloads, where restarts are judged: a controller notes when it did
//! something. A Rollout's `spec.restartAt` is such a time, too.
//!
//! A recording on another day, or in real time, has other times for the same behaviour. What
//! repeats is that the field has the time at which it was written, and that is what a timeline
//! says: `$(NOW)`. Any other time stands as it is.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::model::{Decision, Field};

/// What stands for the time of the write.
const NOW: &str = "$(NOW)";
/// The key of a decision's annotations.
const ANNOTATIONS: &str = "annotations";
/// The key of the time from which on a Rollout restarts its pods.
const RESTART_AT: &str = "spec.restartAt";
/// How long before or after a write was seen it may have been decided: such times are whole
/// seconds, and a busy server is late.
const ABOUT: Duration = Duration::from_secs(5);

/// Recognises times by when they were written.
#[derive(Debug)]
pub(super) struct Times {
    began: Timestamp,
    /// Those that were written at their own time; a copy of an annotation is made later.
    known: BTreeSet<String>,
}

impl Times {
    /// Of a recording that began then.
    pub(super) const fn since(began: Timestamp) -> Self {
        Self { began, known: BTreeSet::new() }
    }

    /// A decision that was seen so many milliseconds after the beginning, without the times that
    /// are its own.
    pub(super) fn relative(&mut self, mut decision: Decision, at: u64) -> Decision {
        let written = self.began.saturating_add(Duration::from_millis(at)).unwrap_or(self.began);
        for field in &mut decision.details {
            if field.key == RESTART_AT && self.is_now(&field.value, written) {
                *field = Field::new(RESTART_AT, NOW);
            }
            if field.key != ANNOTATIONS {
                continue;
            }
            let Ok(mut all) = serde_json::from_str::<Map<String, Value>>(&field.value) else { continue };
            for value in all.values_mut() {
                if value.as_str().is_some_and(|text| self.is_now(text, written)) {
                    *value = NOW.into();
                }
            }
            *field = Field::json(ANNOTATIONS, &Value::Object(all));
        }
        decision
    }

    /// Whether a text is the time at which it was first written.
    fn is_now(&mut self, text: &str, written: Timestamp) -> bool {
        let Ok(time) = text.parse::<Timestamp>() else { return false };
        if written.duration_since(time).unsigned_abs() <= ABOUT {
            self.known.insert(text.to_owned());
        }
        self.known.contains(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::model::Action;
    use super::*;

    #[test]
    fn a_time_that_is_its_writes_own_repeats_and_so_does_its_copy() {
        let mut times = Times::since("2026-11-25T10:00:00Z".parse().unwrap());
        let mut at = |time: &str, at: u64| {
            let details = vec![Field::json("annotations", &json!({"at": time, "auto": "true"}))];
            let decision = Decision { object: "web".to_owned(), action: Action::Changed, details };
            times.relative(decision, at).details.remove(0).value
        };
        let now = r#"{"at":"$(NOW)","auto":"true"}"#;
        assert_eq!(at("2026-11-25T10:00:12Z", 12_900), now);
        assert_eq!(at("2026-11-25T10:00:12Z", 60_000), now);
        assert_eq!(at("2026-11-25T09:00:00Z", 70_000), r#"{"at":"2026-11-25T09:00:00Z","auto":"true"}"#);
        assert_eq!(at("10", 70_000), r#"{"at":"10","auto":"true"}"#);
    }

    #[test]
    fn a_rollout_restarts_from_now_on() {
        let mut times = Times::since("2026-11-25T10:00:00Z".parse().unwrap());
        let mut at = |key: &str, time: &str, at: u64| {
            let details = vec![Field::new(key, time)];
            times
                .relative(Decision { object: "rollout/web".to_owned(), action: Action::Changed, details }, at)
                .details
                .remove(0)
                .value
        };
        assert_eq!(at("spec.restartAt", "2026-11-25T10:00:12Z", 12_900), "$(NOW)");
        assert_eq!(at("spec.restartAt", "2026-11-25T09:00:12Z", 12_900), "2026-11-25T09:00:12Z");
        assert_eq!(at("spec.restartAt", "-", 12_900), "-");
        assert_eq!(at("spec.other", "2026-11-25T10:00:12Z", 12_900), "2026-11-25T10:00:12Z");
    }
}
