//! What the server gives a Service: a cluster IP, and node ports.
//!
//! Both are drawn at random from upstream's ranges, and are free. Upstream:
//! `registry/core/service/storage/alloc.go`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

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
    if new["type"] != old["type"] || new["type"] == "ExternalName" {
        return;
    }
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if new[name].is_null() || new[name] == "" {
            new[name] = old[name].clone();
        }
    }
    let before = old["ports"].as_array().cloned().unwrap_or_default();
    for port in new["ports"].as_array_mut().into_iter().flatten() {
        let same = |one: &&Value| one["port"] == port["port"] && one["protocol"] == port["protocol"];
        if port["nodePort"].as_i64().unwrap_or(0) == 0
            && let Some(was) = before.iter().find(same).filter(|was| !was["nodePort"].is_null())
        {
            port["nodePort"] = was["nodePort"].clone();
        }
    }
    give_ports(server, new);
}

fn give_ports(server: &mut Server, spec: &mut Value) {
    if !matches!(spec["type"].as_str(), Some("NodePort" | "LoadBalancer")) {
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
