//! An object without its field managers. Half of an object's JSON is about those, this controller
//! does not read them, and the server keeps them where a write leaves them out. They are skipped
//! where they stand, and never become values.

use serde::de::{IgnoredAny, MapAccess};
use serde_json::{Map, Value};

use crate::model::any_json::{AnyJson, FromAnyJson};

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bare(pub(crate) Value);

/// Its metadata.
pub(super) struct Metadata(pub(super) Value);

impl FromAnyJson for Bare {
    fn from_map<'de, A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let mut all = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value =
                if name == "metadata" { fields.next_value::<AnyJson<Metadata>>()?.0.0 } else { fields.next_value()? };
            all.insert(name, value);
        }
        Ok(Self(all.into()))
    }

    fn from_non_map(value: Value) -> Self {
        Self(value)
    }
}

impl FromAnyJson for Metadata {
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
    fn managers_are_left_out_of_the_metadata_alone(#[case] text: &str, #[case] expected: &str) {
        let expected = if expected.is_empty() { text } else { expected };
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(serde_json::from_str::<AnyJson<Bare>>(text).unwrap().0, Bare(expected));
    }
}
