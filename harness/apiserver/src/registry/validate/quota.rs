//! Validates ResourceQuotas. Upstream: `ValidateResourceQuotaSpec`, `ValidateResourceQuotaUpdate`.

use serde_json::Value;

use crate::registry::resource_list::is_native;
use crate::registry::validate::quantity;
use crate::types::field_error::FieldError;
use crate::types::names;

/// Resources that are counted one by one.
const COUNTS: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// Resources of pods without a domain.
const COMPUTE: [&str; 6] = ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
const STORAGE: [&str; 4] =
    ["ephemeral-storage", "requests.ephemeral-storage", "limits.ephemeral-storage", "requests.storage"];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

/// Validates the spec of a quota.
pub(crate) fn spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = amounts(&spec["hard"], "spec.hard");
    let scopes: Vec<&str> = texts(&spec["scopes"]);
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            errors.push(FieldError::invalid("spec.scopes", scopes.clone(), "unsupported scope"));
        }
        for _ in unfit_limits(spec, scope) {
            errors.push(FieldError::invalid("spec.scopes", scopes.clone(), "unsupported scope applied to resource"));
        }
    }
    if conflict(&scopes) {
        errors.push(FieldError::invalid("spec.scopes", scopes, "conflicting scopes"));
    }
    errors.extend(selector(spec));
    errors
}

/// Validates an update of the spec of a quota.
pub(crate) fn update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = spec(new);
    let set = |spec: &Value| {
        let mut scopes: Vec<String> = texts(&spec["scopes"]).into_iter().map(str::to_owned).collect();
        scopes.sort();
        scopes.dedup();
        scopes
    };
    if set(new) != set(old) {
        errors.push(FieldError::invalid("spec.scopes", new["scopes"].clone(), "field is immutable"));
    }
    errors
}

/// Validates the limits or the usage of a quota.
pub(crate) fn amounts(amounts: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (name, amount) in amounts.as_object().into_iter().flatten() {
        let path = format!("{path}[{name}]");
        errors.extend(resource_name(name, &path));
        if !name.contains('/') && !is_standard(name) {
            errors.push(FieldError::invalid(&path, name.clone(), "must be a standard resource for quota"));
        }
        errors.extend(quantity::nonnegative(amount, &path));
        if is_integer(name) {
            errors.extend(quantity::integer(amount, &path));
        }
    }
    errors
}

/// Validates the name of a resource. Upstream: `validateResourceName`.
pub(crate) fn resource_name(name: &str, path: &str) -> Vec<FieldError> {
    let wrong = names::key(name);
    if wrong.is_empty() && !name.contains('/') && !is_standard(name) && name != "storage" {
        return vec![FieldError::invalid(path, name, "must be a standard resource type or fully qualified")];
    }
    wrong.into_iter().map(|wrong| FieldError::invalid(path, name, wrong)).collect()
}

/// Whether a resource has no fractions. Upstream: `IsIntegerResourceName`.
pub(crate) fn is_integer(name: &str) -> bool {
    COUNTS.contains(&name) || !is_native(name) && !name.starts_with("requests.")
}

/// The warnings for a new quota. Upstream: `WarningsOnCreate`.
pub(crate) fn warnings(hard: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for name in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let limit = format!("limits.{name}");
        let requests = [format!("requests.{name}"), name.to_owned()];
        let names = &requests[..if matches!(name, "cpu" | "memory") { 2 } else { 1 }];
        let Some(request) = names.iter().find(|name| !hard[name.as_str()].is_null()) else { continue };
        let (requested, allowed) = (&hard[request], &hard[&limit]);
        if !allowed.is_null() && quantity::compare(requested, allowed).is_gt() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            all.push(format!(
                "ResourceQuota {request} ({}) should be less than {limit} ({})",
                text(requested),
                text(allowed)
            ));
        }
    }
    all
}

fn selector(spec: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.scopeSelector.matchExpressions";
    const ONLY_EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                               ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                               ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
    let mut errors = Vec::new();
    let all = || spec["scopeSelector"]["matchExpressions"].as_array().into_iter().flatten();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or_default().to_owned();
    for one in all() {
        let (scope, operator) = (text(one, "scopeName"), text(one, "operator"));
        if !SCOPES.contains(&scope.as_str()) {
            errors.push(FieldError::invalid(&format!("{PATH}.scopeName"), scope.clone(), "unsupported scope"));
        }
        for _ in unfit_limits(spec, &scope) {
            let why = "unsupported scope applied to resource";
            errors.push(FieldError::invalid_printed(PATH, selector_text(all()), why));
        }
        if !matches!(scope.as_str(), "PriorityClass" | "VolumeAttributesClass")
            && SCOPES.contains(&scope.as_str())
            && operator != "Exists"
        {
            errors.push(FieldError::invalid(&format!("{PATH}.operator"), operator.clone(), ONLY_EXISTS));
        }
        let values = texts(&one["values"]);
        match operator.as_str() {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                errors.push(FieldError::required(&format!("{PATH}.values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                errors.push(FieldError::invalid(&format!("{PATH}.values"), values, why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => {
                let why = "not a valid selector operator";
                errors.push(FieldError::invalid(&format!("{PATH}.operator"), operator, why));
            }
        }
    }
    let scopes: Vec<&str> = all().filter_map(|one| one["scopeName"].as_str()).collect();
    if conflict(&scopes) {
        // Upstream shows the wrong list of scopes.
        errors.push(FieldError::invalid(PATH, spec["scopes"].clone(), "conflicting scopes"));
    }
    errors
}

/// Prints a scope selector as upstream does.
fn selector_text<'a>(all: impl Iterator<Item = &'a Value>) -> String {
    let one = |one: &Value| {
        let (scope, operator, values) = (&one["scopeName"], &one["operator"], &one["values"]);
        format!("{{\"ScopeName\":{scope},\"Operator\":{operator},\"Values\":{values}}}")
    };
    format!("{{\"MatchExpressions\":[{}]}}", all.map(one).collect::<Vec<_>>().join(","))
}

/// Whether scopes contradict each other.
fn conflict(scopes: &[&str]) -> bool {
    let both = |one, other| scopes.contains(&one) && scopes.contains(&other);
    both("BestEffort", "NotBestEffort") || both("Terminating", "NotTerminating")
}

/// The limits of a quota to which a scope does not apply. Upstream:
/// `IsResourceQuotaScopeValidForResource`.
fn unfit_limits<'a>(spec: &'a Value, scope: &'a str) -> impl Iterator<Item = &'a str> {
    let names = spec["hard"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    names.filter(|name| is_standard(name)).filter(move |name| match scope {
        "BestEffort" => *name != "pods",
        "VolumeAttributesClass" => !matches!(*name, "persistentvolumeclaims" | "requests.storage"),
        scope if SCOPES.contains(&scope) => *name != "pods" && !COMPUTE.contains(name),
        _ => false,
    })
}

fn is_standard(name: &str) -> bool {
    let huge_pages = name.strip_prefix("requests.").unwrap_or(name).starts_with("hugepages-");
    huge_pages || COUNTS.contains(&name) || COMPUTE.contains(&name) || STORAGE.contains(&name)
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
