//! Converts metrics between v1 and v2.
//!
//! Upstream: `Convert_v1_…` and `Convert_autoscaling_…` of the metrics in
//! `pkg/apis/autoscaling/v1/conversion.go`.

use serde_json::{Map, Value, json};

use crate::types::quantity::Quantity;

/// Whether v1 has a field for the metric: the average CPU utilization.
pub(crate) fn is_cpu_utilization(metric: &Value) -> bool {
    let resource = &metric["resource"];
    metric["type"] == "Resource" && resource["name"] == "cpu" && !resource["target"]["averageUtilization"].is_null()
}

/// The metric for the CPU utilization of v1.
pub(crate) fn cpu_utilization(share: &Value) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": share});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

/// An object of the fields that are not null.
fn set<const N: usize>(fields: [(&str, &Value); N]) -> Value {
    let set = fields.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(set.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// v1 requires this quantity.
fn or_zero(quantity: &Value) -> Value {
    if quantity.is_null() { "0".into() } else { quantity.clone() }
}

/// Converts each source of a metric.
fn map_sources(metric: &Value, change: impl Fn(&str, &Value) -> Value) -> Value {
    let mut all = Map::new();
    all.insert("type".to_owned(), metric["type"].clone());
    for name in ["object", "pods", "resource", "containerResource", "external"] {
        if metric[name].is_object() {
            all.insert(name.to_owned(), change(name, &metric[name]));
        }
    }
    Value::Object(all)
}

/// Converts a metric from v2 to v1.
pub(crate) fn to_v1(metric: &Value) -> Value {
    map_sources(metric, |name, source| {
        let (target, named) = (&source["target"], &source["metric"]);
        match name {
            "object" => set([
                ("target", &source["describedObject"]),
                ("metricName", &named["name"]),
                ("targetValue", &or_zero(&target["value"])),
                ("selector", &named["selector"]),
                ("averageValue", &target["averageValue"]),
            ]),
            "pods" => set([
                ("metricName", &named["name"]),
                ("targetAverageValue", &or_zero(&target["averageValue"])),
                ("selector", &named["selector"]),
            ]),
            "external" => set([
                ("metricName", &named["name"]),
                ("metricSelector", &named["selector"]),
                ("targetValue", &target["value"]),
                ("targetAverageValue", &target["averageValue"]),
            ]),
            _ => set([
                ("name", &source["name"]),
                ("container", &source["container"]),
                ("targetAverageUtilization", &target["averageUtilization"]),
                ("targetAverageValue", &target["averageValue"]),
            ]),
        }
    })
}

/// Converts a metric from v1 to v2.
pub(crate) fn from_v1(metric: &Value) -> Value {
    map_sources(metric, |name, source| {
        let named = |selector: &str| set([("name", &source["metricName"]), ("selector", &source[selector])]);
        match name {
            "object" => {
                let (value, average) = (&source["targetValue"], &source["averageValue"]);
                // v1 requires the value: beside an average a zero means that there is none.
                let kept = average.is_null() || value.as_str().is_none_or(|text| !is_zero(text));
                let value = if kept { value } else { &Value::Null };
                let kind = if average.is_null() { "Value" } else { "AverageValue" };
                let target = set([("type", &kind.into()), ("value", value), ("averageValue", average)]);
                json!({"describedObject": source["target"], "metric": named("selector"), "target": target})
            }
            "pods" => {
                let target = json!({"type": "AverageValue", "averageValue": source["targetAverageValue"]});
                json!({"metric": named("selector"), "target": target})
            }
            "external" => {
                let (value, average) = (&source["targetValue"], &source["targetAverageValue"]);
                let kind = if value.is_null() { "AverageValue" } else { "Value" };
                let target = set([("type", &kind.into()), ("value", value), ("averageValue", average)]);
                json!({"metric": named("metricSelector"), "target": target})
            }
            _ => {
                let (share, average) = (&source["targetAverageUtilization"], &source["targetAverageValue"]);
                let kind = if share.is_null() { "AverageValue" } else { "Utilization" };
                let target = set([("type", &kind.into()), ("averageValue", average), ("averageUtilization", share)]);
                set([("name", &source["name"]), ("container", &source["container"]), ("target", &target)])
            }
        }
    })
}

/// Converts a current metric from v2 to v1.
pub(crate) fn current_to_v1(metric: &Value) -> Value {
    map_sources(metric, |name, source| {
        let (current, named) = (&source["current"], &source["metric"]);
        match name {
            "object" => set([
                ("target", &source["describedObject"]),
                ("metricName", &named["name"]),
                ("currentValue", &or_zero(&current["value"])),
                ("selector", &named["selector"]),
                ("averageValue", &current["averageValue"]),
            ]),
            "pods" => set([
                ("metricName", &named["name"]),
                ("currentAverageValue", &or_zero(&current["averageValue"])),
                ("selector", &named["selector"]),
            ]),
            "external" => set([
                ("metricName", &named["name"]),
                ("metricSelector", &named["selector"]),
                ("currentValue", &or_zero(&current["value"])),
                ("currentAverageValue", &current["averageValue"]),
            ]),
            _ => set([
                ("name", &source["name"]),
                ("container", &source["container"]),
                ("currentAverageUtilization", &current["averageUtilization"]),
                ("currentAverageValue", &or_zero(&current["averageValue"])),
            ]),
        }
    })
}

/// Converts a current metric from v1 to v2.
pub(crate) fn current_from_v1(metric: &Value) -> Value {
    map_sources(metric, |name, source| {
        let named = |selector: &str| set([("name", &source["metricName"]), ("selector", &source[selector])]);
        match name {
            "object" => {
                let current = set([("value", &source["currentValue"]), ("averageValue", &source["averageValue"])]);
                json!({"describedObject": source["target"], "metric": named("selector"), "current": current})
            }
            "pods" => {
                json!({"metric": named("selector"), "current": {"averageValue": source["currentAverageValue"]}})
            }
            "external" => {
                let average = &source["currentAverageValue"];
                let current = set([("value", &source["currentValue"]), ("averageValue", average)]);
                json!({"metric": named("metricSelector"), "current": current})
            }
            _ => {
                let average = &source["currentAverageValue"];
                let share = &source["currentAverageUtilization"];
                let current = set([("averageValue", average), ("averageUtilization", share)]);
                set([("name", &source["name"]), ("container", &source["container"]), ("current", &current)])
            }
        }
    })
}

/// Whether a quantity is zero in any unit.
fn is_zero(quantity: &str) -> bool {
    Quantity::parse_stored(quantity).is_zero()
}
