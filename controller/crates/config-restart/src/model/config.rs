//! A ConfigMap or Secret, reduced to what the rules need: checksums, and never a value.
//!
//! Case: `config-restart/safe-and-xing/s10-labels@safe`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rollout_model::names::restart as names;
use rollout_model::{Meta, ModelError};
use serde::Deserialize;
use serde_json::Value;

use crate::model::checksum::Digest;
use crate::model::managed_fields;
use crate::model::reloader_traits::{ReloaderTraits, read_traits};
use crate::names::ConfigKind;

/// A ConfigMap or Secret as far as it is kept: its checksums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashedConfig {
    pub(crate) version: String,
    /// The checksums of its data.
    pub(crate) digest: Digest,
    /// Whether its annotation says that it restarts nothing.
    pub(crate) is_ignored: bool,
    pub(crate) created_at: Option<Timestamp>,
    /// When its data was last written, as far as `managedFields` says.
    pub(crate) data_written_at: Option<Timestamp>,
    /// What profile `reloader` needs; empty in the others.
    pub(crate) reloader: Option<Box<ReloaderTraits>>,
}

/// The API object. It drops its values as soon as it has been read. All fields accept any JSON,
/// because a deserialization error would quote the value.
#[derive(Deserialize)]
struct WireConfig {
    metadata: Value,
    #[serde(default)]
    data: Value,
    #[serde(rename = "binaryData", default)]
    binary_data: Value,
}

/// The entries of a map, each value as text.
fn string_map(value: &Value) -> Option<BTreeMap<String, String>> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(value.as_object()?.iter().map(|(key, value)| (key.clone(), text(value))).collect())
}

/// A config with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigObject {
    /// Its name, namespace and UID.
    pub meta: Meta,
    /// Its checksums.
    pub config: HashedConfig,
}

impl<'de> Deserialize<'de> for ConfigObject {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::deserialize_as(ConfigKind::ConfigMap, from)
    }
}

impl ConfigObject {
    /// Deserializes an object of a given kind, because the items of lists and watches do not name
    /// their kind.
    pub fn deserialize_as<'de, D: serde::Deserializer<'de>>(kind: ConfigKind, from: D) -> Result<Self, D::Error> {
        let wire = WireConfig::deserialize(from)?;
        // The error names a field of the metadata, which holds no values.
        Self::read(kind, &wire).map_err(serde::de::Error::custom)
    }

    fn read(kind: ConfigKind, wire: &WireConfig) -> Result<Self, ModelError> {
        let mut meta = Meta::from_value(&wire.metadata, "ConfigMap or Secret")?;
        let (data, binary) = (string_map(&wire.data), string_map(&wire.binary_data).unwrap_or_default());
        let config = HashedConfig {
            reloader: Some(Box::new(read_traits(kind, &meta, data.as_ref(), &binary))),
            version: meta.resource_version.clone(),
            digest: Digest::of(data.as_ref(), &binary),
            is_ignored: meta.annotations.get(names::IGNORE).is_some_and(|value| value == "true"),
            created_at: meta.creation_timestamp,
            data_written_at: managed_fields::data_written_at(&wire.metadata),
        };
        meta.annotations = Default::default();
        meta.labels.clear();
        Ok(Self { meta, config })
    }
}

impl ConfigKind {
    /// The kind's name in the API.
    pub(crate) fn kind_name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Malformed data is read without an error, and neither the result nor an error quotes a value.
    #[test]
    fn neither_debug_output_nor_errors_quote_a_value() {
        for data in [r#""hush""#, r#"["hush"]"#, r#"{"k": {"hush": 1}}"#, "null", r#"{"k": "hush"}"#] {
            let text = format!(r#"{{"metadata": {{"name": "s"}}, "data": {data}}}"#);
            let read: ConfigObject = serde_json::from_str(&text).unwrap();
            assert!(!format!("{read:?}").contains("hush"), "{data}");
        }
        let error =
            serde_json::from_str::<ConfigObject>(r#"{"metadata": {"name": 5}, "data": {"k": "hush"}}"#).unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}
