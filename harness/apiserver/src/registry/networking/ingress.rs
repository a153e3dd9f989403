//! Ingresses. Upstream: `pkg/registry/networking/ingress`, `ValidateIngress…`, `printIngress`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::status_error::ApiResult;
use crate::registry::defaults::entry;
use crate::registry::networking::ingress_class::default_class;
use crate::registry::state::Server;
use crate::registry::strategy::Strategy;
use crate::schema::printers::cells::{MOST, age, items as elements, name, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text as column};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

/// The deprecated annotation for the class.
const CLASS: &str = "kubernetes.io/ingress.class";
const PATH_TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    short_names: &["ing"],
    ..kind("networking.k8s.io", "v1", "ingresses", "Ingress")
};

pub(crate) struct IngressStrategy;

impl Strategy for IngressStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    // Upstream: the admission plugin DefaultIngressClass.
    fn admit(&self, server: &mut Server, _: (&str, &str), ingress: &mut Value) -> ApiResult<()> {
        let names_class =
            !ingress["spec"]["ingressClassName"].is_null() || ingress["metadata"]["annotations"].get(CLASS).is_some();
        if !names_class && let Some(class) = default_class(server) {
            entry(ingress, "spec")["ingressClassName"] = class.into();
        }
        Ok(())
    }

    fn prepare_for_create(&self, ingress: &mut Value) {
        ingress["status"] = json!({});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_new(new));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(self.validate_metadata(new));
        errors.extend(validate_changes(new, old));
        errors
    }

    fn validate_status_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        errors.extend(validate_status(&new["status"]["loadBalancer"]));
        errors
    }

    fn warnings(&self, new: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { class_warning(new).into_iter().collect() }
    }

    fn unsupported_status(&self, new: &Value) -> Option<String> {
        // Upstream accepts some non-canonical addresses and warns about them.
        let plain = |ip: &str| ip.parse::<IpAddr>().is_ok_and(|parsed| parsed.to_string() == ip);
        let all = elements(&new["status"]["loadBalancer"]["ingress"]).filter_map(|one| one["ip"].as_str());
        let mut odd = all.filter(|ip| !ip.is_empty() && !plain(ip));
        odd.next().map(|ip| format!("the address {ip:?}"))
    }

    fn fields_with_empty_lists(&self) -> &'static [&'static str] {
        &["rules"]
    }

    fn has_empty_rules(&self, ingress: &Value) -> bool {
        ingress["spec"]["rules"].as_array().is_some_and(Vec::is_empty)
    }

    fn storage_folder(&self) -> Option<&'static str> {
        Some("ingress")
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, column("Class"), column("Hosts"), column("Address"), column("Ports"), AGE] }
    }

    fn cells(&self, ingress: &Value, now: Timestamp) -> Vec<Value> {
        let spec = &ingress["spec"];
        let hosts: Vec<&str> = elements(&spec["rules"])
            .take(MOST)
            .map(|rule| or(&rule["host"], ""))
            .filter(|host| !host.is_empty())
            .collect();
        // Upstream counts the remaining rules only once three hosts are shown.
        let more = elements(&spec["rules"]).len().saturating_sub(MOST);
        let hosts = match hosts.join(",") {
            none if none.is_empty() => "*".to_owned(),
            shown if more > 0 && hosts.len() == MOST => format!("{shown} + {more} more..."),
            shown => shown,
        };
        let balanced = elements(&ingress["status"]["loadBalancer"]["ingress"]);
        let addresses: BTreeSet<&str> =
            balanced.map(|one| or(&one["ip"], or(&one["hostname"], ""))).filter(|one| !one.is_empty()).collect();
        let addresses = addresses.into_iter().collect::<Vec<_>>().join(",");
        let ports = if elements(&spec["tls"]).len() > 0 { "80, 443" } else { "80" };
        vec![
            name(ingress),
            or(&spec["ingressClassName"], "<none>").into(),
            hosts.into(),
            addresses.into(),
            ports.into(),
            age(ingress, now),
        ]
    }
}

