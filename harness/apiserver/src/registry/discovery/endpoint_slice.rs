//! EndpointSlices. Upstream: `pkg/registry/discovery/endpointslice`, `ValidateEndpointSlice`,
//! `printEndpointSlice`.

use std::net::Ipv4Addr;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::{items as elements, set};
use crate::registry::strategy::{FieldPaths, Strategy, without_metadata};
use crate::registry::validate::network::{PROTOCOLS, label};
use crate::registry::validate::unsupported_fields::unsupported_field;
use crate::schema::printers::cells::{age, items, name, or, some};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};

pub(crate) static KIND: ResourceKind = kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice");

pub(crate) struct EndpointSliceStrategy;

impl Strategy for EndpointSliceStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn set_defaults(&self, slice: &mut Value) {
        for port in elements(slice, "ports") {
            set(port, "name", json!(""));
            set(port, "protocol", json!("TCP"));
        }
    }

    fn unstored_lists(&self) -> &'static [&'static str] {
        &["endpoints", "ports"]
    }

    fn changes_generation(&self, new: &Value, old: &Value) -> bool {
        without_metadata(new) != without_metadata(old) || new["metadata"]["labels"] != old["metadata"]["labels"]
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_slice(new, None));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_slice(new, Some(old)));
        errors
    }

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        let has = |value: &Value, names: &[&str]| unsupported_field("EndpointSlice", value, names);
        let other = matches!(new["addressType"].as_str(), Some("IPv6" | "FQDN"));
        let mut found =
            items(&new["endpoints"]).filter_map(|one| has(one, &["hints", "deprecatedTopology", "nodeName"]));
        found
            .next()
            .or_else(|| items(&new["ports"]).filter_map(|port| has(port, &["appProtocol"])).next())
            .or_else(|| other.then(|| "an EndpointSlice of another addressType than IPv4".to_owned()))
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("AddressType"), text("Ports"), text("Endpoints"), AGE] }
    }

    fn cells(&self, slice: &Value, now: Timestamp) -> Vec<Value> {
        let ports = items(&slice["ports"]).map(|port| match port["port"].as_i64() {
            Some(number) => number.to_string(),
            None => port["name"].as_str().unwrap_or("*").to_owned(),
        });
        let addresses = items(&slice["endpoints"]).flat_map(|one| items(&one["addresses"]));
        let addresses = addresses.map(|address| or(address, "").to_owned());
        vec![
            name(slice),
            or(&slice["addressType"], "").into(),
            some(ports).into(),
            some(addresses).into(),
            age(slice, now),
        ]
    }
}

fn validate_slice(slice: &Value, old: Option<&Value>) -> Vec<FieldError> {
    const ADDRESSES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
    let mut errors = Vec::new();
    let kind = slice["addressType"].as_str().unwrap_or_default();
    if kind.is_empty() {
        errors.push(FieldError::required("addressType", ""));
    } else if !ADDRESSES.contains(&kind) {
        errors.push(FieldError::unsupported("addressType", kind, &ADDRESSES));
    }
    let mut names: Vec<&str> = Vec::new();
    for (at, port) in slice["ports"].as_array().into_iter().flatten().enumerate() {
        let name = port["name"].as_str().unwrap_or_default();
        if !name.is_empty() {
            errors.extend(label(name, &format!("ports[{at}].name")));
        }
        if names.contains(&name) {
            errors.push(FieldError::duplicate(&format!("ports[{at}].name"), name));
        } else {
            names.push(name);
        }
        if let Some(protocol) = port["protocol"].as_str().filter(|protocol| !PROTOCOLS.contains(protocol)) {
            errors.push(FieldError::unsupported(&format!("ports[{at}].protocol"), protocol, &PROTOCOLS));
        }
    }
    if old.is_none_or(|old| old["endpoints"] != slice["endpoints"]) {
        for (at, endpoint) in slice["endpoints"].as_array().into_iter().flatten().enumerate() {
            let path = format!("endpoints[{at}].addresses");
            let addresses = endpoint["addresses"].as_array().map(Vec::as_slice).unwrap_or_default();
            if addresses.is_empty() {
                errors.push(FieldError::required(&path, "must contain at least 1 address"));
            }
            for (index, address) in addresses.iter().filter_map(Value::as_str).enumerate() {
                if kind == "IPv4" && address.parse::<Ipv4Addr>().is_err() {
                    let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
                    errors.push(FieldError::invalid(&format!("{path}[{index}]"), address, why));
                }
            }
            if let Some(host) = endpoint["hostname"].as_str() {
                errors.extend(label(host, &format!("endpoints[{at}].hostname")));
            }
        }
    }
    if old.is_some_and(|old| old["addressType"] != slice["addressType"]) {
        errors.push(FieldError::invalid("addressType", kind, "field is immutable"));
    }
    errors
}
