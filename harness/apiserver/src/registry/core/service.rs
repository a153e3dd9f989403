//! Services. Upstream: `pkg/registry/core/service`, `SetDefaults_Service`, `ValidateService`,
//! `printService`.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::core::service_allocation;
use crate::registry::defaults::{entry, items as elements, set};
use crate::registry::state::Server;
use crate::registry::strategy::{QuotaEvaluator, Strategy};
use crate::registry::validate::meta;
use crate::registry::validate::network::{PROTOCOLS, label};
use crate::registry::validate::scalars;
use crate::schema::printers::cells::{age, items, labels, name, number, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text, wide};
use crate::types::addresses::is_ip;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ALL, ResourceKind, SelectableFields, kind};
use crate::types::names;

const IP_MODES: [&str; 2] = ["Proxy", "VIP"];
const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    unsupported_subresources: &["proxy"],
    returns_deleted: true,
    short_names: &["svc"],
    categories: ALL,
    selectable_fields: SelectableFields::Fields(&["spec.clusterIP", "spec.type"]),
    ..kind("", "v1", "services", "Service")
};

pub(crate) struct ServiceStrategy;

impl Strategy for ServiceStrategy {
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::dns_label
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn set_defaults(&self, service: &mut Value) {
        set_defaults(entry(service, "spec"));
        if service["spec"]["type"] == "LoadBalancer" && service["status"]["loadBalancer"].is_object() {
            for ingress in elements(&mut service["status"]["loadBalancer"], "ingress") {
                if ingress["ip"].as_str().is_some_and(|address| !address.is_empty()) {
                    set(ingress, "ipMode", json!("VIP"));
                }
            }
        }
    }

    fn storage_folder(&self) -> Option<&'static str> {
        Some("services/specs")
    }

    fn quota_evaluator(&self) -> QuotaEvaluator {
        QuotaEvaluator::Services
    }

    fn missing_name_error(&self, server: &mut Server, service: &Value) -> Option<FieldError> {
        service_allocation::missing_name_error(server, &KIND, &service["spec"])
    }

    fn prepare_for_create(&self, service: &mut Value) {
        service["status"] = json!({});
    }

    fn begin_create(&self, server: &mut Server, service: &mut Value) {
        service_allocation::create(server, &KIND, &mut service["spec"]);
    }

    fn begin_update(&self, server: &mut Server, new: &mut Value, old: &Value) {
        service_allocation::update(server, &KIND, &mut new["spec"], &old["spec"]);
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = validate_cluster_ips(&new["spec"]);
        if errors.is_empty() {
            errors = self.validate_metadata(new);
            errors.extend(validate_service(new, None));
        }
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = validate_cluster_ips(&new["spec"]);
        if errors.is_empty() {
            errors = self.validate_metadata_update(new, old);
            errors.extend(validate_changes(&new["spec"], &old["spec"]));
            errors.extend(validate_service(new, Some(old)));
        }
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_status(new));
        errors
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        warnings(&new["spec"])
    }

    fn unsupported_feature(&self, new: &Value, old: Option<&Value>) -> Option<String> {
        unsupported_feature(&new["spec"], old.map(|old| &old["spec"]))
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Type"), text("Cluster-IP"), text("External-IP"), text("Port(s)"), AGE, wide("Selector")] }
    }

    fn cells(&self, service: &Value, now: Timestamp) -> Vec<Value> {
        let spec = &service["spec"];
        let ports: Vec<String> = items(&spec["ports"]).map(port).collect();
        let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
        let internal = or(&spec["clusterIPs"][0], "<none>");
        vec![
            name(service),
            or(&spec["type"], "").into(),
            internal.into(),
            external(service).into(),
            ports.into(),
            age(service, now),
            labels(&spec["selector"]).into(),
        ]
    }
}

