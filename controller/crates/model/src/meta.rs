//! `metadata`: name, owners, labels, annotations and versions of an object.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::ModelError;

/// The metadata that rules read. Times have a resolution of one second, as in the API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Name, unique in its namespace at any one time.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// UID, never reused.
    #[serde(deserialize_with = "null_as_default")]
    pub uid: String,
    /// The version that a write is based on; empty if only the server knows the newest version.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_version: String,
    /// The number of changes of `spec`.
    #[serde(deserialize_with = "null_as_default")]
    pub generation: i64,
    /// When the server created it.
    pub creation_timestamp: Option<Timestamp>,
    /// When its deletion was requested.
    pub deletion_timestamp: Option<Timestamp>,
    /// Labels.
    #[serde(deserialize_with = "null_as_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations, shared with the stored object: kubectl's can be as large as all other fields.
    #[serde(deserialize_with = "null_as_default_arc")]
    pub annotations: Arc<BTreeMap<String, String>>,
    /// Owners.
    #[serde(deserialize_with = "null_as_default")]
    pub owner_references: Vec<OwnerReference>,
}

/// `metadata.ownerReferences`: one owner of an object.
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
    /// Whether this owner manages the object; at most one owner does.
    #[serde(deserialize_with = "null_as_default")]
    pub controller: bool,
}

impl Meta {
    /// Parses `metadata` of an object.
    pub fn read(raw: &Value, kind: &'static str) -> Result<Self, ModelError> {
        part(raw, "metadata", kind)
    }

    /// Parses the metadata itself.
    pub fn from_value(metadata: &Value, kind: &'static str) -> Result<Self, ModelError> {
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

    /// `namespace/name`, as in logs.
    pub fn path(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Whether its deletion was requested.
    pub fn is_deleting(&self) -> bool {
        self.deletion_timestamp.is_some()
    }

    /// The sort key of ReplicaSets: creation time, then name (upstream:
    /// `ReplicaSetsByCreationTimestamp`).
    pub fn age_order(&self) -> (Option<Timestamp>, &str) {
        (self.creation_timestamp, &self.name)
    }
}

/// Parses one part of an object; an absent part gives the default.
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

/// Reads `null` as the default: in the API it means the same as an absent field.
pub fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(from)?.unwrap_or_default())
}

fn null_as_default_arc<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<Arc<T>, D::Error> {
    null_as_default(from).map(Arc::new)
}
