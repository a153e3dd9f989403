//! Metadata: who an object is, who owns it, what it is labelled with.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ModelError;

/// The metadata that rules read. Times have one-second resolution, as the API has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Name, unique in its namespace at one time.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// UID, unique for ever.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: String,
    /// Version that a write must still find; empty for an object whose newest version only the
    /// server knows yet.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_version: String,
    /// Counts the changes of what is asked for.
    #[serde(deserialize_with = "null_as_default")]
    pub generation: i64,
    /// When the server made it.
    pub creation_timestamp: Option<Timestamp>,
    /// When deletion was asked for.
    pub deletion_timestamp: Option<Timestamp>,
    /// Labels.
    #[serde(deserialize_with = "null_as_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations. Shared with the object as it came: kubectl's can be as large as all the rest.
    #[serde(deserialize_with = "shared")]
    pub annotations: Arc<BTreeMap<String, String>>,
    /// Owners.
    #[serde(deserialize_with = "null_as_default")]
    pub owner_references: Vec<OwnerReference>,
}

/// One owner of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the owner.
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// Kind of the owner.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// Name of the owner.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// UID of the owner.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: String,
    /// Whether this owner is the one that manages the object; at most one is.
    #[serde(deserialize_with = "null_as_default")]
    pub controller: bool,
}

impl Meta {
    /// Reads `metadata` of an object.
    pub(crate) fn read(raw: &Value, kind: &'static str) -> Result<Self, ModelError> {
        part(raw, "metadata", kind)
    }

    /// Reads the metadata itself.
    pub(crate) fn of(metadata: &Value, kind: &'static str) -> Result<Self, ModelError> {
        Self::deserialize(metadata).map_err(|error| ModelError::Shape {
            kind,
            name: metadata["name"].as_str().unwrap_or("?").to_owned(),
            part: "metadata",
            reason: error.to_string(),
        })
    }

    /// The owner that manages the object.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }

    /// `namespace/name`, as logs have it.
    pub fn path(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether deletion was asked for.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// What ReplicaSets are sorted by: creation, then name (upstream:
    /// `ReplicaSetsByCreationTimestamp`).
    pub fn age_order(&self) -> (Option<Timestamp>, &str) {
        (self.creation_timestamp, &self.name)
    }
}

/// Reads one part of an object; an absent part reads as its default.
pub(super) fn part<T: Default + for<'a> Deserialize<'a>>(
    raw: &Value,
    part: &'static str,
    kind: &'static str,
) -> Result<T, ModelError> {
    match raw.get(part) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => T::deserialize(value).map_err(|error| ModelError::Shape {
            kind,
            name: raw.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("?").to_owned(),
            part,
            reason: error.to_string(),
        }),
    }
}

/// `null` and absent mean the same all over the API.
pub(crate) fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

fn shared<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<Arc<T>, D::Error> {
    null_as_default(from).map(Arc::new)
}
