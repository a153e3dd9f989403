//! `status.conditions`: conditions, and upstream's three rules for changing them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::meta::null_as_default;

/// A condition of a Deployment or a ReplicaSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Type; an object has at most one condition of each.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// When the status last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Timestamp>,
    /// When the condition was last written. Conditions of ReplicaSets lack this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Timestamp>,
    /// The reason, one word.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The explanation, a sentence.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Fields of a newer API, which are kept.
    #[serde(flatten)]
    pub extra_fields: BTreeMap<String, Value>,
}

impl Condition {
    /// A condition with both times `now`, truncated to seconds as the API stores them.
    pub fn new(kind: &str, status: &str, reason: &str, message: impl Into<String>, now: Timestamp) -> Self {
        let now = super::whole_second(now);
        Self {
            kind: kind.to_owned(),
            status: status.to_owned(),
            last_transition_time: Some(now),
            last_update_time: Some(now),
            reason: reason.to_owned(),
            message: message.into(),
            extra_fields: BTreeMap::new(),
        }
    }

    /// The condition of a type.
    pub fn find<'a>(all: &'a [Self], kind: &str) -> Option<&'a Self> {
        all.iter().find(|condition| condition.kind == kind)
    }

    /// Sets a condition. Nothing changes if status and reason are equal. The transition time is
    /// kept if the status is equal. A condition that changes moves to the end (upstream:
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
    fn keeps_a_condition_with_the_same_status_and_reason() {
        let mut all = vec![Condition::new("A", "True", "Because", "first", at(1))];
        Condition::set(&mut all, Condition::new("A", "True", "Because", "second", at(2)));
        assert_eq!(all, [Condition::new("A", "True", "Because", "first", at(1))]);
    }

    #[test]
    fn keeps_the_transition_time_of_the_same_status_and_moves_the_condition_to_the_end() {
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
    fn keeps_fields_of_a_newer_api() {
        let text = r#"{"type":"A","status":"True","observedGeneration":7}"#;
        let condition: Condition = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_value(&condition).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}
