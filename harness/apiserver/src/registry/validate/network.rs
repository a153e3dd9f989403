//! Validates Services. Upstream: `ValidateService`.

use serde_json::Value;

use crate::types::field_error::FieldError;
use crate::types::names;

pub(crate) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

fn number(value: &Value, path: &str) -> Option<FieldError> {
    let number = value.as_i64().unwrap_or(0);
    let fits = (1..=65535).contains(&number);
    (!fits).then(|| FieldError::invalid(path, number, "must be between 1 and 65535, inclusive"))
}

pub(crate) fn label(value: &str, path: &str) -> Vec<FieldError> {
    names::dns_label(value).into_iter().map(|wrong| FieldError::invalid(path, value, wrong)).collect()
}

/// The warnings for the spec of a Service. Upstream: `GetWarningsForService`.
pub(crate) fn warnings(spec: &Value) -> Vec<String> {
    let is = |name: &str| spec[name].as_str().is_some_and(|text| !text.is_empty());
    let kind = spec["type"].as_str().unwrap_or_default();
    let headless = kind == "ClusterIP" && spec["clusterIP"] == "None";
    let external = spec["externalIPs"].as_array().is_some_and(|all| !all.is_empty());
    let close = "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
    let all = [
        (headless && is("loadBalancerIP"), "spec.loadBalancerIP is ignored for headless services"),
        (headless && external, "spec.externalIPs is ignored for headless services"),
        (headless && spec["sessionAffinity"] != "None", "spec.SessionAffinity is ignored for headless services"),
        (
            external && !headless && kind != "ExternalName",
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        ),
        (external && kind == "ExternalName", "spec.externalIPs is ignored when spec.type is \"ExternalName\""),
        (
            is("externalName") && kind != "ExternalName",
            "spec.externalName is ignored when spec.type is not \"ExternalName\"",
        ),
        (spec["trafficDistribution"] == "PreferClose", close),
    ];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, warning)| warning.to_owned()).collect()
}

/// Rejects load balancer addresses in the status of a Service of another type. Upstream:
/// `ValidateLoadBalancerStatus`.
pub(crate) fn service_status(service: &Value) -> Option<FieldError> {
    let ingress = service["status"]["loadBalancer"]["ingress"].as_array()?;
    let is_wrong = service["spec"]["type"] != "LoadBalancer" && !ingress.is_empty();
    let why = "may only be used when `spec.type` is 'LoadBalancer'";
    is_wrong.then(|| FieldError::forbidden("status.loadBalancer.ingress", why))
}

/// Rejects changes of the cluster IP of a Service. Upstream: `validateUpgradeDowngradeClusterIPs`.
pub(crate) fn service_update(new: &Value, old: &Value) -> Option<FieldError> {
    let headless = |spec: &Value| spec["clusterIP"] == "None";
    let external = |spec: &Value| spec["type"] == "ExternalName";
    if external(new) || external(old) || (headless(new) && headless(old)) {
        return None;
    }
    let all = |spec: &Value| spec["clusterIPs"].as_array().cloned().unwrap_or_default();
    let (new, old) = (all(new), all(old));
    let at = "spec.clusterIPs[0]";
    match (old.first(), new.first()) {
        (Some(_), None) => Some(FieldError::invalid(at, Value::from(new), "primary clusterIP can not be unset")),
        (Some(had), Some(has)) if had != has => {
            Some(FieldError::invalid(at, Value::from(new), "may not change once set"))
        }
        _ => None,
    }
}

pub(crate) fn service(service: &Value) -> Vec<FieldError> {
    let spec = &service["spec"];
    let kind = spec["type"].as_str().unwrap_or_default();
    let headless = spec["clusterIP"] == "None";
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut errors = Vec::new();
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    if kind == "LoadBalancer" && headless {
        let why = "may not be set to 'None' for LoadBalancer services";
        errors.push(FieldError::invalid("spec.clusterIPs[0]", "None", why));
    }
    if kind == "NodePort" && headless {
        errors.push(FieldError::invalid(
            "spec.clusterIPs[0]",
            "None",
            "may not be set to 'None' for NodePort services",
        ));
    }
    if kind == "ExternalName" {
        let name = spec["externalName"].as_str().unwrap_or_default().trim_end_matches('.');
        if name.is_empty() {
            errors.push(FieldError::required("spec.externalName", ""));
        } else {
            let wrong = names::dns_subdomain(name);
            errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid("spec.externalName", name, wrong)));
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, port) in ports.iter().enumerate() {
        let path = format!("spec.ports[{at}]");
        match port["name"].as_str().unwrap_or_default() {
            "" if ports.len() > 1 => errors.push(FieldError::required(&format!("{path}.name"), "")),
            "" => {}
            name => {
                errors.extend(label(name, &format!("{path}.name")));
                if names.contains(&name) {
                    errors.push(FieldError::duplicate(&format!("{path}.name"), name));
                }
                names.push(name);
            }
        }
        errors.extend(number(&port["port"], &format!("{path}.port")));
        if let Some(protocol) = port["protocol"].as_str().filter(|protocol| !PROTOCOLS.contains(protocol)) {
            errors.push(FieldError::unsupported(&format!("{path}.protocol"), protocol, &PROTOCOLS));
        }
        let target = format!("{path}.targetPort");
        match &port["targetPort"] {
            Value::String(name) => {
                let wrong = names::port_name(name);
                errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid(&target, name.as_str(), wrong)));
            }
            port => errors.extend(number(port, &target)),
        }
    }
    errors.extend(super::meta::labels(&spec["selector"], "spec.selector"));
    if let Some(affinity) = spec["sessionAffinity"].as_str().filter(|one| !matches!(*one, "ClientIP" | "None")) {
        errors.push(FieldError::unsupported("spec.sessionAffinity", affinity, &["ClientIP", "None"]));
    }
    if spec["sessionAffinity"] == "ClientIP" {
        let seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"].as_i64().unwrap_or(0);
        if !(1..=86400).contains(&seconds) {
            let path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
            errors.push(FieldError::invalid(path, seconds, "must be greater than 0 and less than 86400"));
        }
    }
    if !TYPES.contains(&kind) {
        errors.push(FieldError::unsupported("spec.type", kind, &TYPES));
    }
    errors
}
