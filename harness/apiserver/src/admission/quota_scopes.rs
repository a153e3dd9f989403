//! Matches pods with the scopes of quotas. Upstream: `podMatchesScopeFunc`.

use serde_json::{Value, json};

use crate::registry::kinds::strategy_of;
use crate::registry::strategy::QuotaEvaluator;
use crate::types::kinds::ResourceKind;

/// Whether all scopes of a quota match an object. Without scopes a quota applies to all objects;
/// scopes match only pods.
pub(crate) fn select(spec: &Value, kind: &ResourceKind, body: &Value) -> bool {
    let scopes = spec["scopes"].as_array().into_iter().flatten();
    let mut all: Vec<Value> = scopes.map(|scope| json!({"scopeName": scope, "operator": "Exists"})).collect();
    all.extend(spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten().cloned());
    let has_scopes = strategy_of(kind).quota_evaluator() == QuotaEvaluator::Pods;
    all.iter().all(|scope| has_scopes && selects(scope, body))
}

fn selects(scope: &Value, pod: &Value) -> bool {
    let spec = &pod["spec"];
    let is_best_effort = || pod["status"]["qosClass"] == "BestEffort";
    match scope["scopeName"].as_str().unwrap_or_default() {
        "Terminating" => has_deadline(pod),
        "NotTerminating" => !has_deadline(pod),
        "BestEffort" => is_best_effort(),
        "NotBestEffort" => !is_best_effort(),
        "PriorityClass" => {
            let class = spec["priorityClassName"].as_str().filter(|name| !name.is_empty());
            let mut values = scope["values"].as_array().into_iter().flatten();
            match scope["operator"].as_str().unwrap_or_default() {
                "Exists" => class.is_some(),
                "DoesNotExist" => class.is_none(),
                "In" => class.is_some_and(|class| values.any(|value| value == class)),
                "NotIn" => class.is_none_or(|class| values.all(|value| value != class)),
                _ => false,
            }
        }
        "CrossNamespacePodAffinity" => ["podAffinity", "podAntiAffinity"].iter().any(|field| {
            let affinity = &spec["affinity"][field];
            let terms = |list: &str| affinity[list].as_array().into_iter().flatten();
            terms("requiredDuringSchedulingIgnoredDuringExecution").any(leaves_namespace)
                || terms("preferredDuringSchedulingIgnoredDuringExecution")
                    .any(|term| leaves_namespace(&term["podAffinityTerm"]))
        }),
        _ => false,
    }
}

/// Whether a pod has a deadline. Upstream: `IsTerminating`.
pub(crate) fn has_deadline(pod: &Value) -> bool {
    pod["spec"]["activeDeadlineSeconds"].as_i64().is_some_and(|seconds| seconds >= 0)
}

fn leaves_namespace(term: &Value) -> bool {
    term["namespaces"].as_array().is_some_and(|names| !names.is_empty()) || !term["namespaceSelector"].is_null()
}
