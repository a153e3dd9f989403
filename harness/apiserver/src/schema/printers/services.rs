//! Table cells of Services, EndpointSlices and Ingresses.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::schema::printers::cells::{items, labels, number, or};

/// The maximum number of ports or addresses in a cell.
const MOST: usize = 3;

/// Upstream: `printService`.
pub(crate) fn service(service: &Value, age: &str) -> Vec<Value> {
    let spec = &service["spec"];
    let ports: Vec<String> = items(&spec["ports"]).map(port).collect();
    let ports = if ports.is_empty() { "<none>".to_owned() } else { ports.join(",") };
    let internal = or(&spec["clusterIPs"][0], "<none>");
    vec![
        or(&spec["type"], "").into(),
        internal.into(),
        external(service).into(),
        ports.into(),
        age.into(),
        labels(&spec["selector"]).into(),
    ]
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

/// Upstream: `printEndpointSlice`.
pub(crate) fn endpoint_slice(slice: &Value, age: &str) -> Vec<Value> {
    let ports = items(&slice["ports"]).map(|port| match port["port"].as_i64() {
        Some(number) => number.to_string(),
        None => port["name"].as_str().unwrap_or("*").to_owned(),
    });
    let addresses = items(&slice["endpoints"]).flat_map(|one| items(&one["addresses"]));
    let addresses = addresses.map(|address| or(address, "").to_owned());
    vec![or(&slice["addressType"], "").into(), some(ports).into(), some(addresses).into(), age.into()]
}

/// Upstream: `printIngress`.
pub(crate) fn ingress(ingress: &Value, age: &str) -> Vec<Value> {
    let spec = &ingress["spec"];
    let hosts: Vec<&str> =
        items(&spec["rules"]).take(MOST).map(|rule| or(&rule["host"], "")).filter(|host| !host.is_empty()).collect();
    // Upstream counts the remaining rules only once three hosts are shown.
    let more = items(&spec["rules"]).len().saturating_sub(MOST);
    let hosts = match hosts.join(",") {
        none if none.is_empty() => "*".to_owned(),
        shown if more > 0 && hosts.len() == MOST => format!("{shown} + {more} more..."),
        shown => shown,
    };
    let balanced = items(&ingress["status"]["loadBalancer"]["ingress"]);
    let addresses: BTreeSet<&str> =
        balanced.map(|one| or(&one["ip"], or(&one["hostname"], ""))).filter(|one| !one.is_empty()).collect();
    let addresses = addresses.into_iter().collect::<Vec<_>>().join(",");
    let ports = if items(&spec["tls"]).len() > 0 { "80, 443" } else { "80" };
    vec![or(&spec["ingressClassName"], "<none>").into(), hosts.into(), addresses.into(), ports.into(), age.into()]
}

/// The first few values, and the number of the rest.
fn some(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let shown = all[..all.len().min(MOST)].join(",");
    match all.len() {
        count if count > MOST => format!("{shown} + {} more...", count - MOST),
        _ if shown.is_empty() => "<unset>".to_owned(),
        _ => shown,
    }
}
