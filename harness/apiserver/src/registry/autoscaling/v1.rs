//! HorizontalPodAutoscalers of `autoscaling/v1`, which are stored and validated as those of v2.
//!
//! v1 has a field for the CPU utilization; all else
//! that v2 has (other metrics, the behavior, current metrics, conditions) becomes JSON in
//! annotations. An annotation with invalid JSON is dropped silently.
//!
//! Upstream: `pkg/apis/autoscaling/v1/conversion.go`.

use serde_json::{Value, json};

use crate::registry::autoscaling::horizontal_pod_autoscaler::{
    self as v2, BEHAVIOR, CONDITIONS, CURRENT, METRICS, drop_field_annotations,
};
use crate::registry::autoscaling::metrics::{self, cpu_utilization, is_cpu_utilization};
use crate::registry::autoscaling::text::{self, read};
use crate::registry::defaults::spec;
use crate::registry::strategy::{StoredConversion, Strategy};
use crate::types::kinds::{ALL, ResourceKind, kind};
use crate::types::table::AUTOSCALER_V1;

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    short_names: &["hpa"],
    categories: ALL,
    table_name: Some(AUTOSCALER_V1),
    stored_as: Some(&v2::KIND),
    is_processed_as_stored: true,
    ..kind("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
};

pub(crate) struct AutoscalerV1Strategy;

impl Strategy for AutoscalerV1Strategy {
    // The default metric is set by the conversion to v2.
    fn set_defaults(&self, autoscaler: &mut Value) {
        spec(autoscaler, &json!({"minReplicas": 1}));
    }

    fn stored_conversion(&self) -> Option<StoredConversion> {
        Some(StoredConversion { to_stored: |object| from_v1(&object), from_stored: |object| to_v1(&object) })
    }

    fn is_stored_without_defaults(&self) -> bool {
        true
    }
}

/// The default target utilization of the CPU, in percent.
const DEFAULT_UTILIZATION: i64 = 80;

/// Converts an autoscaler from v2 to v1.
pub(crate) fn to_v1(object: &Value) -> Value {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (metrics, current) = (items(&spec["metrics"]), items(&status["currentMetrics"]));
    let mut v1 = metadata_and_type(object, "autoscaling/v1");
    v1["spec"] = copy_fields(spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    if let Some(share) = metrics.iter().find(|metric| is_cpu_utilization(metric)) {
        v1["spec"]["targetCPUUtilizationPercentage"] = share["resource"]["target"]["averageUtilization"].clone();
    }
    let counts = ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"];
    v1["status"] = copy_fields(status, &counts);
    let of_cpu = current.iter().filter(|metric| metric["type"] == "Resource" && metric["resource"]["name"] == "cpu");
    let mut shares = of_cpu.map(|metric| &metric["resource"]["current"]["averageUtilization"]);
    if let Some(share) = shares.rfind(|share| !share.is_null()) {
        v1["status"]["currentCPUUtilizationPercentage"] = share.clone();
    }
    let others = metrics.iter().filter(|metric| !is_cpu_utilization(metric)).map(metrics::to_v1);
    let others: Vec<Value> = others.filter_map(|metric| read("autoscaling.v1.MetricSpec", metric)).collect();
    // The CPU metric is included, as its average value is nowhere else.
    let current = current.iter().map(metrics::current_to_v1);
    let current: Vec<Value> = current.filter_map(|metric| read("autoscaling.v1.MetricStatus", metric)).collect();
    let conditions = items(&status["conditions"]).iter().cloned();
    let conditions = conditions.filter_map(|one| read("autoscaling.v1.HorizontalPodAutoscalerCondition", one));
    let conditions: Vec<Value> = conditions.collect();
    for (name, list) in [(METRICS, others), (CURRENT, current), (CONDITIONS, conditions)] {
        if !list.is_empty() {
            v1["metadata"]["annotations"][name] = text::ordered_json(&list.into()).into();
        }
    }
    if spec["behavior"].is_object() {
        v1["metadata"]["annotations"][BEHAVIOR] = text::behavior(&spec["behavior"]).into();
    }
    complete(AUTOSCALER_V1, v1)
}

/// Converts an autoscaler from v1 to v2.
pub(crate) fn from_v1(v1: &Value) -> Value {
    let annotation = |name: &str| v1["metadata"]["annotations"][name].as_str();
    let list = |name: &str, kind: &str| -> Option<Vec<Value>> {
        let all: Option<Vec<Value>> = serde_json::from_str(annotation(name)?).ok()?;
        all.unwrap_or_default().into_iter().map(|one| read(kind, one)).collect()
    };
    let (spec, status) = (&v1["spec"], &v1["status"]);
    let mut object = metadata_and_type(v1, "autoscaling/v2");
    object["spec"] = copy_fields(spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    let share = &spec["targetCPUUtilizationPercentage"];
    let others = list(METRICS, "autoscaling.v1.MetricSpec").unwrap_or_default();
    let mut metrics: Vec<Value> = others.iter().map(metrics::from_v1).collect();
    if !share.is_null() {
        metrics.push(cpu_utilization(share));
    }
    if metrics.is_empty() {
        metrics.push(cpu_utilization(&DEFAULT_UTILIZATION.into()));
    }
    object["spec"]["metrics"] = metrics.into();
    if let Some(behavior) = annotation(BEHAVIOR).and_then(text::read_behavior) {
        object["spec"]["behavior"] = behavior;
    }
    let counts = ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"];
    object["status"] = copy_fields(status, &counts);
    let share = &status["currentCPUUtilizationPercentage"];
    if !share.is_null() {
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": share}}});
        object["status"]["currentMetrics"] = json!([metric]);
    }
    if let Some(current) = list(CURRENT, "autoscaling.v1.MetricStatus") {
        object["status"]["currentMetrics"] = current.iter().map(metrics::current_from_v1).collect();
    }
    if let Some(conditions) = list(CONDITIONS, "autoscaling.v1.HorizontalPodAutoscalerCondition") {
        object["status"]["conditions"] = conditions.into();
    }
    complete("HorizontalPodAutoscaler", object)
}

/// The type, if the object has one, and the metadata without the annotations that stand for fields.
fn metadata_and_type(object: &Value, version: &str) -> Value {
    let mut new = json!({"metadata": object["metadata"]});
    if object["apiVersion"].is_string() {
        new["apiVersion"] = version.into();
        new["kind"] = object["kind"].clone();
    }
    drop_field_annotations(&mut new);
    new
}

/// Copies these fields, where present.
fn copy_fields(from: &Value, names: &[&str]) -> Value {
    let fields = names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(*name)?.clone())));
    Value::Object(fields.collect())
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Encodes an object with all fields that its type requires.
fn complete(kind: &str, object: Value) -> Value {
    read(kind, object.clone()).unwrap_or(object)
}

#[cfg(test)]
mod tests;
