//! Deployment: the fields that rules read, and the status that they write.

use serde::Deserialize;
use serde_json::Value;

use super::manifest::{CompactManifest, Template, take_template};
use super::meta::{null_as_default, part};
use super::{Condition, IntOrPercent, LabelSelector, Meta, ModelError};

/// A Deployment: the parsed fields that rules read, and the complete object as the server sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// `metadata`.
    pub meta: Meta,
    /// `spec`, without the template.
    pub spec: DeploymentSpec,
    /// `status`.
    pub status: DeploymentStatus,
    manifest: CompactManifest,
}

/// `spec` of a Deployment without the template, for which see [`Deployment::template`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentSpec {
    replicas: Option<i32>,
    /// Selects its pods and ReplicaSets.
    pub selector: Option<LabelSelector>,
    /// How old pods are replaced by new ones.
    #[serde(deserialize_with = "null_as_default")]
    pub strategy: DeploymentStrategy,
    /// Seconds for which a pod must be ready to be available.
    #[serde(deserialize_with = "null_as_default")]
    pub min_ready_seconds: i32,
    /// How many old ReplicaSets to keep. If absent or 2³¹−1, all are kept.
    pub revision_history_limit: Option<i32>,
    /// Whether rollouts are paused.
    #[serde(deserialize_with = "null_as_default")]
    pub paused: bool,
    /// Seconds without progress after which the deadline is exceeded. If absent or 2³¹−1, there is
    /// no deadline.
    pub progress_deadline_seconds: Option<i32>,
}

/// `spec.strategy`: how old pods are replaced by new ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStrategy {
    /// `RollingUpdate` or `Recreate`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub kind: String,
    /// The bounds of a rolling update.
    #[serde(deserialize_with = "null_as_default")]
    pub rolling_update: RollingUpdate,
}

/// `spec.strategy.rollingUpdate`: the bounds of a rolling update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// `maxSurge`: how many pods may exist above `spec.replicas`.
    pub max_surge: Option<IntOrPercent>,
    /// `maxUnavailable`: how many of `spec.replicas` pods may be unavailable.
    pub max_unavailable: Option<IntOrPercent>,
}

/// `status` of a Deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    /// The generation that the status describes.
    #[serde(deserialize_with = "null_as_default")]
    pub observed_generation: i64,
    /// The pods of all its ReplicaSets.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
    /// The pods of the new ReplicaSet.
    #[serde(deserialize_with = "null_as_default")]
    pub updated_replicas: i32,
    /// Ready pods.
    #[serde(deserialize_with = "null_as_default")]
    pub ready_replicas: i32,
    /// Available pods.
    #[serde(deserialize_with = "null_as_default")]
    pub available_replicas: i32,
    /// The desired pods of all its ReplicaSets that are not available.
    #[serde(deserialize_with = "null_as_default")]
    pub unavailable_replicas: i32,
    /// Terminating pods; absent if a ReplicaSet does not report them.
    pub terminating_replicas: Option<i32>,
    /// How often the name of a new ReplicaSet was taken.
    pub collision_count: Option<i32>,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
}

impl Deployment {
    /// Parses a Deployment.
    pub fn read(mut raw: Value) -> Result<Self, ModelError> {
        let template = take_template(&mut raw);
        Self::assemble(raw, template)
    }

    /// Parses a Deployment whose template was already taken out.
    pub fn assemble(raw: Value, template: Option<Template>) -> Result<Self, ModelError> {
        let meta = Meta::read(&raw, "Deployment")?;
        Ok(Self {
            spec: part(&raw, "spec", "Deployment")?,
            status: part(&raw, "status", "Deployment")?,
            manifest: CompactManifest::new(raw, template, &meta),
            meta,
        })
    }

    /// The object as the server sent it, without apiVersion and kind.
    pub fn raw(&self) -> Value {
        self.manifest.value()
    }

    /// The request body that writes this status.
    pub fn with_status(&self, status: &DeploymentStatus) -> Vec<u8> {
        self.manifest.with_status("Deployment", |raw| status.write_over(raw))
    }

