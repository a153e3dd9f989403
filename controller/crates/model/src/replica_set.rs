//! ReplicaSet: the fields that rules read, and the status that they write.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::deployment::{omit_zero, set_or_remove};
use super::manifest::{CompactManifest, Template, take_template};
use super::meta::{null_as_default, part};
use super::{Condition, LabelSelector, Meta, ModelError, names};

/// A ReplicaSet: the parsed fields that rules read, and the complete object as the server sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaSet {
    /// `metadata`.
    pub meta: Meta,
    /// `spec`, without the template.
    pub spec: ReplicaSetSpec,
    /// `status`.
    pub status: ReplicaSetStatus,
    manifest: CompactManifest,
}

/// `spec` of a ReplicaSet without the template, for which see [`ReplicaSet::template`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetSpec {
    /// The desired number of pods.
    #[serde(deserialize_with = "replicas")]
    pub replicas: i32,
    /// Seconds for which a pod must be ready to be available.
    #[serde(deserialize_with = "null_as_default")]
    pub min_ready_seconds: i32,
    /// Selects its pods.
    pub selector: Option<LabelSelector>,
}

impl Default for ReplicaSetSpec {
    fn default() -> Self {
        Self { replicas: 1, min_ready_seconds: 0, selector: None }
    }
}

/// `status` of a ReplicaSet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetStatus {
    /// Pods that have neither ended nor are terminating.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
    /// Of these, the pods with all labels of the template.
    #[serde(deserialize_with = "null_as_default")]
    pub fully_labeled_replicas: i32,
    /// Of these, the pods that are ready.
    #[serde(deserialize_with = "null_as_default")]
    pub ready_replicas: i32,
    /// Of these, the pods that have been ready for `minReadySeconds`.
    #[serde(deserialize_with = "null_as_default")]
    pub available_replicas: i32,
    /// Terminating pods; absent if they are not reported.
    pub terminating_replicas: Option<i32>,
    /// The generation that the status describes; 0 before the first status.
    #[serde(deserialize_with = "null_as_default")]
    pub observed_generation: i64,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
}

impl ReplicaSet {
    /// Parses a ReplicaSet.
    pub fn read(mut raw: Value) -> Result<Self, ModelError> {
        let template = take_template(&mut raw);
        Self::assemble(raw, template)
    }

    /// Parses a ReplicaSet whose template was already taken out.
    pub fn assemble(raw: Value, template: Option<Template>) -> Result<Self, ModelError> {
        let meta = Meta::read(&raw, "ReplicaSet")?;
        Ok(Self {
            spec: part(&raw, "spec", "ReplicaSet")?,
            status: part(&raw, "status", "ReplicaSet")?,
            manifest: CompactManifest::new(raw, template, &meta),
            meta,
        })
    }

    /// The object as the server sent it, without apiVersion and kind.
    pub fn raw(&self) -> Value {
        self.manifest.value()
    }

    /// The request body that writes this status.
    pub fn with_status(&self, status: &ReplicaSetStatus) -> Vec<u8> {
        self.manifest.with_status("ReplicaSet", |raw| status.write_over(raw))
    }

    /// `spec.template`, with the hash label.
    pub fn template(&self) -> &Template {
        self.manifest.template()
    }

    /// The template, to change it.
    pub fn template_mut(&mut self) -> Option<&mut Template> {
        self.manifest.template_mut()
    }

    /// The value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.meta.annotations.get(name).map(String::as_str)
    }

    /// Its revision; 0 without one, `None` if it is not a number (upstream: `Revision`).
    pub fn revision(&self) -> Option<i64> {
        match self.annotation(names::REVISION) {
            None => Some(0),
            Some(text) => text.parse().ok(),
        }
    }

    /// The value of an annotation that is a count; `None` if it is absent or not a non-negative
    /// integer (upstream: `getNonNegativeInt32FromAnnotation`).
    pub fn count_annotation(&self, name: &str) -> Option<i32> {
        let text = self.annotation(name)?;
        let digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if digits_only { text.parse().ok() } else { None }
    }

    /// Whether the selector matches these labels. A ReplicaSet without a selector matches none.
    ///
    /// # Errors
    /// If the selector is invalid.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> Result<bool, ModelError> {
        self.spec.selector.as_ref().map_or(Ok(false), |selector| selector.matches(labels))
    }

    /// Whether `spec.replicas` is above 0.
    pub fn is_active(&self) -> bool {
        self.spec.replicas > 0
    }
}

impl ReplicaSetStatus {
    /// Writes these fields to a raw status and keeps its other fields.
    pub fn write_over(&self, raw: &mut Value) {
        // Without `..`, so that a new field does not compile until it is written.
        let Self {
            replicas,
            fully_labeled_replicas,
            ready_replicas,
            available_replicas,
            terminating_replicas,
            observed_generation,
            conditions,
        } = self;
        if !raw.is_object() {
            *raw = Value::Object(serde_json::Map::new());
        }
        // The only count that the API's own type writes even if it is 0.
        raw["replicas"] = (*replicas).into();
        omit_zero(raw, "fullyLabeledReplicas", i64::from(*fully_labeled_replicas));
        omit_zero(raw, "readyReplicas", i64::from(*ready_replicas));
        omit_zero(raw, "availableReplicas", i64::from(*available_replicas));
        set_or_remove(raw, "terminatingReplicas", terminating_replicas.map(Value::from));
        omit_zero(raw, "observedGeneration", *observed_generation);
        let conditions = (!conditions.is_empty()).then(|| serde_json::json!(conditions));
        set_or_remove(raw, "conditions", conditions);
    }
}

fn replicas<'de, D: serde::Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
    Ok(Option::<i32>::deserialize(from)?.unwrap_or(1))
}
