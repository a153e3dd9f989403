//! Validates the security contexts of pods and containers. Upstream: `ValidateSecurityContext`,
//! `validatePodSpecSecurityContext`.
//!
//! It does not know AppArmor, SELinux and Windows.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::registry::validate::scalars::{items, text};
use crate::registry::validate::volumes::descending_path;
use crate::types::field_error::FieldError;

/// Validates the context of a container; `spec` is that of its pod.
pub(crate) fn container(errors: &mut Vec<FieldError>, container: &Value, path: &str, spec: &Value) {
    let (context, path) = (&container["securityContext"], format!("{path}.securityContext"));
    for name in ["runAsUser", "runAsGroup"] {
        errors.extend(id(&context[name], &format!("{path}.{name}")));
    }
    if let Some(mount) = context["procMount"].as_str() {
        let path = format!("{path}.procMount");
        if !matches!(mount, "Default" | "Unmasked") {
            errors.push(FieldError::unsupported(&path, mount, &["Default", "Unmasked"]));
        }
        if mount == "Unmasked" && spec["hostUsers"] != false {
            errors.push(FieldError::invalid(&path, mount, "`hostUsers` must be false to use `Unmasked`"));
        }
    }
    seccomp(errors, &context["seccompProfile"], &format!("{path}.seccompProfile"));
    if context["allowPrivilegeEscalation"] == false {
        let has_admin =
            context["capabilities"]["add"].as_array().into_iter().flatten().any(|one| one == "CAP_SYS_ADMIN");
        let contradictions =
            [(context["privileged"] == true, "`privileged` to true"), (has_admin, "`capabilities.Add` CAP_SYS_ADMIN")];
        for (_, what) in contradictions.into_iter().filter(|(is_set, _)| *is_set) {
            let why = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            errors.push(FieldError::invalid_printed(&path, printed(context), why));
        }
    }
}

/// Validates the context of a pod.
pub(crate) fn pod(errors: &mut Vec<FieldError>, spec: &Value, path: &str) {
    let (context, path) = (&spec["securityContext"], format!("{path}.securityContext"));
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        errors.extend(id(&context[name], &format!("{path}.{name}")));
    }
    for (group, path) in items(context, "supplementalGroups", &path) {
        errors.extend(id(group, &path));
    }
    if spec["hostPID"] == true && spec["shareProcessNamespace"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(&format!("{path}.shareProcessNamespace"), true, why));
    }
    sysctls(errors, context, &path);
    choice(errors, context, &path, "fsGroupChangePolicy", &["Always", "OnRootMismatch"]);
    seccomp(errors, &context["seccompProfile"], &format!("{path}.seccompProfile"));
    choice(errors, context, &path, "supplementalGroupsPolicy", &["Merge", "Strict"]);
}

/// Upstream: `IsValidUserID`, `IsValidGroupID`.
fn id(value: &Value, path: &str) -> Option<FieldError> {
    let id = value.as_i64().filter(|id| !(0..=i64::from(i32::MAX)).contains(id))?;
    Some(FieldError::invalid(path, id, "must be between 0 and 2147483647, inclusive"))
}

fn choice(errors: &mut Vec<FieldError>, object: &Value, path: &str, name: &str, among: &[&str]) {
    if let Some(value) = object[name].as_str().filter(|value| !among.contains(value)) {
        errors.push(FieldError::unsupported(&format!("{path}.{name}"), value, among));
    }
}

/// Upstream: `validateSeccompProfileField`.
fn seccomp(errors: &mut Vec<FieldError>, profile: &Value, path: &str) {
    const TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
    if !profile.is_object() {
        return;
    }
    let (kind, file) = (text(profile, "type"), profile["localhostProfile"].as_str());
    match kind {
        "" => errors.push(FieldError::required(&format!("{path}.type"), "type is required when seccompProfile is set")),
        kind if TYPES.contains(&kind) => {}
        kind => errors.push(FieldError::unsupported(&format!("{path}.type"), kind, &TYPES)),
    }
    let path = format!("{path}.localhostProfile");
    match file {
        None if kind == "Localhost" => {
            errors.push(FieldError::required(&path, "must be set when seccomp type is Localhost"));
        }
        Some(file) if kind == "Localhost" => errors.extend(descending_path(file, &path)),
        Some(file) => {
            let printed = format!("{{\"Type\":\"{kind}\",\"LocalhostProfile\":\"{file}\"}}");
            errors.push(FieldError::invalid_printed(&path, printed, "can only be set when seccomp type is Localhost"));
        }
        None => {}
    }
}

/// Upstream: `validateSysctls`.
fn sysctls(errors: &mut Vec<FieldError>, context: &Value, path: &str) {
    let mut names = BTreeSet::new();
    for (sysctl, path) in items(context, "sysctls", path) {
        let (name, path) = (text(sysctl, "name"), format!("{path}.name"));
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if name.len() > 253 || !name.split(['.', '/']).all(is_sysctl_segment) {
            let why = "must have at most 253 characters and match regex \
                       ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.push(FieldError::invalid(&path, name, why));
        } else if names.contains(name) {
            errors.push(FieldError::duplicate(&path, name));
        }
        names.insert(name);
    }
}

fn is_sysctl_segment(segment: &str) -> bool {
    let end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    end(segment.bytes().next()) && end(segment.bytes().last()) && segment.bytes().all(inside)
}

/// A container's context as upstream prints it, with the fields that it has by value.
fn printed(context: &Value) -> String {
    let list = |name: &str| context["capabilities"].get(name).cloned().unwrap_or_default();
    let capabilities = match context.get("capabilities") {
        None | Some(Value::Null) => "null".to_owned(),
        Some(_) => format!("{{\"Add\":{},\"Drop\":{}}}", list("add"), list("drop")),
    };
    let field = |name: &str| &context[name];
    format!(
        "{{\"Capabilities\":{capabilities},\"Privileged\":{},\"SELinuxOptions\":null,\"WindowsOptions\":null,\
         \"RunAsUser\":{},\"RunAsGroup\":{},\"RunAsNonRoot\":{},\"ReadOnlyRootFilesystem\":{},\
         \"AllowPrivilegeEscalation\":{},\"ProcMount\":{},\"SeccompProfile\":null,\"AppArmorProfile\":null}}",
        field("privileged"),
        field("runAsUser"),
        field("runAsGroup"),
        field("runAsNonRoot"),
        field("readOnlyRootFilesystem"),
        field("allowPrivilegeEscalation"),
        field("procMount"),
    )
}
