//! Validates what pods and pod templates share. Upstream: `ValidatePodTemplateSpec`,
//! `ValidatePodSpec`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::registry::validate::scalars::{address, choice, invalid, items, text};
use crate::registry::validate::{container, scheduling, security, volumes};
use crate::types::field_error::FieldError;
use crate::types::names;

/// The annotation with the deletion cost of a pod, which ReplicaSets read.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Validates the annotations of a pod.
pub(crate) fn annotations(meta: &Value, path: &str) -> Option<FieldError> {
    let cost = meta["annotations"][DELETION_COST].as_str()?;
    let plain = |text: &str| text == "0" || !(text.starts_with('0') || text.starts_with('+') || text.starts_with("-0"));
    let fits = plain(cost) && cost.parse::<i32>().is_ok();
    (!fits).then(|| FieldError::invalid(&format!("{path}[{DELETION_COST}]"), cost, "must be a 32bit integer"))
}

pub(crate) fn spec(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let volumes = volumes::validate(&mut errors, spec, path);
    let mut names = BTreeSet::new();
    if spec["containers"].as_array().is_none_or(Vec::is_empty) {
        errors.push(FieldError::required(&format!("{path}.containers"), ""));
    }
    errors.extend(container::list(spec, path, "containers", &volumes, &mut names));
    errors.extend(container::list(spec, path, "initContainers", &volumes, &mut names));
    host_network_ports(&mut errors, spec, path);
    choice(&mut errors, spec, path, "restartPolicy", &["Always", "OnFailure", "Never"]);
    choice(&mut errors, spec, path, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]);
    errors.extend(super::meta::labels(&spec["nodeSelector"], &format!("{path}.nodeSelector")));
    security::pod(&mut errors, spec, path);
    scheduling::affinity(&mut errors, spec, path);
    dns_config(&mut errors, spec, path);
    for (gate, path) in items(spec, "readinessGates", path) {
        let name = text(gate, "conditionType");
        errors.extend(invalid(&format!("{path}.conditionType"), name, names::key(name)));
    }
    scheduling::gates(&mut errors, spec, path);
    scheduling::spread_constraints(&mut errors, spec, path);
    if spec["hostUsers"] == false {
        for (name, field) in [("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
            if spec[name] == true {
                errors.push(FieldError::forbidden(&format!("{path}.{field}"), "when `hostUsers` is false"));
            }
        }
    }
    validate_names(&mut errors, spec, path, &["serviceAccountName", "nodeName"], names::dns_subdomain);
    if let Some(deadline) =
        spec["activeDeadlineSeconds"].as_i64().filter(|deadline| !(1..=i64::from(i32::MAX)).contains(deadline))
    {
        let why = "must be between 1 and 2147483647, inclusive";
        errors.push(FieldError::invalid(&format!("{path}.activeDeadlineSeconds"), deadline, why));
    }
    validate_names(&mut errors, spec, path, &["hostname", "subdomain"], names::dns_label);
    errors.extend(tolerations(&spec["tolerations"], &format!("{path}.tolerations")));
    for (alias, path) in items(spec, "hostAliases", path) {
        errors.extend(address(text(alias, "ip"), &format!("{path}.ip")));
        for (host, path) in items(alias, "hostnames", &path) {
            let host = host.as_str().unwrap_or_default();
            errors.extend(invalid(&path, host, names::dns_subdomain(host)));
        }
    }
    validate_names(&mut errors, spec, path, &["priorityClassName"], names::dns_subdomain);
    if let Some(class) = spec["runtimeClassName"].as_str() {
        errors.extend(invalid(&format!("{path}.runtimeClassName"), class, names::dns_subdomain(class)));
    }
    if !spec["preemptionPolicy"].is_null() {
        choice(&mut errors, spec, path, "preemptionPolicy", &["PreemptLowerPriority", "Never"]);
    }
    match spec["os"].get("name").and_then(Value::as_str) {
        None | Some("linux" | "windows") => {}
        Some("") => errors.push(FieldError::required(&format!("{path}.os.name"), "")),
        Some(name) => errors.push(FieldError::unsupported(&format!("{path}.os"), name, &["linux", "windows"])),
    }
    errors
}

/// Validates names that may be absent.
fn validate_names(
    errors: &mut Vec<FieldError>,
    spec: &Value,
    path: &str,
    fields: &[&str],
    rule: fn(&str) -> Vec<String>,
) {
    for field in fields.iter().filter(|field| !text(spec, field).is_empty()) {
        errors.extend(invalid(&format!("{path}.{field}"), text(spec, field), rule(text(spec, field))));
    }
}

