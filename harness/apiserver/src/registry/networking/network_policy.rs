//! NetworkPolicies: stored and validated, without effect. Upstream:
//! `pkg/registry/networking/networkpolicy`, `SetDefaults_NetworkPolicy`, `ValidateNetworkPolicy`,
//! `printNetworkPolicy`.

use std::net::{IpAddr, Ipv6Addr};

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::{entry, items as elements, set};
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::registry::validate::selectors::selector_of;
use crate::schema::printers::cells::{age, items, name, or, selector};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::addresses::cidr;
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

const PROTOCOLS: [&str; 3] = ["TCP", "UDP", "SCTP"];
const POLICY_TYPES: [&str; 2] = ["Ingress", "Egress"];
/// The lists of rules, each with its list of peers.
const RULES: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

pub(crate) static KIND: ResourceKind =
    ResourceKind { short_names: &["netpol"], ..kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy") };

pub(crate) struct NetworkPolicyStrategy;

impl Strategy for NetworkPolicyStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    // An update with an empty list counts as a change: upstream compares specs by
    // `reflect.DeepEqual`, and stores none.
    fn fields_with_empty_lists(&self) -> &'static [&'static str] {
        &["podSelector", "ingress", "egress"]
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn set_defaults(&self, policy: &mut Value) {
        let spec = entry(policy, "spec");
        for (rules, _) in RULES {
            for rule in elements(spec, rules) {
                elements(rule, "ports").for_each(|port| set(port, "protocol", json!("TCP")));
            }
        }
        if items(&spec["policyTypes"]).len() == 0 {
            let has_egress = items(&spec["egress"]).len() > 0;
            spec["policyTypes"] = POLICY_TYPES[..1 + usize::from(has_egress)].into();
        }
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_spec(&new["spec"], &[]));
        errors
    }

    // Upstream accepts any CIDR that the policy had before.
    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        let blocks = cidrs(&old["spec"]);
        let known: Vec<&str> = blocks.iter().map(|(_, cidr)| *cidr).collect();
        errors.extend(validate_spec(&new["spec"], &known));
        errors
    }

    fn warnings(&self, new: &Value, _: Option<&Value>) -> Vec<String> {
        cidrs(&new["spec"]).into_iter().filter_map(|(path, text)| canonical_warning(&path, text)).collect()
    }

    // Only a policy that was stored as it is can have one.
    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        let mut all = cidrs(&new["spec"]).into_iter();
        let (_, invalid) = all.find(|(path, text)| cidr_error(path, text).is_some())?;
        Some(format!("a NetworkPolicy with the invalid CIDR {invalid:?}"))
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Pod-Selector"), AGE] }
    }

    fn cells(&self, policy: &Value, now: Timestamp) -> Vec<Value> {
        vec![name(policy), selector(&policy["spec"]["podSelector"]), age(policy, now)]
    }
}

/// The CIDRs of a spec, with their paths.
fn cidrs(spec: &Value) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    for (rules, peers) in RULES {
        for (index, rule) in items(&spec[rules]).enumerate() {
            for (place, peer) in items(&rule[peers]).enumerate() {
                let path = format!("spec.{rules}[{index}].{peers}[{place}].ipBlock");
                let block = &peer["ipBlock"];
                all.extend(block["cidr"].as_str().map(|text| (format!("{path}.cidr"), text)));
                let except = items(&block["except"]).enumerate();
                all.extend(except.map(|(at, text)| (format!("{path}.except[{at}]"), or(text, ""))));
            }
        }
    }
    all
}

/// Validates a spec; `known` are the CIDRs that it had before. Upstream:
/// `ValidateNetworkPolicySpec`.
fn validate_spec(spec: &Value, known: &[&str]) -> Vec<FieldError> {
    let mut errors = selector_of(&spec["podSelector"], "spec.podSelector");
    for (rules, peers) in RULES {
        for (index, rule) in items(&spec[rules]).enumerate() {
            let at = |list: &str, place: usize| format!("spec.{rules}[{index}].{list}[{place}]");
            for (place, port) in items(&rule["ports"]).enumerate() {
                errors.extend(validate_port(port, &at("ports", place)));
            }
            for (place, peer) in items(&rule[peers]).enumerate() {
                errors.extend(validate_peer(peer, &at(peers, place), known));
            }
        }
    }
    let types = &spec["policyTypes"];
    if items(types).len() > POLICY_TYPES.len() {
        let why = "may not specify more than two policyTypes";
        errors.push(FieldError::invalid("spec.policyTypes", types.clone(), why));
        return errors;
    }
    for (index, one) in items(types).map(|one| or(one, "")).enumerate() {
        if !POLICY_TYPES.contains(&one) {
            errors.push(FieldError::unsupported(&format!("spec.policyTypes[{index}]"), one, &POLICY_TYPES));
        }
    }
    errors
}

