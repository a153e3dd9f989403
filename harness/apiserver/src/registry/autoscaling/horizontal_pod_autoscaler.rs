//! HorizontalPodAutoscalers of `autoscaling/v2`. Upstream: `pkg/registry/autoscaling`,
//! `SetDefaults_HorizontalPodAutoscaler`, `printHorizontalPodAutoscaler`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::autoscaling::validation;
use crate::registry::defaults::{entry, set, spec};
use crate::registry::strategy::Strategy;
use crate::registry::validate::scalars::counts;
use crate::schema::printers::cells::{age, items, name, number, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, kind};

/// The annotations of v1 that stand for fields of v2.
const FIELD_ANNOTATIONS: [&str; 6] = [
    METRICS,
    CURRENT,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];
pub(crate) const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
pub(crate) const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
pub(crate) const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
pub(crate) const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    short_names: &["hpa"],
    categories: ALL,
    ..kind("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
};

pub(crate) struct AutoscalerStrategy;

impl Strategy for AutoscalerStrategy {
    fn convert_fields(&self, autoscaler: &mut Value) {
        drop_field_annotations(autoscaler);
    }

    fn set_defaults(&self, autoscaler: &mut Value) {
        spec(autoscaler, &json!({"minReplicas": 1}));
        if autoscaler["spec"]["metrics"].as_array().is_none_or(Vec::is_empty) {
            autoscaler["spec"]["metrics"] = json!([{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}}]);
        }
        if autoscaler["spec"]["behavior"].is_object() {
            fill_behavior(&mut autoscaler["spec"]["behavior"]);
        }
    }

    // Autoscalers of v1 are validated without defaults.
    fn is_stored_without_defaults(&self) -> bool {
        true
    }

    // An empty list of policies gets no defaults.
    fn fields_with_empty_lists(&self) -> &'static [&'static str] {
        &["behavior"]
    }

    fn prepare_for_create(&self, autoscaler: &mut Value) {
        autoscaler["status"] = json!({});
    }

    fn unsupported_before_validation(&self, new: &Value) -> Option<String> {
        let mut metrics = items(&new["spec"]["metrics"]);
        let has_several = metrics.any(|metric| validation::extra_sources(metric) > 1);
        has_several.then(|| "a metric with several sources that are not of its type".to_owned())
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validation::spec(&new["spec"], None));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validation::spec(&new["spec"], Some(&old["spec"])));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(counts(&new["status"], &["currentReplicas", "desiredReplicas"]));
        errors
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        let mut names =
            items(&new["spec"]["metrics"]).filter_map(|metric| metric["containerResource"]["name"].as_str());
        let unusual = names.find(|name| !matches!(*name, "" | "cpu" | "memory"))?;
        Some(format!("a metric of the resource {unusual:?} of a container"))
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"), AGE] }
    }

    fn cells(&self, autoscaler: &Value, now: Timestamp) -> Vec<Value> {
        let (spec, status) = (&autoscaler["spec"], &autoscaler["status"]);
        let target = &spec["scaleTargetRef"];
        let least = spec["minReplicas"].as_i64().map_or("<unset>".to_owned(), |least| least.to_string());
        vec![
            name(autoscaler),
            format!("{}/{}", or(&target["kind"], ""), or(&target["name"], "")).into(),
            metrics(spec, status).into(),
            least.into(),
            number(&spec["maxReplicas"]).into(),
            number(&status["currentReplicas"]).into(),
            age(autoscaler, now),
        ]
    }
}

/// Fills in both directions of a behavior. Upstream: `SetDefaults_HorizontalPodAutoscalerBehavior`.
fn fill_behavior(behavior: &mut Value) {
    let policy = |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    let up = entry(behavior, "scaleUp");
    set(up, "stabilizationWindowSeconds", json!(0));
    set(up, "selectPolicy", json!("Max"));
    set(up, "policies", json!([policy("Pods", 4), policy("Percent", 100)]));
    let down = entry(behavior, "scaleDown");
    set(down, "selectPolicy", json!("Max"));
    set(down, "policies", json!([policy("Percent", 100)]));
}

/// Removes the annotations that stand for fields of v2.
pub(crate) fn drop_field_annotations(object: &mut Value) {
    let Some(meta) = object["metadata"].as_object_mut() else { return };
    let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    FIELD_ANNOTATIONS.iter().for_each(|name| drop(annotations.remove(*name)));
    if annotations.is_empty() {
        meta.remove("annotations");
    }
}

/// Upstream: `formatHPAMetrics`.
fn metrics(spec: &Value, status: &Value) -> String {
    const MOST: usize = 2;
    let all = items(&spec["metrics"]).enumerate().map(|(index, metric)| {
        let kind = or(&metric["type"], "");
        let field = format!("{}{}", kind[..kind.len().min(1)].to_lowercase(), kind.get(1..).unwrap_or_default());
        let (target, now) = (&metric[&field]["target"], &status["currentMetrics"][index][&field]["current"]);
        let text = |value: &'_ Value, absent: &str| or(value, absent).to_owned();
        let average = target["averageValue"].is_string();
        match kind {
            "External" | "Object" if average => {
                let now = text(&now["averageValue"], "<unknown>");
                format!("{now}/{} (avg)", or(&target["averageValue"], ""))
            }
            "External" | "Object" => format!("{}/{}", text(&now["value"], "<unknown>"), or(&target["value"], "")),
            "Pods" => format!("{}/{}", text(&now["averageValue"], "<unknown>"), or(&target["averageValue"], "")),
            "Resource" | "ContainerResource" => {
                let name = or(&metric[&field]["name"], "");
                if average {
                    let now = text(&now["averageValue"], "<unknown>");
                    return format!("{name}: {now}/{}", or(&target["averageValue"], ""));
                }
                let percent = |value: &Value, absent: &str| {
                    value.as_i64().map_or(absent.to_owned(), |percent| format!("{percent}%"))
                };
                let now = percent(&now["averageUtilization"], "<unknown>");
                format!("{name}: {now}/{}", percent(&target["averageUtilization"], "<auto>"))
            }
            _ => "<unknown type>".to_owned(),
        }
    });
    let all: Vec<String> = all.collect();
    match all.len() {
        0 => "<none>".to_owned(),
        count if count > MOST => format!("{} + {} more...", all[..MOST].join(", "), count - MOST),
        _ => all.join(", "),
    }
}
