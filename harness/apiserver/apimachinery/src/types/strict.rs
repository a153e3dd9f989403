//! Finds the unknown and duplicate fields that a strict decoder reports.
//!
//! Errors are in the order of the text, and a parsed value has no duplicates, so this reads the
//! text itself. Upstream: `UnmarshalStrict` of `sigs.k8s.io/json`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::types::table::{TYPES, ValueType};

/// Upstream reports at most this many errors.
const MOST: usize = 100;

/// What strict decoding reports.
#[derive(Debug, Default, PartialEq)]
pub struct StrictErrors {
    /// Messages as upstream words them, without duplicates.
    pub errors: Vec<String>,
    /// Whether a duplicate field makes upstream's decoder merge the two values, or reject the first
    /// for its type.
    pub merged: bool,
}

/// The expected type of a text.
#[derive(Debug, Clone, Copy)]
pub enum TextType {
    /// A type, by its index in the table.
    Type(usize),
    /// Any JSON: the text of a patch.
    Any,
    /// The operations of a JSON patch.
    Operations,
}

/// Reports unknown and duplicate fields of a text.
pub fn strict(text: &[u8], expected_type: TextType) -> StrictErrors {
    let mut errors = StrictErrors::default();
    let expected_type = match expected_type {
        TextType::Type(type_index) => StrictType::Struct(type_index),
        TextType::Any => StrictType::Any,
        TextType::Operations => StrictType::Operations,
    };
    let mut reader = serde_json::Deserializer::from_slice(text);
    // Syntax errors are reported elsewhere.
    let _ = StrictVisitor { expected_type, path: String::new(), errors: &mut errors }.deserialize(&mut reader);
    errors
}

#[derive(Clone, Copy)]
enum StrictType {
    Value(&'static ValueType),
    Struct(usize),
    Any,
    Operations,
    Operation,
    /// The value of an operation, which becomes part of the object.
    OperationValue,
}

/// The kind of a value, as far as it decides whether a second value of the same name replaces it.
#[derive(Clone, Copy, PartialEq)]
enum ValueKind {
    Text,
    Truth,
    /// A number that fits every integer type.
    Small,
    Other,
}

struct StrictVisitor<'a> {
    expected_type: StrictType,
    path: String,
    errors: &'a mut StrictErrors,
}

