//! What the server gives a Service: a cluster IP, and node ports.
//!
//! Both are drawn at random from upstream's ranges, and are free. Upstream:
//! `registry/core/service/storage/alloc.go`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::field::FieldError;
use super::kinds::built_in;
use super::server::Server;

/// The ports of nodes: the first, and how many.
const PORTS: (u64, u64) = (30_000, 2_768);

/// Allocates what a new Service needs.
pub(super) fn create(server: &mut Server, spec: &mut Value) {
    if spec["type"] == "ExternalName" {
        return;
    }
    if spec["clusterIP"].as_str().unwrap_or_default().is_empty() {
        spec["clusterIP"] = free_address(server).into();
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    spec["ipFamilies"] = json!(["IPv4"]);
    spec["ipFamilyPolicy"] = "SingleStack".into();
    give_ports(server, spec);
}

/// Keeps what a changed Service had, and allocates the rest.
pub(super) fn update(server: &mut Server, new: &mut Value, old: &Value) {
    // A type that is not known as well: upstream refuses it later. Upstream: `needsClusterIP`.
    if new["type"] == "ExternalName" || old["type"] == "ExternalName" {
        return;
    }
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if new[name].is_null() || new[name] == "" {
            new[name] = old[name].clone();
        }
    }
    // Who changes one of the two means both.
    if new["clusterIP"] != old["clusterIP"] && new["clusterIPs"] == old["clusterIPs"] {
        new["clusterIPs"] = json!([new["clusterIP"]]);
    }
    if has_node_ports(new) && has_node_ports(old) {
        keep_ports(new, old);
    }
    give_ports(server, new);
}

fn has_node_ports(spec: &Value) -> bool {
    matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer"))
}

/// Ports of a name that a Service had keep their node ports, unless another port asks for one.
fn keep_ports(new: &mut Value, old: &Value) {
    let node_port = |port: &Value| port["nodePort"].as_i64().unwrap_or(0);
    let of = |spec: &Value| spec["ports"].as_array().cloned().unwrap_or_default();
    let (before, given) = (of(old), of(new));
    for port in new["ports"].as_array_mut().into_iter().flatten().filter(|port| node_port(port) == 0) {
        // Of several ports of one name the last counts.
        let was = before.iter().rfind(|one| one["name"] == port["name"]).map_or(0, node_port);
        if was != 0 && given.iter().all(|one| node_port(one) != was) {
            port["nodePort"] = was.into();
        }
    }
}

/// Why a Service without a name gets no cluster IP: upstream allocates one before it validates the
/// Service, and the allocated address refers to the Service by its name.
pub(super) fn unnamed(server: &mut Server, spec: &Value) -> Option<FieldError> {
    let addressed = matches!(spec["type"].as_str(), Some("ClusterIP" | "NodePort" | "LoadBalancer"));
    if !addressed || !spec["clusterIP"].as_str().unwrap_or_default().is_empty() {
        return None;
    }
    let address = free_address(server);
    let why = format!(
        "failed to allocate IP: IPAddress.networking.k8s.io \"{address}\" is invalid: spec.parentRef.name: Required value"
    );
    Some(FieldError::invalid("spec.clusterIPs", json!([""]), why))
}

fn give_ports(server: &mut Server, spec: &mut Value) {
    if !has_node_ports(spec) {
        return;
    }
    let mut taken = taken(server, |spec| {
        let ports = spec["ports"].as_array().into_iter().flatten();
        ports.filter_map(|port| port["nodePort"].as_u64()).collect()
    });
    for port in spec["ports"].as_array_mut().into_iter().flatten() {
        if port["nodePort"].as_u64().unwrap_or(0) == 0 {
            let mut number = PORTS.0 + server.chance.below(PORTS.1);
            while !taken.insert(number) {
                number = PORTS.0 + (number - PORTS.0 + 1) % PORTS.1;
            }
            port["nodePort"] = number.into();
        }
    }
}

/// An address of 10.96.0.0/12 that no Service has; its first belong to the API server and to DNS.
fn free_address(server: &mut Server) -> String {
    let taken = taken(server, |spec| spec["clusterIP"].as_str().map(str::to_owned).into_iter().collect());
    loop {
        let number = 256 + server.chance.below((1 << 20) - 512);
        let address = format!("10.{}.{}.{}", 96 + (number >> 16), (number >> 8) & 255, number & 255);
        if !taken.contains(&address) {
            return address;
        }
    }
}

/// What all Services have of one thing.
fn taken<T: Ord>(server: &Server, of: impl Fn(&Value) -> Vec<T>) -> BTreeSet<T> {
    let services = built_in("", "services").expect("Services are served");
    server.store.list(services, "").flat_map(|one| of(&one.body["spec"])).collect()
}
