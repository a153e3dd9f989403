//! Validates the environment of a container. Upstream: `ValidateEnv`, `ValidateEnvFrom`.
//!
//! It does not know variables from files.

use serde_json::Value;

use crate::registry::validate::downward_api;
use crate::registry::validate::scalars::{invalid, items, text};
use crate::types::field_error::FieldError;
use crate::types::names;

/// Validates the variables of a container and their sources.
pub(crate) fn validate(errors: &mut Vec<FieldError>, container: &Value, path: &str) {
    for (variable, path) in items(container, "env", path) {
        match text(variable, "name") {
            "" => errors.push(FieldError::required(&format!("{path}.name"), "")),
            name => errors.extend(variable_name(name, &format!("{path}.name"))),
        }
        variable_source(errors, variable, &format!("{path}.valueFrom"));
    }
    let all = format!("{path}.envFrom");
    for (from, path) in items(container, "envFrom", path) {
        if !text(from, "prefix").is_empty() {
            errors.extend(variable_name(text(from, "prefix"), &format!("{path}.prefix")));
        }
        let mut sources = 0;
        for source in ["configMapRef", "secretRef"].into_iter().filter(|source| from[*source].is_object()) {
            sources += 1;
            let path = format!("{path}.{source}.name");
            match text(&from[source], "name") {
                "" => errors.push(FieldError::required(&path, "")),
                name => errors.extend(invalid(&path, name, names::dns_subdomain(name))),
            }
        }
        let why = match sources {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        // Upstream names the list here.
        errors.push(FieldError::invalid(&all, "", why));
    }
}

/// Upstream: `IsRelaxedEnvVarName`.
fn variable_name(name: &str, path: &str) -> Option<FieldError> {
    let fits = name.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b'=');
    let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    (!fits).then(|| FieldError::invalid(path, name, why))
}

/// Upstream: `validateEnvVarValueFrom`.
fn variable_source(errors: &mut Vec<FieldError>, variable: &Value, path: &str) {
    const FIELDS: [&str; 9] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let Some(from) = variable.get("valueFrom").filter(|from| !from.is_null()) else { return };
    let mut sources = 0;
    for source in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let Some(reference) = from.get(source).filter(|reference| !reference.is_null()) else { continue };
        sources += 1;
        let path = format!("{path}.{source}");
        match source {
            "fieldRef" => downward_api::field(errors, reference, &path, &FIELDS),
            "resourceFieldRef" => downward_api::resource(errors, reference, &path, false),
            "configMapKeyRef" | "secretKeyRef" => key_reference(errors, reference, &path),
            _ => {}
        }
    }
    let why = match sources {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if !text(variable, "value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(FieldError::invalid(path, "", why));
}

/// Upstream: `validateConfigMapKeySelector`, `validateSecretKeySelector`.
fn key_reference(errors: &mut Vec<FieldError>, reference: &Value, path: &str) {
    let name = text(reference, "name");
    errors.extend(invalid(&format!("{path}.name"), name, names::dns_subdomain(name)));
    let path = format!("{path}.key");
    match text(reference, "key") {
        "" => errors.push(FieldError::required(&path, "")),
        key => errors.extend(invalid(&path, key, names::config_key(key))),
    }
}