/// Upstream: `SetDefaults_Service`.
fn set_defaults(spec: &mut Value) {
    set(spec, "sessionAffinity", json!("None"));
    if spec["sessionAffinity"] == "ClientIP" {
        let config = entry(entry(spec, "sessionAffinityConfig"), "clientIP");
        set(config, "timeoutSeconds", json!(10_800));
    } else if spec["sessionAffinity"] == "None"
        && let Some(fields) = spec.as_object_mut()
    {
        fields.remove("sessionAffinityConfig");
    }
    set(spec, "type", json!("ClusterIP"));
    for port in elements(spec, "ports") {
        set(port, "protocol", json!("TCP"));
        if port["targetPort"].is_null() || port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = port["port"].clone();
        }
    }
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        set(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if matches!(kind.as_str(), "ClusterIP" | "NodePort" | "LoadBalancer") {
        set(spec, "internalTrafficPolicy", json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
}

/// Upstream: `IsValidPortNum`.
fn port_number(value: &Value, path: &str) -> Option<FieldError> {
    let number = value.as_i64().unwrap_or(0);
    let fits = (1..=65535).contains(&number);
    (!fits).then(|| FieldError::invalid(path, number, "must be between 1 and 65535, inclusive"))
}

/// The warnings for the spec of a Service. Upstream: `GetWarningsForService`.
fn warnings(spec: &Value) -> Vec<String> {
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

/// Upstream: `ValidateLoadBalancerStatus`.
fn validate_status(service: &Value) -> Vec<FieldError> {
    const PATH: &str = "status.loadBalancer.ingress";
    let ingress: Vec<&Value> = items(&service["status"]["loadBalancer"]["ingress"]).collect();
    if service["spec"]["type"] != "LoadBalancer" {
        let why = "may only be used when `spec.type` is 'LoadBalancer'";
        return ingress.first().map(|_| FieldError::forbidden(PATH, why)).into_iter().collect();
    }
    let mut errors = Vec::new();
    for (at, ingress) in ingress.into_iter().enumerate() {
        let path = |name: &str| format!("{PATH}[{at}].{name}");
        let text = |name: &str| ingress[name].as_str().unwrap_or_default();
        let (address, host) = (text("ip"), text("hostname"));
        if !address.is_empty() {
            errors.extend(scalars::address(address, &path("ip")));
        }
        match ingress["ipMode"].as_str() {
            Some(_) if address.is_empty() => {
                errors.push(FieldError::forbidden(&path("ipMode"), "may not be specified when `ip` is not set"));
            }
            Some(mode) if !IP_MODES.contains(&mode) => {
                errors.push(FieldError::unsupported(&path("ipMode"), mode, &IP_MODES));
            }
            _ => {}
        }
        if !host.is_empty() {
            errors.extend(scalars::invalid(&path("hostname"), host, names::dns_subdomain(host)));
            if is_ip(host) {
                let why = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(&path("hostname"), host, why));
            }
        }
    }
    errors
}

/// Rejects changes of the cluster IP of a Service. Upstream: `validateUpgradeDowngradeClusterIPs`.
fn validate_changes(new: &Value, old: &Value) -> Option<FieldError> {
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

/// Validates what upstream's allocator does before everything else. Upstream:
/// `ValidateServiceClusterIPsRelatedFields`.
fn validate_cluster_ips(spec: &Value) -> Vec<FieldError> {
    if spec["type"] == "ExternalName" || !service_allocation::contradicts(spec) {
        return Vec::new();
    }
    let is_absent = spec["clusterIP"].as_str().unwrap_or_default().is_empty();
    let why = if is_absent {
        "must be empty when `clusterIP` is not specified"
    } else {
        "first value must match `clusterIP`"
    };
    let mut errors = vec![FieldError::invalid("spec.clusterIPs", spec["clusterIPs"].clone(), why)];
    for (at, address) in items(&spec["clusterIPs"]).filter_map(Value::as_str).enumerate() {
        let is_none = at == 0 && address == "None";
        errors.extend(scalars::address(address, &format!("spec.clusterIPs[{at}]")).filter(|_| !is_none));
    }
    errors
}

/// Upstream: `ValidateService`.
fn validate_service(service: &Value, old: Option<&Value>) -> Vec<FieldError> {
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
        if !spec["clusterIPs"][0].is_null() {
            errors.push(FieldError::forbidden("spec.clusterIPs", "may not be set for ExternalName services"));
        }
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
        errors.extend(port_number(&port["port"], &format!("{path}.port")));
        if let Some(protocol) = port["protocol"].as_str().filter(|protocol| !PROTOCOLS.contains(protocol)) {
            errors.push(FieldError::unsupported(&format!("{path}.protocol"), protocol, &PROTOCOLS));
        }
        let target = format!("{path}.targetPort");
        match &port["targetPort"] {
            Value::String(name) => {
                let wrong = names::port_name(name);
                errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid(&target, name.as_str(), wrong)));
            }
            port => errors.extend(port_number(port, &target)),
        }
    }
    errors.extend(meta::labels(&spec["selector"], "spec.selector"));
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
    // Upstream drops what only the old type had; a change of the type is unsupported.
    if old.is_none_or(|old| old["spec"]["type"] == kind) {
        errors.extend(validate_port_numbers(kind, ports));
        errors.extend(validate_fields_of_type(kind, spec));
    }
    errors
}

