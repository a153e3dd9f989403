//! The JSON in the annotations, in upstream's order of fields: a client compares it as text.

use serde_json::{Value, json};

/// The order of the fields of all types that stand in annotations.
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

/// Metrics or conditions as text.
pub(super) fn ordered(value: &Value) -> String {
    escaped(&written(value, true))
}

/// As Go writes it: what HTML gives a meaning to is escaped.
fn escaped(text: &str) -> String {
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// `typed`: whether names are those of fields; those of labels are sorted as text.
fn written(value: &Value, typed: bool) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, typed)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            if typed {
                let place = |name: &str| ORDER.iter().position(|one| *one == name).unwrap_or(ORDER.len());
                fields.sort_by_key(|(name, _)| place(name));
            }
            let field = |(name, value): &(&String, &Value)| {
                format!("{}:{}", json!(name), written(value, typed && *name != "matchLabels"))
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(","))
        }
        scalar => scalar.to_string(),
    }
}

/// The fields of rules by v2's names and by those in the annotation, which are upstream's own.
const RULES: [(&str, &str); 4] = [
    ("stabilizationWindowSeconds", "StabilizationWindowSeconds"),
    ("selectPolicy", "SelectPolicy"),
    ("policies", "Policies"),
    ("tolerance", "Tolerance"),
];
const POLICIES: [(&str, &str); 3] = [("type", "Type"), ("value", "Value"), ("periodSeconds", "PeriodSeconds")];
const DIRECTIONS: [(&str, &str); 2] = [("scaleUp", "ScaleUp"), ("scaleDown", "ScaleDown")];

/// A behaviour of v2 as text.
pub(super) fn behavior(behavior: &Value) -> String {
    let policy = |policy: &Value| object(&POLICIES, policy, Value::to_string);
    let of_rules = |name: &str, value: &Value| match value.as_array() {
        Some(policies) if name == "policies" => {
            format!("[{}]", policies.iter().map(policy).collect::<Vec<_>>().join(","))
        }
        _ => value.to_string(),
    };
    let rules = |rules: &Value| match rules {
        Value::Object(_) => {
            let field = |(name, said): &(&str, &str)| format!("\"{said}\":{}", of_rules(name, &rules[*name]));
            format!("{{{}}}", RULES.iter().map(field).collect::<Vec<_>>().join(","))
        }
        _ => "null".to_owned(),
    };
    escaped(&object(&DIRECTIONS, behavior, rules))
}

fn object(names: &[(&str, &str)], value: &Value, write: impl Fn(&Value) -> String) -> String {
    let field = |(name, said): &(&str, &str)| format!("\"{said}\":{}", write(&value[*name]));
    format!("{{{}}}", names.iter().map(field).collect::<Vec<_>>().join(","))
}

/// A behaviour from its text; `None` if it is none, or says nothing.
pub(super) fn read_behavior(text: &str) -> Option<Value> {
    let said: Value = serde_json::from_str(text).ok()?;
    let mut behavior = renamed(&DIRECTIONS, said);
    for (direction, _) in DIRECTIONS {
        let Some(rules) = behavior.get_mut(direction).filter(|rules| rules.is_object()) else { continue };
        *rules = renamed(&RULES, rules.take());
        for policy in rules.get_mut("policies").and_then(Value::as_array_mut).into_iter().flatten() {
            *policy = renamed(&POLICIES, policy.take());
        }
    }
    let behavior = super::read("HorizontalPodAutoscalerBehavior", behavior)?;
    behavior.as_object().is_some_and(|fields| !fields.is_empty()).then_some(behavior)
}

/// With v2's names. In upstream's decoder the case of letters does not count.
fn renamed(names: &[(&str, &str)], value: Value) -> Value {
    let Value::Object(fields) = value else { return value };
    let own = |name: String| {
        let known = names.iter().find(|(_, said)| said.eq_ignore_ascii_case(&name));
        known.map_or(name, |(own, _)| (*own).to_owned())
    };
    Value::Object(fields.into_iter().map(|(name, value)| (own(name), value)).collect())
}
