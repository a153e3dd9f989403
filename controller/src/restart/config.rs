//! A ConfigMap or Secret, as far as the rules look at it: checksums, never a value.
//!
//! Case: `config-restart/s10-labels@safe`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::checksum::Digest;
use super::evidence;
use super::references::ConfigKind;
use super::reloader::{Traits, traits};
use crate::model::names::restart as names;
use crate::model::{Meta, ModelError};

/// A ConfigMap or Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Config {
    /// Its version.
    pub(crate) version: String,
    /// What it holds.
    pub(crate) digest: Digest,
    /// Whether its annotation says that it restarts nothing.
    pub(crate) ignored: bool,
    /// When it was made.
    pub(crate) created: Option<Timestamp>,
    /// When somebody last wrote its data, as far as the server says.
    pub(crate) written: Option<Timestamp>,
    /// What profile `reloader` looks at; no other keeps it.
    pub(super) reloader: Option<Box<Traits>>,
}

/// One as it comes over the wire. Its values live while it is being read and no longer; whatever
/// shape they have, reading them does not fail, for a failure would quote them.
#[derive(Deserialize)]
struct Wire {
    metadata: Value,
    #[serde(default)]
    data: Value,
    #[serde(rename = "binaryData", default)]
    binary_data: Value,
}

/// A map of texts, or nothing.
fn texts(value: &Value) -> Option<BTreeMap<String, String>> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Some(value.as_object()?.iter().map(|(key, value)| (key.clone(), text(value))).collect())
}

/// One with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    /// Its name, namespace and UID.
    pub(crate) meta: Meta,
    /// The rest.
    pub(crate) config: Config,
}

impl<'de> Deserialize<'de> for Described {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::of(ConfigKind::ConfigMap, from)
    }
}

impl Described {
    /// Reads one of a kind, which lists and watches do not repeat for each.
    pub(crate) fn of<'de, D: serde::Deserializer<'de>>(kind: ConfigKind, from: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(from)?;
        // The error names a field, and metadata holds no values.
        Self::read(kind, &wire).map_err(serde::de::Error::custom)
    }

    fn read(kind: ConfigKind, wire: &Wire) -> Result<Self, ModelError> {
        let mut meta = Meta::from_value(&wire.metadata, "ConfigMap or Secret")?;
        let (data, binary) = (texts(&wire.data), texts(&wire.binary_data).unwrap_or_default());
        let config = Config {
            reloader: Some(Box::new(traits(kind, &meta, data.as_ref(), &binary))),
            version: meta.resource_version.clone(),
            digest: Digest::of(data.as_ref(), &binary),
            ignored: meta.annotations.get(names::IGNORE).is_some_and(|value| value == "true"),
            created: meta.creation_timestamp,
            written: evidence::data_written(&wire.metadata),
        };
        meta.annotations = Default::default();
        meta.labels.clear();
        Ok(Self { meta, config })
    }
}

impl ConfigKind {
    /// As the API has it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bad input: it is read all the same, and what is said of it holds no value.
    #[test]
    fn no_value_is_ever_quoted() {
        for data in [r#""hush""#, r#"["hush"]"#, r#"{"k": {"hush": 1}}"#, "null", r#"{"k": "hush"}"#] {
            let text = format!(r#"{{"metadata": {{"name": "s"}}, "data": {data}}}"#);
            let read: Described = serde_json::from_str(&text).unwrap();
            assert!(!format!("{read:?}").contains("hush"), "{data}");
        }
        let error =
            serde_json::from_str::<Described>(r#"{"metadata": {"name": 5}, "data": {"k": "hush"}}"#).unwrap_err();
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}