impl StrictErrors {
    fn report(&mut self, error: &str, path: &str) {
        let error = format!("{error} field {path:?}");
        if self.errors.len() < MOST && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

impl<'de> DeserializeSeed<'de> for StrictVisitor<'_> {
    type Value = ValueKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ValueKind, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictVisitor<'_> {
    type Value = ValueKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<ValueKind, E> {
        Ok(ValueKind::Truth)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<ValueKind, E> {
        Ok(if i32::try_from(number).is_ok() { ValueKind::Small } else { ValueKind::Other })
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<ValueKind, E> {
        Ok(if i32::try_from(number).is_ok() { ValueKind::Small } else { ValueKind::Other })
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<ValueKind, E> {
        Ok(ValueKind::Other)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<ValueKind, E> {
        Ok(ValueKind::Text)
    }

    fn visit_unit<E: Error>(self) -> Result<ValueKind, E> {
        Ok(ValueKind::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ValueKind, A::Error> {
        let expected_type = self.expected_type.item();
        let mut at = 0;
        while items
            .next_element_seed(StrictVisitor {
                expected_type,
                path: format!("{}[{at}]", self.path),
                errors: self.errors,
            })?
            .is_some()
        {
            at += 1;
        }
        Ok(ValueKind::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ValueKind, A::Error> {
        if !self.expected_type.is_open() {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(ValueKind::Other);
        }
        let mut members_so_far: BTreeMap<String, ValueKind> = BTreeMap::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            let Some(expected_type) = self.expected_type.member(&name) else {
                self.errors.report("unknown", &path);
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let before = members_so_far.get(&name).copied();
            if before.is_some() {
                self.errors.report("duplicate", &path);
            }
            let kind = members.next_value_seed(StrictVisitor { expected_type, path, errors: self.errors })?;
            self.errors.merged |= before.is_some_and(|before| expected_type.merges(before, kind));
            members_so_far.insert(name, kind);
        }
        Ok(ValueKind::Other)
    }
}

impl StrictType {
    /// The type of a member; `None` if there is no such member.
    fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Struct(type_index) | Self::Value(&ValueType::Struct(type_index)) => {
                TYPES.get(type_index).fields.get(name).map(|field| Self::Value(&field.shape))
            }
            Self::Value(ValueType::Map(item)) => Some(Self::Value(item)),
            Self::Value(ValueType::StructOrOther(object, _)) => Self::Value(object).member(name),
            Self::Operation => match name {
                "op" | "path" | "from" => Some(Self::Value(&ValueType::Text)),
                "value" => Some(Self::OperationValue),
                _ => None,
            },
            other => Some(other),
        }
    }

    fn item(self) -> Self {
        match self {
            Self::Value(ValueType::List(item)) => Self::Value(item),
            Self::Operations => Self::Operation,
            other => other,
        }
    }

    /// Whether upstream merges two values of one name instead of replacing the first.
    fn merges(self, first: ValueKind, second: ValueKind) -> bool {
        match self {
            Self::Value(ValueType::Bool | ValueType::Int(..) | ValueType::Text | ValueType::IntOrString) => {
                first != second || second == ValueKind::Other
            }
            Self::Value(_) => true,
            // The patched object keeps the text of the operation, with both values.
            Self::OperationValue => true,
            _ => false,
        }
    }

    /// Whether members are checked. Types with their own decoder check none of them.
    fn is_open(self) -> bool {
        !matches!(self, Self::Value(shape) if !matches!(shape, ValueType::Struct(_) | ValueType::Map(_) | ValueType::StructOrOther(..)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(expected_type: TextType, text: &str) -> (Vec<String>, bool) {
        let StrictErrors { errors, merged } = strict(text.as_bytes(), expected_type);
        (errors, merged)
    }

    #[test]
    fn reports_each_field_once_in_text_order() {
        let expected_type = TextType::Type(TYPES.index_of("Deployment").unwrap());
        let text = r#"{"zeta": {"a": 1, "a": 2}, "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "name": "b"}]}},
            "replicas": 2, "replicas": 3, "alpha": 1}, "metadata": {"labels": {"a": "1", "a": "2"}}}"#;
        let expected = [
            r#"unknown field "zeta""#,
            r#"duplicate field "spec.template.spec.containers[0].name""#,
            r#"duplicate field "spec.replicas""#,
            r#"unknown field "spec.alpha""#,
            r#"duplicate field "metadata.labels.a""#,
        ];
        assert_eq!(errors(expected_type, text), (expected.map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn flags_duplicate_objects_that_upstream_merges() {
        let expected_type = TextType::Type(TYPES.index_of("Deployment").unwrap());
        let text = r#"{"spec": {"replicas": 1}, "spec": {"paused": true}}"#;
        assert_eq!(errors(expected_type, text), (vec![r#"duplicate field "spec""#.to_owned()], true));
        assert_eq!(errors(TextType::Any, text), (vec![r#"duplicate field "spec""#.to_owned()], false));
    }

    #[test]
    fn reports_unknown_and_duplicate_fields_of_json_patch_operations() {
        let expected = vec![r#"unknown field "[1].odd""#.to_owned(), r#"duplicate field "[1].op""#.to_owned()];
        let text = r#"[{"op": "add", "value": {"x": 1}}, {"odd": 1, "op": "add", "op": "add"}]"#;
        assert_eq!(errors(TextType::Operations, text), (expected, false));
        assert!(
            errors(TextType::Operations, r#"[{"op": "add", "value": {"x": 1, "x": 1}}]"#).1,
            "both come into the object"
        );
    }
}
