//! ReplicaSets.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::deployment::{omit_zero, set_or_remove};
use super::manifest::{Manifest, Template, take_template};
use super::meta::{null_as_default, part};
use super::{Condition, LabelSelector, Meta, ModelError, names};

/// A ReplicaSet: the fields that rules read, and all of it as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicaSet {
    /// Metadata.
    pub meta: Meta,
    /// What is asked for.
    pub spec: ReplicaSetSpec,
    /// What its controller last said.
    pub status: ReplicaSetStatus,
    manifest: Manifest,
}

/// What is asked of a ReplicaSet, the template left out: see [`ReplicaSet::template`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetSpec {
    /// Pods wanted.
    #[serde(deserialize_with = "replicas")]
    pub replicas: i32,
    /// Seconds a pod must be ready to be available.
    #[serde(deserialize_with = "null_as_default")]
    pub min_ready_seconds: i32,
    /// Which pods are its own.
    pub selector: Option<LabelSelector>,
}

impl Default for ReplicaSetSpec {
    fn default() -> Self {
        Self { replicas: 1, min_ready_seconds: 0, selector: None }
    }
}

/// What a ReplicaSet's controller last said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplicaSetStatus {
    /// Pods that exist and are not on their way out.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
    /// Those of them that have all labels of the template.
    #[serde(deserialize_with = "null_as_default")]
    pub fully_labeled_replicas: i32,
    /// Those of them that are ready.
    #[serde(deserialize_with = "null_as_default")]
    pub ready_replicas: i32,
    /// Those of them that have been ready for `minReadySeconds`.
    #[serde(deserialize_with = "null_as_default")]
    pub available_replicas: i32,
    /// Pods on their way out; absent where that is not reported.
    pub terminating_replicas: Option<i32>,
    /// Generation that these numbers are about; 0 before the first report.
    #[serde(deserialize_with = "null_as_default")]
    pub observed_generation: i64,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<Condition>,
}

impl ReplicaSet {
    /// Reads a ReplicaSet.
    pub fn read(mut raw: Value) -> Result<Self, ModelError> {
        let template = take_template(&mut raw);
        Self::assemble(raw, template)
    }

    /// Reads one that came without its template.
    pub(crate) fn assemble(raw: Value, template: Option<Template>) -> Result<Self, ModelError> {
        let meta = Meta::read(&raw, "ReplicaSet")?;
        Ok(Self {
            spec: part(&raw, "spec", "ReplicaSet")?,
            status: part(&raw, "status", "ReplicaSet")?,
            manifest: Manifest::new(raw, template, &meta),
            meta,
        })
    }

    /// The object as it came, but for its type.
    pub fn raw(&self) -> Value {
        self.manifest.value()
    }

    /// What goes over the wire to give it this status.
    pub(crate) fn with_status(&self, status: &ReplicaSetStatus) -> Vec<u8> {
        self.manifest.with_status("ReplicaSet", |raw| status.write_over(raw))
    }

    /// Its pod template, with the hash label.
    pub fn template(&self) -> &Template {
        self.manifest.template()
    }

    pub(crate) fn template_mut(&mut self) -> Option<&mut Template> {
        self.manifest.template_mut()
    }

    /// An annotation.
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

    /// An annotation that is a count; absent also when it is no whole number of 0 and more
    /// (upstream: `getNonNegativeInt32FromAnnotation`).
    pub fn count_annotation(&self, name: &str) -> Option<i32> {
        let text = self.annotation(name)?;
        let digits_only = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if digits_only { text.parse().ok() } else { None }
    }

    /// Whether a label set is one of a pod of its own; without a selector, none is.
    ///
    /// # Errors
    /// If the selector has no meaning.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> Result<bool, ModelError> {
        self.spec.selector.as_ref().map_or(Ok(false), |selector| selector.matches(labels))
    }

    /// Whether pods are asked for.
    pub fn is_active(&self) -> bool {
        self.spec.replicas > 0
    }
}

impl ReplicaSetStatus {
    /// Writes these fields over a raw status; what else is there stays.
    pub fn write_over(&self, raw: &mut Value) {
        // Without `..`: a new field does not compile until it is written.
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
        // The one number that the API's own type writes even if it is 0.
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