    /// `spec.template`.
    pub fn template(&self) -> &Template {
        self.manifest.template()
    }

    /// The template, to change it.
    pub fn template_mut(&mut self) -> Option<&mut Template> {
        self.manifest.template_mut()
    }

    /// `spec.replicas`, by default 1.
    pub fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// `spec.progressDeadlineSeconds`, if there is a deadline (upstream: `HasProgressDeadline`).
    pub fn progress_deadline_seconds(&self) -> Option<i32> {
        self.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)
    }

    /// `spec.revisionHistoryLimit`, if there is a limit (upstream: `HasRevisionHistoryLimit`).
    pub fn revision_history_limit(&self) -> Option<i32> {
        self.spec.revision_history_limit.filter(|limit| *limit != i32::MAX)
    }
}

impl DeploymentStrategy {
    /// Whether the type is `RollingUpdate`.
    pub fn is_rolling(&self) -> bool {
        self.kind == "RollingUpdate"
    }

    /// Whether the type is `Recreate`.
    pub fn is_recreate(&self) -> bool {
        self.kind == "Recreate"
    }
}

impl DeploymentStatus {
    /// Writes these fields to a raw status and keeps its other fields. Zeros are left out, as in
    /// the API's own types.
    pub fn write_over(&self, raw: &mut Value) {
        // Without `..`, so that a new field does not compile until it is written.
        let Self {
            observed_generation,
            replicas,
            updated_replicas,
            ready_replicas,
            available_replicas,
            unavailable_replicas,
            terminating_replicas,
            collision_count,
            conditions,
        } = self;
        if !raw.is_object() {
            *raw = Value::Object(serde_json::Map::new());
        }
        omit_zero(raw, "observedGeneration", *observed_generation);
        omit_zero(raw, "replicas", i64::from(*replicas));
        omit_zero(raw, "updatedReplicas", i64::from(*updated_replicas));
        omit_zero(raw, "readyReplicas", i64::from(*ready_replicas));
        omit_zero(raw, "availableReplicas", i64::from(*available_replicas));
        omit_zero(raw, "unavailableReplicas", i64::from(*unavailable_replicas));
        set_or_remove(raw, "terminatingReplicas", terminating_replicas.map(Value::from));
        set_or_remove(raw, "collisionCount", collision_count.map(Value::from));
        let conditions = (!conditions.is_empty()).then(|| serde_json::json!(conditions));
        set_or_remove(raw, "conditions", conditions);
    }
}

/// Sets a number, or removes the field if the number is 0.
pub fn omit_zero(object: &mut Value, field: &str, number: i64) {
    set_or_remove(object, field, (number != 0).then(|| Value::from(number)));
}

/// Sets a field, or removes it without a value.
pub(super) fn set_or_remove(object: &mut Value, field: &str, value: Option<Value>) {
    let Some(map) = object.as_object_mut() else { return };
    match value {
        Some(value) => map.insert(field.to_owned(), value),
        None => map.remove(field),
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn writing_a_status_keeps_unknown_fields() {
        let mut raw = json!({"replicas": 3, "unavailableReplicas": 1, "ofTheFuture": true});
        let status = DeploymentStatus { replicas: 4, terminating_replicas: Some(0), ..Default::default() };
        status.write_over(&mut raw);
        assert_eq!(raw, json!({"replicas": 4, "terminatingReplicas": 0, "ofTheFuture": true}));
    }

    #[test]
    fn reads_null_as_absent() {
        let deployment = Deployment::read(json!({
            "metadata": {"name": "web", "labels": null, "ownerReferences": null},
            "spec": {"replicas": null, "strategy": {"rollingUpdate": null, "type": "Recreate"}, "paused": null},
            "status": {"conditions": null},
        }))
        .unwrap();
        assert_eq!(deployment.replicas(), 1);
        assert!(deployment.spec.strategy.is_recreate());
    }
}
