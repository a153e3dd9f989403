//! The last version of an object that a watch delivered, and the counts of an owner's pods.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

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
    /// All kinds.
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
    /// Its name.
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