/// Validates a new Ingress.
fn validate_new(ingress: &Value) -> Vec<FieldError> {
    let mut errors = spec(&ingress["spec"], true);
    let class = ingress["spec"]["ingressClassName"].as_str();
    if let (Some(annotated), Some(class)) = (annotation(ingress), class)
        && annotated != class
    {
        let why = "must match `ingressClassName` when both are specified";
        errors.push(FieldError::invalid(&format!("annotations.{CLASS}"), annotated, why));
    }
    errors
}

/// Validates an update. An invalid secret name that existed before is tolerated.
fn validate_changes(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut all = old["spec"]["tls"].as_array().into_iter().flatten();
    let wrong_secret = all.any(|tls| !secret_name(tls).is_empty());
    spec(&new["spec"], !wrong_secret)
}

/// The warning for a new Ingress that names its class only in the annotation.
fn class_warning(ingress: &Value) -> Option<String> {
    let deprecated = annotation(ingress).is_some() && ingress["spec"]["ingressClassName"].is_null();
    deprecated.then(|| format!("annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"))
}

/// Validates the status: the addresses of load balancers.
fn validate_status(balancer: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (at, one) in items(&balancer["ingress"]).enumerate() {
        let (host, path) = (text(one, "hostname"), format!("status.loadBalancer.ingress[{at}].hostname"));
        if !host.is_empty() {
            errors.extend(subdomain(host, &path));
            if host.parse::<IpAddr>().is_ok() {
                errors.push(FieldError::invalid(&path, host, "must be a DNS name, not an IP address"));
            }
        }
    }
    errors
}

fn annotation(ingress: &Value) -> Option<&str> {
    ingress["metadata"]["annotations"][CLASS].as_str()
}

fn spec(spec: &Value, secrets: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if items(&spec["rules"]).len() == 0 && spec["defaultBackend"].is_null() {
        let shown = if spec["rules"].is_array() { "[]" } else { "null" };
        let why = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid_printed("spec", shown.to_owned(), why));
    }
    if spec["defaultBackend"].is_object() {
        errors.extend(backend(&spec["defaultBackend"], "spec.defaultBackend"));
    }
    for (at, rule) in items(&spec["rules"]).enumerate() {
        errors.extend(self::rule(rule, &format!("spec.rules[{at}]")));
    }
    for (at, tls) in items(&spec["tls"]).enumerate() {
        for (index, host) in items(&tls["hosts"]).filter_map(Value::as_str).enumerate() {
            errors.extend(self::host(host, &format!("spec.tls[{at}].hosts[{index}]")));
        }
        if secrets {
            let path = format!("spec.tls[{at}].secretName");
            let wrong = secret_name(tls).into_iter();
            errors.extend(wrong.map(|wrong| FieldError::invalid(&path, text(tls, "secretName"), wrong)));
        }
    }
    if let Some(class) = spec["ingressClassName"].as_str() {
        errors.extend(subdomain(class, "spec.ingressClassName"));
    }
    errors
}

fn secret_name(tls: &Value) -> Vec<String> {
    match text(tls, "secretName") {
        "" => Vec::new(),
        name => names::dns_subdomain(name),
    }
}

fn host(host: &str, path: &str) -> Vec<FieldError> {
    if host.contains('*') {
        return names::wildcard(host).into_iter().map(|wrong| FieldError::invalid(path, host, wrong)).collect();
    }
    subdomain(host, path)
}

fn rule(rule: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (named, at) = (text(rule, "host"), format!("{path}.host"));
    if !named.is_empty() {
        if named.parse::<IpAddr>().is_ok() {
            errors.push(FieldError::invalid(&at, named, "must be a DNS name, not an IP address"));
        }
        errors.extend(host(named, &at));
    }
    if rule["http"].is_object() {
        if items(&rule["http"]["paths"]).len() == 0 {
            errors.push(FieldError::required(&format!("{path}.http.paths"), ""));
        }
        for (index, one) in items(&rule["http"]["paths"]).enumerate() {
            errors.extend(http_path(one, &format!("{path}.http.paths[{index}]")));
        }
    }
    errors
}

