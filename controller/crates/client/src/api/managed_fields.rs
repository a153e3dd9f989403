//! Drops `metadata.managedFields` while an object is parsed: an answer of 13.6 kB takes at most
//! 67 kB and 388 allocations instead of 118 kB and 742 (`cargo bench --package controller-client
//! --bench wire_forms`).
//!
//! This controller does not read them, and the server keeps them when a write omits them.

use rollout_model::any_json::{AnyJson, FromAnyJson};
use serde::de::{IgnoredAny, MapAccess};
use serde_json::{Map, Value};

/// An object without `metadata.managedFields`.
#[derive(Debug, Clone, PartialEq)]
pub struct WithoutManagedFields(pub Value);

/// An object's metadata without `managedFields`.
pub(super) struct ManifestMetadata(pub(super) Value);

impl FromAnyJson for WithoutManagedFields {
    fn from_map<'de, A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value = if name == "metadata" {
                fields.next_value::<AnyJson<ManifestMetadata>>()?.0.0
            } else {
                fields.next_value()?
            };
            all.insert(name, value);
        }
        Ok(Self(all.into()))
    }

    fn from_non_map(value: Value) -> Self {
        Self(value)
    }
}

impl FromAnyJson for ManifestMetadata {
    fn from_map<'de, A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            if name == "managedFields" {
                fields.next_value::<IgnoredAny>()?;
            } else {
                all.insert(name, fields.next_value()?);
            }
        }
        Ok(Self(all.into()))
    }

    fn from_non_map(value: Value) -> Self {
        Self(value)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::managers(
        r#"{"metadata": {"managedFields": [{"a": {}}], "name": "x"}, "a": 1}"#,
        r#"{"metadata": {"name": "x"}, "a": 1}"#
    )]
    #[case::elsewhere(r#"{"managedFields": 1, "spec": {"managedFields": 2, "metadata": {"managedFields": 3}}}"#, "")]
    #[case::others(r#"[null, true, -1, 1, 1.5, "x", [{"metadata": {"managedFields": 1}}]]"#, "")]
    #[case::no_map(r#"{"metadata": [1], "a": null}"#, "")]
    #[case::null(r#"{"metadata": null}"#, "")]
    fn only_metadata_loses_its_managed_fields(#[case] text: &str, #[case] expected: &str) {
        let expected = if expected.is_empty() { text } else { expected };
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(
            serde_json::from_str::<AnyJson<WithoutManagedFields>>(text).unwrap().0,
            WithoutManagedFields(expected)
        );
    }
}