/// Upstream: `ValidateNetworkPolicyPort`.
fn validate_port(port: &Value, path: &str) -> Vec<FieldError> {
    let at = |name: &str| format!("{path}.{name}");
    let mut errors = Vec::new();
    if let Some(protocol) = port["protocol"].as_str().filter(|protocol| !PROTOCOLS.contains(protocol)) {
        errors.push(FieldError::unsupported(&at("protocol"), protocol, &PROTOCOLS));
    }
    let out_of_range = |name: &str, number: i64| {
        let why = "must be between 1 and 65535, inclusive";
        (!(1..=65535).contains(&number)).then(|| FieldError::invalid(&at(name), number, why))
    };
    let end = port["endPort"].as_i64();
    let end_error = |why: &str| end.map(|end| FieldError::invalid(&at("endPort"), end, why));
    match &port["port"] {
        Value::Null => errors.extend(end_error("may not be specified when `port` is not specified")),
        Value::String(name) => {
            errors.extend(end_error("may not be specified when `port` is non-numeric"));
            let wrong = names::port_name(name).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(&at("port"), name.as_str(), why)));
        }
        number => {
            let first = number.as_i64().unwrap_or(0);
            errors.extend(out_of_range("port", first));
            if let Some(end) = end {
                if end < first {
                    // Upstream prints the port.
                    errors.push(FieldError::invalid(&at("endPort"), first, "must be greater than or equal to `port`"));
                }
                errors.extend(out_of_range("endPort", end));
            }
        }
    }
    errors
}

/// Upstream: `ValidateNetworkPolicyPeer`.
fn validate_peer(peer: &Value, path: &str, known: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let selectors = ["podSelector", "namespaceSelector"].into_iter().filter(|name| !peer[*name].is_null());
    let mut count = 0;
    for name in selectors {
        count += 1;
        errors.extend(selector_of(&peer[name], &format!("{path}.{name}")));
    }
    let has_block = !peer["ipBlock"].is_null();
    if has_block {
        errors.extend(validate_block(&peer["ipBlock"], &format!("{path}.ipBlock"), known));
    }
    if count == 0 && !has_block {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if count > 0 && has_block {
        errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
    }
    errors
}

/// Upstream: `ValidateIPBlock`.
fn validate_block(block: &Value, path: &str, known: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let text = or(&block["cidr"], "");
    let path_of_cidr = format!("{path}.cidr");
    if text.is_empty() {
        errors.push(FieldError::required(&path_of_cidr, ""));
        return errors;
    }
    let check = |path: &str, text: &str| cidr_error(path, text).filter(|_| !known.contains(&text));
    errors.extend(check(&path_of_cidr, text));
    let Some(outer) = cidr(text) else { return errors };
    for (index, except) in items(&block["except"]).map(|one| or(one, "")).enumerate() {
        let path = format!("{path}.except[{index}]");
        errors.extend(check(&path, except));
        let Some(inner) = cidr(except) else { continue };
        if network(inner.0, outer.1) != network(outer.0, outer.1) || outer.1 >= inner.1 {
            errors.push(FieldError::invalid(&path, except, "must be a strict subset of `cidr`"));
        }
    }
    errors
}

/// The first bits of an address.
fn network(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits)).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

/// Upstream: `IsValidCIDRForLegacyField`, strict.
fn cidr_error(path: &str, text: &str) -> Option<FieldError> {
    let invalid = |why: &str| Some(FieldError::invalid(path, text, why));
    let Some((address, bits)) = cidr(text) else {
        return invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    };
    let (address_text, bits_text) = text.split_once('/').unwrap_or_default();
    let has_leading_zero = bits_text.len() > 1 && bits_text.starts_with('0');
    if address_text.parse::<IpAddr>().is_err() || has_leading_zero {
        return invalid("must not have leading 0s in IP or prefix length");
    }
    if matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some()) {
        return invalid("must not have an IPv4-mapped IPv6 address");
    }
    if network(address, bits) != address {
        return invalid("must not have bits set beyond the prefix length");
    }
    None
}

/// The warning for a valid CIDR of IPv6. Upstream: `GetWarningsForCIDR`.
fn canonical_warning(path: &str, text: &str) -> Option<String> {
    let (address, bits) = text.split_once('/')?;
    let canonical = format!("{}/{bits}", address.parse::<Ipv6Addr>().ok()?);
    (canonical != text)
        .then(|| format!("{path}: IPv6 CIDR value {text:?} should be in RFC 5952 canonical format ({canonical:?})"))
}
