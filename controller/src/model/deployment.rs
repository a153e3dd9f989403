//! Deployments.

use serde::Deserialize;
use serde_json::Value;

use super::manifest::{Manifest, Template, take_template};
use super::meta::{null_as_default, part};
use super::{Condition, IntOrPercent, LabelSelector, Meta, ModelError};

/// A Deployment: the fields that rules read, and all of it as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Deployment {
    /// Metadata.
    pub meta: Meta,
    /// What is asked for.
    pub spec: DeploymentSpec,
    /// What this controller last said.
    pub status: DeploymentStatus,
    manifest: Manifest,
}

/// What is asked of a Deployment, the template left out: see [`Deployment::template`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentSpec {
    replicas: Option<i32>,
    /// Which pods and ReplicaSets are its own.
    pub selector: Option<LabelSelector>,
    /// How old pods give way to new ones.
    #[serde(deserialize_with = "null_as_default")]
    pub strategy: Strategy,
    /// Seconds a pod must be ready to be available.
    #[serde(deserialize_with = "null_as_default")]
    pub min_ready_seconds: i32,
    /// Old ReplicaSets to keep; absent, or the largest number there is: all.
    pub revision_history_limit: Option<i32>,
    /// Whether rollouts are held.
    #[serde(deserialize_with = "null_as_default")]
    pub paused: bool,
    /// Seconds without progress after which it counts as stalled; absent, or the largest number
    /// there is: never.
    pub progress_deadline_seconds: Option<i32>,
}

/// How old pods give way to new ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    /// `RollingUpdate` or `Recreate`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub kind: String,
    /// Bounds of a rolling update.
    #[serde(deserialize_with = "null_as_default")]
    pub rolling_update: RollingUpdate,
}

/// Bounds of a rolling update.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// How many pods there may be above what is asked for.
    pub max_surge: Option<IntOrPercent>,
    /// How many of those asked for may be unavailable.
    pub max_unavailable: Option<IntOrPercent>,
}

/// What this controller says about a Deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    /// Generation that these numbers are about.
    #[serde(deserialize_with = "null_as_default")]
    pub observed_generation: i64,
    /// Pods of all its ReplicaSets.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
    /// Pods of the new ReplicaSet.
    #[serde(deserialize_with = "null_as_default")]
    pub updated_replicas: i32,
    /// Ready pods.
    #[serde(deserialize_with = "null_as_default")]
    pub ready_replicas: i32,
    /// Available pods.
    #[serde(deserialize_with = "null_as_default")]
    pub available_replicas: i32,
    /// Pods asked for from ReplicaSets and not available.
    #[serde(deserialize_with = "null_as_default")]
    pub unavailable_replicas: i32,
    /// Pods on their way out; absent where some ReplicaSet does not report it.
    pub terminating_replicas: Option<i32>,
    /// How often the name of a ReplicaSet was taken.
    pub collision_count: Option<i32>,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
}

impl Deployment {
    /// Reads a Deployment.
    pub fn read(mut raw: Value) -> Result<Self, ModelError> {
        let template = take_template(&mut raw);
        Self::assemble(raw, template)
    }

    /// Reads one that came without its template.
    pub(crate) fn assemble(raw: Value, template: Option<Template>) -> Result<Self, ModelError> {
        let meta = Meta::read(&raw, "Deployment")?;
        Ok(Self {
            spec: part(&raw, "spec", "Deployment")?,
            status: part(&raw, "status", "Deployment")?,
            manifest: Manifest::new(raw, template, &meta),
            meta,
        })
    }

    /// The object as it came, but for its type.
    pub fn raw(&self) -> Value {
        self.manifest.value()
    }

    /// What goes over the wire to give it this status.
    pub(crate) fn with_status(&self, status: &DeploymentStatus) -> Vec<u8> {
        self.manifest.with_status("Deployment", |raw| status.write_over(raw))
    }

    /// Its pod template.
    pub fn template(&self) -> &Template {
        self.manifest.template()
    }

    pub(crate) fn template_mut(&mut self) -> Option<&mut Template> {
        self.manifest.template_mut()
    }

    /// Pods wanted; 1 where nothing is said.
    pub fn replicas(&self) -> i32 {
        self.spec.replicas.unwrap_or(1)
    }

    /// The deadline in seconds, if there is one (upstream: `HasProgressDeadline`).
    pub fn progress_deadline(&self) -> Option<i32> {
        self.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)
    }

    /// How many old ReplicaSets to keep, if there is a limit (upstream: `HasRevisionHistoryLimit`).
    pub fn history_limit(&self) -> Option<i32> {
        self.spec.revision_history_limit.filter(|limit| *limit != i32::MAX)
    }
}

impl Strategy {
    /// Whether old pods give way bit by bit.
    pub fn is_rolling(&self) -> bool {
        self.kind == "RollingUpdate"
    }

    /// Whether all old pods go before new ones come.
    pub fn is_recreate(&self) -> bool {
        self.kind == "Recreate"
    }
}

impl DeploymentStatus {
    /// Writes these fields over a raw status; what else is there stays. Zeros are left out, as the
    /// API's own types do.
    pub fn write_over(&self, raw: &mut Value) {
        // Without `..`: a new field does not compile until it is written.
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

/// Sets a number, or removes the field where it is 0.
pub(crate) fn omit_zero(object: &mut Value, field: &str, number: i64) {
    set_or_remove(object, field, (number != 0).then(|| Value::from(number)));
}

/// Sets a field, or removes it.
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
    fn a_status_is_written_over_what_is_there() {
        let mut raw = json!({"replicas": 3, "unavailableReplicas": 1, "ofTheFuture": true});
        let status = DeploymentStatus { replicas: 4, terminating_replicas: Some(0), ..Default::default() };
        status.write_over(&mut raw);
        assert_eq!(raw, json!({"replicas": 4, "terminatingReplicas": 0, "ofTheFuture": true}));
    }

    #[test]
    fn nulls_read_as_absent() {
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
