//! Checks of single values that many kinds share.

use std::net::IpAddr;

use serde_json::Value;

use crate::types::addresses::is_ip;
use crate::types::field_error::FieldError;

/// Validates a number that must not be negative.
pub(crate) fn nonnegative(errors: &mut Vec<FieldError>, object: &Value, path: &str, name: &str) {
    if let Some(number) = object[name].as_i64().filter(|number| *number < 0) {
        let path = format!("{path}.{name}");
        errors.push(FieldError::invalid(&path, number, "must be greater than or equal to 0"));
    }
}

/// Validates a required string with a fixed set of values.
pub(crate) fn choice(errors: &mut Vec<FieldError>, object: &Value, path: &str, name: &str, among: &[&str]) {
    let path = format!("{path}.{name}");
    match object[name].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required(&path, "")),
        value if among.contains(&value) => {}
        value => errors.push(FieldError::unsupported(&path, value, among)),
    }
}

/// Validates an IP address. Upstream: `IsValidIPForLegacyField`.
pub(crate) fn address(value: &str, path: &str) -> Option<FieldError> {
    let why = match value.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => "must not be an IPv4-mapped IPv6 address",
        Ok(_) => return None,
        Err(_) if is_ip(value) => "must not have leading 0s",
        Err(_) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    };
    Some(FieldError::invalid(path, value, why))
}

/// Validates that counts of a status are not negative.
pub(crate) fn counts(status: &Value, names: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for name in names {
        nonnegative(&mut errors, status, "status", name);
    }
    errors
}
