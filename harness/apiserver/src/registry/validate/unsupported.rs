//! Detects unsupported features of partly supported kinds: an object with one is refused with 501,
//! and neither accepted nor rejected.

use serde_json::Value;

use crate::registry::strategies::strategy_of;
use crate::registry::validate::autoscaler;
use crate::registry::validate::unsupported_fields::pod_level_resources;
use crate::types::kinds::{DEFINITION, ResourceKind};

/// The maximum number of patterns in a definition.
const MOST_PATTERNS: usize = 1_000;

/// The unsupported feature of a status, if any.
pub(crate) fn unsupported_status(kind: &ResourceKind, new: &Value) -> Option<String> {
    if let Some(strategy) = strategy_of(kind) {
        return strategy.unsupported_status(new);
    }
    let ingress = &new["status"]["loadBalancer"]["ingress"];
    match kind.built_in() {
        "Service" if !ingress.is_null() && new["spec"]["type"] == "LoadBalancer" => {
            Some("the status of a load balancer".to_owned())
        }
        _ => None,
    }
}

/// The unsupported feature that must be detected before validation: errors that upstream reports in
/// the order of a Go map, and objects that take too long to validate.
pub(crate) fn unsupported_before_validation(kind: &ResourceKind, new: &Value) -> Option<String> {
    if let Some(strategy) = strategy_of(kind) {
        return strategy.unsupported_before_validation(new);
    }
    if kind.built_in() == DEFINITION && patterns(&new["spec"]["versions"]) > MOST_PATTERNS {
        return Some(format!("a CustomResourceDefinition with more than {MOST_PATTERNS} patterns"));
    }
    let all = new["spec"]["metrics"].as_array().into_iter().flatten();
    let mut odd =
        all.filter(|_| kind.built_in() == "HorizontalPodAutoscaler").filter(|one| autoscaler::extra_sources(one) > 1);
    odd.next().map(|_| "a metric with several sources that are not of its type".to_owned())
}

/// The number of patterns in the schemas of a definition. Compiling each takes time and memory.
fn patterns(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let own = fields.get("pattern").is_some_and(Value::is_string);
            usize::from(own) + fields.values().map(patterns).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    }
}

/// The unsupported feature of an object, if any; `old` is the object before an update.
pub(crate) fn unsupported_feature(kind: &ResourceKind, new: &Value, old: Option<&Value>) -> Option<String> {
    if let Some(strategy) = strategy_of(kind) {
        return strategy.unsupported_feature(new, old);
    }
    let spec = &new["spec"];
    match kind.built_in() {
        "Service" => service(spec, old.map(|old| &old["spec"])),
        "Pod" => pod_level_resources(new),
        "HorizontalPodAutoscaler" => {
            let all = spec["metrics"].as_array().into_iter().flatten();
            let mut names = all.filter_map(|one| one["containerResource"]["name"].as_str());
            let odd = names.find(|name| !matches!(*name, "" | "cpu" | "memory"));
            odd.map(|name| format!("a metric of the resource {name:?} of a container"))
        }
        _ => None,
    }
}

fn service(spec: &Value, old: Option<&Value>) -> Option<String> {
    for name in [
        "externalIPs",
        "loadBalancerIP",
        "loadBalancerSourceRanges",
        "loadBalancerClass",
        "healthCheckNodePort",
        "trafficDistribution",
    ] {
        if !spec[name].is_null() {
            return Some(format!("a Service with {name}"));
        }
    }
    let says = |name: &str, usual: &str| spec[name].as_str().is_some_and(|text| text != usual);
    if says("ipFamilyPolicy", "SingleStack")
        || says("externalTrafficPolicy", "Cluster")
        || says("internalTrafficPolicy", "Cluster")
    {
        return Some("a Service with two IP families or local traffic".to_owned());
    }
    if spec["ipFamilies"].as_array().is_some_and(|all| all.iter().any(|one| one != "IPv4") || all.len() > 1) {
        return Some("a Service of another IP family than IPv4".to_owned());
    }
    if spec["allocateLoadBalancerNodePorts"] == false {
        return Some("a Service without node ports".to_owned());
    }
    let given = |spec: &Value| spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    match old {
        None => {
            let ports = spec["ports"].as_array().into_iter().flatten();
            let fixed = !matches!(given(spec).as_str(), "" | "None")
                || ports.into_iter().any(|port| !port["nodePort"].is_null());
            fixed.then(|| "a Service that chooses its cluster IP or node ports".to_owned())
        }
        Some(old) if old["type"] != spec["type"] => Some("a change of a Service's type".to_owned()),
        Some(old) if given(old) != given(spec) => Some("a change of a Service's cluster IP".to_owned()),
        Some(_) => None,
    }
}
