//! Allocates the cluster IP and node ports of Services.
//!
//! Both are drawn at random from the free part of upstream's ranges. Upstream:
//! `registry/core/service/storage/alloc.go`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::registry::state::Server;
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;

/// The range of node ports: the first, and the number of ports.
const PORTS: (u64, u64) = (30_000, 2_768);

/// Allocates for a new Service.
pub(crate) fn create(server: &mut Server, services: &'static ResourceKind, spec: &mut Value) {
    // Validation rejects contradicting addresses, for which upstream allocates nothing.
    if spec["type"] == "ExternalName" || contradicts(spec) {
        return;
    }
    if spec["clusterIP"].as_str().unwrap_or_default().is_empty() {
        spec["clusterIP"] = free_address(server, services).into();
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    let is_dual = is_dual(spec);
    spec["ipFamilies"] = if is_dual { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) };
    spec["ipFamilyPolicy"] = if is_dual { "RequireDualStack" } else { "SingleStack" }.into();
    allocate_ports(server, services, spec);
}

/// Keeps the allocations of an updated Service, and allocates what is missing.
pub(crate) fn update(server: &mut Server, services: &'static ResourceKind, new: &mut Value, old: &Value) {
    // An unknown type is included: upstream rejects it later. Upstream: `needsClusterIP`.
    if new["type"] == "ExternalName" || old["type"] == "ExternalName" {
        return;
    }
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if new[name].is_null() || new[name] == "" {
            new[name] = old[name].clone();
        }
    }
    // Changing one of the two implies the other.
    if new["clusterIP"] != old["clusterIP"] && new["clusterIPs"] == old["clusterIPs"] {
        new["clusterIPs"] = json!([new["clusterIP"]]);
    }
    if has_node_ports(new) && has_node_ports(old) {
        keep_ports(new, old);
    }
    allocate_ports(server, services, new);
}

/// Whether there are cluster IPs, of which the first is not the cluster IP.
pub(crate) fn contradicts(spec: &Value) -> bool {
    spec["clusterIPs"][0].as_str().is_some_and(|first| first.is_empty() || spec["clusterIP"] != first)
}

/// Whether a new Service has both IP families also in a cluster with one: a headless one without a
/// selector, whose endpoints a user writes.
pub(crate) fn is_dual(spec: &Value) -> bool {
    let has_selector = spec["selector"].as_object().is_some_and(|labels| !labels.is_empty());
    spec["clusterIP"] == "None" && !has_selector && spec["ipFamilyPolicy"] != "SingleStack"
}

fn has_node_ports(spec: &Value) -> bool {
    matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer"))
}

/// Ports keep the node port of the old port with the same name, unless another port requests it.
fn keep_ports(new: &mut Value, old: &Value) {
    let node_port = |port: &Value| port["nodePort"].as_i64().unwrap_or(0);
    let of = |spec: &Value| spec["ports"].as_array().cloned().unwrap_or_default();
    let (before, given) = (of(old), of(new));
    for port in new["ports"].as_array_mut().into_iter().flatten().filter(|port| node_port(port) == 0) {
        // The last of several ports with one name counts.
        let old_port = before.iter().rfind(|one| one["name"] == port["name"]).map_or(0, node_port);
        if old_port != 0 && given.iter().all(|one| node_port(one) != old_port) {
            port["nodePort"] = old_port.into();
        }
    }
}

/// The error for a Service without a name: upstream allocates a cluster IP before validation, and
/// the allocated address refers to the Service by name.
pub(crate) fn missing_name_error(
    server: &mut Server,
    services: &'static ResourceKind,
    spec: &Value,
) -> Option<FieldError> {
    let addressed = matches!(spec["type"].as_str(), Some("ClusterIP" | "NodePort" | "LoadBalancer"));
    if !addressed || !spec["clusterIP"].as_str().unwrap_or_default().is_empty() {
        return None;
    }
    let address = free_address(server, services);
    let why = format!(
        "failed to allocate IP: IPAddress.networking.k8s.io \"{address}\" is invalid: spec.parentRef.name: Required value"
    );
    Some(FieldError::invalid("spec.clusterIPs", json!([""]), why))
}

fn allocate_ports(server: &mut Server, services: &'static ResourceKind, spec: &mut Value) {
    if !has_node_ports(spec) {
        return;
    }
    let mut used = allocations(server, services, |spec| {
        let ports = spec["ports"].as_array().into_iter().flatten();
        ports.filter_map(|port| port["nodePort"].as_u64()).collect()
    });
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        if port["nodePort"].as_u64().unwrap_or(0) == 0 {
            let mut number = PORTS.0 + server.rng.below(PORTS.1);
            while !used.insert(number) {
                number = PORTS.0 + (number - PORTS.0 + 1) % PORTS.1;
            }
            port["nodePort"] = number.into();
        }
    }
}

/// A free address of 10.96.0.0/12; the first ones belong to the API server and to DNS.
fn free_address(server: &mut Server, services: &'static ResourceKind) -> String {
    let used =
        allocations(server, services, |spec| spec["clusterIP"].as_str().map(str::to_owned).into_iter().collect());
    loop {
        let number = 256 + server.rng.below((1 << 20) - 512);
        let address = format!("10.{}.{}.{}", 96 + (number >> 16), (number >> 8) & 255, number & 255);
        if !used.contains(&address) {
            return address;
        }
    }
}

/// The allocations of one sort of all Services.
fn allocations<T: Ord>(server: &Server, services: &'static ResourceKind, of: impl Fn(&Value) -> Vec<T>) -> BTreeSet<T> {
    server.store.list(services, "").flat_map(|one| of(&one.body["spec"])).collect()
}
