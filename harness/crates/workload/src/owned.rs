//! The kind that a workload owns in place of ReplicaSets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::paths::{check_group_version, check_path, lacks_field};

pub(super) const KIND: &str = "ReplicaSet";
pub(super) const PLURAL: &str = "replicasets";

/// The fields of a ReplicaSet that an owned kind may have elsewhere, or not at all.
const FIELDS: [&str; 13] = [
    "/spec",
    "/spec/replicas",
    "/spec/selector",
    "/spec/template",
    "/spec/minReadySeconds",
    "/status",
    "/status/observedGeneration",
    "/status/replicas",
    "/status/fullyLabeledReplicas",
    "/status/readyReplicas",
    "/status/availableReplicas",
    "/status/terminatingReplicas",
    "/status/conditions",
];

/// The words of a ReplicaSet's line at a checkpoint that are about its status, each with the field.
pub(super) const OWNED_STATUS: [(&str, &str); 5] = [
    ("replicas", "/status/replicas"),
    ("fullyLabeled", "/status/fullyLabeledReplicas"),
    ("ready", "/status/readyReplicas"),
    ("available", "/status/availableReplicas"),
    ("terminating", "/status/terminatingReplicas"),
];

/// A kind that a workload owns, which owns the pods, and where it has what a ReplicaSet has. The
/// cluster has no controller for it, so the subject brings that one as well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OwnedKind {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// The plural in API paths.
    pub plural: String,
    /// A ReplicaSet's JSON pointers with its own, where they differ; `None`: it does not have the
    /// field.
    #[serde(default)]
    pub paths: BTreeMap<String, Option<String>>,
}

impl OwnedKind {
    pub(super) fn check(&self) -> Result<(), String> {
        check_group_version(&self.api_version).map_err(|why| format!("`owns`: {why}"))?;
        self.paths
            .iter()
            .try_for_each(|(path, own)| check_path(("owns.paths", "a ReplicaSet"), &FIELDS, path, own.as_deref()))
    }

    /// Whether its status has this field of a ReplicaSet's.
    pub(super) fn reports(&self, field: &str) -> bool {
        !lacks_field(&self.paths, field)
    }
}
