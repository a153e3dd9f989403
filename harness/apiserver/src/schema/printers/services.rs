//! Table cells of Services.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::schema::printers::cells::{items, labels, number, or};

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
