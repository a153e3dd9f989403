//! Conditions, and upstream's three rules for changing them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::meta::null_as_default;

/// One condition of a Deployment or a ReplicaSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Type; at most one condition of each.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// When the condition was last written; ReplicaSets have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Timestamp>,
    /// Why, in one word.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, in a sentence.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Fields of a newer API; kept as they are.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

impl Condition {
    /// A condition that begins now. Times are cut to seconds, as the API stores them.
    pub fn new(kind: &str, status: &str, reason: &str, message: impl Into<String>, now: Timestamp) -> Self {
        let now = super::whole_second(now);
        Self {
            kind: kind.to_owned(),
            status: status.to_owned(),
            last_transition_time: Some(now),
            last_update_time: Some(now),
            reason: reason.to_owned(),
            message: message.into(),
            other: BTreeMap::new(),
        }
    }

    /// The condition of a type.
    pub fn find<'a>(all: &'a [Self], kind: &str) -> Option<&'a Self> {
        all.iter().find(|condition| condition.kind == kind)
    }

    /// Sets a condition: nothing happens if status and reason are what they were; the transition
    /// time stays if the status does; a condition that changes moves to the end (upstream:
    /// `SetDeploymentCondition`).
    pub fn set(all: &mut Vec<Self>, mut condition: Self) {
        if let Some(current) = Self::find(all, &condition.kind)
            && current.status == condition.status
        {
            if current.reason == condition.reason {
                return;
            }
            condition.last_transition_time = current.last_transition_time;
        }
        Self::remove(all, &condition.kind);
        all.push(condition);
    }

    /// Removes the condition of a type.
    pub fn remove(all: &mut Vec<Self>, kind: &str) {
        all.retain(|condition| condition.kind != kind);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn same_status_and_reason_changes_nothing() {
        let mut all = vec![Condition::new("A", "True", "Because", "first", at(1))];
        Condition::set(&mut all, Condition::new("A", "True", "Because", "second", at(2)));
        assert_eq!(all, [Condition::new("A", "True", "Because", "first", at(1))]);
    }

    #[test]
    fn same_status_keeps_the_transition_time_and_moves_to_the_end() {
        let mut all = vec![
            Condition::new("A", "True", "Because", "first", at(1)),
            Condition::new("B", "True", "Because", "", at(1)),
        ];
        Condition::set(&mut all, Condition::new("A", "True", "Other", "second", at(2)));
        assert_eq!(all[1].kind, "A");
        assert_eq!(all[1].last_transition_time, Some(at(1)));
        assert_eq!(all[1].last_update_time, Some(at(2)));
    }

    #[test]
    fn fields_of_a_newer_api_survive() {
        let text = r#"{"type":"A","status":"True","observedGeneration":7}"#;
        let condition: Condition = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&condition).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}
