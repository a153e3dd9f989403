//! An object as a watch delivers it, without its managed fields, which make up half of its JSON and
//! are not needed here. The deserializer skips them, so they never become values.

use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StrippedObject(pub(super) Value);

/// An object's metadata without managed fields.
struct StrippedMetadata(Value);

impl<'de> Deserialize<'de> for StrippedObject {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrippingVisitor { metadata: false }).map(Self)
    }
}

impl<'de> Deserialize<'de> for StrippedMetadata {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(StrippingVisitor { metadata: true }).map(Self)
    }
}

/// Visits an object, or its metadata.
struct StrippingVisitor {
    metadata: bool,
}

impl<'de> Visitor<'de> for StrippingVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = parts.next_key::<String>()? {
            match (self.metadata, name.as_str()) {
                (true, "managedFields") => drop(parts.next_value::<IgnoredAny>()?),
                (false, "metadata") => drop(all.insert(name, parts.next_value::<StrippedMetadata>()?.0)),
                _ => drop(all.insert(name, parts.next_value()?)),
            }
        }
        Ok(all.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
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
        assert_eq!(serde_json::from_str::<StrippedObject>(text).unwrap(), StrippedObject(expected));
    }
}
