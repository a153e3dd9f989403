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

/// The text of a field, empty if absent.
pub(crate) fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The items of a list with their paths.
pub(crate) fn items<'a>(
    object: &'a Value,
    name: &'a str,
    path: &str,
) -> impl Iterator<Item = (&'a Value, String)> + use<'a> {
    let all = object[name].as_array().into_iter().flatten().enumerate();
    let path = path.to_owned();
    all.map(move |(index, item)| (item, format!("{path}.{name}[{index}]")))
}

/// The errors of a value, for each reason.
pub(crate) fn invalid(path: &str, value: &str, reasons: Vec<String>) -> impl Iterator<Item = FieldError> {
    reasons.into_iter().map(move |why| FieldError::invalid(path, value, why))
}

/// Validates the number of a port. Upstream: `IsValidPortNum`.
pub(crate) fn port_number(number: i64, path: &str) -> Option<FieldError> {
    let fits = (1..=65535).contains(&number);
    (!fits).then(|| FieldError::invalid(path, number, "must be between 1 and 65535, inclusive"))
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
