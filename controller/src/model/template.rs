//! When two pod templates are the same, without knowing all their fields.
//!
//! Upstream compares typed templates by meaning: an empty map or list is an absent one, `1Gi` is
//! `1073741824`, the hash label does not count (`EqualIgnoreHash`). Here that is one walk over raw
//! JSON into a canonical form. Fields of the future take part as they are. An empty *object*
//! counts, as upstream's non-nil pointer does (`emptyDir: {}` is not nothing), save where the API
//! has a map or a plain struct.

use serde_json::Value;

use super::names::POD_TEMPLATE_HASH;
use super::quantity::Amount;

/// Fields that hold a map or a plain struct, so that `{}` says no more than absence does.
const MAPS: [&str; 13] = [
    "annotations",
    "labels",
    "limits",
    "matchLabels",
    "metadata",
    "nodeSelector",
    "options",
    "overhead",
    "requests",
    "resources",
    "spec",
    "status",
    "volumeAttributes",
];
/// Fields that hold a map of amounts.
const AMOUNT_MAPS: [&str; 3] = ["limits", "overhead", "requests"];
/// Fields that hold an amount.
const AMOUNTS: [&str; 2] = ["divisor", "sizeLimit"];

/// Whether two templates are the same, the hash label left aside.
pub fn same_template(left: &Value, right: &Value) -> bool {
    same(Place::TEMPLATE, Some(left), Some(right))
}

/// A template in the form in which equal ones are equal, without the hash label.
pub fn canonical(template: &Value) -> Value {
    walk(Place::TEMPLATE, template).unwrap_or(Value::Null)
}

/// A template with one more label.
pub fn with_label(mut template: Value, label: &str, value: &str) -> Value {
    template["metadata"]["labels"][label] = value.into();
    template
}

/// A template without a label.
pub fn without_label(mut template: Value, label: &str) -> Value {
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(label);
    }
    template
}

/// Where in a template a value stands, as far as that changes its meaning.
#[derive(Clone, Copy)]
struct Place<'a> {
    field: &'a str,
    /// How far down, as long as every step so far was towards the template's own labels.
    to_labels: Option<usize>,
    is_amount: bool,
}

impl<'a> Place<'a> {
    const TEMPLATE: Self = Self { field: "", to_labels: Some(0), is_amount: false };
    const ITEM: Self = Self { field: "", to_labels: None, is_amount: false };

    fn below(self, key: &'a str) -> Self {
        let step = self.to_labels.filter(|depth| ["metadata", "labels"].get(*depth) == Some(&key));
        Self {
            field: key,
            to_labels: step.map(|depth| depth + 1),
            is_amount: AMOUNT_MAPS.contains(&self.field) || AMOUNTS.contains(&key),
        }
    }

    /// Whether a key below this place is the label that does not count.
    fn is_hash_label(self, key: &str) -> bool {
        self.to_labels == Some(2) && key == POD_TEMPLATE_HASH
    }

    /// Whether a value here says no more than its absence would.
    fn is_silent(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => {
                let mut entries = map.iter();
                MAPS.contains(&self.field)
                    && entries.all(|(key, value)| self.is_hash_label(key) || self.below(key).is_silent(value))
            }
            _ => false,
        }
    }
}

fn same(place: Place<'_>, left: Option<&Value>, right: Option<&Value>) -> bool {
    let heard = |value: &&Value| !place.is_silent(value);
    let (Some(left), Some(right)) = (left.filter(heard), right.filter(heard)) else {
        return left.filter(heard).is_none() && right.filter(heard).is_none();
    };
    match (left, right) {
        (Value::Object(a), Value::Object(b)) => {
            let agree = |key: &String| place.is_hash_label(key) || same(place.below(key), a.get(key), b.get(key));
            a.keys().all(agree) && b.keys().filter(|key| !a.contains_key(*key)).all(agree)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Place::ITEM, Some(a), Some(b)))
        }
        (left, right) => left == right || (place.is_amount && amount(left).is_some() && amount(left) == amount(right)),
    }
}

