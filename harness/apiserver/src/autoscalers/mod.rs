//! HorizontalPodAutoscalers of `autoscaling/v1`, which are those of `autoscaling/v2`: one store,
//! two forms.
//!
//! An autoscaler is stored and validated as v2 has it. v1 has a field for the processor's share;
//! what else v2 has stands as JSON in annotations of v1: other metrics, the behaviour, the current
//! metrics and the conditions. An annotation that holds something else is dropped without a word.
//!
//! Upstream: `pkg/apis/autoscaling/v1/conversion.go`.

mod metrics;
mod text;

use serde_json::{Value, json};

use super::api::{TYPES, decode};
use metrics::{is_share_of_cpu, share_of_cpu};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// What no version but v1 has, and v1 only from the other.
pub(super) const OWN: [&str; 6] = [
    METRICS,
    CURRENT,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// The share of its requested processor time that a pod is to use, where nothing is said.
const USUAL: i64 = 80;

/// The name of v1's type in the table.
pub(super) const FIRST: &str = "autoscaling.v1.HorizontalPodAutoscaler";

/// An autoscaler of v2 as v1 has it.
pub(super) fn to_first(object: &Value) -> Value {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (metrics, current) = (items(&spec["metrics"]), items(&status["currentMetrics"]));
    let mut first = outside(object, "autoscaling/v1");
    first["spec"] = copied(spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    if let Some(share) = metrics.iter().find(|metric| is_share_of_cpu(metric)) {
        first["spec"]["targetCPUUtilizationPercentage"] = share["resource"]["target"]["averageUtilization"].clone();
    }
    let counts = ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"];
    first["status"] = copied(status, &counts);
    let of_cpu = current.iter().filter(|metric| metric["type"] == "Resource" && metric["resource"]["name"] == "cpu");
    let mut shares = of_cpu.map(|metric| &metric["resource"]["current"]["averageUtilization"]);
    if let Some(share) = shares.rfind(|share| !share.is_null()) {
        first["status"]["currentCPUUtilizationPercentage"] = share.clone();
    }
    let others = metrics.iter().filter(|metric| !is_share_of_cpu(metric)).map(metrics::to_first);
    let others: Vec<Value> = others.filter_map(|metric| read("autoscaling.v1.MetricSpec", metric)).collect();
    // The share of the processor too, as its value stands nowhere else.
    let current = current.iter().map(metrics::current_to_first);
    let current: Vec<Value> = current.filter_map(|metric| read("autoscaling.v1.MetricStatus", metric)).collect();
    let conditions = items(&status["conditions"]).iter().cloned();
    let conditions = conditions.filter_map(|one| read("autoscaling.v1.HorizontalPodAutoscalerCondition", one));
    let conditions: Vec<Value> = conditions.collect();
    for (name, list) in [(METRICS, others), (CURRENT, current), (CONDITIONS, conditions)] {
        if !list.is_empty() {
            first["metadata"]["annotations"][name] = text::ordered(&list.into()).into();
        }
    }
    if spec["behavior"].is_object() {
        first["metadata"]["annotations"][BEHAVIOR] = text::behavior(&spec["behavior"]).into();
    }
    whole(FIRST, first)
}

/// An autoscaler of v1 as v2 has it.
pub(super) fn from_first(first: &Value) -> Value {
    let annotation = |name: &str| first["metadata"]["annotations"][name].as_str();
    let list = |name: &str, kind: &str| -> Option<Vec<Value>> {
        let all: Option<Vec<Value>> = serde_json::from_str(annotation(name)?).ok()?;
        all.unwrap_or_default().into_iter().map(|one| read(kind, one)).collect()
    };
    let (spec, status) = (&first["spec"], &first["status"]);
    let mut object = outside(first, "autoscaling/v2");
    object["spec"] = copied(spec, &["scaleTargetRef", "minReplicas", "maxReplicas"]);
    let share = &spec["targetCPUUtilizationPercentage"];
    let others = list(METRICS, "autoscaling.v1.MetricSpec").unwrap_or_default();
    let mut metrics: Vec<Value> = others.iter().map(metrics::from_first).collect();
    if !share.is_null() {
        metrics.push(share_of_cpu(share));
    }
    if metrics.is_empty() {
        metrics.push(share_of_cpu(&USUAL.into()));
    }
    object["spec"]["metrics"] = metrics.into();
    if let Some(behavior) = annotation(BEHAVIOR).and_then(text::read_behavior) {
        object["spec"]["behavior"] = behavior;
    }
    let counts = ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"];
    object["status"] = copied(status, &counts);
    let share = &status["currentCPUUtilizationPercentage"];
    if !share.is_null() {
        let metric = json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": share}}});
        object["status"]["currentMetrics"] = json!([metric]);
    }
    if let Some(current) = list(CURRENT, "autoscaling.v1.MetricStatus") {
        object["status"]["currentMetrics"] = current.iter().map(metrics::current_from_first).collect();
    }
    if let Some(conditions) = list(CONDITIONS, "autoscaling.v1.HorizontalPodAutoscalerCondition") {
        object["status"]["conditions"] = conditions.into();
    }
    whole("HorizontalPodAutoscaler", object)
}

/// What is the same in both: the metadata without the annotations that stand for fields, and the
/// type, where the object says one.
fn outside(object: &Value, version: &str) -> Value {
    let mut new = json!({"metadata": object["metadata"]});
    if object["apiVersion"].is_string() {
        new["apiVersion"] = version.into();
        new["kind"] = object["kind"].clone();
    }
    drop_own_annotations(&mut new);
    new
}

/// Takes the annotations out that stand for fields in v1.
pub(super) fn drop_own_annotations(object: &mut Value) {
    let Some(meta) = object["metadata"].as_object_mut() else { return };
    let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    OWN.iter().for_each(|name| drop(annotations.remove(*name)));
    if annotations.is_empty() {
        meta.remove("annotations");
    }
}

/// These fields of an object, where it has them.
fn copied(from: &Value, names: &[&str]) -> Value {
    let fields = names.iter().filter_map(|name| Some(((*name).to_owned(), from.get(*name)?.clone())));
    Value::Object(fields.collect())
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// A value as a type of the table; `None` if it is none.
fn read(kind: &str, value: Value) -> Option<Value> {
    let place = TYPES.place(kind).expect("the table has both versions of autoscaling");
    decode(place, value).ok().map(|decoded| decoded.value)
}

/// An object with all that its type writes.
fn whole(kind: &str, object: Value) -> Value {
    read(kind, object.clone()).unwrap_or(object)
}

#[cfg(test)]
mod tests;
