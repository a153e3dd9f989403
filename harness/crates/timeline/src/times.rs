//! Recognises times in annotations of workloads, where restarts are judged: a controller records
//! when it did something. A Rollout's `spec.restartAt` is such a time, too.
//!
//! Another recording of the same behaviour has other times. The repeatable part is that the field
//! has the time of its own write, so a timeline replaces such a time by `$(NOW)`. Other times stay
//! as they are.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::model::{Decision, KeyValue};

/// Replaces the time of the write.
const NOW: &str = "$(NOW)";
/// The key of a decision's annotations.
const ANNOTATIONS: &str = "annotations";
/// The key of the time at which a Rollout restarts its pods.
const RESTART_AT: &str = "spec.restartAt";
/// How much a decision's time may differ from that of the recorded version: such times are whole
/// seconds, and a busy server is late.
const TOLERANCE: Duration = Duration::from_secs(5);

/// Recognises times by when they were written.
#[derive(Debug)]
pub(super) struct WriteTimes {
    start: Timestamp,
    /// Times that were written as the current time; an annotation may be copied later.
    write_times: BTreeSet<String>,
}

impl WriteTimes {
    /// For a recording that began at this time.
    pub(super) const fn since(began: Timestamp) -> Self {
        Self { start: began, write_times: BTreeSet::new() }
    }

    /// Replaces times of its own in a decision that was recorded this many milliseconds after the
    /// beginning.
    pub(super) fn normalize(&mut self, mut decision: Decision, at: u64) -> Decision {
        let written = self.start.saturating_add(Duration::from_millis(at)).unwrap_or(self.start);
        for field in &mut decision.details {
            if field.key == RESTART_AT && self.is_now(&field.value, written) {
                *field = KeyValue::new(RESTART_AT, NOW);
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
            *field = KeyValue::json(ANNOTATIONS, &Value::Object(all));
        }
        decision
    }

    /// Whether a text is the time at which it was first written.
    fn is_now(&mut self, text: &str, write_time: Timestamp) -> bool {
        let Ok(time) = text.parse::<Timestamp>() else { return false };
        if write_time.duration_since(time).unsigned_abs() <= TOLERANCE {
            self.write_times.insert(text.to_owned());
        }
        self.write_times.contains(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::model::DecisionAction;
    use super::*;

    #[test]
    fn own_time_of_write_and_its_copies_are_replaced() {
        let mut times = WriteTimes::since("2026-11-25T10:00:00Z".parse().unwrap());
        let mut at = |time: &str, at: u64| {
            let details = vec![KeyValue::json("annotations", &json!({"at": time, "auto": "true"}))];
            let decision = Decision { object: "web".to_owned(), action: DecisionAction::Changed, details };
            times.normalize(decision, at).details.remove(0).value
        };
        let now = r#"{"at":"$(NOW)","auto":"true"}"#;
        assert_eq!(at("2026-11-25T10:00:12Z", 12_900), now);
        assert_eq!(at("2026-11-25T10:00:12Z", 60_000), now);
        assert_eq!(at("2026-11-25T09:00:00Z", 70_000), r#"{"at":"2026-11-25T09:00:00Z","auto":"true"}"#);
        assert_eq!(at("10", 70_000), r#"{"at":"10","auto":"true"}"#);
    }

    #[test]
    fn restart_time_of_rollout_is_replaced() {
        let mut times = WriteTimes::since("2026-11-25T10:00:00Z".parse().unwrap());
        let mut at = |key: &str, time: &str, at: u64| {
            let details = vec![KeyValue::new(key, time)];
            times
                .normalize(Decision { object: "rollout/web".to_owned(), action: DecisionAction::Changed, details }, at)
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