/// Rejects node ports of the wrong type of Service, and two ports of one number and protocol.
fn validate_port_numbers(kind: &str, ports: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let number = |port: &Value, name: &str| port[name].as_i64().unwrap_or(0);
    if kind == "ClusterIP" {
        for (at, _) in ports.iter().enumerate().filter(|(_, port)| number(port, "nodePort") != 0) {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(&format!("spec.ports[{at}].nodePort"), why));
        }
    }
    let key = |port: &Value| (port["protocol"].clone(), number(port, "port"));
    for (at, port) in ports.iter().enumerate().filter(|(at, port)| ports[..*at].iter().any(|one| key(one) == key(port)))
    {
        let shown = format!(
            "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
            port["protocol"],
            number(port, "port")
        );
        errors.push(FieldError::duplicate_printed(&format!("spec.ports[{at}]"), shown, ""));
    }
    errors
}

/// Rejects fields that only Services of other types have.
fn validate_fields_of_type(kind: &str, spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if kind != "LoadBalancer" && !spec["allocateLoadBalancerNodePorts"].is_null() {
        let why = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden("spec.allocateLoadBalancerNodePorts", why));
    }
    let policy = spec["externalTrafficPolicy"].as_str().unwrap_or_default();
    let is_external = matches!(kind, "NodePort" | "LoadBalancer") || !spec["externalIPs"].is_null();
    if !is_external && !policy.is_empty() {
        let why = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid("spec.externalTrafficPolicy", policy, why));
    }
    errors
}

/// The feature of a spec that this server does not support.
fn unsupported_feature(spec: &Value, old: Option<&Value>) -> Option<String> {
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
    let is_dual = service_allocation::is_dual(spec)
        || old.is_some_and(|old| ["ipFamilies", "ipFamilyPolicy"].iter().all(|name| old[*name] == spec[*name]));
    if says("ipFamilyPolicy", "SingleStack") && !is_dual
        || says("externalTrafficPolicy", "Cluster")
        || says("internalTrafficPolicy", "Cluster")
    {
        return Some("a Service with two IP families or local traffic".to_owned());
    }
    if !is_dual && spec["ipFamilies"].as_array().is_some_and(|all| all.iter().any(|one| one != "IPv4") || all.len() > 1)
    {
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

fn port(port: &Value) -> String {
    let (own, protocol) = (number(&port["port"]), or(&port["protocol"], ""));
    match number(&port["nodePort"]) {
        node if node > 0 => format!("{own}:{node}/{protocol}"),
        _ => format!("{own}/{protocol}"),
    }
}

/// Upstream: `getServiceExternalIP`, in its wide form, which tables always use.
fn external(service: &Value) -> String {
    let given: Vec<&str> = items(&service["spec"]["externalIPs"]).filter_map(Value::as_str).collect();
    let joined = |ips: Vec<&str>, none: &str| if ips.is_empty() { none.to_owned() } else { ips.join(",") };
    match or(&service["spec"]["type"], "") {
        "ClusterIP" | "NodePort" => joined(given, "<none>"),
        "LoadBalancer" => {
            let ingress = items(&service["status"]["loadBalancer"]["ingress"]);
            let of: BTreeSet<&str> = ingress.map(|one| or(&one["ip"], or(&one["hostname"], ""))).collect();
            joined(of.into_iter().filter(|one| !one.is_empty()).chain(given).collect(), "<pending>")
        }
        "ExternalName" => or(&service["spec"]["externalName"], "").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}
