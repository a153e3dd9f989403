//! The quantities in lists that server-side apply takes as one value.
//!
//! Upstream compares such lists as they are in memory (`reflect.DeepEqual` in
//! `structured-merge-diff`'s `listReflect.EqualsUsing`), and everything else by its text. A
//! quantity that a request writes in another form differs from the stored one in memory although
//! both have the same text: `0.25` is 25 hundredths without a text, `250m` is 250 thousandths with
//! that text.

use serde_json::Value;

use crate::types::quantity::differ_in_memory;
use crate::types::table::{Merging, TYPES, ValueType};

/// A quantity in an atomic list, as a request writes it.
#[derive(Debug, PartialEq, Eq)]
pub struct ListedQuantity {
    /// The names and list indices that lead to it.
    pub path: Vec<PathSegment>,
    text: String,
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSegment {
    /// The field with this name.
    Name(String),
    /// The item with this index, from 0.
    Index(usize),
}

impl PathSegment {
    /// The member of a value at this step.
    pub fn member<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Name(name) => value.get(name),
            Self::Index(at) => value.get(at),
        }
    }
}

impl ListedQuantity {
    /// The quantities in atomic lists of an undecoded object.
    pub fn all(type_index: usize, object: &Value) -> Vec<Self> {
        let mut walk = Walk { path: Vec::new(), quantities: Vec::new() };
        walk.object(type_index, object, AtomicScope::default());
        walk.quantities
    }

    /// Whether it is in the decoded object, in another form in memory.
    pub fn differs_from(&self, decoded: &Value) -> bool {
        let value = self.path.iter().try_fold(decoded, |value, step| step.member(value));
        value.and_then(Value::as_str).is_some_and(|stored| differ_in_memory(&self.text, stored))
    }
}

/// What a value is a part of.
#[derive(Debug, Clone, Copy, Default)]
struct AtomicScope {
    /// One value for server-side apply.
    atomic: bool,
    /// A list within that.
    in_list: bool,
}

struct Walk<'a> {
    path: Vec<WalkStep<'a>>,
    quantities: Vec<ListedQuantity>,
}

/// A [`PathSegment`] of the walked object.
#[derive(Clone, Copy)]
enum WalkStep<'a> {
    Name(&'a str),
    Index(usize),
}

impl From<WalkStep<'_>> for PathSegment {
    fn from(step: WalkStep<'_>) -> Self {
        match step {
            WalkStep::Name(name) => Self::Name(name.to_owned()),
            WalkStep::Index(at) => Self::Index(at),
        }
    }
}

impl<'a> Walk<'a> {
    fn object(&mut self, type_index: usize, object: &'a Value, within: AtomicScope) {
        let (of, Value::Object(object)) = (TYPES.get(type_index), object) else { return };
        let atomic = within.atomic || of.atomic;
        // Outside of a list only what may have a list within it counts.
        for (name, value) in object.iter().filter(|(_, value)| within.in_list || value.is_object() || value.is_array())
        {
            let Some(field) = of.fields.get(name) else { continue };
            let is_leaf = matches!(
                (&field.merging, &field.shape),
                (Merging::Atomic, _) | (Merging::Granular, ValueType::List(_))
            );
            self.path.push(WalkStep::Name(name));
            self.value(&field.shape, value, AtomicScope { atomic: atomic || is_leaf, ..within });
            self.path.pop();
        }
    }

    fn value(&mut self, shape: &ValueType, value: &'a Value, within: AtomicScope) {
        match (shape, value) {
            (ValueType::Quantity, _) if within.in_list => {
                let text = match value {
                    Value::String(text) => text.trim().to_owned(),
                    Value::Number(number) => number.to_string(),
                    _ => return,
                };
                let path = self.path.iter().map(|step| (*step).into()).collect();
                self.quantities.push(ListedQuantity { path, text });
            }
            (ValueType::Struct(type_index), _) => self.object(*type_index, value, within),
            (ValueType::StructOrOther(inner, _), Value::Object(_)) => self.value(inner, value, within),
            (ValueType::Map(item), Value::Object(fields)) => {
                for (name, value) in fields {
                    self.path.push(WalkStep::Name(name));
                    self.value(item, value, within);
                    self.path.pop();
                }
            }
            (ValueType::List(item), Value::Array(items)) => {
                let within = AtomicScope { in_list: within.atomic, ..within };
                for (at, value) in items.iter().enumerate() {
                    self.path.push(WalkStep::Index(at));
                    self.value(item, value, within);
                    self.path.pop();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("LimitRange", json!({"spec": {"limits": [{"max": {"cpu": 0.25}}]}}), &["0.25"])]
    #[case("ResourceQuota", json!({"spec": {"hard": {"pods": "5"}}}), &[])]
    #[case("Pod", json!({"spec": {"containers": [{"resources": {"limits": {"cpu": "0.5"}}}]}}), &[])]
    #[case(
        "StatefulSet",
        json!({"spec": {"volumeClaimTemplates": [{"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}]}}),
        &["1024Mi"]
    )]
    fn finds_quantities_in_atomic_lists(#[case] kind: &str, #[case] object: Value, #[case] expected: &[&str]) {
        let all = ListedQuantity::all(TYPES.index_of(kind).unwrap(), &object);
        assert_eq!(all.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), expected);
    }
}
