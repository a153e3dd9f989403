//! Writes the JSON in annotations with upstream's order of fields, as clients compare it as text.

use serde_json::{Value, json};

use crate::types::decode::decode;
use crate::types::table::TYPES;

/// The order of all fields of the types in annotations.
const ORDER: [&str; 30] = [
    "type",
    "status",
    "lastTransitionTime",
    "reason",
    "message",
    "object",
    "pods",
    "resource",
    "containerResource",
    "external",
    "target",
    "kind",
    "name",
    "apiVersion",
    "metricName",
    "metricSelector",
    "targetValue",
    "currentValue",
    "targetAverageUtilization",
    "currentAverageUtilization",
    "targetAverageValue",
    "currentAverageValue",
    "selector",
    "averageValue",
    "container",
    "matchLabels",
    "matchExpressions",
    "key",
    "operator",
    "values",
];

/// Metrics or conditions as JSON.
pub(crate) fn ordered_json(value: &Value) -> String {
    escape_html(&to_ordered_json(value, true))
}

/// Escapes characters of HTML as Go does.
fn escape_html(text: &str) -> String {
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// `typed`: whether names are declared fields; labels are sorted by name.
fn to_ordered_json(value: &Value, typed: bool) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| to_ordered_json(item, typed)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            if typed {
                let place = |name: &str| ORDER.iter().position(|one| *one == name).unwrap_or(ORDER.len());
                fields.sort_by_key(|(name, _)| place(name));
            }
            let field = |(name, value): &(&String, &Value)| {
                format!("{}:{}", json!(name), to_ordered_json(value, typed && *name != "matchLabels"))
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// The fields of scaling rules: v2's name, and the name of upstream's internal type in the
/// annotation.
const RULES: [(&str, &str); 4] = [
    ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
    ("selectPolicy", "SelectPolicy"),
    ("policies", "Policies"),
    ("tolerance", "Tolerance"),
];
const POLICIES: [(&str, &str); 3] = [("type", "Type"), ("value", "Value"), ("periodSeconds", "PeriodSeconds")];
const DIRECTIONS: [(&str, &str); 2] = [("scaleUp", "ScaleUp"), ("scaleDown", "ScaleDown")];

/// The behavior of v2 as JSON of upstream's internal type.
pub(crate) fn behavior(behavior: &Value) -> String {
    let policy = |policy: &Value| object(&POLICIES, policy, Value::to_string);
    let of_rules = |name: &str, value: &Value| match value.as_array() {
        Some(policies) if name == "policies" => {
            format!("[{}]", policies.iter().map(policy).collect::<Vec<_>>().join(","))
        }
        _ => value.to_string(),
    };
    let rules = |rules: &Value| match rules {
        Value::Object(_) => {
            let field =
                |(name, internal_name): &(&str, &str)| format!("\"{internal_name}\":{}", of_rules(name, &rules[*name]));
            format!("{{{}}}", RULES.iter().map(field).collect::<Vec<_>>().join(","))
        }
        _ => "null".to_owned(),
    };
    escape_html(&object(&DIRECTIONS, behavior, rules))
}

fn object(names: &[(&str, &str)], value: &Value, write: impl Fn(&Value) -> String) -> String {
    let field = |(name, internal_name): &(&str, &str)| format!("\"{internal_name}\":{}", write(&value[*name]));
    format!("{{{}}}", names.iter().map(field).collect::<Vec<_>>().join(","))
}

/// Parses a behavior; `None` if it is invalid or empty.
pub(crate) fn read_behavior(text: &str) -> Option<Value> {
    let internal_name: Value = serde_json::from_str(text).ok()?;
    let mut behavior = rename_fields(&DIRECTIONS, internal_name);
    for (direction, _) in DIRECTIONS {
        let Some(rules) = behavior.get_mut(direction).filter(|rules| rules.is_object()) else { continue };
        *rules = rename_fields(&RULES, rules.take());
        for policy in rules.get_mut("policies").and_then(Value::as_array_mut).into_iter().flatten() {
            *policy = rename_fields(&POLICIES, policy.take());
        }
    }
    let behavior = read("HorizontalPodAutoscalerBehavior", behavior)?;
    behavior.as_object().is_some_and(|fields| !fields.is_empty()).then_some(behavior)
}

/// Renames fields to v2's names, ignoring case as upstream's decoder does.
fn rename_fields(names: &[(&str, &str)], value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let own = |name: String| {
        let known = names.iter().find(|(_, internal_name)| internal_name.eq_ignore_ascii_case(&name));
        known.map_or(name, |(own, _)| (*own).to_owned())
    };
    Value::Object(fields.into_iter().map(|(name, value)| (own(name), value)).collect())
}

/// Decodes a value as a type of the table; `None` if it does not fit.
pub(crate) fn read(kind: &str, value: Value) -> Option<Value> {
    let type_index = TYPES.index_of(kind).expect("the table has both versions of autoscaling");
    decode(type_index, value).ok().map(|decoded| decoded.value)
}
