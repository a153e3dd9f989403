//! Validates references to fields and resources of the pod itself. Upstream:
//! `validateObjectFieldSelector`, `validateContainerResourceFieldSelector`.

use serde_json::Value;

use crate::registry::validate::scalars::{invalid, text};
use crate::types::field_error::FieldError;
use crate::types::names;

/// The fields that a pod can be asked for. Upstream: `ConvertDownwardAPIFieldLabel`.
const KNOWN_FIELDS: [&str; 15] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    "spec.host",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// Validates a reference to a field, of which `among` are supported here.
pub(crate) fn field(errors: &mut Vec<FieldError>, reference: &Value, path: &str, among: &[&str]) {
    let (version, given) = (text(reference, "apiVersion"), text(reference, "fieldPath"));
    let at = format!("{path}.fieldPath");
    if version.is_empty() {
        return errors.push(FieldError::required(&format!("{path}.apiVersion"), ""));
    }
    if given.is_empty() {
        return errors.push(FieldError::required(&at, ""));
    }
    let subscripted = given.strip_suffix("']").and_then(|rest| rest.split_once("['"));
    let subscripted = subscripted.filter(|(field, _)| !field.is_empty());
    let refused = match subscripted {
        _ if version != "v1" => Some(format!("unsupported pod version: {version}")),
        Some(("metadata.annotations" | "metadata.labels", _)) => None,
        Some(_) => Some(format!("field label does not support subscript: {given}")),
        None if !KNOWN_FIELDS.contains(&given) => Some(format!("field label not supported: {given}")),
        None => None,
    };
    if let Some(why) = refused {
        return errors.push(FieldError::invalid(&at, given, format!("error converting fieldPath: {why}")));
    }
    let given = if given == "spec.host" { "spec.nodeName" } else { given };
    match subscripted {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            errors.extend(invalid(path, &key, names::key(&key)));
        }
        Some((_, key)) => errors.extend(invalid(path, key, names::key(key))),
        None if !among.contains(&given) => errors.push(FieldError::unsupported(&at, given, among)),
        None => {}
    }
}

/// Validates a reference to a resource of a container; a volume must name the container.
pub(crate) fn resource(errors: &mut Vec<FieldError>, reference: &Value, path: &str, in_volume: bool) {
    let name = text(reference, "resource");
    let is_huge = ["requests.hugepages-", "limits.hugepages-"].iter().any(|prefix| name.starts_with(prefix));
    if in_volume && text(reference, "containerName").is_empty() {
        errors.push(FieldError::required(&format!("{path}.containerName"), ""));
    } else if name.is_empty() {
        errors.push(FieldError::required(&format!("{path}.resource"), ""));
    } else if !RESOURCES.contains(&name) && !is_huge {
        errors.push(FieldError::unsupported(&format!("{path}.resource"), name, &RESOURCES));
    }
    divisor(errors, text(reference, "divisor"), name, path);
}

/// Upstream: `validateContainerResourceDivisor`, which shows the resource instead of the divisor.
fn divisor(errors: &mut Vec<FieldError>, divisor: &str, name: &str, path: &str) {
    const SIZES: &str = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    let (among, what) = match name.split_once('.').unwrap_or_default().1 {
        _ if matches!(divisor, "" | "0") => return,
        "cpu" => ("1m, 1", "1m and 1 are supported with the cpu resource".to_owned()),
        "memory" => (SIZES, format!("{SIZES} are supported with the memory resource")),
        "ephemeral-storage" => (SIZES, format!("{SIZES} are supported with the local ephemeral storage resource")),
        huge if huge.starts_with("hugepages-") => (SIZES, format!("{SIZES} are supported with the hugepages resource")),
        _ => return,
    };
    if !among.split(", ").any(|known| known == divisor) {
        let why = format!("only divisor's values {what}");
        errors.push(FieldError::invalid(&format!("{path}.divisor"), name, why));
    }
}