/// Upstream: `validatePodHostNetworkDeps`.
fn host_network_ports(errors: &mut Vec<FieldError>, spec: &Value, path: &str) {
    if spec["hostNetwork"] != true {
        return;
    }
    for (container, path) in items(spec, "containers", path) {
        for (port, path) in items(container, "ports", &path) {
            let number = port["hostPort"].as_i64().filter(|number| *number != 0);
            if let Some(number) = number.filter(|number| port["containerPort"] != *number) {
                let why = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(&format!("{path}.hostPort"), number, why));
            }
        }
    }
}

/// Upstream: `validatePodDNSConfig`.
fn dns_config(errors: &mut Vec<FieldError>, spec: &Value, path: &str) {
    const MOST_SERVERS: usize = 3;
    const MOST_SEARCHES: usize = 32;
    const MOST_CHARACTERS: usize = 2048;
    let (config, path) = (&spec["dnsConfig"], format!("{path}.dnsConfig"));
    let texts = |name: &str| -> Vec<&str> {
        config[name].as_array().into_iter().flatten().map(|one| one.as_str().unwrap_or_default()).collect()
    };
    let (servers, searches) = (texts("nameservers"), texts("searches"));
    if spec["dnsPolicy"] == "None" && config.is_null() {
        return errors.push(FieldError::required(&path, "must provide `dnsConfig` when `dnsPolicy` is None"));
    }
    if spec["dnsPolicy"] == "None" && servers.is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        return errors.push(FieldError::required(&format!("{path}.nameservers"), why));
    }
    if servers.len() > MOST_SERVERS {
        let why = format!("must not have more than {MOST_SERVERS} nameservers");
        errors.push(FieldError::invalid(&format!("{path}.nameservers"), config["nameservers"].clone(), why));
    }
    for (index, server) in servers.into_iter().enumerate() {
        errors.extend(address(server, &format!("{path}.nameservers[{index}]")));
    }
    let limits = [
        (searches.len() > MOST_SEARCHES, format!("must not have more than {MOST_SEARCHES} search paths")),
        (
            searches.join(" ").len() > MOST_CHARACTERS,
            format!("must not have more than {MOST_CHARACTERS} characters (including spaces) in the search list"),
        ),
    ];
    for (_, why) in limits.into_iter().filter(|(is_exceeded, _)| *is_exceeded) {
        errors.push(FieldError::invalid(&format!("{path}.searches"), config["searches"].clone(), why));
    }
    for (index, search) in searches.into_iter().enumerate().filter(|(_, search)| *search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        errors.extend(invalid(&format!("{path}.searches[{index}]"), search, names::dns_search(search)));
    }
    for (option, path) in items(config, "options", &path) {
        if text(option, "name").is_empty() {
            errors.push(FieldError::required(&path, "must not be empty"));
        }
    }
}

pub(crate) fn tolerations(list: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, one) in list.as_array().into_iter().flatten().enumerate() {
        let path = format!("{path}[{index}]");
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        let (key, operator) = (text("key"), text("operator"));
        let at = |name: &str| format!("{path}.{name}");
        if !key.is_empty() {
            errors.extend(names::key(key).into_iter().map(|wrong| FieldError::invalid(&at("key"), key, wrong)));
        }
        if key.is_empty() && operator != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.push(FieldError::invalid(&at("operator"), operator, why));
        }
        if !one["tolerationSeconds"].is_null() && text("effect") != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.push(FieldError::invalid(&at("effect"), text("effect"), why));
        }
        match operator {
            "" | "Equal" => {
                let wrong = names::label_value(text("value"));
                if !wrong.is_empty() {
                    errors.push(FieldError::invalid(&at("operator"), text("value"), wrong.join(";")));
                }
            }
            "Exists" if !text("value").is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                errors.push(FieldError::invalid(&at("operator"), text("value"), why));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                errors.push(FieldError::unsupported(&at("operator"), operator, &["Equal", "Exists", "Lt", "Gt"]));
            }
            _ => errors.push(FieldError::unsupported(&at("operator"), operator, &["Equal", "Exists"])),
        }
        if !text("effect").is_empty() {
            errors.extend(effect(text("effect"), &at("effect")));
        }
    }
    errors
}

/// Validates the effect of a taint or toleration.
pub(crate) fn effect(effect: &str, path: &str) -> Option<FieldError> {
    const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    match effect {
        "" => Some(FieldError::required(path, "")),
        effect if EFFECTS.contains(&effect) => None,
        other => Some(FieldError::unsupported(path, other, &EFFECTS)),
    }
}
