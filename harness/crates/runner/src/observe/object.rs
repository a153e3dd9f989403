//! The last version of an object that a watch delivered, and the counts of an owner's pods.
//!
//! A watch delivers an object without its managed fields, which make up half of its JSON and are
//! not needed here. The deserializer skips them, so they never become values.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use lockstep_support::pointer::JsonPointer;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The kinds that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WatchedKind {
    /// apps/v1 Deployment.
    Deployment,
    /// apps/v1 ReplicaSet.
    ReplicaSet,
    /// v1 Pod.
    Pod,
    /// v1 Event.
    Event,
    /// apps/v1 StatefulSet.
    StatefulSet,
    /// apps/v1 DaemonSet.
    DaemonSet,
    /// batch/v1 CronJob.
    CronJob,
    /// batch/v1 Job.
    Job,
    /// argoproj.io/v1alpha1 Rollout, if a case brings the kind.
    Rollout,
}

impl WatchedKind {
    pub(crate) const ALL: [Self; 9] = [
        Self::Deployment,
        Self::ReplicaSet,
        Self::Pod,
        Self::Event,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::CronJob,
        Self::Job,
        Self::Rollout,
    ];

    /// The watched kind that a CustomResourceDefinition of this name defines.
    pub(crate) fn defined_by(definition: &str) -> Option<Self> {
        (definition == "rollouts.argoproj.io").then_some(Self::Rollout)
    }

    /// Whether every server has it.
    pub(super) fn is_built_in(self) -> bool {
        self != Self::Rollout
    }
}

impl fmt::Display for WatchedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// The latest state of one object.
#[derive(Debug, Clone)]
pub struct CachedObject {
    /// The real name, without its namespace.
    pub name: String,
    /// The resourceVersion at which it was first seen, which gives the order of appearance.
    pub first: u64,
    /// The whole object.
    pub value: Arc<Value>,
}

impl CachedObject {
    /// The value at a JSON pointer, as an integer; 0 where there is none.
    pub(crate) fn int(&self, pointer: &str) -> i64 {
        self.value.at(pointer).and_then(Value::as_i64).unwrap_or(0)
    }

    /// The value at a JSON pointer, as text; empty where there is none.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.value.at(pointer).and_then(Value::as_str).unwrap_or("")
    }

    /// Whether `metadata.deletionTimestamp` is set.
    pub(crate) fn deleting(&self) -> bool {
        self.value.at("/metadata/deletionTimestamp").is_some()
    }

    /// The UID of the controller that owns it, if any.
    pub(crate) fn owner(&self) -> Option<&str> {
        let references = self.value.at("/metadata/ownerReferences")?.as_array()?;
        references.iter().find(|r| r["controller"] == true)?["uid"].as_str()
    }

    /// A pod that a ReplicaSet counts: not deleting, not Failed, not Succeeded.
    pub(crate) fn alive(&self) -> bool {
        !self.deleting() && !matches!(self.text("/status/phase"), "Failed" | "Succeeded")
    }

    /// Whether the pod's Ready condition is True.
    pub(crate) fn ready(&self) -> bool {
        self.condition("Ready")
    }

    /// Whether a condition of the object's status is True.
    pub(crate) fn condition(&self, kind: &str) -> bool {
        let conditions = self.value.at("/status/conditions").and_then(Value::as_array);
        conditions.into_iter().flatten().any(|c| c["type"] == kind && c["status"] == "True")
    }
}

/// The counts of the pods of one owner.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OwnerCounts {
    /// The names of pods that refer to it.
    pub(super) pods: BTreeSet<String>,
    /// How many of them it controls.
    pub(super) controlled: usize,
    /// How many of the selected pods are alive.
    pub(super) alive: usize,
    /// How many of the selected pods are ready.
    pub(super) ready: usize,
    /// How many of the selected pods are terminating and have not ended.
    pub(super) terminating: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StrippedObject(pub(super) Value);

/// An object's metadata without managed fields.
struct StrippedMetadata(Value);

impl<'de> Deserialize<'de> for StrippedObject {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrippingVisitor { metadata: false }).map(Self)
    }
}

impl<'de> Deserialize<'de> for StrippedMetadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrippingVisitor { metadata: true }).map(Self)
    }
}

/// Visits an object, or its metadata.
struct StrippingVisitor {
    metadata: bool,
}

impl<'de> Visitor<'de> for StrippingVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = parts.next_key::<String>()? {
            match (self.metadata, name.as_str()) {
                (true, "managedFields") => drop(parts.next_value::<IgnoredAny>()?),
                (false, "metadata") => drop(all.insert(name, parts.next_value::<StrippedMetadata>()?.0)),
                _ => drop(all.insert(name, parts.next_value()?)),
            }
        }
        Ok(all.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::managers(
        r#"{"metadata": {"managedFields": [{"a": {}}], "name": "x"}, "a": 1}"#,
        r#"{"metadata": {"name": "x"}, "a": 1}"#
    )]
    #[case::elsewhere(r#"{"managedFields": 1, "spec": {"managedFields": 2, "metadata": {"managedFields": 3}}}"#, "")]
    #[case::others(r#"[null, true, -1, 1, 1.5, "x", [{"metadata": {"managedFields": 1}}]]"#, "")]
    #[case::no_map(r#"{"metadata": [1], "a": null}"#, "")]
    #[case::null(r#"{"metadata": null}"#, "")]
    fn managers_are_left_out_of_the_metadata_alone(#[case] text: &str, #[case] expected: &str) {
        let expected = if expected.is_empty() { text } else { expected };
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(serde_json::from_str::<StrippedObject>(text).unwrap(), StrippedObject(expected));
    }
}