fn http_path(one: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (given, at) = (text(one, "path"), format!("{path}.path"));
    let invalid = |why: String| FieldError::invalid(&at, given, why);
    let Some(kind) = one["pathType"].as_str() else {
        return vec![FieldError::required(&format!("{path}.pathType"), "pathType must be specified")];
    };
    let relative = !given.starts_with('/');
    match kind {
        "Exact" | "Prefix" => {
            if relative {
                errors.push(invalid("must be an absolute path".to_owned()));
            }
            let found = ["//", "/./", "/../", "%2f", "%2F"].into_iter().filter(|one| given.contains(one));
            errors.extend(found.map(|one| invalid(format!("must not contain '{one}'"))));
            let found = ["/..", "/."].into_iter().filter(|one| given.ends_with(one));
            errors.extend(found.map(|one| invalid(format!("cannot end with '{one}'"))));
        }
        "ImplementationSpecific" if given.is_empty() || !relative => {}
        "ImplementationSpecific" => errors.push(invalid("must be an absolute path".to_owned())),
        other => errors.push(FieldError::unsupported(&format!("{path}.pathType"), other, &PATH_TYPES)),
    }
    errors.extend(backend(&one["backend"], &format!("{path}.backend")));
    errors
}

fn backend(backend: &Value, path: &str) -> Vec<FieldError> {
    let (resource, service) = (&backend["resource"], &backend["service"]);
    match (resource.is_object(), service.is_object()) {
        (true, true) => vec![FieldError::invalid(path, "", "cannot set both resource and service backends")],
        (true, false) => resource_reference(resource, &format!("{path}.resource")),
        (false, true) => self::service(service, path),
        (false, false) => vec![FieldError::invalid(path, "", "resource or service backend is required")],
    }
}

fn service(service: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let at = format!("{path}.service.name");
    match text(service, "name") {
        "" => errors.push(FieldError::required(&at, "")),
        name => {
            errors.extend(names::dns_label(name).into_iter().map(|wrong| FieldError::invalid(&at, name, wrong)));
        }
    }
    let (name, number) = (text(&service["port"], "name"), service["port"]["number"].as_i64().unwrap_or(0));
    match (name, number) {
        ("", 0) => errors.push(FieldError::required(path, "port name or number is required")),
        ("", number) if (1..=65535).contains(&number) => {}
        ("", number) => {
            let why = "must be between 1 and 65535, inclusive";
            errors.push(FieldError::invalid(&format!("{path}.service.port.number"), number, why));
        }
        (name, 0) => {
            let at = format!("{path}.service.port.name");
            errors.extend(names::port_name(name).into_iter().map(|wrong| FieldError::invalid(&at, name, wrong)));
        }
        _ => errors.push(FieldError::invalid(path, "", "cannot set both port name & port number")),
    }
    errors
}

fn resource_reference(resource: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(group) = resource["apiGroup"].as_str() {
        errors.extend(subdomain(group, &format!("{path}.apiGroup")));
    }
    for name in ["kind", "name"] {
        let (value, at) = (text(resource, name), format!("{path}.{name}"));
        if value.is_empty() {
            errors.push(FieldError::required(&at, ""));
        } else {
            let wrong = names::path_segment(value).into_iter();
            errors.extend(wrong.map(|wrong| FieldError::invalid(&at, value, wrong)));
        }
    }
    errors
}

fn subdomain(value: &str, path: &str) -> Vec<FieldError> {
    names::dns_subdomain(value).into_iter().map(|wrong| FieldError::invalid(path, value, wrong)).collect()
}

fn items(value: &Value) -> std::slice::Iter<'_, Value> {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}
