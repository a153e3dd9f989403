//! When two pod templates are the same, without knowing all their fields.
//!
//! Upstream compares typed templates by meaning: an empty map or list is an absent one, `1Gi` is `1073741824`, the hash label
//! does not count (`EqualIgnoreHash`). Here that is one walk over raw JSON into a canonical form. Fields of the future take part
//! as they are. An empty *object* counts, as upstream's non-nil pointer does (`emptyDir: {}` is not nothing), save where the API
//! has a map or a plain struct.

use serde_json::{Map, Value};

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
    left == right || canonical(left) == canonical(right)
}

/// A template in the form in which equal ones are equal, without the hash label.
pub fn canonical(template: &Value) -> Value {
    walk("", &without_label(template, POD_TEMPLATE_HASH)).unwrap_or(Value::Null)
}

/// A copy of a template with one more label.
pub fn with_label(template: &Value, label: &str, value: &str) -> Value {
    let mut template = template.clone();
    template["metadata"]["labels"][label] = value.into();
    template
}

/// A copy of a template without a label.
pub fn without_label(template: &Value, label: &str) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(label);
    }
    template
}

fn walk(field: &str, value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        // An item of a list keeps its place even if it says nothing.
        Value::Array(items) => {
            Some(items.iter().map(|item| walk("", item).unwrap_or_else(|| Value::Object(Map::new()))).collect())
        }
        Value::Object(map) => {
            let amounts = AMOUNT_MAPS.contains(&field);
            let map: Map<String, Value> = map
                .iter()
                .filter_map(|(key, value)| {
                    let value =
                        if amounts || AMOUNTS.contains(&key.as_str()) { amount(value) } else { walk(key, value) };
                    Some((key.clone(), value?))
                })
                .collect();
            (!map.is_empty() || !MAPS.contains(&field)).then_some(Value::Object(map))
        }
        other => Some(other.clone()),
    }
}

fn amount(value: &Value) -> Option<Value> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        other => return walk("", other),
    };
    Some(Amount::parse(&text).map_or_else(|| value.clone(), |amount| amount.text().into()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

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
    }
}