fn walk(place: Place<'_>, value: &Value) -> Option<Value> {
    if place.is_silent(value) {
        return None;
    }
    Some(match value {
        // An item of a list keeps its place even if it says nothing.
        Value::Array(items) => items.iter().map(|item| walk(Place::ITEM, item).unwrap_or_default()).collect(),
        Value::Object(map) => {
            let counted = map.iter().filter(|(key, _)| !place.is_hash_label(key));
            let walked = counted.filter_map(|(key, value)| Some((key.clone(), walk(place.below(key), value)?)));
            Value::Object(walked.collect())
        }
        other if place.is_amount => amount(other).map_or_else(|| other.clone(), Value::String),
        other => other.clone(),
    })
}

/// The amount that a value means, in one text for one amount.
fn amount(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    Amount::parse(&text).map(|amount| amount.text())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::model::Template;

    #[rstest]
    #[case::hash_label_does_not_count(
        json!({"metadata": {"labels": {"app": "web", "pod-template-hash": "1"}}}),
        json!({"metadata": {"labels": {"app": "web"}}}), true)]
    #[case::only_a_hash_label_is_no_label(
        json!({"metadata": {"labels": {"pod-template-hash": "1"}}, "spec": {"x": 1}}),
        json!({"spec": {"x": 1}}), true)]
    #[case::other_labels_count(
        json!({"metadata": {"labels": {"app": "web", "tier": "1"}}}),
        json!({"metadata": {"labels": {"app": "web"}}}), false)]
    #[case::null_and_empty_are_absent(
        json!({"metadata": {"creationTimestamp": null}, "spec": {"volumes": [], "nodeSelector": {}}}),
        json!({"spec": {}}), true)]
    #[case::an_empty_struct_is_not_absent(
        json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}),
        json!({"spec": {"volumes": [{"name": "v"}]}}), false)]
    #[case::amounts_by_value(
        json!({"spec": {"containers": [{"resources": {"limits": {"memory": "1Gi", "cpu": "1000m"}}}]}}),
        json!({"spec": {"containers": [{"resources": {"limits": {"memory": "1073741824", "cpu": 1}}}]}}), true)]
    #[case::amounts_differ(
        json!({"spec": {"containers": [{"resources": {"limits": {"memory": "1Gi"}}}]}}),
        json!({"spec": {"containers": [{"resources": {"limits": {"memory": "1G"}}}]}}), false)]
    #[case::text_is_no_amount(json!({"spec": {"nodeName": "1000m"}}), json!({"spec": {"nodeName": "1"}}), false)]
    #[case::fields_of_the_future_count(json!({"spec": {"future": 1}}), json!({"spec": {"future": 2}}), false)]
    #[case::order_in_lists_counts(
        json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}),
        json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}), false)]
    fn templates(#[case] left: Value, #[case] right: Value, #[case] same: bool) {
        assert_eq!(same_template(&left, &right), same);
        assert_eq!(same_template(&right, &left), same);
        assert_eq!(canonical(&left) == canonical(&right), same, "both ways to compare agree");
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..3_i32).prop_map(Value::from),
            prop_oneof!["1", "1000m", "1Gi", "x"].prop_map(Value::from),
        ];
        let keys =
            prop_oneof!["metadata", "labels", "pod-template-hash", "limits", "sizeLimit", "spec", "emptyDir", "a"];
        leaf.prop_recursive(4, 24, 3, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(keys.clone(), inner, 0..4).prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn comparing_and_canonical_forms_agree(left in json(), right in json()) {
            prop_assert!(same_template(&left, &left));
            prop_assert_eq!(same_template(&left, &right), canonical(&left) == canonical(&right));
            prop_assert!(same_template(&left, &canonical(&left)), "{}", canonical(&left));
            let (kept, other) = (Template::new(left.clone()), Template::new(right.clone()));
            prop_assert_eq!(kept.is_same(&other), same_template(&left, &right), "the checksums agree, too");
        }
    }
}
