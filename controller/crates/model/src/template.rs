//! `spec.template`: whether two pod templates are equal, without knowing all their fields. The
//! checksum of a template's canonical form is kept, so a later comparison of two allocates nothing;
//! without it there are 1510 allocations (`cargo bench --package controller-client --bench
//! wire_forms`).
//!
//! Upstream compares typed templates by meaning: an empty map or list equals an absent one, `1Gi`
//! equals `1073741824`, and the hash label is ignored (`EqualIgnoreHash`). Here one walk over raw
//! JSON gives a canonical form. Unknown fields are compared as they are. An empty *object* differs
//! from an absent one, as upstream's non-nil pointer does (`emptyDir: {}` has a meaning), except
//! where the API has a map or a plain struct. A pod's own `resources` are a pointer, and those of a
//! container are a struct.

use serde_json::Value;

use super::names::POD_TEMPLATE_HASH;
use super::quantity::canonical_text;

/// Fields with a map or a plain struct, for which `{}` equals an absent field.
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
/// Fields with a map of quantities.
const QUANTITY_MAPS: [&str; 3] = ["limits", "overhead", "requests"];
/// Fields with a quantity.
const QUANTITIES: [&str; 2] = ["divisor", "sizeLimit"];

/// The canonical form of a template, without the hash label: equal templates have equal forms.
pub fn canonical_template(template: &Value) -> Value {
    canonicalize(FieldContext::TEMPLATE, template).unwrap_or(Value::Null)
}

/// Adds a label to a template.
pub fn with_label(mut template: Value, label: &str, value: &str) -> Value {
    template["metadata"]["labels"][label] = value.into();
    template
}

/// Removes a label from a template.
pub fn without_label(mut template: Value, label: &str) -> Value {
    if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(label);
    }
    template
}

/// The position of a value in a template, as far as it affects the meaning of the value.
#[derive(Clone, Copy)]
struct FieldContext<'a> {
    field: &'a str,
    part: TemplatePart,
    is_quantity: bool,
}

/// The parts of a template whose meaning depends on the whole path to them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TemplatePart {
    Template,
    Metadata,
    Labels,
    Spec,
    PodResources,
    Rest,
}

impl TemplatePart {
    fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Template, "metadata") => Self::Metadata,
            (Self::Metadata, "labels") => Self::Labels,
            (Self::Template, "spec") => Self::Spec,
            (Self::Spec, "resources") => Self::PodResources,
            _ => Self::Rest,
        }
    }
}

impl<'a> FieldContext<'a> {
    const TEMPLATE: Self = Self { field: "", part: TemplatePart::Template, is_quantity: false };
    const ITEM: Self = Self { field: "", part: TemplatePart::Rest, is_quantity: false };

    fn below(self, key: &'a str) -> Self {
        Self {
            field: key,
            part: self.part.below(key),
            is_quantity: QUANTITY_MAPS.contains(&self.field) || QUANTITIES.contains(&key),
        }
    }

    /// Whether a key below this position is the ignored hash label.
    fn is_hash_label(self, key: &str) -> bool {
        self.part == TemplatePart::Labels && key == POD_TEMPLATE_HASH
    }

    /// Whether a value here equals an absent one.
    fn is_empty_value(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => {
                let mut entries = map.iter();
                MAPS.contains(&self.field)
                    && self.part != TemplatePart::PodResources
                    && entries.all(|(key, value)| self.is_hash_label(key) || self.below(key).is_empty_value(value))
            }
            _ => false,
        }
    }
}

fn canonicalize(context: FieldContext<'_>, value: &Value) -> Option<Value> {
    if context.is_empty_value(value) {
        return None;
    }
    Some(match value {
        // An empty item of a list keeps its index.
        Value::Array(items) => {
            items.iter().map(|item| canonicalize(FieldContext::ITEM, item).unwrap_or_default()).collect()
        }
        Value::Object(map) => {
            let counted = map.iter().filter(|(key, _)| !context.is_hash_label(key));
            let walked =
                counted.filter_map(|(key, value)| Some((key.clone(), canonicalize(context.below(key), value)?)));
            Value::Object(walked.collect())
        }
        other if context.is_quantity => canonical_quantity(other).map_or_else(|| other.clone(), Value::String),
        other => other.clone(),
    })
}

/// The canonical text of a quantity.
fn canonical_quantity(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    canonical_text(&text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::Template;

    /// Whether two templates are equal except for the hash label: another way to find out, by a
    /// walk over both.
    fn is_same_template(one: &Value, two: &Value) -> bool {
        is_equivalent(FieldContext::TEMPLATE, Some(one), Some(two))
    }

    fn is_equivalent(context: FieldContext<'_>, one: Option<&Value>, two: Option<&Value>) -> bool {
        let has_value = |value: &&Value| !context.is_empty_value(value);
        let (Some(one), Some(two)) = (one.filter(has_value), two.filter(has_value)) else {
            return one.filter(has_value).is_none() && two.filter(has_value).is_none();
        };
        match (one, two) {
            (Value::Object(a), Value::Object(b)) => {
                let agree = |key: &String| {
                    context.is_hash_label(key) || is_equivalent(context.below(key), a.get(key), b.get(key))
                };
                a.keys().all(agree) && b.keys().filter(|key| !a.contains_key(*key)).all(agree)
            }
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equivalent(FieldContext::ITEM, Some(a), Some(b)))
            }
            (one, two) => {
                one == two
                    || (context.is_quantity
                        && canonical_quantity(one).is_some()
                        && canonical_quantity(one) == canonical_quantity(two))
            }
        }
    }

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
    #[case::empty_resources_of_a_container_are_absent(
        json!({"spec": {"containers": [{"name": "c", "resources": {}}]}}),
        json!({"spec": {"containers": [{"name": "c"}]}}), true)]
    #[case::empty_resources_of_a_pod_are_not_absent(
        json!({"spec": {"containers": [{"name": "c"}], "resources": {}}}),
        json!({"spec": {"containers": [{"name": "c"}]}}), false)]
    #[case::empty_limits_of_a_pod_are_absent(
        json!({"spec": {"resources": {"limits": {}}}}), json!({"spec": {"resources": {}}}), true)]
    #[case::empty_resources_of_a_volume_claim_are_absent(
        json!({"spec": {"volumes": [{"ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {}}}}}]}}),
        json!({"spec": {"volumes": [{"ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}}), true)]
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
    fn templates_are_equal_by_meaning(#[case] one: Value, #[case] two: Value, #[case] is_equal: bool) {
        assert_eq!(is_same_template(&one, &two), is_equal);
        assert_eq!(is_same_template(&two, &one), is_equal);
        assert_eq!(canonical_template(&one) == canonical_template(&two), is_equal, "both ways to compare agree");
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
        fn comparison_and_canonical_form_agree(one in json(), two in json()) {
            prop_assert!(is_same_template(&one, &one));
            prop_assert_eq!(is_same_template(&one, &two), canonical_template(&one) == canonical_template(&two));
            prop_assert!(is_same_template(&one, &canonical_template(&one)), "{}", canonical_template(&one));
            let (first, second) = (Template::new(one.clone()), Template::new(two.clone()));
            prop_assert_eq!(first.is_same(&second), is_same_template(&one, &two), "the checksums agree, too");
        }
    }
}
